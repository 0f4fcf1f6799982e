"""Runs the commands on the pages, word for word, in the order of the page.

Each line of a `sh` block must fit a row of `COMMANDS`, or the test fails. The commands of the
README that install, compile and start something do so in an environment with the wheel; our command
runs in this process, in the reader's folder. Some rows are not run; a comment says why.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import chdir, suppress
from dataclasses import dataclass, field
from os import killpg
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.commands import Cli
from tests.support.environments import Environment
from tests.support.pages import PAGES, ROOT, Block, blocks_of, codes_of
from tests.support.processes import free_port, wait_until
from tests.support.warm_python import warm_python
from tools.workflows import Workflow
from xai_mcp_agent.cli.main import app, run

LANGUAGES = {"sh", "json", "jsonl", "python", "text", "plan", "yaml"}
# A person's own values would change the results.
FOREIGN = ("XAI_MCP_SETTINGS", "OPENAI_API_KEY", "OPENAI_BASE_URL", "XIRCUITS_COMPONENTS_DIR")
_START_SECONDS = 60.0  # JupyterLab on a busy machine
_END_SECONDS = 30.0


@dataclass
class Reader:
    """A reader of the pages, with a folder and environments."""

    installed: Environment
    folder: Path
    clone: Environment
    cli: Cli
    finished: set[str] = field(default_factory=set[str])

    def type(self, line: str) -> None:
        """Run a line of a page once, and check its output."""
        command = re.sub(r"\s+# .*", "", line).strip()
        if command in self.finished:
            return
        self.finished.add(command)
        row = row_of(command)
        assert row is not None, f"no row of COMMANDS fits: {command}"
        output = row.do(self, command)
        assert row.shows in output, f"{command} shows no {row.shows!r}:\n{output}"


Do = Callable[[Reader, str], str]


def ours(reader: Reader, command: str, *, status: int = 0) -> str:
    """Run our command in the reader's folder."""
    with chdir(reader.folder):
        ran = reader.cli(command.removeprefix("xai-mcp-agent "))
    assert ran.status == status, ran.out + ran.err
    return ran.out + ran.err


def refused(reader: Reader, command: str) -> str:
    """Run our command, which must exit with 1."""
    return ours(reader, command, status=1)


def installed(reader: Reader, command: str) -> str:
    """Run a command in the environment with the wheel."""
    return reader.installed.run(reader.folder, "bash", "-c", command)


def in_the_clone(reader: Reader, command: str) -> str:
    """Run a command in a clone that is set up already: setting it up needs the network."""
    return reader.clone.run(reader.clone.root.parent, "bash", "-c", command)


def dry(reader: Reader, command: str) -> str:
    """Run make without its commands: they take minutes or do not end."""
    return in_the_clone(reader, command.replace("make", "make --dry-run", 1))


def not_run(reader: Reader, command: str) -> str:
    """Run nothing: the command needs a person or a registry, or another test runs it."""
    return ""


def change_folder(reader: Reader, command: str) -> str:
    reader.folder = reader.folder / command.removeprefix("cd ")
    assert reader.folder.is_dir()
    return ""


