"""`xai-mcp-agent rules`: what the rules of the settings say of tools, without calling any."""

from __future__ import annotations

from typing import Annotated

import typer

from ..bridge.engine import Engine
from ..bridge.rulings import ruled_call, ruled_tools
from ..core.invocation import Caller
from ..views.rules import ruled_json, ruled_text, rules_json, rules_text
from .bridges import open_bridge
from .output import AsJson, SettingsFile, echo_json, say, text_width
from .servers import read_arguments, require_settings

app = typer.Typer(
    help="What the rules of the settings say of tools, without calling any.",
    no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
)  # fmt: skip

_NONE = 'There are no rules: the settings have no section "rules".'

Agent = Annotated[str, typer.Option(help="As if an agent of this name called.")]
Toolbelt = Annotated[str, typer.Option(help="As if it had the toolbelt of this name.")]


@app.command("check")
def check(
    server: Annotated[
        str | None, typer.Argument(help="Only the tools of this server or group.")
    ] = None,
    agent: Agent = "",
    toolbelt: Toolbelt = "",
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Say how many tools the rules allow, ask for and deny, and which tools each rule is about."""
    caller = Caller("agent", agent, toolbelt)
    with open_bridge(settings, as_json=as_json) as bridge:
        require_settings(bridge)
        rules = bridge.settings.rules
        ruled, failed = bridge.run(ruled_tools, caller, server)
    if as_json:
        echo_json({**rules_json(rules, ruled), "failed": failed})
    else:
        say(rules_text(rules, ruled, text_width()) if rules else _NONE)
        for reason in failed.values():
            say(f"error: {reason}", to_stderr=True)
    if failed:
        raise typer.Exit(1)


@app.command("why")
def why(
    server: Annotated[str, typer.Argument(help="The server, as the settings name it.")],
    tool: Annotated[str, typer.Argument(help="The tool, as the server names it.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Of a call: name=value for each, or one JSON object.")
    ] = None,
    agent: Agent = "",
    toolbelt: Toolbelt = "",
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Say why a call would be made, asked for or denied. It is not made."""
    caller = Caller("agent", agent, toolbelt)
    with open_bridge(settings, as_json=as_json) as bridge:
        require_settings(bridge)
        bridge.settings.source(server)
        listed = bridge.run(Engine.tool, server, tool)
        given = read_arguments(arguments, listed) if arguments else None
        ruled = bridge.run(ruled_call, caller, listed, given)
    if as_json:
        echo_json(ruled_json(ruled))
    else:
        say(ruled_text(ruled, text_width()))
