"""Workflows of xai-agent are rewritten so that nothing a person drew is lost."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.canvas_file import Document, links_of, nodes_of, problems
from tests.support.xai_agent_workflow import upstream_components, xai_agent_workflow
from tools.components import all_components
from tools.workflows import Workflow
from xai_mcp_agent.cli.migration.advice import advice
from xai_mcp_agent.cli.migration.migrate import ChangedPort, Migration, migrate
from xai_mcp_agent.drawing.components import our_components

TOOLBELTS = "xai_components/xai_mcp_agent/toolbelt_components.py"
# What adopting may change; all else of a node or port stays as it is.
OURS_OF_NODE = {"color", "extras", "ports"}
OURS_OF_PORT = {"name", "label", "varName", "dataType"}


@pytest.fixture(scope="module")
def original() -> Document:
    return xai_agent_workflow().document()


@pytest.fixture(scope="module")
def migration(original: Document) -> Migration:
    return migrate(original, our_components())


def by_id(document: Document) -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in nodes_of(document)}


def node(document: Document, name: str) -> dict[str, Any]:
    return next(x for x in nodes_of(document) if x["name"] == name)


def without(item: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in keys}


def remarks(document: Document) -> dict[str, bool]:
    """What is said about each node, and whether it is to do."""
    migration = migrate(document, our_components())
    said = (*migration.remarks, *advice(migration, our_components()))
    return {f"{x.node}: {x.text}": x.to_do for x in said}


def edited(document: Document, edit: Callable[[Document], None]) -> Document:
    changed = copy.deepcopy(document)
    edit(changed)
    return changed


def with_text(text: str, name: str) -> Document:
    """The workflow of the tests with another text in a port of AgentInit."""
    document = xai_agent_workflow().document()
    for port in node(document, "AgentInit")["ports"]:
        if port["varName"].endswith(name):
            (link,) = [x for x in links_of(document) if x["targetPort"] == port["id"]]
            by_id(document)[link["source"]]["ports"][0]["label"] = text
    return document


def test_the_workflow_of_the_tests_has_the_shape_of_xai_agent_s_own(original: Document) -> None:
    """reference: Xircuits, section 7."""
    components = [x for x in nodes_of(original) if "path" in x["extras"]]
    assert (len(nodes_of(original)), len(components)) == (23, 9)
    assert problems(original, "clock", upstream_components()) == []
    assert problems(original, "clock") != []


def test_every_node_that_has_a_class_of_ours_gets_it(
    original: Document, migration: Migration
) -> None:
    ours = [x for x in nodes_of(original) if x["extras"].get("path", "").count("xai_agent")]
    assert {x.node_id for x in migration.adopted} == {x["id"] for x in ours}
    tool = node(migration.document, "AgentDefineTool")
    cls = our_components()["AgentDefineTool"]
    first, last = cls.lines
    assert tool["extras"] == {
        "type": "Start",
        "path": TOOLBELTS,
        "description": cls.description,
        "lineNo": [{"lineno": first, "end_lineno": last}],
    }
    assert tool["color"] == cls.color


def test_ids_places_values_and_links_stay(original: Document, migration: Migration) -> None:
    adopted = migration.document
    assert without(adopted, {"layers"}) == without(original, {"layers"})
    assert links_of(adopted) == links_of(original)
    assert list(by_id(adopted)) == list(by_id(original))
    taken = {x.node_id for x in migration.adopted}
    for node_id, old in by_id(original).items():
        new = by_id(adopted)[node_id]
        if node_id not in taken:
            assert new == old
            continue
        assert without(new, OURS_OF_NODE) == without(old, OURS_OF_NODE)
        for one, other in zip(new["ports"], old["ports"], strict=True):
            assert without(one, OURS_OF_PORT) == without(other, OURS_OF_PORT)


def test_the_adopted_workflow_keeps_the_rules_of_canvas_and_compiler(migration: Migration) -> None:
    """And its ports have the names that the canvas looks for at Reload."""
    known = all_components() | {"OpenAIAuthorize": upstream_components()["OpenAIAuthorize"]}
    assert problems(migration.document, "clock_adopted", known) == []


def test_a_type_of_xai_agent_s_own_becomes_ours_at_both_ends(migration: Migration) -> None:
    changed = {x.node: x.changed_ports for x in migration.adopted if x.changed_ports}
    assert changed == {
        "AgentNumpyMemory": (ChangedPort("memory", "Memory", "any"),),
        "AgentInit": (ChangedPort("agent_memory", "Memory", "any"),),
    }
    (port,) = [
        x for x in node(migration.document, "AgentInit")["ports"] if "agent_memory" in x["name"]
    ]
    assert (port["name"], port["label"]) == ("parameter-any-agent_memory", "agent_memory")


def test_the_given_document_is_not_touched(original: Document) -> None:
    before = copy.deepcopy(original)
    migrate(original, our_components())
    assert original == before


def test_an_adopted_workflow_has_nothing_more_to_adopt(migration: Migration) -> None:
    again = migrate(migration.document, our_components())
    assert (again.adopted, again.document) == ((), migration.document)
    assert advice(again, our_components()) == ()


def test_our_own_workflows_have_nothing_to_adopt() -> None:
    flow = Workflow("mine")
    flow.main(flow.node("AgentInit", agent_name="a"))
    document = flow.document()
    assert migrate(document, our_components()) == Migration(document, (), ())


def test_a_workflow_whose_paths_alone_were_rewritten_gets_its_ports(
    original: Document, migration: Migration
) -> None:
    """As people did by hand; the canvas would drop the link of the memory at Reload."""

    def rewrite_paths(document: Document) -> None:
        for x in nodes_of(document):
            if x["extras"].get("path", "").count("xai_agent"):
                x["extras"]["path"] = our_components()[x["name"]].path

    again = migrate(edited(original, rewrite_paths), our_components())
    assert {x.node for x in again.adopted} == {"AgentNumpyMemory", "AgentInit", "AgentRun"}
    ports = [[p["name"] for p in x["ports"]] for x in nodes_of(again.document)]
    assert ports == [[p["name"] for p in x["ports"]] for x in nodes_of(migration.document)]


# What is reported


def test_the_report_says_where_the_key_comes_from_and_what_is_still_needed(
    original: Document,
) -> None:
    key, library = remarks(original).items()
    assert "OPENAI_API_KEY" in key[0]
    assert "`api_key`" in key[0]
    assert key[1]
    assert "still needs the library xai_openai" in library[0]
    assert not library[1]


def test_a_node_that_only_xai_agent_has_is_reported_and_left(original: Document) -> None:
    def rename(document: Document) -> None:
        node(document, "AgentRun")["name"] = "AgentMeditate"

    document = edited(original, rename)
    (text,) = [x for x in remarks(document) if x.startswith("AgentMeditate: there is no such node")]
    assert remarks(document)[text]
    after = migrate(document, our_components()).document
    assert node(after, "AgentMeditate") == node(document, "AgentMeditate")


@pytest.mark.parametrize(
    ("wired", "says"), [(True, "Remove its link"), (False, "Nothing is wired")]
)
def test_a_port_that_ours_lacks_is_reported(original: Document, wired: bool, says: str) -> None:
    def rename(document: Document) -> None:
        ports = node(document, "AgentRun")["ports"]
        (port,) = [x for x in ports if x["name"].endswith("conversation") and x["in"]]
        port |= {"name": "parameter-any-dialogue", "label": "dialogue", "varName": "dialogue"}
        if not wired:
            layer = document["layers"][0]["models"]
            for link in port["links"]:
                del layer[link]
            port["links"] = []

    said = remarks(edited(original, rename))
    (text,) = [x for x in said if "`dialogue`" in x]
    assert says in text
    assert said[text] is wired


@pytest.mark.parametrize(
    ("provider", "says", "to_do"),
    [
        ("antropic", "Did you mean 'anthropic'", True),
        ("azure", "no provider here", True),
        ("bedrok", "Did you mean 'bedrock'", True),
        ("sk-" + "x" * 60, "Known: offline", True),
        ("Bedrock ", "xai-mcp-agent[providers]", False),
        ("vertexai", "xai-mcp-agent[providers]", False),
    ],
)
def test_a_provider_is_looked_at(provider: str, says: str, to_do: bool) -> None:
    said = remarks(with_text(provider, "agent_provider"))
    (text,) = [x for x in said if x.startswith("AgentInit")]
    assert says in text
    assert said[text] is to_do
    assert "sk-" not in text


def test_the_providers_of_both_libraries_need_no_word() -> None:
    assert not [x for x in remarks(with_text("openai", "agent_provider")) if "provider" in x]


@pytest.mark.parametrize(
    ("prompt", "count"), [('Answer {{"a": 1}}.', 1), ("{tools} {{tools}}", 0), ("Be short.", 0)]
)
def test_doubled_braces_in_a_prompt_are_mentioned(prompt: str, count: int) -> None:
    """There a prompt is filled by str.format; here other braces stay (design.md, section 4)."""
    said = [x for x in remarks(with_text(prompt, "system_prompt")) if "braces" in x]
    assert len(said) == count


def without_types(document: Document) -> None:
    for x in nodes_of(document):
        for port in x["ports"]:
            del port["varName"], port["dataType"]


def test_ports_of_an_old_xircuits_get_what_they_lack(
    original: Document, migration: Migration
) -> None:
    """Its files name the type in the port's name alone; seen in workflows of 2022."""
    old = edited(original, without_types)
    again = migrate(old, our_components())
    assert [x.changed_ports for x in again.adopted] == [x.changed_ports for x in migration.adopted]
    agent = node(again.document, "AgentInit")
    values = [x for x in agent["ports"] if x["name"].startswith("parameter-")]
    assert all(x["dataType"] and x["varName"] for x in values)


