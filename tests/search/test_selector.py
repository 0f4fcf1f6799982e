"""The tools that a request shows within a budget of tokens, and their forms."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import Tool, ToolKey
from xai_mcp_agent.catalog.definitions import ToolDefinition
from xai_mcp_agent.core.provider_schema import function_spec
from xai_mcp_agent.search.meta_tools import META_TOOLS
from xai_mcp_agent.search.selector import BudgetSelector, Selection
from xai_mcp_agent.search.shortening import MAX_STEPS, shorten

META = [ToolDefinition(x, function_spec(x.name, x)) for x in META_TOOLS]
PARAMETER = {
    "type": "string",
    "title": "City",
    "description": "The city, as people write it, with its country where there are several of it.",
}


def tool(name: str, parameters: int = 3, *, kind: str = "mcp", words: int = 60) -> ToolDefinition:
    """A tool with a long description and so many parameters."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {f"p{n}": PARAMETER for n in range(parameters)},
        "required": ["p0"] if parameters else [],
    }
    text = f"Does {name}. {'More words follow here. ' * (words // 4)}"
    source, shown_name = ("s", f"s_{name}") if kind == "mcp" else ("", name)
    listed = Tool(ToolKey(kind, source, name), text.strip(), schema)
    return ToolDefinition(listed, function_spec(shown_name, listed))


def selector(budget: int, *always_shown: str) -> BudgetSelector:
    return BudgetSelector(budget, lambda key: key.name in always_shown)


def names(selection: Selection) -> list[str]:
    return [x.definition.tool.name for x in selection.shown]


def keys(*definitions: ToolDefinition) -> list[ToolKey]:
    return [x.tool.key for x in definitions]


MANY = [tool(f"t{n}") for n in range(50)]


def test_all_tools_are_shown_if_they_fit_or_else_the_core_tools():
    selection = selector(100_000).select([*MANY, *META])
    assert names(selection) == [f"t{n}" for n in range(50)]
    assert selection.is_whole
    assert {x.why for x in selection.shown} == {"all tools fit"}
    assert selection.tokens == sum(x.tokens for x in MANY)
    canvas_tool = tool("drawn", kind="tools", words=4)
    selection = selector(1_000, "t7").select([canvas_tool, *MANY, *META])
    assert {x.definition.tool.name: x.why for x in selection.shown} == {
        "drawn": "drawn on the canvas", "t7": "always shown",
        "tool_search": "always there", "tool_explain": "always there",
    }  # fmt: skip
    assert list(selection.deferred) == [x for x in MANY if x is not MANY[7]]


def test_tools_of_the_run_come_last_in_the_order_of_their_first_use():
    choose, available = selector(1_500), [*MANY, *META]
    first = choose.select(available, keys(MANY[9]))
    assert names(first)[2:] == ["t9"]
    # The one that was used again keeps its place, for the service's cache.
    second = choose.select(available, keys(MANY[3], MANY[9]))
    assert names(second)[2:] == ["t9", "t3"]
    assert second.shown[:3] == first.shown
    assert "t9" not in names(choose.select([*MANY[:9], *META], keys(MANY[3], MANY[9])))


def test_the_oldest_tools_of_the_run_are_omitted_if_even_the_shortest_forms_do_not_fit():
    choose, available = selector(700), [*MANY, *META]
    selection = choose.select(available, keys(*MANY[:25]))
    newest = names(selection)[2:]
    assert newest == [f"t{n}" for n in range(25 - len(newest), 25)]
    oldest = [x.definition.tool.name for x in selection.left_out]
    assert oldest == [f"t{n}" for n in range(25 - len(newest))]
    assert selection.shown[-1].shortened < selection.shown[2].shortened, "the newest is the longest"
    assert "found or used in this run, but" in selection.left_out[0].why
    assert selection.tokens <= 700


def test_one_tool_that_is_too_large_costs_the_others_nothing():
    huge = tool("huge", parameters=400)
    selection = selector(1_000).select([*MANY, huge, *META], keys(MANY[1], huge))
    assert names(selection)[2:] == ["t1"]
    assert selection.shown[2].shortened == 0
    (omitted,) = selection.left_out
    assert omitted.definition.tool.name == "huge"
    assert "tokens in its shortest form" in omitted.why


@given(
    budget=st.integers(1, 3_000),
    sizes=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 300)), max_size=25),
    turns=st.lists(st.lists(st.integers(0, 24), max_size=12), max_size=5),
    always_shown=st.sets(st.integers(0, 24), max_size=10),
)
def test_a_selection_is_never_over_the_budget_and_lists_each_tool_once(
    budget: int, sizes: Sequence[tuple[int, int]], turns: list[list[int]], always_shown: set[int]
):
    tools = [tool(f"t{n}", params, words=words) for n, (params, words) in enumerate(sizes)]
    choose = selector(budget, *(f"t{n}" for n in always_shown))
    run_tools: list[ToolKey] = []
    for turn in [[], *turns]:
        run_tools += [tools[n].tool.key for n in turn if n < len(tools)]
        selection = choose.select([*tools, *META], run_tools)
        assert selection.tokens <= budget
        all_names = [*names(selection), *(x.tool.name for x in selection.deferred)]
        all_names += [x.definition.tool.name for x in selection.left_out]
        assert len(all_names) == len(set(all_names))
        assert {x.tool.name for x in tools} <= {*all_names}


# Shorter forms


def forms(definition: ToolDefinition) -> list[ToolDefinition]:
    forms_so_far = [definition]
    for step in range(1, MAX_STEPS + 1):
        forms_so_far.append(shorten(forms_so_far[-1], step))
    return forms_so_far


def test_each_form_is_shorter_and_still_describes_the_call():
    whole, plain, brief, bare, outline = forms(tool("go"))
    tokens = [x.tokens for x in (whole, plain, brief, bare, outline)]
    assert tokens == sorted(tokens, reverse=True)
    assert "title" not in json.dumps(plain.function.parameters)
    assert brief.function.description == "Does go."
    description = brief.function.parameters["properties"]["p0"]["description"]
    assert description.endswith("...")
    assert len(description) <= 60
    assert "description" not in json.dumps(bare.function.parameters)
    for form in (plain, brief, bare, outline):
        assert form.function.name == "s_go"
        assert [*form.function.parameters["properties"]] == ["p0", "p1", "p2"]
        assert form.function.parameters["required"] == ["p0"]
        assert form.tool is whole.tool


def test_a_parameter_may_have_the_name_of_a_json_schema_keyword():
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "A title.", "enum": ["description"]},
            "description": {"type": "array", "items": {"title": "x", "type": "string"}},
        },
        "required": ["title", "description"],
    }
    listed = Tool(ToolKey("mcp", "s", "t"), "Does.", schema)
    for form in forms(ToolDefinition(listed, function_spec("t", listed))):
        properties = form.function.parameters["properties"]
        assert [*properties] == ["title", "description"]
        assert properties["title"]["enum"] == ["description"]
        assert properties["description"]["items"]["type"] == "string"
