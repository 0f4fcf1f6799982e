"""The `xai-mcp-agent` command: its subcommands, and how errors are shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import StringIO
from typing import Annotated, Any

import typer

from ..core.errors import XaiMcpError
from ..core.util import installed_version
from . import rules
from .add import AddCommand, add, remove
from .adopt.command import adopt
from .approve import approve
from .ask import ask
from .discover import discover
from .draw import draw
from .explain import explain
from .fitting import check_wires, suggest
from .graph import graph
from .history import diff, history, prune
from .init import init
from .openapi import openapi
from .output import keep_stdout_for_json, prepare_streams, print_error, say
from .plan import plan
from .registry import add as registry_add
from .registry import search as registry_search
from .registry import show as registry_show
from .registry import sync as registry_sync
from .run_plan import run_plan
from .search import search
from .select import select
from .serve import serve
from .servers import call, login, logout, servers
from .stats import stats
from .tools import accept, disable, enable, refresh, tools
from .trust import trust
from .usage import usage
from .workshop.commands import check_lessons, lesson_solution, reset_lesson

# What is raised by what reads the command line: click, or the copy of it that typer has.
_WrongUsage: Any = next(x for x in typer.BadParameter.__mro__ if x.__name__ == "ClickException")

app = typer.Typer(
    name="xai-mcp-agent",
    help="Agents with the tools of MCP servers, on the Xircuits canvas and outside it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# In the order of the help text.
for _command in (
    init, ask, add, remove, discover, servers, tools, openapi, search, explain, select, suggest,
    plan, call, run_plan, serve, check_wires, draw, stats, diff, graph, usage, refresh,
    trust, disable, enable, accept, approve, login, logout, adopt, check_lessons, reset_lesson,
    lesson_solution,
):  # fmt: skip
    _class = AddCommand if _command is add else None
    app.command(_command.__name__.replace("_", "-"), cls=_class)(_command)

_history = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
_history.callback(invoke_without_command=True)(history)
_history.command("prune")(prune)
app.add_typer(_history, name="history")
app.add_typer(rules.app, name="rules")

_registry = typer.Typer(
    rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True,
    help="Find servers in registries, and add them to the settings, switched off.",
)  # fmt: skip
for _name, _command in {
    "search": registry_search, "show": registry_show, "add": registry_add, "sync": registry_sync,
}.items():  # fmt: skip
    _registry.command(_name)(_command)
app.add_typer(_registry, name="registry")


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
