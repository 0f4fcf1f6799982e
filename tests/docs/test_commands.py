"""Does what the pages tell a reader to type, word for word, in the order of the page.

Each line of a `sh` block must be known to `COMMANDS`: a new kind of command has to be taught to
it, or the test fails. A few are not run as they stand; the table says how and why.

Our command and the reader's scripts, and servers they start, run in a warm Python of the reader's
environment, but for those that start for the first time; `xircuits`, `pip` and `make` do not.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from os import killpg
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import Environment
from tests.support.pages import PAGES, ROOT, Block, blocks_of, codes_of
from tests.support.processes import free_port, wait_until
from tests.support.warm_python import warmed
from tools.workflows import Workflow
from xai_mcp_agent.cli.main import app, run

LANGUAGES = {"sh", "json", "jsonl", "python", "text", "plan", "yaml"}
# What would let a person's own settings decide about a test.
FOREIGN = ("XAI_MCP_SETTINGS", "OPENAI_API_KEY", "OPENAI_BASE_URL", "XIRCUITS_COMPONENTS_DIR")
_START_SECONDS = 60.0  # JupyterLab on a busy machine
_END_SECONDS = 30.0
_COMMAND = """\
#!/bin/sh
exec {python} {root}/bin/xai-mcp-agent "$@"
"""


@dataclass
class Reader:
    """Somebody who follows the pages: where they are, and the environments they have."""

    installed: Environment
    folder: Path
    checkout: Path
    own: Environment
    wheels: Path
    warm: Path
    done: dict[str, str] = field(default_factory=dict[str, str])

    def type(self, line: str) -> str:
        """Do what one line of a page says, once; what was printed."""
        command = re.sub(r"\s+# .*", "", line).strip()
        if command not in self.done:
            self.done[command] = how_to(command)(self, command)
        return self.done[command]

    def in_folder(self, command: str) -> str:
        """As it stands, in the reader's folder."""
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        return self.installed.run(self.folder, "bash", "-c", command, **offline)

    def warmly(self, command: str) -> str:
        """As it stands, by a Python of the reader's environment that has the libraries loaded."""
        path = f"{self.warm}{os.pathsep}{self.installed.variables()['PATH']}"
        return self.installed.run(self.folder, "bash", "-c", command, PATH=path)

    def in_checkout(self, command: str, **variables: str) -> str:
        """As it stands, in a clone that is set up."""
        return self.own.run(self.checkout, "bash", "-c", command, **variables)


Do = Callable[[Reader, str], str]


def as_it_stands(reader: Reader, command: str) -> str:
    """Type just that."""
    return reader.in_folder(command)


def warmly(reader: Reader, command: str) -> str:
    """Type just that: what is installed starts by another command, or did so before."""
    return reader.warmly(command)


def change_folder(reader: Reader, command: str) -> str:
    """Go where it says; the shell of each line is another one."""
    reader.folder = reader.folder / command.removeprefix("cd ")
    assert reader.folder.is_dir()
    return ""


def start_the_lab(reader: Reader, command: str) -> str:
    """With what a machine without a screen needs; ended once it answers."""
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


def compile_the_drawn_one(reader: Reader, command: str) -> str:
    """What the steps above it draw with the mouse is put there first."""
    my_agent().write(reader.folder)
    return reader.in_folder(command)


def my_agent() -> Workflow:
    """The workflow of the README's five steps."""
    flow = Workflow("my_agent")
    server = flow.node("AgentUseMCPTools", server_name="library")
    belt = flow.node("AgentMakeToolbelt")
    agent = flow.node("AgentInit", agent_name="helper", toolbelt_spec=belt["toolbelt_spec"])
    question = "Which books do you have about the sea?"
    flow.main(
        server, belt, agent, flow.node("AgentRun", agent_name="helper", conversation=question)
    )
    return flow


def in_the_checkout(reader: Reader, command: str) -> str:
    """Type just that in a clone; it is set up already, because that needs the network."""
    return reader.in_checkout(command)


def one_fast_file(reader: Reader, command: str) -> str:
    """Only one file, in one process: this test is one of those that it would run."""
    return reader.in_checkout(command, ARGS="-q -n 0 tests/core/test_names.py")


def look_only(reader: Reader, command: str) -> str:
    """Say what it would do: it takes minutes, or does not end, and is used every day."""
    return reader.in_checkout(command.replace("make", "make --dry-run", 1))


