"""Reading of workflows: descriptions, unusable files, and changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sources.workflows.drawings import components, draw, edit, offering
from tests.support.bridges import failure_of, status_of
from tests.support.scripts import compile_workflow
from tools.workflows import Argument, Workflow
from xai_mcp_agent import Bridge, SourceFailed
from xai_mcp_agent.sources.workflows.source import CHAIN_VARIABLE, DEPTH_VARIABLE

ECHO = "result = [value, more, number]"


def failure_in(file: Path, **entry: Any) -> SourceFailed:
    with offering(file, **entry) as bridge:
        return failure_of(bridge)


# Described


def test_a_workflow_is_described_by_its_arguments_and_comments(tmp_path: Path):
    file = draw(
        tmp_path, ECHO, name="Report_of_a_city",
        value=Argument("city"), more=Argument("detail", "any"), number=Argument("days", "int"),
        notes={
            "1. Look": "Not about the tool.",
            "description": "Reports on a city.\n- days (default: 3): How many.\nUse it daily.",
            "city": "Its name, in English.",
            "Ports": "detail (optional): whatever is known already",
        },
    )  # fmt: skip
    with offering(file) as bridge:
        (tool,) = bridge.list_tools("it")
        status = status_of(bridge, "it")
        result = bridge.call_tool("it", "Report_of_a_city", {"city": "Ulm"})
    assert tool.name == "Report_of_a_city"
    assert tool.description == "Reports on a city.\nUse it daily."
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Its name, in English."},
            "days": {"type": "integer", "description": "How many.", "default": 3},
            "detail": {"description": "whatever is known already"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert (status.kind, status.transport, status.server) == (
        "workflow", "process", "Report_of_a_city.xircuits",
    )  # fmt: skip
    assert result.structured == ["Ulm", None, 3]


def test_the_entry_may_describe_it_and_give_what_no_model_is_asked_for(tmp_path: Path):
    file = draw(tmp_path, ECHO, value=Argument("a", "any"), more=Argument("b", "boolean"))
    entry = {"description": "Mine.", "arguments": {"a": {"x": [1]}, "c": 1}}
    with offering(file, **entry) as bridge:
        (tool,) = bridge.list_tools("it")
        assert bridge.call_tool("it", "job", {"b": True}).structured == [{"x": [1]}, True, None]
        notes = status_of(bridge, "it").notes
    assert (tool.description, [*tool.input_schema["properties"]]) == ("Mine.", ["b"])
    assert notes == ("`arguments` names 'c', which the workflow does not have.",)


@pytest.mark.parametrize("name", ["01_first", "async", "Do", "ünï two"])
def test_a_workflow_file_may_have_any_name(tmp_path: Path, name: str):
    """Xircuits' compiler makes a class of the name; these names are no identifiers."""
    file = draw(tmp_path, ECHO).rename(tmp_path / f"{name}.xircuits")
    with offering(file) as bridge:
        (tool,) = bridge.list_tools("it")
        assert tool.name == name.replace(" ", "_")
        assert bridge.call_tool("it", tool.name, {"value": 1}).structured == [1, None, None]


# What cannot be a tool


@pytest.mark.parametrize("name", ["class", "next", "output_2", "__id__", ""])
def test_an_unusable_argument_name_is_reported(tmp_path: Path, name: str):
    file = draw(tmp_path, ECHO, value=Argument("value", "any"))
    edit(file, "Argument (any): value", f"Argument (any): {name}")
    failure = failure_in(file)
    assert f"Argument node {name!r} has a name that cannot be used" in failure.problem
    assert "letters, digits and underscores" in failure.next_step


def test_an_argument_wired_to_finish_is_reported(tmp_path: Path):
    flow = Workflow("job", components(tmp_path))
    flow.main(flow.node("Do", code=""))
    flow.outputs(Argument("value", "any"))
    failure = failure_in(flow.write(tmp_path))
    assert "'value' is wired to Finish" in failure.problem
    assert "put a node between the two" in failure.next_step


@pytest.mark.parametrize(("label", "words"), [("nothing", "NameError"), ("1 +", "SyntaxError")])
def test_a_literal_that_is_invalid_is_reported_with_its_node(
    tmp_path: Path, label: str, words: str
):
    file = draw(tmp_path, ECHO, number=471147)
    edit(file, '"471147"', json.dumps(label))
    problem = failure_in(file).problem
    assert "cannot be compiled at the node Literal Integer (wired to Do)" in problem
    assert words in problem


def test_a_literal_that_takes_for_ever_to_compile_is_given_up(tmp_path: Path):
    """The compiler evaluates literals: not in our own process."""
    file = draw(tmp_path, ECHO, number=471147)
    edit(file, '"471147"', '"9**9**9**9"')
    assert "did not end within 0.5 s" in failure_in(file, startTimeout=0.5).problem


def test_a_workflow_without_a_flow_to_finish_is_reported(tmp_path: Path):
    flow = Workflow("job", components(tmp_path))
    flow.flow(flow.start, flow.node("Do", code=""))
    flow.flow(flow.finish)  # apart, only to give it a place
    assert "no flow leads from Start to Finish" in failure_in(flow.write(tmp_path)).problem


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("job.xircuits", b"", "not an Xircuits workflow"),
        ("job.xircuits", b"[" * 100_000, "not an Xircuits workflow"),
        ("job.xircuits", b"[1]", "it has no nodes"),
        ("job.xircuits", b'{"layers": [{"type": "diagram-nodes", "models": {"a": {}}}]}',
         "it has no nodes"),
        ("job.xircuits", b"\xed\xa0\x80", "not an Xircuits workflow"),
        ("job.py", b"def f(", "is not Python"),
        ("job.py", b"print(1)", "not a compiled workflow"),
    ],
)  # fmt: skip
def test_another_file_is_reported_and_not_run(tmp_path: Path, name: str, text: bytes, words: str):
    (tmp_path / name).write_bytes(text)
    assert words in failure_in(tmp_path / name).problem


