"""The `xai-mcp-agent` command: its subcommands, one file each, and how errors are shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ..bridge.freshness import installed_version
from ..core.errors import XaiMcpError
from .access import login, logout
from .choices import accept, disable, enable
from .diff import diff
from .graph import graph
from .history import history
from .init import init
from .migration.adopt import adopt
from .output import prepare_streams, print_error
from .refresh import refresh
from .servers import call, servers, tools
from .workshop.commands import check_lessons, lesson_solution, reset_lesson

app = typer.Typer(
    name="xai-mcp-agent",
    help="Agents with the tools of MCP servers, on the Xircuits canvas and outside it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# One line for each command, in the order of the help text; a command lives in a file of its own.
app.command("init")(init)
app.command("servers")(servers)
app.command("tools")(tools)
app.command("call")(call)
app.command("history")(history)
app.command("diff")(diff)
app.command("graph")(graph)
app.command("refresh")(refresh)
app.command("disable")(disable)
app.command("enable")(enable)
app.command("accept")(accept)
app.command("login")(login)
app.command("logout")(logout)
app.command("adopt")(adopt)
app.command("check-lessons")(check_lessons)
app.command("reset-lesson")(reset_lesson)
app.command("lesson-solution")(lesson_solution)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"xai-mcp-agent {installed_version()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print it and end."),
    ] = False,
) -> None:
    """Agents with the tools of MCP servers, on the Xircuits canvas and outside it."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit status: 0, 1 for our errors, 2 for wrong usage.

    `arguments` are those of the process by default.
    """
    prepare_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app(args=words, prog_name="xai-mcp-agent")
    except XaiMcpError as error:
        print_error(error, as_json="--json" in words)
        sys.exit(1)