def only_its_help(reader: Reader, command: str) -> str:
    """Nothing: it needs a person, a registry, or what is not there. Below its help is read."""
    return ""


def with_unmet_goals(reader: Reader, command: str) -> str:
    """An untouched lesson is not done, and the exit status says so."""
    return reader.warmly(f"{command}; test $? = 1")


def unattended(reader: Reader, command: str) -> str:
    """Where nobody can be asked nothing is accepted, and the exit status says so."""
    return reader.warmly(f"{command} 2>&1; test $? = 1")


def elsewhere(reader: Reader, command: str) -> str:
    """Nothing: tests/docs/test_admin_page.py does it, where something answers."""
    return ""


def load_only(reader: Reader, command: str) -> str:
    """Load it: it needs a browser, and makes other pictures each time."""
    return reader.in_checkout(command.replace("python -m", "python -c 'import", 1) + "'")


@dataclass(frozen=True)
class Known:
    """A kind of command: what it looks like, how it is done, what is then to be seen."""

    pattern: str
    do: Do
    shows: str = ""


COMMANDS = [
    Known(r"make demo", in_the_checkout, "Finished Executing"),
    Known(r"make test", one_fast_file, " passed"),
    Known(
        r"make (check|performance|lab|walk|(bench(-smoke|-peers)?|soak|conformance)( ARGS=.*)?)",
        look_only,
    ),
    Known(r"make (newcomer|lessons|newest-lab)", look_only),
    Known(r"make bench-planning DATA=folder SCORER=file( ARGS=.*)?", look_only),
    Known(r"make bench-search DATA=folder SCORER=file( EMBED=folder)?( ARGS=.*)?", look_only),
    Known(r"python -m tools\.build_(docs|examples)", in_the_checkout),
    Known(r"python -m tools\.take_pictures", load_only),
    Known(r"python -m hatchling build", in_the_checkout),
    Known(r'pip install "xai-mcp-agent\[lab\]"', as_it_stands, "already satisfied: xai-mcp-agent"),
    Known(r"xai-mcp-agent init --workshop learner", warmly, "workshop/README.md"),
    Known(r"xai-mcp-agent workshop check learner 1", with_unmet_goals, "(not begun)"),
    Known(r"xai-mcp-agent workshop solution 1 learner", warmly, "_solution.xircuits"),
    Known(r"xai-mcp-agent workshop reset 1 learner", warmly, "is as it was"),
    Known(r"xai-mcp-agent init my-agents", as_it_stands, "xircuits start"),
    Known(r"cd my-agents", change_folder),
    Known(r"xircuits start", start_the_lab, "AgentUseMCPTools"),
    Known(r"xircuits compile my_agent\.xircuits my_agent\.py", compile_the_drawn_one),
    Known(r"python my_agent\.py", warmly, "library_search_books"),
    Known(r"xai-mcp-agent log(in|out) notes", only_its_help),
    Known(r"xai-mcp-agent servers (add|remove) .*", only_its_help),
    Known(r"xai-mcp-agent serve .*", only_its_help),
    Known(r"xai-mcp-agent servers discover --take NAME", only_its_help),
    Known(r"xai-mcp-agent servers discover", warmly),
    Known(r"xai-mcp-agent trust", warmly, "your agreement"),
    Known(r"xai-mcp-agent ask \"Convert 5 miles to kilometres\"", warmly, "8.04672"),
    Known(r"xai-mcp-agent tools list \"npx -y .*\"", only_its_help),
    Known(r"xai-mcp-agent call server\.py add a=2 b=3", only_its_help),
    Known(r"xai-mcp-agent ask \".*\" --server https://example.org/mcp", only_its_help),
    Known(r"xai-mcp-agent servers check", warmly, "library: ready"),
    Known(r"xai-mcp-agent servers list", warmly, "library: mcp, enabled"),
    Known(r"xai-mcp-agent tools list( library)?( --all| --as-list)?", warmly, "search_books"),
    Known(r"xai-mcp-agent tools list --named .*", warmly, "search_books"),
    Known(r"xai-mcp-agent tools explain units convert_units", warmly, "convert_units("),
    Known(
        r"xai-mcp-agent tools explain library borrow_book --request \".*\"",
        warmly,
        "A search for this",
    ),
    Known(
        r"xai-mcp-agent tools suggest library/search_books --request \".*\"", warmly, "borrow_book"
    ),
    Known(r"xai-mcp-agent plan check my_agent_drawn\.xircuits", only_its_help),
    Known(r"xai-mcp-agent search \".*\"", warmly, "kilometres_to_miles("),
    Known(
        r"xai-mcp-agent plan make \".*\"( --server units --out plan\.json)?",
        warmly,
        "A rough plan for",
    ),
    Known(r"xai-mcp-agent tools select \".*\" --budget \d+", warmly, "tools shown"),
    Known(r"xai-mcp-agent tools list library --at 2h", warmly, "As of 20"),
    Known(
        r"xai-mcp-agent tools usage( library search_books --toolbelt default)?", warmly, "emember"
    ),
    Known(r"xai-mcp-agent tools usage( library)? --forget", warmly),
    Known(r"xai-mcp-agent history show( --(since|server|tool|limit) \S+)*", warmly, "library"),
    Known(r"xai-mcp-agent history show --all", warmly, "library"),
    Known(r"xai-mcp-agent history show --(failed|agent) .*", only_its_help),
    Known(r"xai-mcp-agent history show --follow", only_its_help),
    Known(r"xai-mcp-agent history prune( --(dry-run|older-than \d+))*", warmly, "Nothing exceeds"),
    Known(r"xai-mcp-agent tools refresh( library)?( --force)?", warmly, "library: "),
    Known(
        r"xai-mcp-agent history diff( library)?( search_books)?( --(from|to) \S+)*",
        warmly,
        "library",
    ),
    Known(r"xai-mcp-agent history stats( --(since|sort) \S+)*", warmly, "library"),
    Known(r"xai-mcp-agent history graph", warmly, "flowchart"),
    Known(r"xai-mcp-agent history graph --out tools\.html", warmly, "Written: tools.html"),
    Known(r"xai-mcp-agent history graph --format json --at 2026-11-17", warmly, "nodes"),
    Known(
        r"xai-mcp-agent history graph library search_books --out fits\.html",
        warmly,
        "Written: fits.html",
    ),
    Known(
        r"xai-mcp-agent tools (disable|enable) library borrow_book", warmly, "library: borrow_book"
    ),
    Known(r"xai-mcp-agent tools accept --all", warmly),
    Known(r"xai-mcp-agent rules check", warmly, "There are no rules"),
    Known(r"xai-mcp-agent rules put more_rules.yaml", only_its_help),
    Known(r"xai-mcp-agent rules list", warmly, "The store has 0 rules"),
    Known(r"xai-mcp-agent rules remove .*", only_its_help),
    Known(r"xai-mcp-agent rules why library borrow_book .*", warmly, "library/borrow_book is"),
    Known(r"xai-mcp-agent registry (sync|search \".*\"|(show|add) \S+.*)", only_its_help),
    Known(r"xai-mcp-agent tools accept library.*", unattended, "library: nothing was accepted"),
    Known(r"xai-mcp-agent tools approve library \S+", unattended, "library: nothing was approved"),
    Known(r"xai-mcp-agent tools approve --list", warmly, "Nothing is approved for good"),
    Known(r"xai-mcp-agent tools approve library \S+ --withdraw", warmly, "was not approved"),
    Known(r"xai-mcp-agent plan approve tidying\.run\.json.*", unattended, "no run waits there"),
    Known(r"xai-mcp-agent plan run plan\.json .*", warmly, "5 km = 3.106855961 mi"),
    Known(r"xai-mcp-agent call units .*", warmly, "8.04672"),
    Known(r"XAI_MCP_TRANSCRIPT=runs\.jsonl python my_agent\.py", warmly, "library_search_books"),
    Known(r"xai-mcp-agent plan draw runs\.jsonl", warmly, "Written: runs_drawn.xircuits, 1 call"),
    Known(r"curl -sSN? -H .* \S*\$ADMIN/.*", elsewhere),
    Known(r"xai-mcp-agent plan draw runs\.jsonl --list", warmly, "helper, 1 call"),
]


