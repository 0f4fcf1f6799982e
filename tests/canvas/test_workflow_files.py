"""The builder makes files the canvas opens, and the rules find what would break one.

Each broken file below was opened and compiled with Xircuits 1.19.2 to see what it does.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas_file import Document, links_of, load, nodes_of, problems
from tools.example_agents import two_servers_and_a_drawn_tool
from tools.workflows import Argument, Workflow, WorkflowError


def node(document: Document, name: str) -> dict[str, Any]:
    return next(x for x in nodes_of(document) if x["name"] == name)


def port(document: Document, node_name: str, variable: str) -> dict[str, Any]:
    ports = node(document, node_name)["ports"]
    return next(x for x in ports if x["label"].removeprefix("\u2605") == variable)


# What the rules find


def rename_a_port(document: Document) -> None:
    port(document, "AgentRun", "conversation").update(label="question", varName="question")


def lose_a_link(document: Document) -> None:
    port(document, "AgentUseMCPTools", "server_name")["links"] = []


def move_the_file(document: Document) -> None:
    node(document, "AgentRun")["extras"]["path"] = "xai_components/xai_mcp_agent/gone.py"


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
    rename_a_port: "its class has no port question",
    lose_a_link: "compulsory and not wired",
    move_the_file: "no such component",
    write_a_secret: "a secret, in plain text",
    cut_the_flow: "Finish is not reached",
    start_elsewhere: "the first start is not Start",
}


def test_what_breaks_a_file_is_found() -> None:
    whole = two_servers_and_a_drawn_tool().document()
    assert problems(whole, "whole") == []
    for harm, says in BROKEN.items():
        broken = copy.deepcopy(whole)
        harm(broken)
        assert any(says in x for x in problems(broken, "broken")), harm.__name__
    for name in ("async", "01_first", "args", "AgentRun", "two words"):  # it becomes a class
        assert any("file name" in x for x in problems(whole, name)), name


# What the builder refuses


@pytest.mark.parametrize(
    ("node", "inputs", "words"),
    [
        ("AgentRan", {}, "no component 'AgentRan'"),
        ("AgentRun", {"request": "Hello!"}, r"no port 'request'.*question"),
        ("AgentInit", {"max_thoughts": "ten"}, r"string does not fit .*max_thoughts"),
        ("AgentModel", {"api_key": "sk-1"}, "a key does not belong in a file"),
    ],
)
def test_the_builder_refuses_what_does_not_exist_or_fit(
    node: str, inputs: dict[str, Any], words: str
) -> None:
    with pytest.raises((KeyError, WorkflowError), match=words):
        Workflow("x").node(node, **inputs)


# What the builder makes


def test_a_file_is_written_as_the_compiler_wants_it(tmp_path: Path) -> None:
    flow = Workflow("greeting")
    flow.main(flow.node("Print", msg=Argument("text")))
    parts = Workflow("parts").node("ConcatStrings", parts=["a", "b"])
    labels = [x.label for x in parts.ports if x.variable == "parts"]
    assert labels == ["parts", "parts[1]", "parts[2]"], "a free one behind the used"
    document = load(flow.write(tmp_path))
    assert document == flow.document()
    argument = node(document, "Argument (string): text")
    links = [x for x in links_of(document) if x["source"] == argument["id"]]
    assert [x["type"] for x in links] == ["triangle-link"]
