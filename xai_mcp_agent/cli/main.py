"""The `xai-mcp-agent` command: its subcommands, and how errors are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Annotated, Any, TypeAlias

import typer
from typer import Option

from ..core.errors import XaiMcpError
from ..core.util import installed_version
from . import access, decisions, history, lookup, plans, registry, rules, servers, tools, workshop
from .add import AddCommand, add, remove
from .adopt.command import adopt
from .ask import ask
from .discover import discover
from .draw import draw
from .frame import Command, framed
from .graph import graph
from .init import init
from .output import keep_stdout_for_json, prepare_streams, print_error, say
from .serve import serve
from .usage import usage

# The base class of usage errors: click's, or typer's own copy of it.
_WrongUsage: Any = next(x for x in typer.BadParameter.__mro__ if x.__name__ == "ClickException")

_STYLE: dict[str, Any] = {
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}
_Group: TypeAlias = Sequence[Callable[..., Any]]
# A command has the name of its function, up to an underscore.
_COMMANDS: _Group = (
    init, ask, tools.call, serve, access.trust, access.login, access.logout, adopt, lookup.search,
)  # fmt: skip
_GROUPS: dict[str, tuple[str, _Group]] = {
    "servers": (
        "List and check the servers of your settings; add and remove them.",
        (servers.list_servers, servers.check, add, remove, discover),
    ),
    "tools": (
        "List and explain tools; switch them off, accept and approve them.",
        (
            tools.list_tools, lookup.explain, lookup.select, lookup.suggest, decisions.enable,
            decisions.disable, decisions.accept, decisions.approve, tools.refresh, usage,
        ),
    ),
    "plan": (
        "Make, check and run plans, and draw them as workflows.",
        (plans.make, plans.run, plans.approve, plans.check, draw),
    ),
    "history": (
        "Show what happened to servers and tools. Starts no server.",
        (history.show, history.diff, history.stats, graph, history.prune),
    ),
    "rules": (
        "Show what rules say about tools; manage the rules of the store.",
        (rules.check, rules.why, rules.list_rules, rules.put, rules.remove),
    ),
    "registry": (
        "Find servers in registries, and add them to your settings.",
        (registry.sync, registry.search, registry.show, registry.add),
    ),
    "workshop": (
        "Check the lessons of the workshop, and restore them.",
        (workshop.check, workshop.reset, workshop.solution),
    ),
}  # fmt: skip


def _add_commands(group: typer.Typer, commands: _Group) -> None:
    """Add commands; the summary of each is the first sentence of its help, uncut."""
    for function in commands:
        summary = " ".join((function.__doc__ or "").split()).partition(". ")[0].rstrip(".") + "."
        kind = AddCommand if function is add else Command
        name = function.__name__.partition("_")[0]
        group.command(name, cls=kind, short_help=summary)(framed(function))


app = typer.Typer(name="xai-mcp-agent", **_STYLE)
_add_commands(app, _COMMANDS)
for _name, (_help, _commands) in _GROUPS.items():
    _group = typer.Typer(help=_help, short_help=_help, **_STYLE)
    _add_commands(_group, _commands)
    app.add_typer(_group, name=_name)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"xai-mcp-agent {installed_version()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Agents with the tools of MCP servers, on the Xircuits canvas and outside it."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit: 0, 1 for our errors, 2 for wrong usage.

    `arguments` default to those of the process.
    """
    prepare_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None and "--json" in words:
        keep_stdout_for_json()
    try:
        status = app(args=words, prog_name="xai-mcp-agent", standalone_mode=False)
    except _WrongUsage as error:
        _print_usage(error)
        sys.exit(error.exit_code)
    except typer.Abort:
        say("Given up.", to_stderr=True)
        sys.exit(1)
    except XaiMcpError as error:
        print_error(error, as_json="--json" in words)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _print_usage(error: Any) -> None:
    """Print the usage and the mistake, without Python's wording."""
    text = StringIO()
    error.show(text)
    say(text.getvalue().replace("Value error, ", "").rstrip(), to_stderr=True)
