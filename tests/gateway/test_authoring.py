"""The tools for an assistant that draws workflows for a person."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import Approving, FarClient, write_settings
from tests.sources.workflows.drawings import draw
from tests.support.scripts import compile_workflow
from tools.workflows import Argument
from xai_mcp_agent import ToolResult, XaiMcpError
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.core.approval import ApprovalScope

Connect = Callable[..., FarClient]
CALLS: list[dict[str, Any]] = [
    {"tool": "library/find_books", "arguments": {"subject": "the sea"}},
    {
        "tool": "library_lend",
        "arguments": {"reader": "Grace"},
        "from": {"book_id": "results[0].books[0].id"},
    },
    {
        "tool": "library/write_letter",
        "arguments": {"to": "Grace"},
        "from": {"text": '"your loan is " + results[1].loan + "."'},
    },
]


class Author:
    """An assistant that may draw workflows in a folder, and the person who approves."""

    def __init__(self, folder: Path, connect: Connect, answer: ApprovalScope = "once") -> None:
        self.person = Approving(answer)
        self.client = connect(self.person, author=folder, tools="search")

    def __call__(self, name: str, file: str, **arguments: Any) -> ToolResult:
        return self.client.call(name, file=file, **arguments)


@pytest.fixture
def lab(folder: Path) -> Path:
    """The working folder with the nodes in it."""
    init_folder(folder)
    write_settings(folder)
    return folder


@pytest.fixture
def author(lab: Path, connect: Connect) -> Author:
    return Author(lab, connect)


def test_a_workflow_of_three_calls_is_drawn_checked_run_and_compiled(lab: Path, author: Author):
    drawing = author("make_workflow", "drawn/loan.xircuits", calls=CALLS)
    assert not drawing.is_error, drawing.text
    check = author("check_workflow", "drawn/loan.xircuits")
    report = {"file": "drawn/loan.xircuits", "compiles": True, "is_right": True}
    assert (check.structured, drawing.structured) == (report, report), check.text
    result = author("run_workflow", str(lab / "drawn/loan.xircuits"))
    assert result.text == "Dear Grace, your loan is b1 to Grace."
    assert author.person.approved_tools == ["make_workflow", "run_workflow"]
    assert set(author.person.approved_tools) < set(author.client.list_tools())
    assert "MCPToolStep" in compile_workflow(lab / "drawn/loan.xircuits").read_text("utf-8")


def test_a_workflow_is_drawn_from_a_goal_with_a_list_of_missing_inputs(lab: Path, author: Author):
    drawing = author("make_workflow", "loan.xircuits", goal="Lend a book.")
    assert "2. library/lend" in drawing.text
    assert "Set subject of library/find_books in the lab." in drawing.text
    assert drawing.structured["is_right"] is False
    assert (lab / "loan.xircuits").is_file()


def test_a_workflow_is_written_after_approval_and_replaced_only_on_request(
    lab: Path, author: Author, connect: Connect
):
    file = lab / "loan.xircuits"
    with pytest.raises(XaiMcpError, match="a person was asked first, and it was not approved"):
        Author(lab, connect, "no")("make_workflow", file.name, calls=CALLS)
    assert not file.exists()
    results = [
        author("make_workflow", file.name, calls=calls, **more)
        for calls, more in ((CALLS, {}), (CALLS[:1], {}), (CALLS[:1], {"overwrite": True}))
    ]
    assert [x.is_error for x in results] == [False, True, False]
    assert "'loan.xircuits' is there already." in results[1].text
    assert "lend" not in file.read_text("utf-8")


def test_files_outside_the_folder_and_files_in_use_are_not_written(
    lab: Path, tmp_path_factory: pytest.TempPathFactory, connect: Connect
):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "mine.xircuits").write_text("mine", encoding="utf-8")
    (lab / "link").symlink_to(elsewhere)
    (lab / "linked.xircuits").symlink_to(elsewhere / "mine.xircuits")
    write_settings(lab, workflows={"served": {"file": "served.xircuits"}})
    author = Author(lab, connect)
    for file, message in (
        ("../out.xircuits", "may lead out of the workspace"),
        ("/tmp/out.xircuits", "/tmp/out.xircuits is not below the working folder"),
        ("link/out.xircuits", "a link"),
        ("linked.xircuits", "a link"),
        ("out.py", "its name must end in .xircuits"),
        ("served.xircuits", "is started by the settings"),
        ("two words.xircuits", "cannot be a Python class"),
    ):
        result = author("make_workflow", file, calls=CALLS, overwrite=True)
        assert result.is_error
        assert message in result.text, file
        for tool in ("check_workflow", "run_workflow"):
            assert author(tool, file).is_error, file
    assert [x.name for x in elsewhere.iterdir()] == ["mine.xircuits"]
    assert (elsewhere / "mine.xircuits").read_text("utf-8") == "mine"


def test_calls_that_cannot_be_drawn_are_refused_or_reported_with_the_reason(author: Author):
    lend = "library/lend"
    for call, message in (
        ({"tool": "library/len"}, "There is no tool 'library/len'. Did you mean 'library_lend'"),
        ({"tool": lend, "from": {"book_id": "the id"}}, "`from` of 'book_id': Line 1: "),
        ({"tool": lend, "from": {"book_id": "results[0]"}}, "does not come before it"),
    ):
        result = author("make_workflow", "loan.xircuits", calls=[call])
        assert result.is_error
        assert message in result.text
    drawing = author("make_workflow", "loan.xircuits", calls=[{"tool": lend}])
    assert "Call 1, library/lend: " in drawing.text
    assert "book_id" in drawing.text
    assert drawing.structured["is_right"] is False


def _remove_flow(document: Any) -> None:
    document["layers"][0]["models"].clear()


def _rename_component(document: Any) -> None:
    _node(document, "MCPToolStep")["name"] = "MCPToolStepp"


def _add_code(document: Any) -> None:
    node = _node(document, "Literal String")
    node["extras"]["type"] = "int"
    node["ports"][0]["label"] = "open('ran', 'w')"


def _hide_code(document: Any) -> None:
    """The compiler takes the first layer of this type, wherever it is."""
    _add_code(document)
    document["layers"].insert(1, {"type": "diagram-notes", "models": {}})


def _node(document: Any, name: str) -> Any:
    return next(x for x in document["layers"][1]["models"].values() if x["name"] == name)


def test_a_check_reports_problems_and_runs_nothing(lab: Path, author: Author):
    file = lab / "loan.xircuits"
    author("make_workflow", file.name, calls=CALLS[:1])
    original = file.read_text("utf-8")
    for spoil, message in (
        (_remove_flow, "Finish is not reached from Start"),
        (_rename_component, "MCPToolStepp: no such component in xai_components/"),
        (_add_code, "is Python that runs when the workflow is compiled"),
        (_hide_code, "loan.xircuits is no workflow of Xircuits"),
        (lambda x: x.pop("layers"), "loan.xircuits is no workflow of Xircuits"),
    ):
        document = json.loads(original)
        spoil(document)
        file.write_text(json.dumps(document), encoding="utf-8")
        check = author("check_workflow", file.name)
        assert message in check.text
        assert check.is_error or check.structured["is_right"] is False
    assert not (lab / "ran").exists()


def test_a_check_names_a_component_file_that_cannot_be_read(lab: Path, author: Author):
    author("make_workflow", "loan.xircuits", calls=CALLS[:1])
    document = json.loads((lab / "loan.xircuits").read_text("utf-8"))
    _node(document, "MCPToolStep")["extras"]["path"] = "xai_components/xai_mine/mine.py"
    (lab / "loan.xircuits").write_text(json.dumps(document), encoding="utf-8")
    file = lab / "xai_components" / "xai_mine" / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text("class Mine(:", encoding="utf-8")
    text = author("check_workflow", "loan.xircuits").text
    assert "xai_components/xai_mine/mine.py cannot be read: invalid syntax" in text
    assert "MCPToolStep: no such component in xai_components/xai_mine/mine.py" in text


def test_a_run_takes_arguments_and_ends_in_time(lab: Path, author: Author):
    draw(lab, "result = value * 2", name="twice", value=Argument("value", "int"))
    draw(lab, "import time; time.sleep(600)", name="slow")
    assert author("run_workflow", "twice.xircuits", arguments={"value": 21}).text == "42"
    wrong = author("run_workflow", "twice.xircuits", arguments={"valu": 21})
    assert "Wrong arguments for twice" in wrong.text
    slow = author("run_workflow", "slow.xircuits", arguments={"value": 1}, timeout_seconds=1)
    assert "did not end within 1 s" in slow.text
    missing = author("run_workflow", "twise.xircuits")
    assert missing.text.startswith("There is no twise.xircuits. Did you mean 'twice.xircuits'")