def test_a_component_that_is_not_installed_is_reported_before_any_call(tmp_path: Path):
    file = draw(tmp_path, ECHO)
    edit(file, "odd_nodes.py", "xai_components/xai_gone/nodes.py")
    failure = failure_in(file)
    assert "node Do is not installed here: there is no xai_components/xai_gone/nodes.py" in (
        failure.problem
    )
    assert "xircuits install xai_gone" in failure.next_step


def test_a_secret_is_never_asked_of_a_model(tmp_path: Path):
    """A compiled script does not mark secrets: there, the name decides."""
    ports = {"value": Argument("api_key", "secret"), "more": Argument("max_tokens", "any")}
    file = draw(tmp_path, ECHO, **ports)
    failure = failure_in(file)
    assert "'api_key' is a secret" in failure.problem
    assert '"api_key": "${API_KEY}"' in failure.next_step
    script = compile_workflow(file)
    failure = failure_in(script)
    assert "'api_key' looks like a secret" in failure.problem
    assert "use the .xircuits file" in failure.next_step
    with offering(script, arguments={"api_key": "sk-1234567"}) as bridge:
        (tool,) = bridge.list_tools("it")
        assert list(tool.input_schema["properties"]) == ["max_tokens"]


# Changed meanwhile


def test_a_changed_workflow_is_read_again(tmp_path: Path):
    """A broken change leaves the last good tool, as with files of functions."""
    file = draw(tmp_path, "result = 'before'")
    with offering(file) as bridge:
        assert bridge.call_tool("it", "job", {"value": 1}).text == "before"
        edit(file, "before", "after")
        assert bridge.call_tool("it", "job", {"value": 1}).text == "after"
        edit(file, "diagram-nodes", "nothing")
        assert bridge.call_tool("it", "job", {"value": 1}).text == "after"
        assert "it has no nodes" in status_of(bridge, "it").error


def in_another(folder: Path) -> Path:
    """A workflow with another as one of its nodes, as Xircuits saves it; only the source of the
    inner one is there."""
    inner = Workflow("inner", components(folder))
    node = inner.node("Do", code="result = 'inner'", value=Argument("text", "any"))
    inner.main(node)
    inner.outputs(node["result"])
    inner.write(folder)
    (folder / "outer_nodes.py").write_text(
        "from inner import inner\nfrom odd_nodes import Do as Plain\n"
        "class Do(Plain):\n"
        "    def execute(self, ctx):\n"
        "        super().execute(ctx)\n"
        "        flow = inner(); flow.next = None; flow.text.value = 1; flow.do(ctx)\n"
        "        self.result.value = [flow.output.value, *self.result.value]\n",
        encoding="utf-8",
    )
    file = draw(folder, "result = [value, 'outer']")
    document = json.loads(file.read_text(encoding="utf-8"))
    nodes = document["layers"][1]["models"]
    do = next(x for x in nodes.values() if x["name"] == "Do")
    extras = {"type": "xircuits_workflow", "path": "inner.py"}
    nodes["inner"] = {**do, "id": "inner", "name": "inner", "extras": extras, "ports": []}
    do["extras"]["path"] = "outer_nodes.py"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_workflows_inside_it_are_compiled_with_it_and_their_changes_noticed(tmp_path: Path):
    file = in_another(tmp_path)
    with offering(file) as bridge:
        result = bridge.call_tool("it", "job", {"value": 1})
        assert result.structured == ["inner", 1, "outer"], result.text
        edit(tmp_path / "inner.xircuits", "result = 'inner'", "result = 'changed'")
        result = bridge.call_tool("it", "job", {"value": 1})
        assert result.structured == ["changed", 1, "outer"]
    assert not (tmp_path / "inner.py").exists()
    (tmp_path / "inner.xircuits").unlink()
    assert "the workflow in its node inner is missing" in failure_in(file).problem


# Inside each other

ITSELF = (
    "from pathlib import Path\nfrom xai_mcp_agent import Bridge\n"
    "entry = {'it': {'file': str(Path(value))}}\n"
    "with Bridge({'workflows': entry}, store='memory') as bridge:\n"
    "  result = bridge.call_tool('it', Path(value).stem, {'value': more, 'more': ''}).text\n"
)
BOTH = {"value": Argument("value", "any"), "more": Argument("more", "any")}


def test_a_workflow_that_calls_itself_is_stopped_at_once(tmp_path: Path):
    file = draw(tmp_path, ITSELF, **BOTH)
    with offering(file) as bridge:
        result = bridge.call_tool("it", "job", {"value": str(file), "more": ""})
    assert result.is_error
    assert "would run inside itself: job.xircuits > job.xircuits" in result.text
    assert "Next step: Break the cycle" in result.text


def test_three_levels_are_allowed_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = draw(tmp_path, ECHO)
    monkeypatch.setenv(CHAIN_VARIABLE, json.dumps(["a", "b"]))
    with Bridge({"workflows": {"it": {"file": str(file)}}}, store="memory") as bridge:
        assert len(bridge.list_tools("it")) == 1
    monkeypatch.setenv(CHAIN_VARIABLE, json.dumps(["a", "b", "c"]))
    assert "a > b > c > job.xircuits" in failure_in(file).problem
    monkeypatch.setenv(DEPTH_VARIABLE, "4")
    with offering(file) as bridge:
        assert len(bridge.list_tools("it")) == 1
