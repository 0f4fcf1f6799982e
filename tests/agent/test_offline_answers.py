"""What the offline model says: from results, and of itself when it cannot help."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.offline_talk import ask, first_calls, talk, text, tool
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.agent.models.offline.examples import example_request
from xai_mcp_agent.agent.models.offline.model import OfflineModel
from xai_mcp_agent.agent.models.offline.planners import planner_of
from xai_mcp_agent.core.provider_schema import FunctionSpec

pytestmark = pytest.mark.anyio

SEARCH = tool("shop_find_products", "Find products.", query="string")
WEEKDAY = tool("weekday_of", "Tell the weekday of a date.", date=text("YYYY-MM-DD"))
CLOCK = tool("current_time", "Tell the current time in a time zone.", timezone="string")
SUMS = [tool("add", "Add two numbers.", a="number", b="number")]


async def answer(request: str, function: FunctionSpec, result: Any) -> str:
    """The answer when the tool gives this back."""
    given = result if isinstance(result, str) else json.dumps(result, indent=2)
    return (await talk(request, [function], lambda _name, _arguments: given)).answer


async def test_a_text_is_the_answer() -> None:
    assert await answer("find products like rope", SEARCH, "Rope, 10 m\n") == "Rope, 10 m"


async def test_a_list_is_lines_with_a_count() -> None:
    products = [{"id": n, "name": f"Rope {n}", "price": 2.5} for n in range(1, 18)]
    assert await answer("find ropes for products", SEARCH, products) == (
        "17 results:\n"
        "- Rope 1 (id 1, price 2.5)\n"
        "- Rope 2 (id 2, price 2.5)\n"
        "- Rope 3 (id 3, price 2.5)\n"
        "- Rope 4 (id 4, price 2.5)\n"
        "- Rope 5 (id 5, price 2.5)\n"
        "... and 12 more."
    )


async def test_who_made_a_thing_stands_beside_its_title() -> None:
    book = {"id": 14, "title": "Moby-Dick", "author": "Herman Melville", "year": 1851}
    said = await answer("find the product Moby", SEARCH, {"total": 1, "books": [book]})
    assert said == "Moby-Dick by Herman Melville (id 14, year 1851)."


async def test_several_json_values_in_one_text_are_a_list() -> None:
    """A server that answers with a list sends each item as a part of its own."""
    said = await answer("find products: rope", SEARCH, '{"name": "Rope"}\n{"name": "Chain"}')
    assert said == "2 results:\n- Rope\n- Chain"


async def test_the_field_that_was_asked_for_comes_first() -> None:
    result = {"date": "2026-03-12", "weekday": "Thursday", "day_of_year": 71}
    assert await answer("What weekday is 12 March 2026?", WEEKDAY, result) == (
        "The weekday is Thursday (date 2026-03-12, day of year 71)."
    )


async def test_a_sentence_in_the_result_is_the_answer() -> None:
    result = {"value": 5, "result": 8.04672, "sentence": "5 mi = 8.04672 km"}
    assert await answer("find products 5 mi", SEARCH, result) == "5 mi = 8.04672 km"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"result": 5}, "The result is 5."),
        ("5", "The result is 5."),
        ({"result": 0.1 + 0.2}, "The result is 0.3."),
        ({"time": "2026-03-12T14:30:00Z"}, "The time is 2026-03-12 14:30:00 UTC."),
        ([], 'shop_find_products found nothing for "rope".'),
        ({"products": [], "total": 0}, 'shop_find_products found nothing for "rope".'),
        ({}, "The tool gave back nothing."),
        ("", "The tool gave back nothing."),
        ({"name": "Rope", "in_stock": True, "note": None}, "Rope (in stock yes)."),
        ("{broken", "{broken"),
    ],
)
async def test_plain_results_read_as_sentences(result: Any, said: str) -> None:
    assert await answer("find products: rope", SEARCH, result) == said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("find products: rope", "Rope (price 9)."),
        ("Is there any rope in the products?", "Rope (price 9, buyer none)."),
        ("find products: rope, and the buyer of it", "Rope (buyer none, price 9)."),
    ],
)
async def test_what_a_thing_lacks_is_said_to_who_asks_for_it(asked: str, said: str) -> None:
    assert await answer(asked, SEARCH, [{"name": "Rope", "price": 9, "buyer": None}]) == said


async def test_the_superlative_is_answered_above_the_list() -> None:
    result = [{"name": "Rope", "price": 9}, {"name": "Twine", "price": 2}]
    said = await answer("find the cheapest products for knots", SEARCH, result)
    assert said.splitlines()[1] == "The cheapest is Twine (price 2)."


async def test_a_yes_or_no_field_that_is_named_chooses_the_items() -> None:
    result = [{"name": "Rope", "in_stock": True}, {"name": "Twine", "in_stock": False}]
    said = await answer("find products in stock", SEARCH, result)
    assert said == "1 of 2 (in stock):\n- Rope (in stock yes)"


async def test_results_of_several_calls_name_their_tool_and_its_arguments() -> None:
    run = await talk("What time is it in Rome and Oslo?", [CLOCK], lambda _n, a: a["timezone"])
    assert run.answer == (
        "current_time (Europe/Rome): Europe/Rome\n\ncurrent_time (Europe/Oslo): Europe/Oslo"
    )


async def test_a_very_long_text_is_cut_and_says_how_much_is_left() -> None:
    said = await answer("find products: rope", SEARCH, "rope " * 10_000)
    assert len(said) < 3000
    assert said.endswith(" more characters)")


async def test_an_error_is_said_plainly() -> None:
    said = await answer("find products: rope", SEARCH, "ERROR: the shop is closed")
    assert said == "shop_find_products failed: the shop is closed"


async def test_a_part_without_a_tool_is_not_passed_over() -> None:
    run = await talk("Add 1 and 2. Sing me a song.", SUMS, lambda _n, _a: "3")
    assert run.answer == 'The result is 3.\n\nI found no tool for: "Sing me a song"'


async def test_a_thought_goes_with_the_calls() -> None:
    run = await talk("Add 1 and 2", SUMS)
    assert run.thoughts == ['I will use add for "Add 1 and 2".']


async def test_the_value_that_is_missing_is_named() -> None:
    run = await talk("What time is it?", [CLOCK])
    assert run.calls == []
    assert run.answer == (
        "I would use current_time, but the request does not say what `timezone` should be.\n\n"
        'Ask for something like: "current time, timezone: Europe/London".'
    )


async def test_a_missing_choice_lists_what_there_is() -> None:
    branches = tool("list_branches", "List branches.", kind={"enum": ["local", "remote"]})
    run = await talk("list the branches", [branches])
    assert "`kind` takes one of: local, remote." in run.answer


async def test_a_default_in_words_is_taken() -> None:
    """Some servers say in the description what to use when nobody says."""
    zone = text("Use 'Etc/UTC' if no timezone is provided by the user.")
    clock = tool("current_time", "Tell the time.", timezone=zone)
    assert await first_calls("What time is it?", [clock]) == [
        ("current_time", {"timezone": "Etc/UTC"})
    ]


# What it says of itself


@pytest.mark.parametrize(
    "request_text", ["Tell me a joke", "Wie spät ist es?", "42", "lorem ipsum dolor " * 600]
)
async def test_what_nothing_fits_is_said_with_the_way_on(request_text: str) -> None:
    run = await talk(request_text, [SEARCH, WEEKDAY])
    assert run.calls == []
    assert run.answer.startswith("I am the offline model: fixed rules, not a language model.")
    assert "2 tools and found none that fits" in run.answer
    assert "`agent_provider`" in run.answer
    assert "OPENAI_API_KEY" in run.answer


@pytest.mark.parametrize("request_text", ["What time is it?", "What can you do?"])
async def test_without_tools_it_says_so(request_text: str) -> None:
    """A key would not bring them."""
    run = await talk(request_text, [])
    who = "I am the offline model: fixed rules, not a language model."
    assert run.answer == f"{who} I have no tools."


@pytest.mark.parametrize(
    "request_text", ["hello", "Hi there!", "help", "What can you do?", "Hey, help me"]
)
async def test_a_greeting_lists_the_tools(request_text: str) -> None:
    run = await talk(request_text, [SEARCH, WEEKDAY])
    assert "- shop_find_products: Find products." in run.answer
    assert "- weekday_of: Tell the weekday of a date." in run.answer


async def test_a_greeting_before_a_request_is_passed_over() -> None:
    assert await first_calls("Hello! Add 1 and 2 please.", SUMS) == [("add", {"a": 1, "b": 2})]


@pytest.mark.parametrize(
    "function",
    [
        SEARCH,
        WEEKDAY,
        CLOCK,
        tool("mailSend", "Send a mail.", to=text("e-mail address"), body="string"),
        tool("files.read", "Read a file.", path="string", encoding={"enum": ["utf-8", "latin-1"]}),
        tool("order_status", "Tell where an order is.", order_id="integer"),
        tool("branch_create", "Create a branch.", branch_name=text("such as fix-1")),
    ],
    ids=lambda x: x.name,
)
async def test_its_own_examples_work(function: FunctionSpec) -> None:
    """What it suggests to ask for is understood when it is asked for."""
    request = example_request(planner_of([function]).worded(function.name))
    calls = await first_calls(request, [function])
    assert [x[0] for x in calls] == [function.name], request
    assert set(calls[0][1]) == set(function.parameters["required"])


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "system", "content": "You are kind."}],
        [{"role": "assistant", "content": "Hello, how can I help?"}],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": None}],
        [{"role": "user", "content": []}],
        [{"role": "user", "content": "Please begin."}],
    ],
)
async def test_a_conversation_without_a_request_gets_an_introduction(
    messages: list[Message],
) -> None:
    reply = await ask(messages, [SEARCH])
    assert reply.calls == ()
    assert "- shop_find_products" in reply.text


async def test_after_its_own_answer_it_has_nothing_to_add() -> None:
    run = await talk("Add 1 and 2", SUMS, lambda _n, _a: "3")
    messages = [*run.messages, {"role": "assistant", "content": run.answer},
                {"role": "user", "content": "Please continue."}]  # fmt: skip
    assert (await ask(messages, SUMS)).text == "I have nothing to add."


async def test_text_beside_an_image_is_read_and_the_image_is_not() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    parts = [{"type": "text", "text": "Add 1 and 2"}, image]
    assert len((await ask([{"role": "user", "content": parts}], SUMS)).calls) == 1
    parts[0]["text"] = "What is this?"
    reply = await ask([{"role": "user", "content": parts}], SUMS)
    assert "I cannot see images." in reply.text


async def test_braces_in_prompts_and_requests_are_only_text() -> None:
    messages = [{"role": "system", "content": "{tools} {{x}} {0}"},
                {"role": "user", "content": 'Add 1 and 2 {"a": {b} %s {}}'}]  # fmt: skip
    assert len((await ask(messages, SUMS)).calls) == 1


async def test_it_says_its_name_and_needs_no_closing() -> None:
    model = OfflineModel()
    assert (model.name, model.calls_functions) == ("offline rules", True)
    await model.aclose()
    await model.aclose()
