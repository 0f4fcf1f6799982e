"""The offline model where no words surely mean a tool: it looks into what can only be read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.offline_talk import talk, text, tool

pytestmark = pytest.mark.anyio

PLANTS = [
    {"name": "Common ivy", "keeper": "Ida", "thirsty": False, "height": 3},
    {"name": "Blue thistle", "keeper": None, "thirsty": True, "height": 1},
]
QUERY = text("Words of the name. Empty gives all plants.")
FIND = replace(
    tool("garden_search_plants", "Search the garden.", query=QUERY), read_only=True
)  # fmt: skip
BEDS = replace(tool("garden_list_beds", "All beds."), read_only=True)
WATER = replace(tool("garden_water_plant", "Water a plant.", name="string"), read_only=False)
ALL = [FIND, BEDS, WATER]


def garden(name: str, arguments: dict[str, Any]) -> str:
    if name == BEDS.name:
        return json.dumps([{"bed": "North", "roses": "Queen of Denmark"}, {"bed": "South"}])
    found = [x for x in PLANTS if arguments["query"].lower() in str(x["name"]).lower()]
    return json.dumps({"plants": found})


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        pytest.param("Who has Ivy?", "Common ivy (keeper Ida", id="a-name"),
        pytest.param("Do you have Thistel?", "Blue thistle", id="a-misspelt-name"),
        pytest.param("Where is the Queen of Denmark?", "North", id="in-a-list"),
        pytest.param("What is the tallest, or rather longest one?", "", id="nothing"),
    ],
)
async def test_a_name_is_looked_for_in_what_can_only_be_read(asked: str, says: str) -> None:
    run = await talk(asked, ALL, garden)
    assert says in run.answer
    assert WATER.name not in {name for name, _ in run.calls}


async def test_nothing_that_may_change_something_is_called_to_look() -> None:
    unsure = [replace(x, read_only=None) for x in ALL]
    assert (await talk("Who has Ivy?", unsure, garden)).calls == []


async def test_a_tool_that_lacks_nothing_stands_in_for_one_that_does() -> None:
    convert = tool("convert_time", "Tell the time of another zone.", time="string", to="string")
    now = replace(tool("current_time", "Tell the time."), read_only=True)
    run = await talk("What time is it?", [convert, now])
    assert run.calls == [("current_time", {})]
