"""Whatever a file is and holds: it is adopted or named, soon, nothing is lost, and no key said."""

from __future__ import annotations

import copy
import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.adopt.test_adopt import TEXT, command, is_adopted, named
from tests.support.canvas_file import Document, links_of, load, nodes_of
from tests.support.old_workflows.drawn import SHAPES
from tests.support.xai_agent_workflow import upstream_components, xai_agent_workflow
from tools.workflows import Shown, Workflow
from xai_mcp_agent.cli.adopt.command import Target, adopt_file
from xai_mcp_agent.cli.adopt.workflow import WorkflowFileError

KEY = "sk-proj-0815abcdefghijklmnopqrstuvwxyz0815"
SMALL = ("agent_template", "demo_of_a_talk", "gradio_agent", "robot_agent", "with_routes")
DOCUMENTS = {name: SHAPES[name].document() for name in SMALL}
ODD: list[Any] = [
    None, 3, -1.5, "", True, [], {}, [None], {"a": 1}, "\ud800", 10**400, ["gone"], "parameter-",
    "in-0", "\u2605", "Literal String", "AgentInit", "DictGetItem",
]  # fmt: skip


# What it holds


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if len(path) > 3:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))
        else:
            yield (*path, key)


def edited(document: Document, path: tuple[Any, ...], value: Any, *, is_gone: bool) -> Document:
    changed = inner = copy.deepcopy(document)
    for key in path[:-1]:
        inner = inner[key]
    if is_gone:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_broken_file_is_adopted_or_named(tmp_path: Path, data: st.DataObject) -> None:
    document = DOCUMENTS[data.draw(st.sampled_from(SMALL))]
    path = data.draw(st.sampled_from([x for x in places(document) if len(x) > 3]))
    odd = data.draw(st.sampled_from(ODD))
    changed = edited(document, path, odd, is_gone=data.draw(st.booleans()))
    file = named(tmp_path, "odd", json.dumps(changed))
    try:
        report = adopt_file(file, Target(overwrite=True))
    except WorkflowFileError as error:
        assert str(file) in str(error)  # noqa: PT017
        return
    assert report.written is None or adopt_file(report.written).written is None


def test_a_flow_that_leads_back_is_adopted(tmp_path: Path) -> None:
    document = xai_agent_workflow().document()
    nodes = {x["name"]: x for x in nodes_of(document)}
    back, into = nodes["GetCurrentTime"], nodes["AgentToolOutput"]
    ports = {x["name"]: x for x in back["ports"]} | {
        "end": next(x for x in into["ports"] if x["name"] == "out-0")
    }
    link = links_of(document)[0] | {
        "id": "back", "source": into["id"], "sourcePort": ports["end"]["id"],
        "target": back["id"], "targetPort": ports["in-0"]["id"],
    }  # fmt: skip
    document["layers"][0]["models"]["back"] = link
    report = adopt_file(named(tmp_path, "loop", json.dumps(document)))
    assert report.written
    assert "back" in {x["id"] for x in links_of(load(report.written))}


def many(copies: int) -> str:
    """A workflow that many agents with all that is theirs were pasted into."""
    document = xai_agent_workflow(base_url="http://127.0.0.1:9/v1").document()
    links, nodes = (x["models"] for x in document["layers"])
    text = json.dumps([links, nodes])
    ids = [*links, *nodes, *(port["id"] for x in nodes.values() for port in x["ports"])]
    for one in ids:
        text = text.replace(one, f"@-{one}")
    for number in range(copies):
        more_links, more_nodes = json.loads(text.replace("@-", f"{number}-"))
        links |= more_links
        nodes |= more_nodes
    return json.dumps(document)


def test_a_large_workflow_takes_no_longer_than_its_size(tmp_path: Path) -> None:
    """Eight times as much takes about eight times as long, and not sixty-four times."""
    files = [named(tmp_path, f"large{x}", many(x)) for x in (27, 216)]
    assert len(nodes_of(load(files[1]))) > 5_000
    limit = 24 * min(seconds(files[0]) for _ in range(3))
    assert any(seconds(files[1]) < limit for _ in range(3))


def seconds(file: Path) -> float:
    began = time.thread_time()
    assert adopt_file(file, Target(overwrite=True)).status == "adopted"
    return time.thread_time() - began


# Keys


