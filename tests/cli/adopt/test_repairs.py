"""Adopting repairs leftovers in a drawing and prints no key."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.adopt.test_adopt import adopt, save
from tests.support.canvas_file import Document, lead_back, links_of, nodes_of, problems
from tests.support.commands import Cli
from tests.support.old_workflows import wear
from tests.support.old_workflows.drawn import SHAPES
from tests.support.xai_agent_workflow import document_after, upstream_components, xai_agent_workflow
from tools.workflows import LiteralNode, Workflow
from xai_mcp_agent.cli.adopt.cleanup import clean_up
from xai_mcp_agent.cli.adopt.command import Target, adopt_file
from xai_mcp_agent.cli.adopt.workflow import AdoptedWorkflow
from xai_mcp_agent.drawing.document import NoWorkflow

KEY = "sk-proj-0815abcdefghijklmnopqrstuvwxyz0815"
PLAIN = document_after()


def unlist_wires(document: Document) -> None:
    for node in nodes_of(document):
        for port in node["ports"]:
            port["links"] = []


def repair(document: Document) -> tuple[Document, str]:
    """Return the repaired document and the report."""
    copied = copy.deepcopy(document)
    remarks = clean_up(AdoptedWorkflow(copied))
    return copied, " ".join(x.text for x in remarks)


@pytest.mark.parametrize(
    ("wears", "says"),
    [
        ([wear.loose], "1 wire without an end: left out."),
        ([wear.doubled("msg")], "1 wire drawn twice: one of each is left."),
        ([wear.doubled("agent_name")], "2 wires drawn twice: one of each is left."),
        ([wear.of_2024], ""),
        ([unlist_wires], ""),
    ],
    ids=["loose", "doubled", "several", "of 2024", "unlisted"],
)
def test_faults_of_a_drawing_are_repaired_and_reported(
    wears: list[Callable[[Document], None]], says: str
):
    document = document_after(*wears)
    after, remarks = repair(document)
    assert after != document
    assert problems(after, "clock", upstream_components()) == []
    assert {x["id"] for x in links_of(after)} == {x["id"] for x in links_of(PLAIN)}
    assert remarks == says


def test_a_generated_file_and_a_flow_with_a_loop_are_adopted(tmp_path: Path):
    _, document = adopt(tmp_path, document_after(wear.of_a_script))
    assert {x["type"] for x in links_of(document)} == {"triangle-link", "parameter-link"}
    loop = document_after()
    lead_back(loop, "AgentToolOutput", "GetCurrentTime")
    assert "back" in {x["id"] for x in links_of(adopt(tmp_path, loop)[1])}


def test_a_sound_drawing_stays_as_it_is_and_two_ports_with_one_id_are_refused(
    tmp_path: Path, cli: Cli
):
    assert repair(PLAIN) == (PLAIN, "")
    document = document_after()
    first, second = [x for x in nodes_of(document) if x["extras"].get("path")][:2]
    second["ports"][0]["id"] = first["ports"][0]["id"]
    status, out, err = cli("adopt", str(save(tmp_path, "twins", json.dumps(document))))
    assert (status, out, "two ports have one id" in err) == (1, "", True)
    assert [x.name for x in tmp_path.iterdir()] == ["twins.xircuits"]


# Anything

SMALL = ("agent_template", "demo_of_a_talk", "chat_page", "robot_agent", "with_routes")
DOCUMENTS = {name: SHAPES[name].document() for name in SMALL}
ODD: list[Any] = [None, 3, "", [], {"a": 1}, "\ud800", 10**400, "parameter-", "Literal String"]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if len(path) > 3:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))
        else:
            yield (*path, key)


def edited(document: Document, path: tuple[Any, ...], value: Any, *, removes: bool) -> Document:
    changed = inner = copy.deepcopy(document)
    for key in path[:-1]:
        inner = inner[key]
    if removes:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_broken_file_is_adopted_or_refused_by_name(tmp_path: Path, data: st.DataObject):
    document = DOCUMENTS[data.draw(st.sampled_from(SMALL))]
    path = data.draw(st.sampled_from([x for x in places(document) if len(x) > 3]))
    odd = data.draw(st.sampled_from(ODD))
    changed = edited(document, path, odd, removes=data.draw(st.booleans()))
    file = save(tmp_path, "odd", json.dumps(changed))
    try:
        report = adopt_file(file, Target(overwrite=True))
    except NoWorkflow as error:
        assert str(file) in str(error)  # noqa: PT017
        return
    assert report.written is None or adopt_file(report.written).written is None


# Keys


def with_keys() -> Workflow:
    """Draw keys at the right ports, and at wrong ones by mistake."""
    flow = Workflow("keys", upstream_components())
    access = flow.node("OpenAIAuthorize", organization=LiteralNode(KEY), base_url=LiteralNode(KEY))
    memory, belt = flow.node("AgentNumpyMemory"), flow.node("AgentMakeToolbelt", name=KEY)
    agent = flow.node(
        "AgentInit", agent_name=KEY, agent_provider=KEY[:20], agent_model=KEY,
        agent_memory=memory["memory"], system_prompt=f"{{{{{KEY}\nTOOL: {KEY}", max_thoughts=1,
        toolbelt_spec=belt["toolbelt_spec"],
    )  # fmt: skip
    flow.main(access, memory, belt, agent)
    tool = flow.node("AgentDefineTool", tool_name=KEY, description=KEY)
    item = flow.node("DictGetItem", the_dict=tool["tool_args"], key=KEY)
    code = flow.node("Print", msg=f"ctx['agent_{KEY}'] {KEY}")
    flow.side(tool, item, code, flow.node("AgentToolOutput", results=[item["out_item"]]))
    return flow


def test_adopt_prints_no_key(tmp_path: Path, cli: Cli, caplog: pytest.LogCaptureFixture):
    file = save(tmp_path, "keys", with_keys().text())
    document = xai_agent_workflow(organization="sk-0815-not-a-key").document()
    wear.secrets("sk-0815-not-a-key")(document)
    literal = save(tmp_path, "clock", json.dumps(document))
    broken = save(tmp_path, "cut", with_keys().text()[:-4_000])
    for words in ((), ("--json",)):
        for name, title in ((file, "Literal String"), (literal, "Literal Secret")):
            status, out, err = cli("adopt", str(name), *words)
            assert (status, err, title in out) == (0, "", True)
            assert not [x for x in ("0815", KEY[:20]) if x in out]
        ran = cli("adopt", str(broken), *words)
        assert (ran.status, "0815" in ran.text + caplog.text) == (1, False)
