"""Resources, templates, prompts and completions: requests, and complete responses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.bridges import bridge_with, status_of
from tests.support.fault_server import entry
from tests.support.mcp_servers import PNG
from xai_mcp_agent import (
    Bridge,
    Completion,
    ImagePart,
    InvalidArguments,
    Resource,
    ResourcePart,
    TextPart,
    bytes_of,
)
from xai_mcp_agent.gateway.content import part_json
from xai_mcp_agent.sources.mcp.convert import part_of

DAY = "notes://day/{day}"


def test_resources_and_templates_are_listed_filled_in_and_read(books: Bridge, server: str):
    resources = {x.name: x for x in books.list_resources(server)}
    assert (resources["today"].uri, resources["today"].mime_type) == ("notes://today", "text/plain")
    assert (resources["note"].uri, resources["note"].is_template) == (DAY, True)
    assert books.read_resource(server, DAY, {"day": "a/b c"})[0].text == "a/b c: nothing"
    search = "notes://search{?word,limit}"
    assert books.read_resource(server, search, {"word": "x&y"})[0].text == "'x&y' up to 10"
    with pytest.raises(InvalidArguments, match="day is missing"):
        books.read_resource(server, DAY, {})
    (logo,) = books.read_resource(server, "notes://logo")
    assert (logo.text, logo.mime_type, logo.data) == (None, "image/png", PNG)
    assert bytes_of(logo) == b"\x89PNG\r\n\x1a\n"


def test_prompts_are_listed_filled_in_and_completed(books: Bridge, galleries: Bridge, server: str):
    prompt = next(x for x in books.list_prompts(server) if x.name == "describe")
    assert [(x.name, x.required) for x in prompt.arguments] == [("day", True)]
    messages = books.get_prompt(server, "describe", {"day": "monday"})
    assert [x.content for x in messages] == [
        TextPart("Describe monday."),
        ImagePart(PNG, "image/png"),
        ResourcePart("notes://day/monday", text="a note", mime_type="text/plain"),
    ]
    some = books.complete(server, "describe", "day", "day-00")
    assert some.values[:2] == ("day-000", "day-001")
    assert (len(some.values), some.total, some.has_more) == (10, 10, False)
    assert galleries.complete("fault", "any", "name", "x") == Completion()
    everything = books.complete(server, prompt, "day")
    assert (len(everything.values), everything.total, everything.has_more) == (100, 150, True)
    context = {"day": "day-007"}
    assert books.complete(server, DAY, "line", "", context).values == ("template day-007",)
    template = Resource(DAY, "note", is_template=True)
    assert books.complete(server, template, "line").values == ("template unknown",)


def test_metadata_is_passed_on_and_both_sides_name_themselves(books: Bridge, server: str):
    """MCP: `_meta`, which a model never reads."""
    result = books.call_tool(server, "meta", meta={"acme/cost": {"limit": 5}})
    assert (result.meta or {})["acme/given"] == {"limit": 5}
    assert result.text == ""
    with pytest.raises(InvalidArguments, match="meta: not JSON"):
        books.call_tool(server, "meta", meta={"acme/cost": object()})
    assert books.call_tool(server, "who_calls").text == "xai-mcp-agent"
    assert books.instructions(server) == "Write, then read."
    assert 0 < books.ping(server) < 20


MORE = {"annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"acme/cost": 1}}
BLOCKS = [
    {"type": "text", "text": "x", **MORE},
    {"type": "image", "data": PNG, "mimeType": "image/png", **MORE},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav", **MORE},
    {"type": "resource_link", "uri": "a:b", "name": "b", "size": 3, "title": "B", **MORE},
    {"type": "resource", "resource": {"uri": "a:b", "text": "x", "_meta": {"a": 1}}, **MORE},
]
ODD = {"annotations": {"audience": "all", "priority": 7}, "_meta": "none", "size": "large"}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda x: x["type"])
def test_annotations_and_meta_of_a_part_reach_other_clients(block: dict[str, Any]):
    assert part_json(part_of(block)) == block
    plain = {x: y for x, y in block.items() if x not in MORE}
    assert part_json(part_of(plain)) == plain
    assert part_json(part_of({**plain, "annotations": ODD["annotations"], "_meta": 7})) == plain


ODD_RESOURCES = [
    {"name": "good", "uri": "it://good", "description": 7, "icons": [{"src": 1}, {"src": "a:b"}]},
    {"name": "nowhere"},
    {"uri": "it://nameless"},
    "not a resource",
    {"name": "last", "uri": "it://last", "size": "large", "annotations": "none", "mimeType": []},
]
ODD_PROMPTS = [
    {"name": "good", "arguments": [{"name": "a", "required": "yes"}, {"name": 7}, 7], "title": 1},
    {"title": "nameless"},
    None,
    {"name": "last", "arguments": "none"},
]


def test_an_invalid_resource_template_or_prompt_is_left_out_alone():
    templates = [{"name": "good", "uriTemplate": "it://{x}"}, {"name": "bad", "uriTemplate": None}]
    on = {
        "resources/list": [["reply", {"resources": ODD_RESOURCES}]],
        "resources/templates/list": [["reply", {"resourceTemplates": templates}]],
        "prompts/list": [["reply", {"prompts": ODD_PROMPTS}]],
    }
    with bridge_with(it=entry(no_tools=True, on=on)) as bridge:
        resources = bridge.list_resources("it")
        assert [x.uri for x in resources] == ["it://good", "it://last", "it://{x}"]
        assert [x.src for x in resources[0].icons] == ["a:b"]
        prompts = bridge.list_prompts("it")
        assert [x.name for x in prompts] == ["good", "last"]
        assert [(x.name, x.required) for x in prompts[0].arguments] == [("a", False)]
        notes = status_of(bridge, "it").notes
        assert {
            "A resource 'nowhere' was left out: it has no uri.",
            "A resource 'it://nameless' was left out: it has no name.",
            "A template 'bad' was left out: it has no uriTemplate.",
            "A prompt was left out: it has no name.",
        } <= {*notes}