def other_library(document: Document) -> None:
    for x in nodes_of(document):
        if "xai_agent" in x["extras"].get("path", ""):
            x["extras"]["path"] = "xai_components/xai_other/agents.py"


def test_a_node_of_another_library_with_the_same_ports_is_taken(original: Document) -> None:
    after = migrate(edited(original, other_library), our_components())
    assert len(after.adopted) == 6


def test_a_node_of_another_library_with_other_ports_stays(original: Document) -> None:
    """It only has the name of one of ours."""

    def rename(document: Document) -> None:
        other_library(document)
        (port,) = [x for x in node(document, "AgentMakeToolbelt")["ports"] if x["label"] == "name"]
        port |= {"name": "parameter-string-title", "label": "title", "varName": "title"}

    document = edited(original, rename)
    after = migrate(document, our_components())
    assert node(after.document, "AgentMakeToolbelt") == node(document, "AgentMakeToolbelt")
    (text,) = [x for x in remarks(document) if x.startswith("AgentMakeToolbelt: it is of")]
    assert "(`title`)" in text


def test_a_port_whose_new_name_is_taken_keeps_its_old_one(original: Document) -> None:
    """Two ports of one name would make the canvas show an empty page."""

    def double(document: Document) -> None:
        ports = node(document, "AgentInit")["ports"]
        (port,) = [x for x in ports if "agent_memory" in x["name"]]
        ports.append(port | {"id": "another", "name": "parameter-any-agent_memory", "links": []})

    after = migrate(edited(original, double), our_components()).document
    names = [x["name"] for x in node(after, "AgentInit")["ports"]]
    assert len(names) == len(set(names))