def known(command: str) -> Known | None:
    """What is known of a command."""
    return next((x for x in COMMANDS if re.fullmatch(x.pattern, command)), None)


def how_to(command: str) -> Do:
    """How a command is followed, and a check of what it shows."""
    found = known(command)
    assert found is not None, f"nobody has taught this test to follow: {command}"

    def do(reader: Reader, command: str) -> str:
        shown = found.do(reader, command)
        assert found.shows in shown, f"{command} shows no {found.shows!r}:\n{shown}"
        return shown

    return do


@pytest.fixture(scope="module")
def reader(
    installed: Environment,
    clone: Environment,
    wheel: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Reader]:
    """A newcomer with an empty folder, who has installed the package, and also has a clone."""
    home = tmp_path_factory.mktemp("newcomer")
    for stamp in (".package-installed", ".tools-installed"):
        (clone.root / stamp).touch()
    (home / "work").mkdir()
    warm = home / "warm"
    warm.mkdir()
    with warmed(installed.python, warm) as python:
        command = warm / "xai-mcp-agent"
        command.write_text(_COMMAND.format(python=python, root=installed.root), encoding="utf-8")
        command.chmod(0o755)
        yield Reader(installed, home / "work", clone.root.parent, clone, wheel.parent, warm)


def blocks_with_commands() -> list[Block]:
    """Every block of commands of every page; the README, which makes the folder, is first."""
    return [x for page in PAGES for x in blocks_of(page) if x.language == "sh"]