def start_the_lab(reader: Reader, command: str) -> str:
    """Start the lab without a browser, and end it once it answers."""
    port = free_port()
    options = f"--no-browser --allow-root --port={port} --IdentityProvider.token=for-tests"
    log = reader.folder.parent / "lab.log"
    with log.open("w", encoding="utf-8") as output:
        lab = subprocess.Popen(
            ["bash", "-c", f"exec {command} {options}"],
            cwd=reader.folder, env=reader.installed.variables(), stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            address = f"http://127.0.0.1:{port}/xircuits/components/?token=for-tests"
            wait_until(lambda: bool(_answer(address)), "the lab answers", _START_SECONDS)
            return _answer(address)
        finally:
            # Xircuits starts Jupyter through a shell: its group, which is ours alone, is ended.
            killpg(lab.pid, signal.SIGTERM)
            lab.wait(_END_SECONDS)


def _answer(address: str) -> str:
    with suppress(OSError), urllib.request.urlopen(address, timeout=5.0) as answer:
        return answer.read().decode()
    return ""


def compile_drawing(reader: Reader, command: str) -> str:
    """Draw the workflow of the README's five steps, and compile it."""
    flow = Workflow("my_agent")
    server = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", agent_name="helper", toolbelt_spec=belt["toolbelt_spec"])
    question = "Which books do you have about the sea?"
    answer = flow.node("AgentRun", agent_name="helper", conversation=question)
    flow.main(server, belt, agent, answer)
    flow.write(reader.folder)
    return installed(reader, command)


class Row(NamedTuple):
    """A kind of command: its pattern, how to run it, and a text in its output."""

    pattern: str
    do: Do
    shows: str = ""


_WITH_DATA = r"DATA=folder SCORER=file( EMBED=folder)?( ARGS=.*)?"
_NOT_RUN = (
    "log(in|out) notes", "servers (add|remove) .*", "serve .*", "servers discover --take NAME",
    'tools list "npx -y .*"', r"call server\.py add a=2 b=3", 'ask ".*" --server https://.*',
    r"plan check my_agent_drawn\.xircuits", "history show --(failed|agent) .*",
    "history show --follow", r"rules put more_rules\.yaml", "rules remove .*",
    r'registry (sync|search ".*"|(show|add) \S+.*)',
)  # fmt: skip
_OURS = [
    Row(r"init --workshop learner", ours, "workshop/README.md"),
    Row(r"workshop check learner 1", refused, "(not begun)"),
    Row(r"workshop solution 1 learner", ours, "_solution.xircuits"),
    Row(r"workshop reset 1 learner", ours, "is as it was"),
    Row(r"servers discover", ours),
    Row(r"servers check", ours, "library: ready"),
    Row(r"servers list", ours, "library: mcp, enabled"),
    Row(r"trust", ours, "your agreement"),
    Row(r'ask "Convert 5 miles to kilometres"', ours, "8.04672"),
    Row(r"call units .*", ours, "8.04672"),
    Row(r'search ".*"', ours, "kilometres_to_miles("),
    Row(r"tools list( library)?( --all| --as-list)?", ours, "search_books"),
    Row(r"tools list --named .*", ours, "search_books"),
    Row(r"tools list library --at 2h", ours, "As of 20"),
    Row(r"tools explain units convert_units", ours, "convert_units("),
    Row(r'tools explain library borrow_book --request ".*"', ours, "A search for this"),
    Row(r'tools suggest library/search_books --request ".*"', ours, "borrow_book"),
    Row(r'tools select ".*" --budget \d+', ours, "tools shown"),
    Row(r"tools usage( library search_books --toolbelt default)?", ours, "emember"),
    Row(r"tools usage( library)? --forget", ours),
    Row(r"tools refresh( library)?", ours, "library: "),
    Row(r"tools (disable|enable) library borrow_book", ours, "library: borrow_book"),
    Row(r"tools accept --all", ours),
    Row(r"tools accept library.*", refused, "library: nothing was accepted"),
    Row(r"tools approve library \S+", refused, "library: nothing was approved"),
    Row(r"tools approve --list", ours, "Nothing is approved for good"),
    Row(r"tools approve library \S+ --withdraw", ours, "was not approved"),
    Row(r'plan make ".*"( --server units --out plan\.json)?', ours, "A rough plan for"),
    Row(r"plan approve tidying\.run\.json.*", refused, "no run waits there"),
    Row(r"plan run plan\.json .*", ours, "5 km = 3.106855961 mi"),
    Row(r"plan draw runs\.jsonl", ours, "Written: runs_drawn.xircuits, 1 call"),
    Row(r"plan draw runs\.jsonl --list", ours, "helper, 1 call"),
    Row(r"history show( --(since|server|tool|limit) \S+)*", ours, "library"),
    Row(r"history show --all", ours, "library"),
    Row(r"history prune( --(dry-run|older-than \d+))*", ours, "Nothing exceeds"),
    Row(r"history diff( library)?( search_books)?( --(from|to) \S+)*", ours, "library"),
    Row(r"history stats( --(since|sort) \S+)*", ours, "library"),
    Row(r"history graph", ours, "flowchart"),
    Row(r"history graph --out tools\.html", ours, "Written: tools.html"),
    Row(r"history graph --format json --at 2026-11-17", ours, "nodes"),
    Row(r"history graph library search_books --out fits\.html", ours, "Written: fits.html"),
    Row(r"rules check", ours, "There are no rules"),
    Row(r"rules list", ours, "The store has 0 rules"),
    Row(r"rules why library borrow_book .*", ours, "library/borrow_book is"),
    Row(f"({'|'.join(_NOT_RUN)})", not_run),
]
COMMANDS = [
    # The environment was made with it.
    Row(r'pip install "xai-mcp-agent\[lab\]"', not_run),
    Row(r"xai-mcp-agent init my-agents", installed, "xircuits start"),
    Row(r"cd my-agents", change_folder),
    Row(r"xircuits start", start_the_lab, "AgentUseMCPTools"),
    Row(r"xircuits compile my_agent\.xircuits my_agent\.py", compile_drawing),
    Row(r"(XAI_MCP_TRANSCRIPT=\S+ )?python my_agent\.py", installed, "library_search_books"),
    Row(r"make demo", in_the_clone, "Finished Executing"),
    Row(r"make (test|check|performance|lab|walk|newcomer|lessons|newest-lab)", dry),
    Row(r"make (bench(-smoke|-peers)?|soak|conformance)( ARGS=.*)?", dry),
    Row(rf"make bench-(planning|search) {_WITH_DATA}", dry),
    # The wheel is built by it; tests of the nodes, the pages and the examples make them again.
    Row(r"python -m hatchling build", not_run),
    Row(r"python -m tools\.(build_docs|build_examples|take_pictures)", not_run),
    Row(r"curl -sSN? -H .* \S*\$ADMIN/.*", not_run),  # test_admin_page.py
    *(x._replace(pattern=f"xai-mcp-agent {x.pattern}") for x in _OURS),
]


def row_of(command: str) -> Row | None:
    """Return the first row that fits a command."""
    return next((x for x in COMMANDS if re.fullmatch(x.pattern, command)), None)


@pytest.fixture(scope="module")
def newcomer(
    installed: Environment, clone: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Reader:
    """A reader with an empty folder, who has installed the package, and also has a clone."""
    for stamp in (".package-installed", ".tools-installed"):
        (clone.root / stamp).touch()
    return Reader(installed, tmp_path_factory.mktemp("work"), clone, cli=None)  # pyright: ignore


@pytest.fixture
def reader(newcomer: Reader, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """The newcomer, whose commands run in this process."""
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(newcomer.installed.root))
    monkeypatch.setattr(sys, "executable", warm_python())
    newcomer.cli = Cli(capsys)
    return newcomer


BLOCKS = [x for page in PAGES for x in blocks_of(page) if x.language == "sh"]
"""Every block of commands of every page; the README, which makes the folder, is first."""
LINES = [line for block in BLOCKS for line in block.text.splitlines()]
CODES = [code for page in PAGES for code in codes_of(page)]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_commands_of_a_page_do_what_it_says(block: Block, reader: Reader):
    for line in block.text.splitlines():
        reader.type(line)


def test_every_block_has_a_language():
    """A block without a language would escape the tests of commands and settings."""
    blocks = [x for page in PAGES for x in blocks_of(page)]
    assert [str(x) for x in blocks if x.language not in LANGUAGES] == []


def test_an_unknown_command_has_no_row():
    assert row_of("xai-mcp-agent call units list_units") is not None
    assert row_of("xai-mcp-agent dance") is None


GROUPS = {x.name: x.typer_instance for x in app.registered_groups}
BELOW = [f"{name} {x.name}" for name, y in GROUPS.items() if y for x in y.registered_commands]
"""Commands of two words, such as `history prune`."""


def mentioned() -> dict[str, set[str]]:
    """Return our commands on the pages, each with its options."""
    commands: dict[str, set[str]] = {}
    below = "|".join(BELOW)
    for line in [*LINES, *CODES]:
        for command, rest in re.findall(rf"^xai-mcp-agent ({below}|[a-z][a-z-]*)(.*)", line):
            commands.setdefault(command, set()).update(re.findall(r"--[a-z-]+", rest))
    return commands


def test_every_mentioned_command_has_help_with_its_options(capsys: Any):
    for command, options in mentioned().items():
        with pytest.raises(SystemExit) as exit_info:
            run([*command.split(), "--help"])
        output = capsys.readouterr().out
        assert exit_info.value.code == 0
        assert (command, [x for x in options if x not in output]) == (command, [])


def test_every_command_of_ours_is_mentioned():
    names = {x.name for x in app.registered_commands}
    assert {*names, *GROUPS, *BELOW} == {*mentioned(), *GROUPS}


def test_every_digest_on_a_page_is_whole():
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    digests = {y for x in texts for y in re.findall(r"--digest ([0-9a-f]{6,})", x)}
    assert {len(x) for x in digests} == {32}


def test_every_mentioned_make_target_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {x for line in [*LINES, *CODES] for x in re.findall(r"^make ([a-z-]+)", line)}
    assert targets
    assert [x for x in targets if not re.search(rf"^{x}:", makefile, re.MULTILINE)] == []
