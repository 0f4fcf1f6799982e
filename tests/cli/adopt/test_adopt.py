"""`xai-mcp-agent adopt` writes beside the original and names what it cannot read."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas_file import Document, load, nodes_of
from tests.support.commands import Cli, at_terminal
from tests.support.warm_python import warm_python
from tests.support.xai_agent_workflow import xai_agent_workflow
from tools.workflows import Workflow
from xai_mcp_agent.cli.adopt.command import FileReport, Target, adopt_file
from xai_mcp_agent.cli.output import WriteFailed
from xai_mcp_agent.drawing.document import NoWorkflow

TEXT = xai_agent_workflow().text()


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return save(tmp_path, "clock")


def save(folder: Path, stem: str, text: str = TEXT) -> Path:
    file = folder / f"{stem}.xircuits"
    file.write_text(text, encoding="utf-8")
    return file


def adopt(folder: Path, workflow: Workflow | Document) -> tuple[FileReport, Document]:
    """Adopt a workflow, also one after another; return the report and the resulting document."""
    text = workflow.text() if isinstance(workflow, Workflow) else json.dumps(workflow)
    report = adopt_file(save(folder, "clock", text), Target(overwrite=True))
    return report, load(report.written or report.file)


def is_adopted(file: Path) -> bool:
    paths = [x["extras"].get("path", "") for x in nodes_of(load(file))]
    return any("xai_mcp_agent" in x for x in paths) and not any("xai_agent/" in x for x in paths)


def component(name: str) -> dict[str, Any]:
    extras = {"path": "xai_components/xai_agent/a.py"}
    return {"name": name, "extras": extras, "ports": [], "x": 0.0, "y": 0.0}


# Targets


def test_the_adopted_workflow_is_written_beside_the_original(original: Path):
    report = adopt_file(original)
    target = original.with_name("clock_adopted.xircuits")
    assert report.written == target
    assert is_adopted(target)
    assert original.read_text(encoding="utf-8") == TEXT
    before = target.stat().st_mtime_ns
    assert adopt_file(original).status == "adopted"
    assert target.stat().st_mtime_ns == before, "again it writes the same"
    assert {x.name for x in original.parent.iterdir()} == {original.name, target.name}


def test_in_place_keeps_a_backup_and_the_permissions_and_follows_a_link(original: Path):
    original.chmod(0o640)
    link = original.with_name("link.xircuits")
    link.symlink_to(original)
    report = adopt_file(link, Target(in_place=True))
    assert report.backup is not None
    assert report.backup.read_text(encoding="utf-8") == TEXT
    assert link.is_symlink()
    assert is_adopted(original)
    assert stat.S_IMODE(original.stat().st_mode) == 0o640
    again = adopt_file(original, Target(in_place=True))
    assert (again.status, again.backup) == ("nothing to do", None)


def test_an_existing_file_is_replaced_only_with_overwrite(original: Path):
    """A link in a folder of a stranger may lead anywhere: it is not followed."""
    target, elsewhere = original.with_name("clock_adopted.xircuits"), original.parent / "elsewhere"
    target.symlink_to(elsewhere)
    with pytest.raises(WriteFailed, match=r"clock_adopted\.xircuits is there .* --overwrite"):
        adopt_file(original)
    assert not elsewhere.exists()
    target.unlink()
    target.write_bytes(b"\xff\xfe")
    with pytest.raises(WriteFailed, match="--overwrite"):
        adopt_file(original)
    report = adopt_file(original, Target(overwrite=True))
    assert report.backup is not None
    assert (report.backup.read_bytes(), is_adopted(target)) == (b"\xff\xfe", True)


def test_the_new_name_is_one_that_xircuits_can_compile_and_run(tmp_path: Path):
    """The name becomes the name of a class (reference: Xircuits, section 3)."""
    for stem, adopted in {
        "my-agent": "my-agent_adopted", "my agent (2)": "my_agent__2__adopted",
        "01_first": "workflow_01_first_adopted", "\u4f60\u597d": "\u4f60\u597d_adopted",
        "x\u00b2": "x__adopted",
    }.items():  # fmt: skip
        target = adopt_file(save(tmp_path, stem)).written
        assert target == tmp_path / f"{adopted}.xircuits"
    for stem in ("async", "args", "AgentRun"):
        target = adopt_file(save(tmp_path, stem), Target(folder=tmp_path / "new" / "out")).written
        assert target == tmp_path / "new" / "out" / f"workflow_{stem}.xircuits"


def test_broken_characters_and_a_byte_order_mark_survive(original: Path):
    """A broken paste leaves half a character, which UTF-8 cannot encode."""
    text = TEXT.replace("You are a clock.", "\\ud83d \u65e5\u672c \u2605")
    report = adopt_file(save(original.parent, "odd", text))
    assert report.written is not None
    labels = [x["ports"][0]["label"] for x in nodes_of(load(report.written)) if x["ports"]]
    assert any(x.startswith("\ud83d \u65e5\u672c \u2605") for x in labels)
    original.write_text(TEXT, encoding="utf-8-sig")
    assert adopt_file(original).status == "adopted", "with a byte order mark"


# Unreadable and unwritable files

LAYERS = '{"layers": [{"type": "diagram-links", "models": {}}, %s]}'
NODES = '{"type": "diagram-nodes", "models": %s}'
UNREADABLE = {
    "a script": ("import sys", "is not JSON: Expecting value: line 1 column 1"),
    "cut": (TEXT[:500], "line "),
    "a notebook": ('{"cells": []}', "layers: Field required"),
    "two layers": (LAYERS % ", ".join([NODES % "{}"] * 2), "layers: Tuple should have at most 2"),
    "a node without a name": (LAYERS % (NODES % '{"a1": {}}'), "models.a1.name: Field required"),
    "very deep": ("[" * 100_000, "is not JSON: maximum recursion depth"),
}


def test_a_file_that_is_not_a_workflow_is_refused_with_the_place_of_the_fault(tmp_path: Path):
    for text, says in UNREADABLE.values():
        with pytest.raises(NoWorkflow) as error:
            adopt_file(save(tmp_path, "bad", text))
        assert str(tmp_path / "bad.xircuits") in str(error.value)
        assert says in str(error.value)
        assert "Name the .xircuits file" in str(error.value)
    (tmp_path / "photo.xircuits").write_bytes(b"\x89PNG\xff")
    (tmp_path / "circle.xircuits").symlink_to(tmp_path / "circle.xircuits")
    (tmp_path / "lost.xircuits").symlink_to(tmp_path / "gone.xircuits")
    for name, says in {
        "": "cannot be read: it is not a file",
        "lost.xircuits": r"lost\.xircuits cannot be read: No such file",
        "circle.xircuits": r"circle\.xircuits cannot be read",
        "photo.xircuits": "is not JSON: 'utf-8' codec",
    }.items():
        with pytest.raises(NoWorkflow, match=says):
            adopt_file(tmp_path / name)


def test_a_file_that_cannot_be_written_is_named_and_stays_as_it_is(
    original: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing(errno.EROFS))
        with pytest.raises(WriteFailed, match=r"cannot be written: Read-only file system"):
            adopt_file(original, Target(in_place=True))
    assert {x.read_text() for x in original.parent.iterdir()} == {TEXT}
    assert adopt_file(original, Target(in_place=True)).status == "adopted"


def failing(number: int) -> Any:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    return fails


STOPPED = """
import os, sys
from pathlib import Path
from xai_mcp_agent.cli.adopt.command import Target, adopt_file
moves, file = int(sys.argv[1]), sys.argv[2]
real = os.replace
def stops(*words, **more):
    global moves
    if not moves:
        os._exit(9)
    moves -= 1
    return real(*words, **more)