@pytest.mark.parametrize("block", blocks_with_commands(), ids=str)
def test_the_commands_of_a_page_do_what_it_says(
    block: Block, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    for line in block.text.splitlines():
        reader.type(line)


def test_what_the_pages_are_made_of_is_the_same_when_it_is_made_again(reader: Reader) -> None:
    """It was made again by the commands above."""
    for made in ("docs/nodes.md", "docs/commands.md", "examples/ex01_quickstart.xircuits"):
        assert (reader.checkout / made).read_bytes() == (ROOT / made).read_bytes()


def test_every_block_says_what_it_holds() -> None:
    """One without a language would escape the tests of commands, settings and messages."""
    blocks = [x for page in PAGES for x in blocks_of(page)]
    assert [str(x) for x in blocks if x.language not in LANGUAGES] == []


def test_a_command_that_nobody_taught_is_noticed() -> None:
    assert known("xai-mcp-agent call units list_units") is not None
    assert known("xai-mcp-agent dance") is None
    assert known("make test ARGS=-x") is None


GROUPS = {x.name: x.typer_instance for x in app.registered_groups}
BELOW = [f"{name} {x.name}" for name, y in GROUPS.items() if y for x in y.registered_commands]
"""Commands of two words, such as `history prune`."""


def mentioned() -> dict[str, set[str]]:
    """The subcommands of ours that the pages mention, each with its options."""
    lines = [line for block in blocks_with_commands() for line in block.text.splitlines()]
    found: dict[str, set[str]] = {}
    below = "|".join(BELOW)
    for line in [*lines, *(code for page in PAGES for code in codes_of(page))]:
        for command, rest in re.findall(rf"^xai-mcp-agent ({below}|[a-z][a-z-]*)(.*)", line):
            found.setdefault(command, set()).update(re.findall(r"--[a-z-]+", rest))
    return found


@pytest.mark.parametrize(("command", "options"), mentioned().items())
def test_every_command_that_is_mentioned_has_help_and_its_options(
    command: str, options: set[str], capsys: Any
) -> None:
    with pytest.raises(SystemExit) as ended:
        run([*command.split(), "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert [x for x in options if x not in shown] == []


def test_every_command_of_ours_is_mentioned() -> None:
    named = {x.name for x in app.registered_commands}
    assert {*named, *GROUPS, *BELOW} == {*mentioned(), *GROUPS}


def test_every_digest_to_be_typed_is_whole() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    digests = {y for x in texts for y in re.findall(r"--digest ([0-9a-f]{6,})", x)}
    assert {len(x) for x in digests} == {32}


def test_every_make_target_that_is_mentioned_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = [line for block in blocks_with_commands() for line in block.text.splitlines()]
    codes = [code for page in PAGES for code in codes_of(page)]
    targets = {x for line in [*lines, *codes] for x in re.findall(r"^make ([a-z-]+)", line)}
    assert targets
    assert [x for x in targets if not re.search(rf"^{x}:", makefile, re.MULTILINE)] == []
