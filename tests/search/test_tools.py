"""Search for tools by a person's words."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import Tool, ToolKey
from xai_mcp_agent.search.terms import clauses, terms
from xai_mcp_agent.search.tools import ToolIndex


def tool(name: str, description: str = "", server: str = "s", **fields: Any) -> Tool:
    schema = {"type": "object", "properties": fields.pop("parameters", {})}
    return Tool(ToolKey("mcp", server, name), description, schema, **fields)


def names_for(query: str, *tools: Tool) -> list[str]:
    return [x.tool.name for x in ToolIndex(tools).search(query)]


# Terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer list_repos-v2.x", ["http", "server", "list", "repo", "v2"]),
        ("Queries, boxes and addresses", ["query", "box", "address"]),
        ("Please show me the weather", ["weather"]),
        ("使用必应搜索", ["使用", "用必", "必应", "应搜", "搜索"]),
        ("getUserInfo ÀLA Straße", ["user", "info", "àla", "strasse"]),
        ("", []),
    ],
)
def test_a_text_becomes_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_request_for_several_things_has_a_clause_for_each() -> None:
    text = "Find the file. Then send it to Ada; version 1.5 also"
    assert [x.strip() for x in clauses(text)] == ["Find the file", "send it to Ada", "version 1.5"]


# Ranking


def test_the_name_counts_more_than_the_description_and_that_more_than_parameters() -> None:
    tools = (
        tool("other", "Says something.", parameters={"invoice": {"type": "string"}}),
        tool("another", "Makes an invoice."),
        tool("invoice", "Makes a thing."),
    )
    assert names_for("invoice", *tools) == ["invoice", "another", "other"]
    chair = {"type": "object", "properties": {"cover": {"description": "What covers the seat."}}}
    schema = {"type": "object", "properties": {"item": {"$ref": "#/$defs/Chair"}}}
    order = replace(tool("order"), input_schema={**schema, "$defs": {"Chair": chair}})
    assert names_for("seat", *tools, order) == ["order"], "also behind a `$ref`"


def test_plurals_synonyms_roots_compounds_and_the_name_of_the_server_match() -> None:
    tools = (tool("create_issue"), tool("webpage"), tool("translation"), tool("clock"))
    assert names_for("new issues", *tools) == ["create_issue"]
    assert names_for("a web page", *tools) == ["webpage"]
    assert names_for("translate", *tools) == ["translation"]
    same = (tool("search", server="github"), tool("search", server="calendar"))
    assert ToolIndex(same).search("search github")[0].tool.source == "github"


def test_a_request_for_several_things_finds_a_tool_for_each() -> None:
    tools = [tool(f"report_{x}", "Writes a long report about the weather.") for x in "abc"]
    hits = names_for(
        "Write a long report about the weather of the year. Then send an email.",
        *tools, tool("email", "Sends."),
    )  # fmt: skip
    assert "email" in hits[:4]


def test_tools_with_equal_scores_are_in_the_order_of_their_keys() -> None:
    tools = [tool(f"t{n}", "Equal.") for n in range(30)]
    random.Random(1).shuffle(tools)
    assert names_for("equal", *tools) == sorted(x.name for x in tools)[:10]


# Keeping it up to date

words = st.lists(st.sampled_from(["sea", "sky", "map", "ship", "star"]), max_size=4).map(" ".join)
changes = st.lists(st.tuples(st.integers(0, 5), st.none() | words), max_size=30)


@given(changes, words)
def test_a_changed_index_finds_the_same_as_a_new_index_of_its_tools(
    steps: list[tuple[int, str | None]], query: str
) -> None:
    index, tools = ToolIndex[Tool](), dict[int, Tool]()
    for number, text in steps:
        if text is None:
            index.remove(tool(str(number)).key)
            tools.pop(number, None)
        else:
            tools[number] = tool(str(number), text)
            index.update(tools[number])
    assert len(index) == len(tools)
    again = ToolIndex(tools.values()).search(query)
    assert [(x.tool, x.score) for x in index.search(query)] == [(x.tool, x.score) for x in again]


def test_scores_are_the_same_in_every_process() -> None:
    """Python orders sets anew in each, and the sum of floats differs by their order."""
    code = """
import random
from xai_mcp_agent.search import ToolIndex
words = [f"{x}{y}" for x in ("convert", "inform", "invest") for y in ("", "ed", "er", "ing", "ive")]
chosen = random.Random(5)
tool = {"server": "s", "name": "n", "input_schema": {}}
texts = [" ".join(chosen.choices(words, k=chosen.randrange(40))) for _ in range(100)]
index = ToolIndex([{**tool, "id": str(n), "description": x} for n, x in enumerate(texts)])
print([(x.tool["id"], x.score) for x in index.search("convert an investing informer", 100)])
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, timeout=60, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(outputs) == 1
