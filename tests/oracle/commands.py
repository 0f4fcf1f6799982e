"""The output of each command with `--json`: its shape, its exit status, and stderr.

The commands run in an order in which a person might type them, and later ones see the effects of
earlier ones. Mistakes, options and texts for people have tests of their own in `tests/cli`.

Left out: `login` and `logout` (no JSON), `approve` of a waiting run (only the canvas makes one),
and the lessons' workflows (seconds each).
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

from tests.support.fault_server import entry
from tests.support.registry_service import registry_service
from tests.support.shredder_server import shredder_entry
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.main import run

from .tables import Rows, stable, stable_text

Step: TypeAlias = tuple[str, str]
"""A name and the words of the command, as a shell reads them, without spaces in a word."""

_MAX_LIST_CHARS, _MIN_ITEMS = 1500, 2  # of a list; further items are alike
_MAX_CHARS = 400  # of a text that is printed
_MAX_LINES = 12  # on stderr
_SPACE = "_"
_AT_HOME = {
    "home/.cursor/mcp.json": {"mcpServers": {"docs": {"command": "npx", "args": ["-y", "docs"]}}}
}

# The workspace that `init` makes: four servers and a file of functions.
_WORKSPACE: tuple[Step, ...] = (
    ("init", "init ."),
    ("servers", "servers check"),
    ("servers, the list", "servers list"),
    ("servers, what is odd in them", "servers check units --descriptions"),
    ("tools, a page", "tools list --limit 2 --offset 1"),
    ("tools as a list", "tools list units --as-list"),
    ("call", "call units convert_units value=5 from_unit=mile to_unit=kilometre"),
    ("call, a tool that fails", "call units convert_units value=5 from_unit=mile to_unit=litre"),
    ("search", "search convert_miles --limit 2 --server units"),
    ("explain", "tools explain units convert_units --request How_far_are_5_miles"),
    ("select", "tools select How_many_kilometres_are_5_miles? --budget 900"),
    ("suggest", "tools suggest library/search_books --limit 2"),
    ("plan", "plan make How_many_kilometres_are_5_miles? --server units"),
    ("check-wires", "plan check plan.json"),
    ("run-plan", "plan run plan.json --state run.json"),
    ("ask", "ask How_many_kilometres_are_5_miles? --server units"),
    ("draw", "plan draw --list"),
    ("draw a plan", "plan draw plan.json --out drawn.xircuits"),
    ("stats", "history stats"),
    ("diff", "history diff units"),
    ("diff of a tool", "history diff units convert_units"),
    ("graph", "history graph --format json"),
    ("graph of a tool", "history graph units convert_units --limit 2 --format json"),
    ("usage", "tools usage"),
    ("refresh", "tools refresh units"),
    ("tools there ever were", "tools list units --all"),
    ("disable", "tools disable units list_units"),
    ("history", "history show --server units --limit 3"),
    ("history of an agent", "history show --agent agent --limit 1"),
    ("rules put", "rules put rules.json"),
    ("rules why", "rules why units convert_units value=5"),
    ("openapi", "tools list service.json"),
    ("add", "servers add clock --no-check -- python server.py"),
    ("add, and it works", "servers add again -- examples/servers/units.py"),
    ("remove", "servers remove clock"),
    ("discover", "servers discover"),
    ("discover, taken", "servers discover --take docs"),
    ("adopt", "adopt examples/ex01_quickstart.xircuits --output adopted"),
    ("wrong usage", "tools list --limit none"),
    ("no such command", "tool"),
)

# Servers that destroy, are locked, crash, or have mistakes in the settings.
_ODD: tuple[Step, ...] = (
    ("servers", "servers check"),
    ("refresh", "tools refresh"),
    ("accept", "tools accept locked"),
    ("rules check", "rules check shredder"),
    ("rules why", "rules why shredder shred paper=contract"),
    ("ask for what is destroyed", "ask Shred_the_paper_'deed' --server shredder"),
    ("call of a crashing one", "call crash echo text=a"),
    ("registry sync", "registry sync"),
    ("registry search", "registry search notes --limit 1"),
    ("registry show", "registry show io.github.example-org/notes"),
    ("registry add", "registry add io.github.example-org/notes"),
)

# A folder whose settings nobody has agreed to.
_STRANGE: tuple[Step, ...] = (
    ("trust", "trust"),
    ("trust, agreed", "trust --yes"),
    ("trust, the list", "trust --list"),
    ("trust withdrawn", "trust --withdraw"),
)

_RULES = [{"name": "miles", "when": {"tool": "convert_units", "args.from_unit": "mile"},
           "then": "ask"}]  # fmt: skip
_ODD_RULES = [
    {"name": "papers", "when": {"tool": "shred", "args.paper": "contract*"}, "then": "deny"},
    {"name": "few", "when": {"tool": "count"}, "then": {"limit": "2 a run"}},
]
_PLAN = {
    "request": "How many kilometres are 5 miles?",
    "calls": [
        {
            "tool": "units/convert_units",
            "args": {"value": 5, "from_unit": "mile", "to_unit": "kilometre"},
        }
    ],
}
_SERVICE: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Things", "version": "1"},
    "servers": [{"url": "https://api.example.com/v1"}],
    "paths": {
        "/things": {
            "get": {"operationId": "list_things", "summary": "All things", "responses": {}},
            "post": {
                "operationId": "add_thing",
                "requestBody": {"content": {"application/json": {"schema": {
                    "type": "object", "properties": {"name": {"type": "string"}},
                    "required": ["name"],
                }}}},
                "responses": {},
            },
        },
        "/odd": {"get": {"parameters": [{"$ref": "#/nothing"}], "responses": {}}},
    },
}  # fmt: skip
_FILES = {"plan.json": _PLAN, "rules.json": _RULES, "service.json": _SERVICE}


def record(folder: Path) -> Rows:
    """Run all commands; the folders are independent of each other."""
    with registry_service() as registry:
        odd = {"mcp_settings.json": _odd_settings(registry.url)}
        strange = {"mcpServers": {"it": entry(), "far": {"url": "http://127.0.0.1:9/mcp"}}}
        variables = {"XAI_MCP_TRUST": "1", "npm_config_registry": registry.url}
        return {
            **run_commands(folder / "workspace", _FILES, _WORKSPACE, variables),
            **run_commands(folder / "odd servers", odd, _ODD, variables),
            **run_commands(folder / "not trusted", {"mcp_settings.json": strange}, _STRANGE, {}),
        }


def _odd_settings(registry: str) -> Mapping[str, Any]:
    crash = "import sys; print('no licence', file=sys.stderr); sys.exit(3)"
    return {
        "mcpServers": {
            "shredder": shredder_entry(),
            "locked": {**entry(), "lock": True},
            "crash": {"command": sys.executable, "args": ["-c", crash]},
            "off": {"command": "x", "disabled": True},
            "unset": {"command": "x", "args": ["${NO_SUCH_VARIABLE_HERE}"]},
            "typo": {"comand": "x"},
        },
        "rules": _ODD_RULES,
        "registries": {"official": False, "team": {"url": registry}},
    }


def run_commands(
    folder: Path, files: Mapping[str, Any], steps: Sequence[Step], variables: Mapping[str, str]
) -> Rows:
    """Run commands one after the other in a folder with these files; return their rows."""
    project, home = folder / "project", folder / "home"
    for name, value in {**_AT_HOME, **{f"project/{x}": y for x, y in files.items()}}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = value if isinstance(value, str) else json.dumps(value)
        file.write_text(text, encoding="utf-8")
    usual = {x: y for x, y in os.environ.items() if x in ("PATH", "PYTHONPATH", "LANG", "TMPDIR")}
    environment = {**usual, "TZ": "UTC", "HOME": str(home), **variables}
    with (
        patch.object(sys, "executable", warm_python()),
        patch.dict(os.environ, environment, clear=True),
        chdir(project),
    ):
        return {f"{folder.name}: {name}": _row(folder, line) for name, line in steps}


def _row(folder: Path, line: str) -> Any:
    words = [x.replace(_SPACE, " ") if x[0].isupper() else x for x in line.split()]
    at = words.index("--") if "--" in words else len(words)
    words[at:at] = [] if "json" in words else ["--json"]
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with patch.object(sys, "stdin", io.StringIO()), redirect_stdout(out), redirect_stderr(err):
        try:
            run(words)
        except SystemExit as exit_:
            status = exit_.code
    errors = _lines(err.getvalue(), folder)
    row = {"words": line, "status": status, "out": _out(out.getvalue(), folder)}
    return {**row, "err": errors} if errors else row


def _out(text: str, folder: Path) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return _lines(text, folder)
    return _shorten(stable(value, folder))


def _lines(text: str, folder: Path) -> list[str]:
    lines = stable_text(text, folder).splitlines()
    return [*lines[:_MAX_LINES], f"{len(lines)} in all"] if len(lines) > _MAX_LINES else lines


def _shorten(value: Any) -> Any:
    """Return the value with long lists and texts cut, and their length in place of the rest."""
    if isinstance(value, dict):
        return {name: _shorten(x) for name, x in value.items()}
    if isinstance(value, str) and len(value) > _MAX_CHARS:
        return f"{value[:_MAX_CHARS]}... ({len(value)} characters)"
    if not isinstance(value, list):
        return value
    items = [_shorten(x) for x in value]
    while len(items) > _MIN_ITEMS and len(json.dumps(items)) > _MAX_LIST_CHARS:
        items.pop()
    return [*items, f"{len(value)} in all"] if len(value) > len(items) else items