def test_several_values_of_one_port_keep_their_places() -> None:
    flow = Workflow("several", upstream_components())
    time = flow.node("GetCurrentTime")
    tool = flow.node("AgentDefineTool", tool_name="t", description="Tells.")
    output = flow.node("AgentToolOutput", results=[time["time_str"], "now", "then"])
    flow.main(flow.node("Print", msg="x"))
    flow.side(tool, time, output)
    document = flow.document()
    after = migrate(document, our_components())
    assert (
        node(after.document, "AgentToolOutput")["ports"]
        == (node(document, "AgentToolOutput")["ports"])
    )
    assert after.remarks == ()


# Odd documents

PATHS = ["xai_components/xai_agent/agent_components.py", "xai_components/xai_x/a.py", TOOLBELTS, "",
         "nodes.py", 3, None]  # fmt: skip
NAMES = [*sorted(our_components())[:4], "AgentRun", "AgentToolOutput", "Print", "Literal String", 7]
KEYS = ["id", "name", "in", "label", "varName", "dataType", "links"]
TEXTS = st.sampled_from(
    ["in-0", "out-0", "parameter-any-conversation", "conversation", "\u2605agent_name",
     "results[1]", "dynalist", "any", "Memory", "", "p1", "p2", "\ud800"]
)  # fmt: skip
ODD = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=2)
PORT = st.dictionaries(st.sampled_from(KEYS), ODD, max_size=7)
NODE = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(NAMES),
        "extras": ODD | st.fixed_dictionaries({}, optional={"path": st.sampled_from(PATHS)}),
        "ports": ODD | st.lists(ODD | PORT, max_size=5),
        "x": ODD,
    },
)
LINK = st.dictionaries(st.sampled_from(["source", "sourcePort", "targetPort"]), ODD, max_size=3)


def drawing(nodes: dict[str, Any], links: dict[str, Any]) -> Document:
    layers = [{"type": "diagram-links", "models": links}, 3, None]
    return {"layers": [*layers, {"type": "diagram-nodes", "models": nodes}], "zoom": 0.1}


def paths(document: Document) -> Iterator[Any]:
    for x in document["layers"][-1]["models"].values():
        if isinstance(x.get("extras"), dict):
            yield x["extras"].get("path")


@settings(max_examples=300)
@given(
    st.dictionaries(TEXTS, NODE, max_size=4).flatmap(
        lambda nodes: st.dictionaries(TEXTS, LINK, max_size=3).map(lambda x: drawing(nodes, x))
    )
)
def test_whatever_a_document_holds_nothing_is_lost_and_nothing_raises(document: Document) -> None:
    before = copy.deepcopy(document)
    once = migrate(document, our_components())
    assert document == before
    assert once.document["layers"][:3] == before["layers"][:3]
    nodes, old = once.document["layers"][-1]["models"], before["layers"][-1]["models"]
    assert list(nodes) == list(old)
    for node_id, new in nodes.items():
        assert without(new, OURS_OF_NODE) == without(old[node_id], OURS_OF_NODE)
    for text in (*once.remarks, *advice(once, our_components())):
        assert text.text.endswith(".")
    again = migrate(once.document, our_components())
    assert again.document == once.document
    assert again.adopted == ()


def test_the_stand_ins_are_in_step_with_what_the_readme_promises() -> None:
    """Each class of xai-agent that stands in here has one of ours, but the one that must not."""
    file = "xai_components/xai_agent/agent_components.py"
    names = {x.name for x in upstream_components().values() if x.path == file}
    assert names - set(our_components()) == {"AgentMeditate"}
