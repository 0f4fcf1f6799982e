"""Prompts and resources stand in the catalog like tools: listed at connect and after notices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.bridges import bridge_with, names_of, status_of
from tests.support.fault_server import entry
from xai_mcp_agent import Bridge, Prompt, Resource, ServerError, ToolTimeout

REVIEW = {"name": "review", "description": "Review it."}
PAGE = {"name": "page", "uri": "it://page"}


def asked(bridge: Bridge) -> dict[str, int]:
    """How often the server was asked for each of its lists, by its own count."""
    seen = json.loads(bridge.call_tool("it", "seen").text)
    return {x: seen.count(f"{x}/list") for x in ("tools", "prompts", "resources")}


def test_prompts_and_resources_are_listed_with_the_tools_and_answered_from_the_catalog():
    with bridge_with(it=entry(prompts=[REVIEW], resources=[PAGE])) as bridge:
        assert (bridge.prompts(), bridge.resources()) == ({}, {}), "nothing is connected for it"
        bridge.connect(wait=True)
        assert bridge.prompts() == {"it": (Prompt("review", "Review it."),)}
        assert bridge.resources() == {"it": (Resource("it://page", "page"),)}
        assert bridge.list_prompts("it") == [Prompt("review", "Review it.")]
        assert bridge.list_resources("it") == [Resource("it://page", "page")]
        assert asked(bridge) == {"tools": 1, "prompts": 1, "resources": 1}
        bridge.disconnect("it")
        assert (bridge.prompts(), bridge.resources()) == ({}, {})


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_burst_of_notices_lists_anew_what_changed_and_nothing_else(era: str):
    with bridge_with(it=entry(era=era, prompts=[REVIEW], resources=[])) as bridge:
        bridge.connect(wait=True)
        other = {**REVIEW, "name": "other"}
        bridge.call_tool("it", "set_tools", {"tools": [], "features": {"prompts": [REVIEW, other]},
                                             "notices": 50})  # fmt: skip
        assert [x.name for x in bridge.list_prompts("it")] == ["review", "other"]
        assert [x.name for x in bridge.prompts()["it"]] == ["review", "other"]
        assert asked(bridge) == {"tools": 1, "prompts": 2, "resources": 1}


REFUSED = '{"jsonrpc": "2.0", "id": ID, "error": {"code": 1, "message": "no"}}'


@pytest.mark.parametrize(
    "how",
    [
        {"on": {"prompts/list": []}},
        {"on": {"prompts/list": [["line", REFUSED]]}},
        {"prompts": "none"},
    ],
)
def test_a_listing_of_prompts_that_fails_costs_no_tool_and_no_resource(how: dict[str, Any]):
    """It is asked for again when somebody wants it."""
    options = {"prompts": [REVIEW], "resources": [PAGE], **how}
    with bridge_with(it=entry(**options, listTimeout=0.5)) as bridge:
        assert "echo" in names_of(bridge.list_tools("it"))
        assert bridge.resources() == {"it": (Resource("it://page", "page"),)}
        assert bridge.prompts() == {}
        if "on" in how:
            (note,) = status_of(bridge, "it").notes
            assert note.startswith("Its prompts could not be listed: prompts/list ")
            with pytest.raises((ServerError, ToolTimeout), match="prompts/list"):
                bridge.list_prompts("it")
