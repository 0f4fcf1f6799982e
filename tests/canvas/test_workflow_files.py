"""The builder makes files the canvas opens, and the rules find what would break one.

Each broken file below was opened and compiled with Xircuits 1.19.2 to see what it does.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas_file import Document, fits, links_of, load, nodes_of, problems
from tests.support.layout_faults import covered
from tests.support.palette import our_palette
from tools.components import all_components
from tools.example_agents import two_servers_and_a_drawn_tool
from tools.workflows import Argument, Shown, Workflow, WorkflowError
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.drawing.components import our_components
from xai_mcp_agent.drawing.nodes import FLOW, VALUE

UNKNOWN = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def whole() -> Document:
    """A file in order."""
    return two_servers_and_a_drawn_tool().document()


def greeting(name: str = "greeting", **inputs: Any) -> Workflow:
    """The smallest workflow there is: one Print."""
    flow = Workflow(name)
    flow.main(flow.node("Print", **(inputs or {"msg": "Hello!"})))
    return flow


def node(document: Document, name: str) -> dict[str, Any]:
    return next(x for x in nodes_of(document) if x["name"] == name)


def port(document: Document, node_name: str, variable: str) -> dict[str, Any]:
    ports = node(document, node_name)["ports"]
    return next(x for x in ports if x["label"].removeprefix("\u2605") == variable)


# What the rules find


def swap_layers(document: Document) -> None:
    document["layers"].reverse()


def forget_port_order(document: Document) -> None:
    del node(document, "AgentRun")["portsInOrder"]


def paint_badly(document: Document) -> None:
    node(document, "AgentRun")["color"] = "rather blue"


def double_a_port(document: Document) -> None:
    port(document, "AgentRun", "metadata")["name"] = "in-0"


def rename_a_port(document: Document) -> None:
    port(document, "AgentRun", "conversation").update(label="question", varName="question")


def lose_a_link(document: Document) -> None:
    port(document, "AgentUseMCPTools", "server_name")["links"] = []


def lead_nowhere(document: Document) -> None:
    links_of(document)[0]["target"] = UNKNOWN


def take_the_points(document: Document) -> None:
    links_of(document)[0]["points"] = []


def mix_up_the_kinds(document: Document) -> None:
    next(x for x in links_of(document) if x["type"] == FLOW)["type"] = VALUE


def drop_a_key(document: Document) -> None:
    del port(document, "AgentRun", "conversation")["varName"]


def move_the_file(document: Document) -> None:
    node(document, "AgentRun")["extras"]["path"] = "xai_components/xai_mcp_agent/gone.py"


def write_bad_json(document: Document) -> None:
    node(document, "Literal Dict")["ports"][0]["label"] = "title: string"


def hide_a_sign(document: Document) -> None:
    node(document, "Literal String")["ports"][0]["label"] = "three \u2605"


def write_a_secret(document: Document) -> None:
    node(document, "Literal String")["extras"]["type"] = "secret"


def cut_the_flow(document: Document) -> None:
    flow = next(x for x in links_of(document) if x["target"] == node(document, "Finish")["id"])
    del document["layers"][0]["models"][flow["id"]]
    for owner in nodes_of(document):
        for one in owner["ports"]:
            one["links"] = [x for x in one["links"] if x != flow["id"]]


def start_elsewhere(document: Document) -> None:
    models = document["layers"][1]["models"]
    start = node(document, "Start")["id"]
    models[start] = models.pop(start)


BROKEN: dict[Callable[[Document], None], str] = {
    swap_layers: "links, then nodes",
    forget_port_order: "portsInOrder is not the order",
    paint_badly: "no colour 'rather blue'",
    double_a_port: "two ports in-0",
    rename_a_port: "its class has no port question",
    lose_a_link: "compulsory and not wired",
    lead_nowhere: "leads to a port that is not there",
    take_the_points: "has no points",
    mix_up_the_kinds: "is a parameter-link",
    drop_a_key: "no 'varName'",
    move_the_file: "no such component",
    write_bad_json: "is not JSON",
    hide_a_sign: "a sign that the compiler takes out",
    write_a_secret: "a secret, in clear",
    cut_the_flow: "Finish is not reached",
    start_elsewhere: "the first start is not Start",
}


@pytest.mark.parametrize(("harm", "says"), BROKEN.items(), ids=[x.__name__ for x in BROKEN])
def test_what_breaks_a_file_is_found(
    whole: Document, harm: Callable[[Document], None], says: str
) -> None:
    broken = copy.deepcopy(whole)
    harm(broken)
    found = problems(broken, "broken")
    assert any(says in text for text in found), found


def test_a_file_in_order_has_no_problems(whole: Document) -> None:
    assert problems(whole, "whole") == []


@pytest.mark.parametrize("name", ["async", "01_first", "args", "AgentRun", "two words"])
def test_a_file_name_that_cannot_be_compiled_is_found(whole: Document, name: str) -> None:
    """The name becomes a class in the script."""
    assert any("file name" in text for text in problems(whole, name))


@pytest.mark.parametrize(
    ("source", "target", "yes"),
    [
        ("string", "string", True), ("any", "dict", True), ("dict", "any", True),
        ("int", "dynalist", True), ("list", "chat", True), ("string", "secret", True),
        ("int", "float", False), ("float", "int", False), ("string", "dict", False),
    ],
)  # fmt: skip
def test_types_fit_as_the_canvas_says(source: str, target: str, yes: bool) -> None:
    assert fits(source, target) is yes


# What the builder refuses


def test_a_component_that_does_not_exist_is_refused() -> None:
    with pytest.raises(KeyError, match="no component 'AgentRan'"):
        Workflow("x").node("AgentRan")


def test_a_port_that_does_not_exist_is_refused_naming_the_existing_ones() -> None:
    with pytest.raises(KeyError, match=r"no port 'request'.*question"):
        Workflow("x").node("AgentRun", request="Hello!")


def test_a_value_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(WorkflowError, match=r"string does not fit .*max_thoughts"):
        Workflow("x").node("AgentInit", agent_name="a", max_thoughts="ten")


def test_a_key_in_a_file_is_refused() -> None:
    with pytest.raises(WorkflowError, match="a key does not belong in a file"):
        Workflow("x").node("AgentModel", api_key="sk-1")


def test_an_output_that_does_not_exist_is_refused() -> None:
    flow = Workflow("x")
    with pytest.raises(WorkflowError, match="AgentMakeToolbelt has no output 'spec'"):
        flow.node("Print", msg=flow.node("AgentMakeToolbelt")["spec"])


def test_a_line_of_a_note_that_the_canvas_would_hide_is_refused() -> None:
    with pytest.raises(WorkflowError, match="too long for a line"):
        greeting().note("Too much", "word " * 30)


# What the builder makes


def test_a_file_is_written_and_read_back_the_same(tmp_path: Path) -> None:
    flow = greeting()
    assert load(flow.write(tmp_path)) == flow.document()


def test_a_dynamic_port_keeps_a_free_one_behind_the_used() -> None:
    flow = greeting()
    parts = flow.node("ConcatStrings", parts=["a", "b"])
    labels = [x.label for x in parts.ports if x.variable == "parts"]
    assert labels == ["parts", "parts[1]", "parts[2]"]


def test_an_argument_is_linked_as_the_compiler_wants_it() -> None:
    document = greeting(msg=Argument("text")).document()
    argument = node(document, "Argument (string): text")
    links = [x for x in links_of(document) if x["source"] == argument["id"]]
    assert [x["type"] for x in links] == ["triangle-link"]


def test_nodes_that_lie_over_each_other_are_found() -> None:
    layout = greeting(msg=Shown("Hello!")).layout()
    first, second, *_ = layout.boxes
    layout.boxes[first] = layout.boxes[second]
    assert any("covers" in text for text in covered(layout))


def test_ports_are_read_as_the_palette_reads_them(tmp_path: Path) -> None:
    shown = our_palette(init_folder(tmp_path).folder)
    canvas_names = {"str": "string", "bool": "boolean"}
    for name, cls in our_components().items():
        listed = [
            (x["name"], canvas_names.get(kind := x.get("type", ""), kind))
            for x in shown[name]["variables"]
        ]
        assert [(x.name, x.type) for x in cls.ports] == listed
        assert cls.path == shown[name]["file_path"]
        assert (cls.type, cls.color) == (shown[name]["type"], shown[name]["color"])
    assert all_components()["Print"].path == "xai_components/xai_utils/utils.py"
