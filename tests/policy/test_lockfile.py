"""The file of people's decisions: no decision is lost, and none is guessed."""

from __future__ import annotations

import difflib
import errno
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.warm_python import warm_python
from tests.support.watchdog import compute_within
from xai_mcp_agent import LockFailed, settings_from
from xai_mcp_agent.core.tools import ToolKey
from xai_mcp_agent.policy import lockfile
from xai_mcp_agent.policy.lock_document import DecisionLock, SourceLock, UnreadableLock, read_lock
from xai_mcp_agent.policy.lockfile import Change, LockFile, find_lock
from xai_mcp_agent.secrets.private_files import file_lock
from xai_mcp_agent.settings.load import load_settings

pytestmark = pytest.mark.anyio

ONE, TWO = "1" * 32, "2" * 32
CHILD_SECONDS = 60.0
DECIDING = """
import sys, anyio
from pathlib import Path
from xai_mcp_agent.policy.lockfile import LockFile

async def decide(file, name):
    def switch_off(lock):
        return lock.with_source("mcp:a", lock.of("mcp:a").with_enabled(tool, is_enabled=False))

    for number in range(5):
        tool = f"{name}{number}"
        await LockFile(Path(file)).change(switch_off)

anyio.run(decide, *sys.argv[1:])
"""


def off(tool: str) -> Change:
    """Return the change of a person who switches a tool off."""

    def change(lock: DecisionLock) -> DecisionLock:
        return lock.with_source("mcp:a", lock.of("mcp:a").with_enabled(tool, is_enabled=False))

    return change


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a lock file that does not exist yet."""
    return tmp_path / "mcp_tools.lock.json"


async def open_file(path: Path) -> LockFile:
    """Open the file as another process does."""
    file = LockFile(path)
    await file.read_if_changed()
    return file


def tools_off(file: LockFile) -> set[str]:
    return set(file.lock.of("mcp:a").off)


async def test_a_decision_counts_at_once_in_this_process_and_at_the_next_read_in_others(path: Path):
    """A change of the same length counts even if the file's time is set back, as by `touch -r`."""
    one, other = await open_file(path), await open_file(path)
    assert (one.trouble, path.exists()) == (None, False)
    await one.change(off("x"))
    assert (tools_off(one), tools_off(other)) == ({"x"}, set())
    version = other.version
    for _ in range(2):
        await other.read_if_changed()
        assert tools_off(other) == {"x"}
        assert other.version == version + 1
    was = path.stat()
    for name in "yx":
        path.write_text(path.read_text().replace('"y"' if name == "x" else '"x"', f'"{name}"'))
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        await other.read_if_changed()
        assert tools_off(other) == {name}


async def test_decisions_of_several_processes_at_once_are_all_kept(path: Path):
    root = Path(__file__).parents[2]
    command = [warm_python(), "-c", DECIDING, str(path)]
    children = [subprocess.Popen([*command, name], cwd=root) for name in "ab"]
    for child in children:
        assert child.wait(CHILD_SECONDS) == 0
    assert tools_off(await open_file(path)) == {f"{x}{number}" for x in "ab" for number in range(5)}
    assert sorted(os.listdir(path.parent)) == [path.name], "there is no other file"


async def test_a_damaged_file_is_reported_and_never_overwritten(path: Path):
    """Once repaired it counts again, together with the decisions made meanwhile."""
    file = LockFile(path)
    await file.change(off("x"))
    text = path.read_text()
    for data in (b"", b"<<<<<<< HEAD\n{}\n=======\n", text.encode("utf-16"), text[:-5].encode()):
        path.write_bytes(data)
        for one in (file, LockFile(path)):
            await one.read_if_changed()
            assert one.trouble is not None
            assert f"The decisions in {path}: " in str(one.trouble)
            assert "Next step: " in str(one.trouble)
        with pytest.raises(LockFailed):
            await file.change(off("y"))
        assert path.read_bytes() == data
    path.write_text(text)
    await file.read_if_changed()
    assert (file.trouble, tools_off(file)) == (None, {"x", "y"})
    await file.change(off("z"))
    assert tools_off(await open_file(path)) == {"x", "y", "z"}
    path.unlink()
    os.mkfifo(path)  # nobody writes to it
    assert (await open_file(path)).trouble is not None


