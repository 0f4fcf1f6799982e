"""The `xai-mcp-agent` command: its subcommands, and how errors are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Annotated, Any

import typer

from ..core.errors import XaiMcpError
from ..core.util import installed_version
from . import registry, rules, workshop
from .add import AddCommand, add, remove
from .adopt.command import adopt
from .approve import approve, approve_run
from .ask import ask
from .discover import discover
from .draw import draw
from .explain import explain
from .fitting import check_wires, suggest
from .graph import graph
from .history import diff, history, prune
from .init import init
from .output import keep_stdout_for_json, prepare_streams, print_error, say
from .plan import plan
from .run_plan import run_plan
from .search import search
from .select import select
from .serve import serve
from .servers import call, check, list_servers, login, logout
from .stats import stats
from .tools import accept, disable, enable, list_tools, refresh
from .trust import trust
from .usage import usage

# What is raised by what reads the command line: click, or the copy of it that typer has.
_WrongUsage: Any = next(x for x in typer.BadParameter.__mro__ if x.__name__ == "ClickException")

_STYLE: dict[str, Any] = {
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}
_HELP = "Agents with the tools of MCP servers, on the Xircuits canvas and outside it."
_COMMANDS = (init, ask, call, serve, trust, login, logout, adopt, search)
_GROUPS: dict[str, tuple[str, dict[str, Callable[..., None]]]] = {
    "servers": (
        "List and check the servers of your settings; add and remove them.",
        {
            "list": list_servers,
            "check": check,
            "add": add,
            "remove": remove,
            "discover": discover,
        },
    ),
    "tools": (
        "List, explain, switch off, accept and approve tools.",
        {
            "list": list_tools,
            "explain": explain,
            "select": select,
            "suggest": suggest,
            "enable": enable,
            "disable": disable,
            "accept": accept,
            "approve": approve,
            "refresh": refresh,
            "usage": usage,
        },
    ),
    "plan": (
        "Make, check and run plans, and draw them as workflows.",
        {
            "make": plan,
            "run": run_plan,
            "approve": approve_run,
            "check": check_wires,
            "draw": draw,
        },
    ),
    "history": (
        "Show what happened to servers and tools. Starts no server.",
        {"show": history, "diff": diff, "stats": stats, "graph": graph, "prune": prune},
    ),
    "rules": (
        "Show what rules say about tools; manage the rules of the store.",
        {
            "check": rules.check,
            "why": rules.why,
            "list": rules.list_rules,
            "put": rules.put,
            "remove": rules.remove,
        },
    ),
    "registry": (
        "Find servers in registries, and add them to your settings.",
        {
            "sync": registry.sync,
            "search": registry.search,
            "show": registry.show,
            "add": registry.add,
        },
    ),
    "workshop": (
        "Check the lessons of the workshop, and restore them.",
        {"check": workshop.check, "reset": workshop.reset, "solution": workshop.solution},
    ),
}

app = typer.Typer(name="xai-mcp-agent", help=_HELP, **_STYLE)
for _command in _COMMANDS:
    app.command(_command.__name__)(_command)
for _name, (_help, _commands) in _GROUPS.items():
    _group = typer.Typer(help=_help, **_STYLE)
    for _word, _command in _commands.items():
        _group.command(_word, cls=AddCommand if _command is add else None)(_command)
    app.add_typer(_group, name=_name)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"xai-mcp-agent {installed_version()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Agents with the tools of MCP servers, on the Xircuits canvas and outside it."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit status: 0, 1 for our errors, 2 for wrong usage.

    `arguments` are those of the process by default.
    """
    prepare_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None and "--json" in words:
        keep_stdout_for_json()
    try:
        status = app(args=words, prog_name="xai-mcp-agent", standalone_mode=False)
    except _WrongUsage as error:
        _tell_usage(error)
        sys.exit(error.exit_code)
    except typer.Abort:
        say("Given up.", to_stderr=True)
        sys.exit(1)
    except XaiMcpError as error:
        print_error(error, as_json="--json" in words)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _tell_usage(error: Any) -> None:
    """How it is typed, and what was typed wrong, in lines that fit."""
    told = StringIO()
    error.show(told)
    say(told.getvalue().rstrip(), to_stderr=True)
