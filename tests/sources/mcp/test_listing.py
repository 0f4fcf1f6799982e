"""Listing tools, resources and prompts: all pages, and an invalid item is left out alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.bridges import bridge_with, names_of, status_of
from tests.support.fault_server import entry, tool
from xai_mcp_agent import (
    Bridge,
    Prompt,
    Resource,
    ServerError,
    Tool,
    ToolKey,
    ToolTimeout,
    UnknownTool,
)


def tools_and_notes(**options: Any) -> tuple[list[Tool], tuple[str, ...]]:
    """Return the tools that a bridge gets from a server's listing, and its notes."""
    with bridge_with(it=entry(**options)) as bridge:
        return bridge.list_tools("it"), status_of(bridge, "it").notes


def test_tags_are_read_from_where_fastmcp_puts_them():
    """Their order varies, because fastmcp has a set; anything but a text is left out."""
    tags = {"tags": ["write", "", "admin", 5, None, "write"]}
    wrong = [tool(f"wrong{i}", _meta={"fastmcp": x}) for i, x in enumerate([3, {"tags": 1}, None])]
    keys = ("fastmcp", "_fastmcp")
    tools, _ = tools_and_notes(tools=[*(tool(x, _meta={x: tags}) for x in keys), *wrong])
    assert [x.tags for x in tools] == [("admin", "write")] * 2 + [()] * 3


def test_a_tool_keeps_all_fields_of_its_server(galleries: Bridge, way: str):
    """Schemas exactly as they were sent, in both eras."""
    tools = {x.name: x for x in galleries.list_tools(way)}
    add = tools["add"]
    assert add.key == ToolKey("mcp", way, "add")
    assert (add.title, add.description) == ("Adder", "Add two integers.")
    assert add.input_schema["required"] == ["a", "b"]
    assert add.input_schema["title"] == "addArguments"
    assert add.output_schema is not None
    assert add.output_schema["required"] == ["result"]
    assert (add.annotations.read_only, add.annotations.open_world) == (True, False)
    assert (add.annotations.destructive, add.annotations.idempotent) == (None, None)
    assert add.meta is not None
    assert add.meta["acme/cost"] == 1


def test_a_tool_with_invalid_optional_fields_is_listed():
    odd = tool("odd", description=None, title=5, outputSchema="text", icons="none", execution=[],
               annotations={"readOnlyHint": "yes", "destructiveHint": True}, _meta=3)  # fmt: skip
    loose = {"name": "loose", "inputSchema": {"properties": {"a": {}}}}
    either = tool("either", inputSchema={"type": ["object", "null"]})
    (first, *rest), notes = tools_and_notes(tools=[odd, loose, either])
    assert (first.description, first.title, first.output_schema, first.meta) == ("", *[None] * 3)
    assert (first.annotations.read_only, first.annotations.destructive) == (None, True)
    assert [x.input_schema for x in rest] == [loose["inputSchema"], either["inputSchema"]]
    assert notes == ()


def test_a_tool_whose_header_annotation_is_invalid_is_left_out_with_a_note():
    """MCP 2026-07-28: a client must not offer it."""
    schema = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}}
    tools, notes = tools_and_notes(
        era="modern", tools=[tool("bad", inputSchema=schema), tool("good")]
    )
    assert names_of(tools) == ["good"]
    assert "Tool 'bad' was left out: an x-mcp-header in its inputSchema is not valid." in notes


def test_a_tool_that_can_only_be_called_as_a_task_is_left_out_with_a_note():
    """`simulate-research-query` of server-everything refuses each other call."""
    slow, either = (tool(x, execution={"taskSupport": x}) for x in ("required", "optional"))
    tools, notes = tools_and_notes(tools=[slow, either])
    assert names_of(tools) == ["optional"]
    why = "its calls must be tasks of MCP 2025-11-25, which are not supported"
    assert notes == (f"Tool 'required' was left out: {why}.",)


def test_tools_that_the_settings_switch_off_are_not_listed():
    with bridge_with(it={**entry(), "disabledTools": ["die", "no_such"]}) as bridge:
        names = names_of(bridge.list_tools("it"))
        assert "echo" in names
        assert "die" not in names
        with pytest.raises(UnknownTool, match="'die' is left out by `disabledTools`"):
            bridge.call_tool("it", "die")


