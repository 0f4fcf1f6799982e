"""`xai-mcp-agent rules`: what rules decide, and the rules in the store."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..bridge.faces import Bridge
from ..console.text import count
from ..core.calls import Caller
from ..core.errors import StoreFailed, XaiMcpError
from ..core.names import did_you_mean
from ..history.place import find_place
from ..settings.document import MAX_FILE_BYTES, KeyPlace
from ..settings.rules import parse_rules, read_rules_file
from ..views.rules import ruled_json, ruled_text, rules_json, rules_text
from .frame import Report, StoreFrame
from .options import Arguments, OneServer, Server, Tool
from .tools import read_arguments

if TYPE_CHECKING:
    from ..policy.stored_rules import StoredRules

_UNUSED_NOTE = 'The settings do not use them: add {"from": "store"} to "rules".'
_NO_RULES = 'There are no rules: the settings have no section "rules".'

Agent = Annotated[str, Option(metavar="NAME", help="Judge as for an agent of this name.")]
Toolbelt = Annotated[str, Option(metavar="NAME", help="Judge as for the toolbelt of this name.")]


def check(
    frame: StoreFrame, server: OneServer = None, agent: Agent = "", toolbelt: Toolbelt = ""
) -> Report:
    """Show how many tools the rules allow, ask about and deny, and which tools each rule covers."""
    with frame.bridge(server) as (bridge, names):
        ruled, failed = bridge.ruled_tools(Caller("agent", agent, toolbelt), *names)
        rules = bridge.rules()
    text = rules_text(rules, ruled) if rules else _NO_RULES
    return Report({**rules_json(rules, ruled), "failed": failed}, text, failed.values())


def why(
    frame: StoreFrame,
    server: Server,
    tool: Tool,
    arguments: Arguments = None,
    agent: Agent = "",
    toolbelt: Toolbelt = "",
) -> Report:
    """Show whether a call would be allowed, asked about or denied, and why; nothing is called."""
    with frame.bridge(server) as (bridge, [name]):
        bridge.settings.source(name)
        listed = bridge.tool(name, tool)
        values = read_arguments(arguments, listed) if arguments else None
        ruled = bridge.ruled_call(Caller("agent", agent, toolbelt), listed, values)
    return Report(ruled_json(ruled), ruled_text(ruled))


def list_rules(frame: StoreFrame) -> Report:
    """List the rules in the store."""
    with frame.bridge(needs_server=False) as (bridge, _):
        return _report(bridge, bridge.stored_rules())


def put(
    frame: StoreFrame,
    file: Annotated[str, Argument(help="A file of rules, in YAML or JSON; `-`: stdin.")],
    only: Annotated[bool, Option(help="Remove all other rules.")] = False,
) -> Report:
    """Put rules into the store; a rule of the same name is replaced."""
    rules, _ = _read(file)
    with frame.bridge(needs_server=False) as (bridge, _):
        _require_lasting(bridge, frame)
        return _report(bridge, bridge.put_rules(rules, only=only))


def remove(
    frame: StoreFrame,
    names: Annotated[list[str], Argument(metavar="NAME", help="The names of the rules.")],
) -> Report:
    """Remove rules from the store."""
    with frame.bridge(needs_server=False) as (bridge, _):
        _require_lasting(bridge, frame)
        ids = [str(x["name"]) for x in bridge.stored_rules().rules]
        for name in names:
            if name not in ids:
                hint = did_you_mean(name, ids)
                raise XaiMcpError(f"No rule in the store is called {name!r}. {hint}".strip())
        return _report(bridge, bridge.remove_rules(*names))


def _read(file: str) -> tuple[list[Any], KeyPlace]:
    if file != "-":
        return read_rules_file(file, KeyPlace(file), str(Path.cwd()))
    return parse_rules(sys.stdin.buffer.read(MAX_FILE_BYTES + 1), KeyPlace("standard input"))


def _require_lasting(bridge: Bridge, frame: StoreFrame) -> None:
    place = find_place(bridge.settings, frame.store)
    if not place.is_lasting:
        raise StoreFailed(place.label, "nothing is kept there.", "Name a store in the settings.")


def _report(bridge: Bridge, stored: StoredRules) -> Report:
    minimum = bridge.settings.stored_rules
    lines = [json.dumps(rule, ensure_ascii=False) for rule in stored.rules]
    lines.append(f"The store has {count(len(stored.rules), 'rule')}, revision {stored.revision}.")
    if minimum is None:
        lines.append(_UNUSED_NOTE)
    elif stored.revision < minimum:
        lines.append(f"Agents call nothing: the settings need revision {minimum} or a later one.")
    state = {"revision": stored.revision, "is_used": minimum is not None}
    return Report({**state, "rules": stored.rules}, "\n".join(lines))
