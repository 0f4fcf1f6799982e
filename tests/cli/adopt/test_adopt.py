"""`xai-mcp-agent adopt` writes beside the original and names what it cannot read."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas_file import load, nodes_of
from tests.support.xai_agent_workflow import xai_agent_workflow
from xai_mcp_agent.cli.adopt.command import FileReport, Target, adopt_file
from xai_mcp_agent.cli.adopt.workflow import WorkflowFileError
from xai_mcp_agent.cli.main import run

TEXT = xai_agent_workflow().text()


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return named(tmp_path, "clock")


def named(folder: Path, stem: str, text: str = TEXT) -> Path:
    file = folder / f"{stem}.xircuits"
    file.write_text(text, encoding="utf-8")
    return file


def is_adopted(file: Path) -> bool:
    paths = [x["extras"].get("path", "") for x in nodes_of(load(file))]
    return any("xai_mcp_agent" in x for x in paths) and not any("xai_agent/" in x for x in paths)


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the command; its exit status, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        run(["adopt", *words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def component(name: str) -> dict[str, Any]:
    extras = {"path": "xai_components/xai_agent/a.py"}
    return {"name": name, "extras": extras, "ports": [], "x": 0.0, "y": 0.0}


# Where it goes


def test_the_original_is_kept_and_the_adopted_one_stands_beside_it(original: Path) -> None:
    report = adopt_file(original)
    assert report.written == original.with_name("clock_adopted.xircuits")
    assert is_adopted(report.written)
    assert original.read_text(encoding="utf-8") == TEXT
    assert [x.name for x in original.parent.iterdir() if x.name.startswith(".")] == []


def test_in_place_keeps_a_backup_and_the_permissions(original: Path) -> None:
    original.chmod(0o640)
    report = adopt_file(original, Target(in_place=True))
    assert report.backup is not None
    assert report.backup.read_text(encoding="utf-8") == TEXT
    assert is_adopted(original)
    assert stat.S_IMODE(original.stat().st_mode) == 0o640
    again = adopt_file(original, Target(in_place=True))
    assert (again.status, again.backup) == ("nothing to do", None)


def test_in_place_follows_a_link(tmp_path: Path, original: Path) -> None:
    link = tmp_path / "link.xircuits"
    link.symlink_to(original)
    adopt_file(link, Target(in_place=True))
    assert link.is_symlink()
    assert is_adopted(original)


def test_another_folder_gets_the_same_name_and_is_made(tmp_path: Path, original: Path) -> None:
    report = adopt_file(original, Target(folder=tmp_path / "new" / "flows"))
    assert report.written == tmp_path / "new" / "flows" / "clock.xircuits"
    assert is_adopted(report.written)


def test_a_file_that_is_there_is_replaced_only_when_told(original: Path) -> None:
    taken = named(original.parent, "clock_adopted", "mine")
    with pytest.raises(WorkflowFileError, match=r"clock_adopted\.xircuits exists .* --overwrite"):
        adopt_file(original)
    assert taken.read_text(encoding="utf-8") == "mine"
    report = adopt_file(original, Target(overwrite=True))
    assert report.backup is not None
    assert report.backup.read_text(encoding="utf-8") == "mine"
    assert is_adopted(taken)


def test_a_file_that_is_no_text_is_not_replaced_either(original: Path) -> None:
    taken = original.with_name("clock_adopted.xircuits")
    taken.write_bytes(b"\xff\xfe")
    with pytest.raises(WorkflowFileError, match="exists already"):
        adopt_file(original)


def test_adopting_twice_writes_the_same_and_is_no_error(original: Path) -> None:
    first = adopt_file(original)
    assert first.written is not None
    before = first.written.stat().st_mtime_ns
    assert adopt_file(original).status == "adopted"
    assert first.written.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("stem", "adopted"),
    [
        ("my-agent", "my-agent_adopted"),
        ("my agent (2)", "my_agent__2__adopted"),
        ("01_first", "workflow_01_first_adopted"),
        ("\u4f60\u597d", "\u4f60\u597d_adopted"),
        ("x\u00b2", "x__adopted"),
    ],
)
def test_the_new_name_is_one_that_xircuits_can_compile_and_run(
    tmp_path: Path, stem: str, adopted: str
) -> None:
    """reference: Xircuits, section 3: it becomes the name of a class."""
    report = adopt_file(named(tmp_path, stem))
    assert report.written == tmp_path / f"{adopted}.xircuits"


@pytest.mark.parametrize("stem", ["async", "args", "AgentRun", "Print"])
def test_a_name_that_could_not_be_compiled_is_not_taken_over(tmp_path: Path, stem: str) -> None:
    report = adopt_file(named(tmp_path, stem), Target(folder=tmp_path / "out"))
    assert report.written == tmp_path / "out" / f"workflow_{stem}.xircuits"


def test_odd_letters_survive(original: Path) -> None:
    """Half a character is what a broken paste leaves; UTF-8 has no place for it."""
    text = TEXT.replace("You are a clock.", "\\ud83d \u65e5\u672c \u2605")
    report = adopt_file(named(original.parent, "odd", text))
    assert report.written is not None
    labels = [x["ports"][0]["label"] for x in nodes_of(load(report.written)) if x["ports"]]
    assert any(x.startswith("\ud83d \u65e5\u672c \u2605") for x in labels)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "bom.xircuits").write_text(TEXT, encoding="utf-8-sig")
    assert adopt_file(tmp_path / "bom.xircuits").status == "adopted"


# What cannot be read

LAYERS = '{"layers": [{"type": "diagram-links", "models": {}}, %s]}'
NODES = '{"type": "diagram-nodes", "models": %s}'
UNREADABLE = {
    "empty": ("", "line 1, column 1: this is not JSON"),
    "a script": ("import sys", "line 1, column 1: this is not JSON"),
    "cut": (TEXT[:500], "line "),
    "a list": ("[]", "the whole: Input should be a valid dictionary"),
    "a notebook": ('{"cells": []}', "layers: Field required"),
    "no nodes": (LAYERS % "3", "layers.1: Input should be"),
    "two layers": (LAYERS % ", ".join([NODES % "{}"] * 2), "layers: Tuple should have at most 2"),
    "nodes in a list": (LAYERS % (NODES % "[]"), "layers.1.models: Input should be"),
    "a node that is none": (LAYERS % (NODES % '{"a1": 3}'), "layers.1.models.a1: Input should"),
    "a node without a name": (LAYERS % (NODES % '{"a1": {}}'), "models.a1.name: Field required"),
    "very deep": ("[" * 100_000, "cannot be read: maximum recursion depth"),
}


@pytest.mark.parametrize(("text", "says"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_workflow_is_named_with_the_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(WorkflowFileError) as error:
        adopt_file(named(tmp_path, "bad", text))
    assert str(tmp_path / "bad.xircuits") in str(error.value)
    assert says in str(error.value)
    assert "Name the .xircuits file" in str(error.value)


def test_a_folder_a_missing_file_and_a_binary_are_named(tmp_path: Path) -> None:
    (tmp_path / "photo.xircuits").write_bytes(b"\x89PNG\xff")
    for name, says in {
        "": "is a folder",
        "gone.xircuits": "There is no file",
        "photo.xircuits": "byte 0: this is not text",
    }.items():
        with pytest.raises(WorkflowFileError, match=says):
            adopt_file(tmp_path / name)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, original: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(WorkflowFileError, match=r"taken/clock\.xircuits cannot be written"):
        adopt_file(original, Target(folder=tmp_path / "taken"))


# The command


def test_the_command_tells_in_eighty_columns_what_it_did_and_what_to_do(
    original: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(original.parent)
    status, out, _ = command(capsys, original.name)
    lines = out.splitlines()
    assert status == 0
    assert lines[:3] == [
        "clock.xircuits",
        "  6 nodes now come from xai_mcp_agent: AgentDefineTool, AgentInit,",
        "  AgentMakeToolbelt, AgentNumpyMemory, AgentRun, AgentToolOutput.",
    ]
    assert "  Written: clock_adopted.xircuits" in lines
    assert "environment variable OPENAI_API_KEY" in out
    assert lines[-1] == "  xircuits compile clock_adopted.xircuits clock_adopted.py"
    assert max(map(len, lines)) <= 80


def test_a_bad_file_does_not_stop_the_others(original: Path, capsys: Any) -> None:
    bad = named(original.parent, "bad", "{")
    status, _, err = command(capsys, str(bad), str(original))
    assert status == 1
    assert err.startswith(f"error: {bad}, line 1, column 2: this is not JSON")
    assert is_adopted(original.with_name("clock_adopted.xircuits"))


def test_a_file_that_is_adopted_already_has_nothing_to_do(original: Path, capsys: Any) -> None:
    adopted = adopt_file(original).written
    status, out, _ = command(capsys, str(adopted))
    assert status == 0
    assert out == f"{adopted}\n  Nothing to do: it has no node of xai-agent.\n"
    assert len(list(original.parent.iterdir())) == 2


def test_the_command_reports_as_json(original: Path, capsys: Any) -> None:
    bad = named(original.parent, "bad", "{")
    status, out, err = command(capsys, str(original), str(bad), "--json")
    good, failed = json.loads(out)["files"]
    assert (status, err) == (1, "")
    assert good["status"] == "adopted"
    assert good["written"] == str(original.with_name("clock_adopted.xircuits"))
    assert {x["node"] for x in good["adopted"]} >= {"AgentInit", "AgentRun"}
    assert good["remarks"][0]["node"] == "OpenAIAuthorize"
    assert good["remarks"][0]["to_do"]
    assert (failed["status"], "not JSON" in failed["error"]) == ("failed", True)


def test_in_place_and_another_folder_exclude_each_other(original: Path, capsys: Any) -> None:
    status, _, err = command(capsys, str(original), "--in-place", "--output", "x")
    assert status == 2
    assert "--in-place" in err


def test_a_file_with_nothing_but_nodes_that_have_no_counterpart_says_so(
    tmp_path: Path, capsys: Any
) -> None:
    node = component("AgentMeditate")
    file = named(tmp_path, "calm", LAYERS % (NODES % json.dumps({"m": node})))
    status, out, _ = command(capsys, str(file))
    assert status == 1
    assert out.splitlines()[1:4] == [
        "  Nothing could be adopted.",
        "  To do:",
        "    - AgentMeditate: there is no such node here. It stays as it is, needs",
    ]


def test_what_a_file_says_does_not_reach_the_terminal_as_it_is(tmp_path: Path, capsys: Any) -> None:
    """A workflow may come from a stranger; control codes move the cursor and hide lines."""
    node = component("\x1b[2JAgent\n" + "x" * 100_000)
    file = named(tmp_path, "odd", LAYERS % (NODES % json.dumps({"m": node})))
    _, out, _ = command(capsys, str(file))
    assert "?[2JAgent" in out
    assert "\x1b" not in out
    assert len(out) < 1_000


def test_several_nodes_of_a_class_are_counted(tmp_path: Path, capsys: Any) -> None:
    nodes = {str(x): component("AgentToolOutput") for x in range(3)}
    file = named(tmp_path, "three", LAYERS % (NODES % json.dumps(nodes)))
    _, out, _ = command(capsys, str(file))
    assert "3 nodes now come from xai_mcp_agent: AgentToolOutput (3)." in out


def test_a_report_without_anything_to_do_is_short(tmp_path: Path) -> None:
    text = LAYERS % (NODES % "{}")
    assert adopt_file(named(tmp_path, "plain", text)) == FileReport(
        tmp_path / "plain.xircuits", "nothing to do"
    )
