"""`xai-mcp-agent rules`: what rules say of tools, without calling any; and those in the store."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..bridge.faces import Bridge
from ..console.text import count
from ..core.calls import Caller
from ..core.errors import StoreFailed, XaiMcpError
from ..core.names import did_you_mean
from ..history.place import find_place
from ..settings.document import MAX_FILE_BYTES, Place
from ..settings.rules import parse_rules, read_rules_file
from ..views.rules import ruled_json, ruled_text, rules_json, rules_text
from .bridges import open_bridge, require_settings, server_named
from .output import AsJson, ServerName, SettingsFile, echo_json, say, text_width
from .servers import read_arguments

if TYPE_CHECKING:
    from ..policy.stored_rules import StoredRules

_NOT_USED = 'The settings do not use them: add {"from": "store"} to "rules".'
_NONE = 'There are no rules: the settings have no section "rules".'

Agent = Annotated[str, typer.Option(help="Judge as for an agent of this name.")]
Toolbelt = Annotated[str, typer.Option(help="Judge as for the toolbelt of this name.")]


def check(
    server: Annotated[
        str | None,
        typer.Argument(
            help="Only the tools of this server or group: its name, its URL or its command."
        ),
    ] = None,
    agent: Agent = "",
    toolbelt: Toolbelt = "",
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how many tools the rules allow, ask about and deny, and which tools each rule covers."""
    caller = Caller("agent", agent, toolbelt)
    with open_bridge(settings, as_json=as_json, servers=[server]) as bridge:
        server = server and server_named(bridge, server)
        require_settings(bridge)
        ruled, failed = bridge.ruled_tools(caller, *([server] if server else []))
        rules = bridge.rules()
    if as_json:
        echo_json({**rules_json(rules, ruled), "failed": failed})
    else:
        say(rules_text(rules, ruled, text_width()) if rules else _NONE)
        for reason in failed.values():
            say(f"error: {reason}", to_stderr=True)
    if failed:
        raise typer.Exit(1)


def why(
    server: ServerName,
    tool: Annotated[str, typer.Argument(help="The tool, as the server names it.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="Arguments of a call: name=value for each, or one JSON object."),
    ] = None,
    agent: Agent = "",
    toolbelt: Toolbelt = "",
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show whether a call would be allowed, asked about or denied, and why; nothing is called."""
    caller = Caller("agent", agent, toolbelt)
    with open_bridge(settings, as_json=as_json, servers=[server]) as bridge:
        server = server_named(bridge, server)
        require_settings(bridge)
        bridge.settings.source(server)
        listed = bridge.tool(server, tool)
        given = read_arguments(arguments, listed) if arguments else None
        ruled = bridge.ruled_call(caller, listed, given)
    if as_json:
        echo_json(ruled_json(ruled))
    else:
        say(ruled_text(ruled, text_width()))


def list_rules(settings: SettingsFile = None, as_json: AsJson = False) -> None:
    """List the rules in the store."""
    with open_bridge(settings, as_json=as_json) as bridge:
        _show(bridge, bridge.stored_rules(), as_json=as_json)


def put(
    file: Annotated[str, typer.Argument(help="A file of rules, in YAML or JSON; `-`: stdin.")],
    only: Annotated[bool, typer.Option("--only", help="Remove all other rules.")] = False,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Put rules into the store; a rule of the same name is replaced."""
    given, _ = _read(file)
    with open_bridge(settings, as_json=as_json) as bridge:
        _require_lasting(bridge)
        _show(bridge, bridge.put_rules(given, only=only), as_json=as_json)


def remove(
    names: Annotated[list[str], typer.Argument(help="The names of the rules.")],
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Remove rules from the store."""
    with open_bridge(settings, as_json=as_json) as bridge:
        _require_lasting(bridge)
        known = [str(x["name"]) for x in bridge.stored_rules().rules]
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known)
                raise XaiMcpError(f"No rule in the store is called {name!r}. {hint}".strip())
        _show(bridge, bridge.remove_rules(*names), as_json=as_json)


def _read(file: str) -> tuple[list[Any], Place]:
    if file != "-":
        return read_rules_file(file, Place(file), str(Path.cwd()))
    return parse_rules(sys.stdin.buffer.read(MAX_FILE_BYTES + 1), Place("standard input"))


def _require_lasting(bridge: Bridge) -> None:
    place = find_place(bridge.settings)
    if not place.is_lasting:
        raise StoreFailed(place.shown, "nothing is kept there.", "Name a store in the settings.")


def _show(bridge: Bridge, kept: StoredRules, *, as_json: bool) -> None:
    least = bridge.settings.stored_rules
    if as_json:
        echo_json({"revision": kept.revision, "is_used": least is not None, "rules": kept.rules})
        return
    for rule in kept.rules:
        say(json.dumps(rule, ensure_ascii=False))
    say(f"The store has {count(len(kept.rules), 'rule')}, revision {kept.revision}.")
    if least is None:
        say(_NOT_USED)
    elif kept.revision < least:
        say(f"The settings want revision {least} or a later one, so agents call nothing.")
