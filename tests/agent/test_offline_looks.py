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
    run = await talk("Who has Ivy?", unsure, garden)
    assert [name for name, _ in run.calls] == [BEDS.name]  # its name says that it lists


async def test_a_tool_that_lacks_nothing_stands_in_for_one_that_does() -> None:
    convert = tool("convert_time", "Tell the time of another zone.", time="string", to="string")
    now = replace(tool("current_time", "Tell the time."), read_only=True)
    run = await talk("What time is it?", [convert, now])
    assert run.calls == [("current_time", {})]


CHEST = tool("chest_add_item", "Put something into the chest.", optional="count",
             item=text("What to keep, such as `rope`."), count="integer")  # fmt: skip
PAINT = tool("paint_colour", "Name a colour.", colour=text("Hex.", pattern="^#[0-9a-f]{6}$"))
WORTH = tool("chest_worth", "What the chest is worth.",
             prices={"type": "object", "additionalProperties": {"type": "number"}})  # fmt: skip
SUM = tool("calculate", "Work out an arithmetic expression.", expression="string")
DAYS = replace(
    tool("days_between", "Count the days between dates.", start=text("YYYY-MM-DD"),
         end=text("YYYY-MM-DD")), read_only=True,
)  # fmt: skip
KIND = tool("list_jobs", "List the jobs of a trade.", trade={"enum": ["carpentry", "masonry"]})


@pytest.mark.parametrize(
    ("asked", "offered", "calls"),
    [
        pytest.param("Add rope to the chest", CHEST, [{"item": "rope"}], id="a-thing"),
        pytest.param(
            "Put rope, nails and a hammer in the chest", CHEST,
            [{"item": "rope"}, {"item": "nails"}, {"item": "hammer"}], id="several-things",
        ),
        pytest.param("Add 3 saws", CHEST, [{"item": "saws", "count": 3}], id="how-many"),
        pytest.param("Name the colour #a0b1c2", PAINT, [{"colour": "#a0b1c2"}], id="a-pattern"),
        pytest.param("Name the colour of grass", PAINT, [], id="not-the-pattern"),
        pytest.param(
            "What is the chest worth if a hammer is 7.5 and rope costs 2?", WORTH,
            [{"prices": {"hammer": 7.5, "rope": 2}}], id="numbers-of-things",
        ),
        pytest.param("What is 5 percent of 60?", SUM, [{"expression": "5 / 100 * 60"}], id="sum"),
        pytest.param(
            "How many days until Halloween?", DAYS,
            [{"start": "2026-03-12", "end": "2026-10-31"}], id="until",
        ),
        pytest.param(
            "Which jobs of carpentery are there?", KIND, [{"trade": "carpentry"}], id="misspelt"
        ),
    ],
)  # fmt: skip
async def test_arguments_are_what_the_words_and_the_schema_say(
    asked: str, offered: Any, calls: list[dict[str, Any]]
) -> None:
    run = await talk(asked, [offered])
    assert [arguments for _, arguments in run.calls] == calls


async def test_a_conversion_is_done_by_the_tool_for_its_units() -> None:
    ways = ["feet_to_miles", "miles_to_feet"]
    tools = [tool(x, f"Convert {x.replace('_', ' ')}.", value="number") for x in ways]
    run = await talk("How many miles are 500 feet?", tools)
    assert run.calls == [("feet_to_miles", {"value": 500})]