def test_instructions_reach_the_catalog_unless_they_are_off(era: str):
    async def instructions(operations: Any) -> list[str]:
        return [operations.engine.catalog.instructions(x) for x in ("on", "off")]

    peer = entry(era=era, instructions="Send me all.")
    with bridge_with(on=peer, off={**peer, "instructions": False}) as bridge:
        bridge.connect(wait=True)
        assert bridge.run(instructions) == ["Send me all.", ""]
        assert bridge.instructions("off") == ""
        off = status_of(bridge, "off")
        assert (off.instructions, off.tells_instructions) == ("Send me all.", False)


def test_a_missing_resource_or_prompt_is_an_error_of_the_server(galleries: Bridge):
    with pytest.raises(ServerError, match="reading 'gallery://nope' was refused: Unknown resource"):
        galleries.read_resource("stdio", "gallery://nope")
    with pytest.raises(ServerError, match="the prompt 'nope' was refused"):
        galleries.get_prompt("stdio", "nope")
    assert galleries.list_resources("fault") == []
    assert galleries.list_prompts("fault") == []


REVIEW = {"name": "review", "description": "Review it."}
PAGE = {"name": "page", "uri": "it://page"}


def listing_counts(bridge: Bridge) -> dict[str, int]:
    """Return how often the server has answered each of its listings."""
    methods = json.loads(bridge.call_tool("it", "seen").text)
    return {x: methods.count(f"{x}/list") for x in ("tools", "prompts", "resources")}


def test_prompts_and_resources_are_listed_with_the_tools_and_answered_from_the_catalog():
    with bridge_with(it=entry(prompts=[REVIEW], resources=[PAGE])) as bridge:
        assert (bridge.prompts(), bridge.resources()) == ({}, {}), (
            "reading the catalog connects nothing"
        )
        bridge.connect(wait=True)
        assert bridge.prompts() == {"it": (Prompt("review", "Review it."),)}
        assert bridge.resources() == {"it": (Resource("it://page", "page"),)}
        assert bridge.list_prompts("it") == [Prompt("review", "Review it.")]
        assert bridge.list_resources("it") == [Resource("it://page", "page")]
        assert listing_counts(bridge) == {"tools": 1, "prompts": 1, "resources": 1}
        bridge.disconnect("it")
        assert (bridge.prompts(), bridge.resources()) == ({}, {})


def test_a_burst_of_notices_causes_one_listing_before_the_next_step(era: str):
    with bridge_with(it=entry(era=era, prompts=[REVIEW], resources=[])) as bridge:
        bridge.connect(wait=True)
        other = {**REVIEW, "name": "other"}
        bridge.call_tool("it", "set_tools", {"tools": [], "features": {"prompts": [REVIEW, other]},
                                             "notices": 50})  # fmt: skip
        assert [x.name for x in bridge.list_prompts("it")] == ["review", "other"]
        assert [x.name for x in bridge.prompts()["it"]] == ["review", "other"]
        assert listing_counts(bridge) == {"tools": 1, "prompts": 2, "resources": 1}
        bridge.call_tool("it", "set_tools", {"tools": ["late"], "notices": 100})
        assert names_of(bridge.list_tools("it"))[-1] == "late"
        assert listing_counts(bridge) == {"tools": 2, "prompts": 2, "resources": 1}


REFUSED = '{"jsonrpc": "2.0", "id": ID, "error": {"code": 1, "message": "no"}}'


@pytest.mark.parametrize("answer", [[], [["line", REFUSED]]], ids=["nothing", "an error"])
def test_tools_and_resources_stay_usable_when_listing_prompts_fails(answer: list[Any]):
    """The next request for prompts lists them again."""
    options = {"prompts": [REVIEW], "resources": [PAGE], "on": {"prompts/list": answer}}
    with bridge_with(it=entry(**options, listTimeout=0.2)) as bridge:
        assert "echo" in names_of(bridge.list_tools("it"))
        assert bridge.resources() == {"it": (Resource("it://page", "page"),)}
        assert bridge.prompts() == {}
        (note,) = status_of(bridge, "it").notes
        assert note.startswith("Its prompts could not be listed: prompts/list ")
        with pytest.raises((ServerError, ToolTimeout), match="prompts/list"):
            bridge.list_prompts("it")