async def test_a_link_is_followed_and_the_decisions_of_a_deleted_file_still_count(
    path: Path, tmp_path: Path
):
    """Projects may share a file, and a git branch without the file undoes no decision."""
    target = tmp_path / "shared" / "decisions.json"
    target.parent.mkdir()
    target.write_text("{}")
    path.symlink_to(target)
    file = await open_file(path)
    await file.change(off("x"))
    assert path.is_symlink()
    assert tools_off(await open_file(target)) == {"x"}
    path.unlink()
    await file.read_if_changed()
    assert (tools_off(file), file.is_lost) == ({"x"}, True)
    await file.change(off("y"))
    assert (tools_off(await open_file(path)), file.is_lost) == ({"x", "y"}, False)


async def test_a_decision_that_cannot_be_written_is_reported_and_counts_in_this_process(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The folder is read-only, the disk is full, or another process holds the lock."""
    monkeypatch.setattr(lockfile, "_LOCK_SECONDS", 0.1)
    await LockFile(path).change(off("x"))
    file = await open_file(path)
    with (
        file_lock(path.parent, 1.0),
        pytest.raises(LockFailed, match="another process keeps it locked"),
    ):
        await file.change(off("w"))

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as full:
        full.setattr(lockfile, "replace_file", refuse)
        with pytest.raises(LockFailed, match="counts until this process ends") as refusal:
            await file.change(off("y"))
        await file.read_if_changed()
    assert refusal.value.place == str(path)
    assert tools_off(file) >= {"x", "y"}
    assert tools_off(await open_file(path)) == {"x"}
    await file.change(off("z"))
    assert tools_off(await open_file(path)) >= {"x", "y", "z"}
    folder = path.parent / "gone"
    with pytest.raises(LockFailed, match="there is no such folder"):
        await LockFile(folder / "lock.json").change(off("x"))
    assert not folder.exists()


def test_the_file_is_beside_the_settings_unless_another_path_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    settings_file = tmp_path / "lab" / "mcp_settings.json"
    settings_file.parent.mkdir()
    settings_file.write_text("{}")
    monkeypatch.chdir(tmp_path)
    of_file, of_none = load_settings(settings_file), load_settings(environ={}, start=tmp_path)
    of_python = settings_from({})
    assert find_lock(of_file) == tmp_path / "lab" / "mcp_tools.lock.json"
    assert find_lock(of_none) == tmp_path / "mcp_tools.lock.json"
    assert find_lock(of_python) is None
    assert find_lock(of_python, "mine.json") == tmp_path / "mine.json"
    monkeypatch.setenv("XAI_MCP_LOCK", "../team.json")
    assert find_lock(of_file) == tmp_path / "lab" / "../team.json"
    assert find_lock(of_file, Path("/x/y")) == Path("/x/y")


# The text of `mcp_tools.lock.json`


WEATHER = SourceLock(
    {"forecast": ONE, "alerts": TWO}, {"forecast": "always"}, ONE, frozenset({"delete_all"})
)
LOCK = DecisionLock({"mcp:weather": WEATHER, "tools:canvas": SourceLock(off=frozenset({"shout"}))})

_names = st.text(min_size=1, max_size=5)
_digests = st.sampled_from([ONE, TWO])
_sources = st.builds(
    SourceLock,
    st.none() | st.dictionaries(_names, _digests, max_size=3),
    st.dictionaries(_names, st.just("always"), max_size=2),
    st.sampled_from(["", ONE]),
    st.frozensets(_names, max_size=3),
)


def test_the_text_is_sorted_with_one_line_for_each_decision():
    """A diff in git then shows one line for each decision."""
    text = LOCK.as_text()
    assert json.loads(text) == {
        "version": 1,
        "sources": {
            "mcp:weather": {
                "accepted": {"alerts": TWO, "forecast": ONE}, "approved": {"forecast": "always"},
                "instructions": ONE, "off": ["delete_all"],
            },
            "tools:canvas": {"off": ["shout"]},
        },
    }  # fmt: skip
    new = WEATHER.with_accepted({"forecast": TWO})
    later = LOCK.with_source("mcp:weather", new).as_text()
    lines = difflib.ndiff(text.splitlines(), later.splitlines())
    assert [x[0] for x in lines if x[0] in "+-"] == ["-", "+"]
    assert text.endswith("}\n")
    assert text.isascii()


@settings(max_examples=40)
@given(st.dictionaries(_names.map("mcp:{}".format), _sources, max_size=3))
def test_a_lock_is_read_as_it_was_written(sources: dict[str, SourceLock]):
    lock = DecisionLock(sources)
    again = read_lock(lock.as_text())
    assert again == lock
    assert again.as_text() == lock.as_text()
    for text in ("{}", '{"version": 1}', '{"sources": {}}', ' {"sources":{}}\r\n'):
        assert read_lock(text) == DecisionLock(), "nothing was decided"


def of_source(**value: Any) -> str:
    """Return the text of a lock file about one source."""
    return json.dumps({"sources": {"mcp:a": value}})


MERGE = '{\n<<<<<<< HEAD\n "version": 1\n=======\n "version": 1,\n>>>>>>> other\n}'


def test_a_mistake_anywhere_makes_all_of_the_file_unreadable():
    """An ignored part could be the one that switches a tool off."""
    rows: list[tuple[str, str]] = [
        ("", "it is empty"),
        (LOCK.as_text()[:-30], "it is not JSON: Expecting"),
        (MERGE, "line 2 is a mark of an unresolved git merge"),
        ("[]", "it must be an object"),
        ('{"version": 2}', "it has version 2"),
        ('{"sources": []}', "`sources` must be an object"),
        (of_source(accepted=[ONE]), '`sources["mcp:a"].accepted` must be an object'),
        (of_source(accepted={"x": ONE[:-1]}), ".accepted.x` must match pattern"),
        (of_source(approved={"x": True}), ".approved.x` must be a valid string"),
        (of_source(instructions=True), ".instructions` must be a valid string"),
        (of_source(off="x"), ".off` must be a valid array"),
        (of_source(of=["x"]), '`sources["mcp:a"].of` is unknown'),
        ('{"sources": {"MCP:a": {"off": ["x"]}}}', "must match pattern '(?s)^(mcp|"),
        ('{"sources": {"a": {"off": ["x"]}, "a": {}}}', 'the key "a" is there twice'),
        ("[" * 100_000, "it is not JSON"),
    ]
    for text, says in rows:
        with pytest.raises(UnreadableLock) as refusal:
            read_lock(text)
        assert says in str(refusal.value)
    many = ", ".join(f'"tool_{number}": "{ONE}"' for number in range(100_000))
    text = f'{{"sources": {{"mcp:a": {{"accepted": {{{many}, "tool_99999": "{TWO}"}}}}}}}}'
    with pytest.raises(UnreadableLock, match='"tool_99999" is there twice'):
        compute_within(10, lambda: read_lock(text))


def test_a_name_that_looks_like_one_that_is_off_is_off():
    """Look-alikes in Unicode do not get around it, in a listing or in the file."""
    source = SourceLock(off=frozenset({"delete_all"}))
    alike = ["delete_all", "delete-all", "Delete.All", "d\u0435lete_all", "delete\u200b_all"]
    assert [source.is_off(x) for x in alike] == [True] * len(alike)
    assert not source.is_off("delete_some")
    assert source.with_enabled("delete-all", is_enabled=True).off == frozenset()
    for name in ("pay\u200b", "p\u0430y", "P\u0391Y", "\uff50\uff41\uff59", "pa\u0301y", "-pay-"):
        assert read_lock(of_source(off=["pay"], accepted={})).of("mcp:a").is_off(name), ascii(name)
        assert read_lock(of_source(off=[name])).of("mcp:a").is_off("pay"), ascii(name)
    lock = read_lock(json.dumps({"sources": {"mcp:Shop": {"off": ["pay"]}, "mcp:shop": {}}}))
    assert lock.is_off(ToolKey("mcp", "Shop", "pay"))
    assert not lock.is_off(ToolKey("mcp", "shop", "pay"))


def test_a_name_that_looks_like_an_accepted_one_is_recognised():
    source = SourceLock({"pay": ONE})
    names = ("p\u0430y", "PAY", "pay", "play")
    assert [source.looks_like(x) for x in names] == ["pay", "pay", "", ""]
