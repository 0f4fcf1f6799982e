"""What newcomers say in passing: things that are wanted, orders, lists, initials, several names.

Other tools than the bundled ones: the rules are about English, and not about these.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.offline_talk import Call, first_calls, talk, text, tool

pytestmark = pytest.mark.anyio

PACK = [
    tool("bag_add_thing", "Put something into the bag.", optional="amount",
         thing=text("What to buy or pack, such as `socks`."), amount="integer"),
    tool("bag_show_list", "Tell what is in the bag.", optional="order",
         order={"enum": ["as packed", "by name"]}),
    tool("bag_delete_everything", "Empty the bag."),
]  # fmt: skip
FORMULAS = [
    tool("lab_specific_gas_constant", "A constant of gases.", molar="number", kelvin="number"),
    tool("lab_average_pressure", "The pressure of a gas on average.", pascal="number",
         seconds="number"),
    tool("lab_mean", "The average of numbers.", optional="",
         numbers={"type": "array", "items": {"type": "number"}}),
    tool("lab_box_volume", "The volume of a box.", length="number", width="number",
         height="number"),
]  # fmt: skip
ZOO = [
    tool("zoo_search_animals", "Find animals by name.", query="string"),
    tool("zoo_lend_animal", "Lend an animal to a zoo.", animal_id="integer", customer="string"),
]


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ("We need 3 towels", [("bag_add_thing", {"amount": 3, "thing": "towels"})]),
        ("Don't forget sunscreen!", [("bag_add_thing", {"thing": "sunscreen"})]),
        ("We are out of toothpaste", [("bag_add_thing", {"thing": "toothpaste"})]),
        (
            "I want to buy 2 maps and 4 candles",
            [
                ("bag_add_thing", {"amount": 2, "thing": "maps"}),
                ("bag_add_thing", {"amount": 4, "thing": "candles"}),
            ],
        ),
        ("Do we need towels?", []),
    ],
)
async def test_what_is_wanted_is_put_on_a_list_of_things_and_a_question_changes_nothing(
    said: str, calls: list[Call]
) -> None:
    made = [x for x in await first_calls(said, PACK) if x[0] != "bag_show_list"]
    assert made == calls


@pytest.mark.parametrize(
    "said", ["We need less", "I need the weather in Oslo", "buy", "We're out of everything"]
)
async def test_a_wish_alone_deletes_nothing(said: str) -> None:
    assert "bag_delete_everything" not in {name for name, _ in await first_calls(said, PACK)}


async def test_a_wish_puts_nothing_where_no_list_of_things_is() -> None:
    tickets = tool("desk_create_ticket", "Create a ticket.", title="string")
    notes = tool("desk_add_note", "Add a note.", text="string")
    assert await first_calls("We need 6 eggs", [tickets, notes]) == []


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("Show me everything in alphabetical order", {"order": "by name"}),
        ("how many things are on the list?", {}),
    ],
)
async def test_a_whole_list_is_shown_in_the_order_that_is_meant(
    said: str, arguments: dict[str, Any]
) -> None:
    run = await talk(said, PACK, lambda _name, _given: json.dumps({"socks": 2, "map": 1}))
    assert run.calls == [("bag_show_list", arguments)]
    assert "socks" in run.answer


async def test_initials_find_a_tool_that_is_called_so() -> None:
    said = "What is the SGC for 44 at 290 kelvin?"
    assert await first_calls(said, FORMULAS) == [
        ("lab_specific_gas_constant", {"molar": 44, "kelvin": 290})
    ]


async def test_numbers_in_a_row_go_to_a_tool_that_takes_them_all() -> None:
    calls = await first_calls("What is the average of 4, 8 and 15?", FORMULAS)
    assert calls == [("lab_mean", {"numbers": [4, 8, 15]})]
    calls = await first_calls("the volume of a box of 2, 3 and 4", FORMULAS)
    assert calls == [("lab_box_volume", {"length": 2, "width": 3, "height": 4})]


@pytest.mark.parametrize("verb", ["plus", "+"])
async def test_fractions_are_reckoned_with(verb: str) -> None:
    sums = tool("calculate", "Work out an arithmetic expression.", expression="string")
    calls = await first_calls(f"what is 1/3 {verb} 1/4", [sums])
    assert calls == [("calculate", {"expression": "1/3 + 1/4"})]


def zoo(known: dict[str, int]) -> Any:
    def answer(name: str, arguments: dict[str, Any]) -> str:
        if name == "zoo_lend_animal":
            return json.dumps({"lent": arguments["animal_id"]})
        found = {k: v for k, v in known.items() if arguments["query"].lower() in k.lower()}
        return json.dumps({"animals": [{"name": k, "id": v} for k, v in found.items()]})

    return answer


async def test_two_names_that_are_two_things_are_looked_up_apart() -> None:
    run = await talk("Lend Nala and Simba to Ida", ZOO, zoo({"Nala": 3, "Simba": 5}))
    lent = [given["animal_id"] for name, given in run.calls if name == "zoo_lend_animal"]
    assert lent == [3, 5]


async def test_two_names_that_are_one_thing_are_not_taken_apart() -> None:
    run = await talk("Lend Bonnie and Clyde to Ida", ZOO, zoo({"Bonnie and Clyde": 8, "Bonnie": 9}))
    assert run.calls[0] == ("zoo_search_animals", {"query": "Bonnie and Clyde"})
    assert [given["animal_id"] for name, given in run.calls if name == "zoo_lend_animal"] == [8]


@pytest.mark.parametrize("known", [{"Nala": 3}, {"Nala": 3, "Simba": 5, "Simba the Second": 6}, {}])
async def test_nothing_is_done_by_halves_where_a_name_is_not_found_or_is_that_of_several(
    known: dict[str, int],
) -> None:
    run = await talk("Lend Nala and Simba to Ida", ZOO, zoo(known))
    lent = [given["animal_id"] for name, given in run.calls if name == "zoo_lend_animal"]
    assert lent == ([3, 5] if len(known) == 3 else [])


async def test_a_question_about_what_is_sold_or_was_bought_only_reads() -> None:
    shop = [
        tool("shop_list_goods", "The goods of the shop."),
        tool("shop_buy_goods", "Buy something.", item="string"),
    ]
    for said in ("What can I buy?", "What do you sell?", "What was bought?"):
        assert await first_calls(said, shop) == [("shop_list_goods", {})]