os.replace = stops
adopt_file(Path(file), Target(in_place=True))
"""


@pytest.mark.parametrize("moves", [0, 1])
def test_a_power_failure_leaves_the_old_file_and_a_whole_backup(moves: int, original: Path):
    words = (warm_python(), "-c", STOPPED, str(moves), str(original))
    process = subprocess.run(words, timeout=60)
    assert process.returncode == 9
    assert original.read_text() == TEXT
    assert all(x.read_text() == TEXT for x in original.parent.glob("*.bak"))
    assert adopt_file(original, Target(in_place=True)).status == "adopted"


# The command


def test_the_command_reports_its_work_and_the_next_steps_in_eighty_columns(
    original: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(original.parent)
    lines = at_terminal(monkeypatch, "adopt clock.xircuits").lines()
    assert lines[:3] == [
        "clock.xircuits",
        "  6 nodes now come from xai_mcp_agent: AgentDefineTool, AgentInit,",
        "    AgentMakeToolbelt, AgentNumpyMemory, AgentRun, AgentToolOutput.",
    ]
    assert "  Written: clock_adopted.xircuits" in lines
    assert "environment variable OPENAI_API_KEY" in " ".join(lines)
    assert lines[-1] == "  xircuits compile clock_adopted.xircuits clock_adopted.py"
    assert max(map(len, lines)) <= 80
    out = cli("adopt clock_adopted.xircuits").out
    assert out == "clock_adopted.xircuits\n  Nothing to do: it has no node of xai-agent.\n"
    cli("adopt clock.xircuits --in-place --output x").fails("--in-place", status=2)
    (original.parent / "taken").touch()
    cli("adopt clock.xircuits --output taken").fails("taken/clock.xircuits cannot be written")


def test_a_bad_file_does_not_stop_the_others(original: Path, cli: Cli):
    bad = save(original.parent, "bad", "{")
    status, _, err = cli("adopt", str(bad), str(original))
    assert status == 1
    assert err.startswith(f"error: {bad} is no workflow of Xircuits: it is not JSON: Expecting")
    target = original.with_name("clock_adopted.xircuits")
    assert is_adopted(target)
    ran = cli("adopt", str(original), str(bad), "--json")
    good, failed = ran.json["files"]
    assert (ran.status, ran.err) == (1, "")
    assert (good["status"], good["written"]) == ("adopted", str(target))
    assert {x["node"] for x in good["adopted"]} >= {"AgentInit", "AgentRun"}
    assert good["remarks"][0]["node"] == "OpenAIAuthorize"
    assert good["remarks"][0]["to_do"]
    assert (failed["status"], "not JSON" in failed["error"]) == ("failed", True)


def test_nodes_with_hostile_names_are_reported_safely(tmp_path: Path, cli: Cli):
    """A workflow may come from a stranger; control codes move the cursor and hide lines."""

    def adopt(*nodes: dict[str, Any]) -> tuple[int, str]:
        models = json.dumps({str(n): x for n, x in enumerate(nodes)})
        ran = cli("adopt", str(save(tmp_path, "odd", LAYERS % (NODES % models))))
        return ran.status, ran.out

    status, out = adopt(component("AgentMeditate"))
    assert status == 1
    nothing, to_do, remark = out.splitlines()[1:]
    assert (nothing, to_do) == ("  Nothing could be adopted.", "  To do:")
    assert remark.startswith("    - AgentMeditate: there is no such node here. ")
    _, out = adopt(component("\x1b[2JAgent\n" + "x" * 100_000))
    assert ("?[2JAgent" in out, "\x1b" in out, len(out) < 1_000) == (True, False, True)
    _, out = adopt(*[component("AgentToolOutput")] * 3)
    assert "3 nodes now come from xai_mcp_agent: AgentToolOutput (3)." in out