def with_keys() -> Workflow:
    """Keys where they belong, and where somebody wired them by mistake."""
    flow = Workflow("keys", upstream_components())
    access = flow.node("OpenAIAuthorize", organization=Shown(KEY), base_url=Shown(KEY))
    memory, belt = flow.node("AgentNumpyMemory"), flow.node("AgentMakeToolbelt", name=KEY)
    agent = flow.node(
        "AgentInit", agent_name=KEY, agent_provider=KEY[:20], agent_model=KEY,
        agent_memory=memory["memory"], system_prompt=f"{{{{{KEY}\nTOOL: {KEY}", max_thoughts=1,
        toolbelt_spec=belt["toolbelt_spec"],
    )  # fmt: skip
    flow.main(access, memory, belt, agent)
    tool = flow.node("AgentDefineTool", tool_name=KEY, description=KEY)
    found = flow.node("DictGetItem", the_dict=tool["tool_args"], key=KEY)
    code = flow.node("Print", msg=f"ctx['agent_{KEY}'] {KEY}")
    flow.side(tool, found, code, flow.node("AgentToolOutput", results=[found["out_item"]]))
    return flow


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "json"])
def test_no_key_is_reported(
    tmp_path: Path, capsys: Any, caplog: pytest.LogCaptureFixture, words: list[str]
) -> None:
    file = named(tmp_path, "keys", with_keys().text())
    for _ in range(2):
        status, out, err = command(capsys, str(file), *words)
        assert (status, err) == (0, "")
        assert "Literal String" in out
        assert "0815" not in out
        assert KEY[:20] not in out
    cut_off = named(tmp_path, "cut", with_keys().text()[:-4_000])
    status, out, err = command(capsys, str(cut_off), *words)
    assert status == 1
    assert "0815" not in out + err + caplog.text


# What it is


def test_a_link_in_a_circle_and_one_to_nothing_are_named(tmp_path: Path) -> None:
    (tmp_path / "circle.xircuits").symlink_to(tmp_path / "circle.xircuits")
    (tmp_path / "lost.xircuits").symlink_to(tmp_path / "gone.xircuits")
    with pytest.raises(WorkflowFileError, match=r"circle\.xircuits cannot be read"):
        adopt_file(tmp_path / "circle.xircuits")
    with pytest.raises(WorkflowFileError, match=r"There is no file .*lost\.xircuits"):
        adopt_file(tmp_path / "lost.xircuits")


def test_a_link_where_it_goes_is_not_followed(tmp_path: Path) -> None:
    """A folder of a stranger may have one that leads anywhere."""
    file = named(tmp_path, "clock")
    file.with_name("clock_adopted.xircuits").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkflowFileError, match="exists already"):
        adopt_file(file)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("step", ["fsync", "replace", "open"])
def test_a_file_or_folder_that_cannot_be_written_is_named_and_stays(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever step fails: a full disk, a folder that is only to be read."""
    file = named(tmp_path, "clock")
    real = getattr(os, step)

    def fails(*given: Any, **more: Any) -> Any:
        if step == "open" and not given[1] & os.O_CREAT:
            return real(*given, **more)
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fails)
        with pytest.raises(WorkflowFileError, match=r"cannot be written: Read-only file system"):
            adopt_file(file, Target(in_place=True))
    assert {x.read_text() for x in tmp_path.iterdir()} == {TEXT}
    assert adopt_file(file, Target(in_place=True)).status == "adopted"


STOPPED = """
import os, sys
from pathlib import Path
from xai_mcp_agent.cli.adopt.command import Target, adopt_file
step, when, file = sys.argv[1:]
real = getattr(os, step)
def stops(*given, **more):
    result = real(*given, **more) if when == "after" else None
    os._exit(9)
setattr(os, step, stops)
adopt_file(Path(file), Target(in_place=True))
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["link", "fsync", "replace"])
def test_after_a_power_failure_there_is_the_old_file_or_the_new_one(
    step: str, when: str, tmp_path: Path
) -> None:
    file = named(tmp_path, "clock")
    done = subprocess.run([sys.executable, "-c", STOPPED, step, when, str(file)], timeout=60)
    assert done.returncode == 9
    assert file.read_text() == TEXT or is_adopted(file)
    kept = list(tmp_path.glob("*.bak"))
    assert all(x.read_text() == TEXT for x in kept)
    assert kept or not is_adopted(file)
    assert adopt_file(file, Target(in_place=True)).status in ("adopted", "nothing to do")
    assert is_adopted(file)


def test_a_backup_is_a_copy_where_files_cannot_have_two_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = named(tmp_path, "clock")
    file.chmod(0o640)

    def fails(*_: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", fails)
    backup = adopt_file(file, Target(in_place=True)).backup
    assert backup
    assert (backup.read_text(), backup.stat().st_mode & 0o777) == (TEXT, 0o640)
