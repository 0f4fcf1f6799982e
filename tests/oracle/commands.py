"""What the command prints with `--json`, in its workspace: shapes and values, status and stderr.

Each row is a command in the order in which somebody might type them; later ones see what earlier
ones left. The words of a row are a part of it, so that a command that moves shows as one fact.

Left out: `login` and `logout` (no JSON), `approve` of a waiting run (only the canvas makes one),
and the lessons' workflows (seconds each).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, TypeAlias

from tests.support import fault_server
from tests.support.fault_server import entry
from tests.support.registry_service import registry_service
from tests.support.shredder_server import shredder_entry
from tests.support.warm_python import warm_python

from .tables import Rows, stable, stable_text

Step: TypeAlias = tuple[str, str]
"""A name and the words of the command, as a shell reads them, without spaces in a word."""

_LIMIT_SECONDS = 240.0  # bounds a hang, however busy the machine is
_MAX_LIST_CHARS, _MIN_ITEMS = 1500, 2  # of a list; the others look alike
_MAX_CHARS = 400  # of a text that is printed
_MAX_LINES = 12  # of what is told on stderr
_SPACE = "_"
_ROOT = Path(__file__).parents[2]
_AT_HOME = {
    "home/.cursor/mcp.json": {"mcpServers": {"docs": {"command": "npx", "args": ["-y", "docs"]}}}
}

# The workspace that `init` makes: four servers and a file of functions.
_WORKSPACE: tuple[Step, ...] = (
    ("init", "init ."),
    ("init again", "init ."),
    ("servers", "servers check"),
    ("servers, the list", "servers list"),
    ("servers, what is odd in them", "servers check units --descriptions"),
    ("servers, no such one", "servers check unit"),
    ("tools of a group", "tools list reading"),
    ("tools, a page", "tools list --limit 2 --offset 1"),
    ("tools, by name", "tools list units --named list_*"),
    ("tools as a list", "tools list units --as-list"),
    ("tools, no such server", "tools list unit"),
    ("call", "call units convert_units value=5 from_unit=mile to_unit=kilometre"),
    ("call, JSON", 'call shopping add_item {"item":"bread","count":2}'),
    ("call, a wrong argument", "call units convert_units value=five from_unit=mile"),
    ("call, no such tool", "call units convert"),
    ("call, a tool that fails", "call units convert_units value=5 from_unit=mile to_unit=litre"),
    ("search", "search convert_miles --limit 2 --server units"),
    ("explain", "tools explain units convert_units --request How_far_are_5_miles"),
    ("select", "tools select How_many_kilometres_are_5_miles? --budget 900"),
    ("suggest", "tools suggest library/search_books --limit 2"),
    ("plan", "plan make How_many_kilometres_are_5_miles? --server units"),
    ("check-wires", "plan check plan.json"),
    ("run-plan", "plan run plan.json --state run.json"),
    ("run-plan, a wrong file", "plan run nothing.json"),
    ("ask", "ask How_many_kilometres_are_5_miles? --server units"),
    ("ask, no such server", "ask Hello --server unit"),
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
    ("tools as they were", "tools list units --at 3"),
    ("disable", "tools disable units list_units"),
    ("tools that are usable", "tools list units --usable"),
    ("enable", "tools enable units list_units"),
    ("enable again", "tools enable units list_units"),
    ("accept, nothing is locked", "tools accept units"),
    ("history", "history show --server units --limit 3"),
    ("history of what failed", "history show --failed"),
    ("history of an agent", "history show --agent agent --limit 1"),
    ("rules check", "rules check units"),
    ("rules put", "rules put rules.json"),
    ("rules list", "rules list"),
    ("rules why", "rules why units convert_units value=5"),
    ("rules remove", "rules remove miles"),
    ("rules remove, no such one", "rules remove miles"),
    ("openapi", "tools list service.json"),
    ("openapi of a tool", "tools list service.json add_thing"),
    ("openapi, no document", "tools list rules.json"),
    ("add", "servers add clock --no-check -- python server.py"),
    ("add again", "servers add clock --no-check -- python server.py"),
    ("add, and it works", "servers add echo -- {python} -S -E {server}"),
    ("remove", "servers remove clock"),
    ("remove, no such one", "servers remove clock"),
    ("discover", "servers discover"),
    ("discover, taken", "servers discover --take docs"),
    ("adopt", "adopt examples/ex01_quickstart.xircuits --output adopted"),
    ("check-lessons", "workshop check nowhere"),
    ("wrong usage", "tools list --limit none"),
    ("no such command", "tool"),
)

# Servers that destroy, are locked, crash, or stand wrong in the settings.
_ODD: tuple[Step, ...] = (
    ("servers", "servers check"),
    ("refresh", "tools refresh"),
    ("call what is not accepted", "call locked echo text=a"),
    ("accept", "tools accept locked"),
    ("accept with a wrong digest", "tools accept locked echo --digest " + "0" * 32),
    ("approve", "tools approve shredder shred"),
    ("approve, the list", "tools approve --list"),
    ("rules check", "rules check shredder"),
    ("rules why", "rules why shredder shred paper=contract"),
    ("ask for what is destroyed", "ask Shred_the_paper_'deed' --server shredder"),
    ("call of a crashing one", "call crash echo text=a"),
    ("call of a disabled one", "call off echo"),
    ("call of a wrong one", "call unset echo"),
    ("trust", "trust"),
    ("trust, the list", "trust --list"),
    ("registry sync", "registry sync"),
    ("registry search", "registry search notes --limit 1"),
    ("registry show", "registry show io.github.example-org/notes"),
    ("registry show, no such one", "registry show io.github.example-org/notez"),
    ("registry add", "registry add io.github.example-org/notes"),
)

# A folder whose settings nobody has agreed to.
_STRANGE: tuple[Step, ...] = (
    ("servers", "servers check"),
    ("trust", "trust"),
    ("trust, agreed", "trust --yes"),
    ("trust, the list", "trust --list"),
    ("servers, agreed", "servers check"),
    ("trust withdrawn", "trust --withdraw"),
)

# Settings that cannot be read.
_BROKEN: tuple[Step, ...] = (("servers", "servers check"), ("tools", "tools list"))

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
    """Type all commands; the folders are independent of each other."""
    with registry_service() as registry, ThreadPoolExecutor(2) as threads:
        odd = {"mcp_settings.json": _odd_settings(registry.url)}
        strange = {"mcpServers": {"it": entry(), "far": {"url": "http://127.0.0.1:9/mcp"}}}
        broken = {"mcp_settings.json": '{"mcpServers": {"a": }'}
        trusted = {"XAI_MCP_TRUST": "1", "npm_config_registry": registry.url}
        tasks = [
            threads.submit(typed, folder / "workspace", _FILES, _WORKSPACE, trusted),
            threads.submit(typed, folder / "odd servers", odd, _ODD, trusted),
            threads.submit(
                typed, folder / "not trusted", {"mcp_settings.json": strange}, _STRANGE, {}
            ),
            threads.submit(typed, folder / "broken settings", broken, _BROKEN, trusted),
        ]
        return {name: x for one in tasks for name, x in one.result(_LIMIT_SECONDS).items()}


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


def typed(
    folder: Path, files: Mapping[str, Any], steps: Sequence[Step], variables: Mapping[str, str]
) -> Rows:
    """The rows of these commands, typed one after the other in a folder with these files."""
    project, home = folder / "project", folder / "home"
    for name, value in {**_AT_HOME, **{f"project/{x}": y for x, y in files.items()}}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = value if isinstance(value, str) else json.dumps(value)
        file.write_text(text, encoding="utf-8")
    kept = {x: y for x, y in os.environ.items() if x in ("PATH", "PYTHONPATH", "LANG", "TMPDIR")}
    environment = {**kept, "TZ": "UTC", "HOME": str(home), **variables}
    with _shell(environment) as shell:
        return {f"{folder.name}: {name}": _row(shell, project, line) for name, line in steps}


@contextmanager
def _shell(environment: Mapping[str, str]) -> Generator[subprocess.Popen[str]]:
    shell = subprocess.Popen(
        [warm_python(), "-m", "tests.oracle.shell"],
        cwd=_ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    watchdog = Timer(_LIMIT_SECONDS, shell.kill)
    watchdog.start()
    try:
        with shell:
            yield shell
    finally:
        watchdog.cancel()


def _row(shell: subprocess.Popen[str], work: Path, line: str) -> Any:
    assert shell.stdin is not None
    assert shell.stdout is not None
    words = [_word(x) for x in line.split()]
    at = words.index("--") if "--" in words else len(words)
    words[at:at] = [] if "json" in words else ["--json"]
    stdout, stderr = work.parent / "stdout", work.parent / "stderr"
    for file in (stdout, stderr):
        file.unlink(missing_ok=True)
    task = {"words": words, "folder": str(work), "stdout": str(stdout), "stderr": str(stderr)}
    shell.stdin.write(json.dumps({**task, "variables": {}}) + "\n")
    shell.stdin.flush()
    status = int(shell.stdout.readline())
    errors = _lines(stderr.read_text(encoding="utf-8"), work.parent)
    row = {"words": line, "status": status, "out": _out(stdout.read_text("utf-8"), work.parent)}
    return {**row, "err": errors} if errors else row


def _word(word: str) -> str:
    filled = word.replace("{python}", sys.executable).replace("{server}", fault_server.__file__)
    return filled.replace(_SPACE, " ") if word[0].isupper() else filled


def _out(text: str, folder: Path) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return _lines(text, folder)
    return _shortened(stable(value, folder))


def _lines(text: str, folder: Path) -> list[str]:
    lines = stable_text(text, folder).splitlines()
    return [*lines[:_MAX_LINES], f"{len(lines)} in all"] if len(lines) > _MAX_LINES else lines


def _shortened(value: Any) -> Any:
    """With long lists and texts cut, and said how long they were."""
    if isinstance(value, dict):
        return {name: _shortened(x) for name, x in value.items()}
    if isinstance(value, str) and len(value) > _MAX_CHARS:
        return f"{value[:_MAX_CHARS]}... ({len(value)} characters)"
    if not isinstance(value, list):
        return value
    items = [_shortened(x) for x in value]
    while len(items) > _MIN_ITEMS and len(json.dumps(items)) > _MAX_LIST_CHARS:
        items.pop()
    return [*items, f"{len(value)} in all"] if len(value) > len(items) else items
