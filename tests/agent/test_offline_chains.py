"""Requests that take more than one call: what is called together, what waits, what is handed on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.offline_talk import Talk, ask, talk, text, tool
from xai_mcp_agent.agent.messages import Message

pytestmark = pytest.mark.anyio

SUMS = [
    tool("add", "Add two numbers.", a="number", b="number"),
    tool("multiply", "Multiply two numbers.", a="number", b="number"),
    tool("divide", "Divide a number by another.", a="number", b="number"),
]
FILMS = [
    tool("films_search_films", "Find films by title or subject.", query="string"),
    tool("films_get_film", "Give the details of one film.", film_id="integer"),
    tool("films_rent_film", "Rent a film to a customer.", film_id="integer", customer="string"),
]
CLOCK = [
    tool("clock_current_time", "Tell the current time in a time zone.",
         timezone=text("IANA time zone.")),
    tool("clock_convert_time", "Convert a time of day to another time zone.",
         time=text("HH:MM"), from_timezone="string", to_timezone="string"),
]  # fmt: skip
WEEKDAY = tool("weekday_of", "Tell the weekday of a date.", date=text("YYYY-MM-DD"))
TRANSLATE = tool("translate", "Translate a text.", text="string", language="string")
POSTER = tool("make_poster", "Makes a poster.", optional="input", input="string")

FOUND = {
    "total": 3,
    "films": [
        {"film_id": 4, "title": "Safety Last!", "year": 1923, "released": "1923-04-01"},
        {"film_id": 9, "title": "Metropolis", "year": 1927, "released": "1927-01-10"},
        {"film_id": 2, "title": "Nosferatu", "year": 1922, "released": "1922-03-04"},
    ],
}


def counts(name: str, arguments: dict[str, Any]) -> str:
    a, b = arguments["a"], arguments["b"]
    return json.dumps({"result": {"add": a + b, "multiply": a * b, "divide": a / b}[name]})


def cinema(name: str, arguments: dict[str, Any]) -> str:
    if name == "films_search_films":
        return json.dumps(FOUND, indent=2)
    if name == "films_get_film":
        films = {x["film_id"]: x for x in FOUND["films"]}  # type: ignore[index]
        return json.dumps(films.get(arguments["film_id"], {}))
    return json.dumps(arguments)


async def test_a_result_is_the_operand_of_the_next_sum() -> None:
    run = await talk("Add 2 and 3 and then multiply the result by 4", SUMS, counts)
    assert run.turns == [[("add", {"a": 2, "b": 3})], [("multiply", {"a": 5, "b": 4})]]
    assert "20" in run.answer


async def test_an_operation_without_a_first_operand_goes_on_from_the_result() -> None:
    run = await talk("add 6 and 6, then divide by 3", SUMS, counts)
    assert run.turns[1] == [("divide", {"a": 12, "b": 3})]


async def test_a_reference_stands_where_it_was_said() -> None:
    run = await talk("Multiply 2 and 5, then divide 100 by it", SUMS, counts)
    assert run.turns[1] == [("divide", {"a": 100, "b": 10})]


async def test_what_does_not_depend_is_called_together() -> None:
    """Like a real model's parallel calls."""
    run = await talk("What time is it in Rome? Add 1 and 2.", [*CLOCK, *SUMS])
    assert run.turns == [
        [("clock_current_time", {"timezone": "Europe/Rome"}), ("add", {"a": 1, "b": 2})]
    ]


@pytest.mark.parametrize(
    ("request_text", "film"),
    [
        ("Search for silent films and rent it to Ada", 4),
        ("Search for silent films and rent the second one to Ada", 9),
        ("Search for silent films and rent the last one to Ada", 2),
        ("Search for the oldest silent film and rent it to Ada", 2),
        ("Search for silent films, then rent the newest to Ada", 9),
    ],
)
async def test_words_choose_among_several_results(request_text: str, film: int) -> None:
    run = await talk(request_text, FILMS, cinema)
    assert run.turns[0][0][0] == "films_search_films"
    assert run.turns[1] == [("films_rent_film", {"film_id": film, "customer": "Ada"})]


async def test_them_means_each_of_the_results() -> None:
    run = await talk("Find silent films and rent them to Ada", FILMS, cinema)
    assert [x[1]["film_id"] for x in run.turns[1]] == [4, 9, 2]


async def test_a_thing_called_by_its_name_is_looked_up_first() -> None:
    run = await talk("Rent Metropolis to Ada", FILMS, cinema)
    assert run.turns == [
        [("films_search_films", {"query": "Metropolis"})],
        [("films_rent_film", {"film_id": 9, "customer": "Ada"})],
    ]


async def test_what_gives_an_id_is_known_though_it_is_called_otherwise() -> None:
    """As the planner knows it: the parameter's description says where it comes from."""
    geo_id = {"type": "integer", "description": "Of the place, as search_location gives it."}
    functions = [
        tool("search_songs", "Search songs by their words.", query="string"),
        tool("search_location", "Search a place by its name.", query="string"),
        tool("list_rooms", "List free rooms.", geo_id=geo_id),
    ]

    def answer(name: str, arguments: dict[str, Any]) -> str:
        found = [{"geo_id": 7, "label": "Ledbury"}]
        return json.dumps(found if name == "search_location" else arguments)

    run = await talk("List free rooms in Ledbury", functions, answer)
    assert run.turns == [
        [("search_location", {"query": "Ledbury"})],
        [("list_rooms", {"geo_id": 7})],
    ]


async def test_nothing_is_done_to_a_thing_whose_name_several_share() -> None:
    """Renting the first of three would be a guess."""
    run = await talk("Rent Caligari to Ada", FILMS, cinema)
    assert [x[0] for x in run.calls] == ["films_search_films"]
    assert "I did not call films_rent_film" in run.answer
    assert "Caligari" in run.answer


async def test_a_field_of_the_right_form_is_handed_on() -> None:
    run = await talk(
        "Find the oldest silent film and tell me its weekday", [*FILMS, WEEKDAY], cinema
    )
    assert run.turns[1] == [("weekday_of", {"date": "1922-03-04"})]


async def test_a_named_field_is_handed_on() -> None:
    run = await talk("Search for silent films, then translate the title into French",
                     [*FILMS, TRANSLATE], cinema)  # fmt: skip
    assert run.turns[1] == [("translate", {"text": "Safety Last!", "language": "French"})]


async def test_a_drawn_tool_gets_the_title_of_what_was_found() -> None:
    run = await talk("Find a silent film and make a poster for it", [POSTER, *FILMS], cinema)
    assert run.turns[1] == [("make_poster", {"input": "Safety Last!"})]


async def test_a_question_about_a_field_needs_no_second_call() -> None:
    run = await talk("Find the oldest silent film and tell me its title", FILMS, cinema)
    assert len(run.calls) == 1
    assert "The oldest is Nosferatu" in run.answer


async def test_a_plain_text_result_gives_its_number() -> None:
    def spoken(name: str, arguments: dict[str, Any]) -> str:
        return f"The {name} of 2 and 3 is 5." if name == "add" else "done"

    run = await talk("Add 2 and 3, then multiply it by 10", SUMS, spoken)
    assert run.turns[1] == [("multiply", {"a": 5, "b": 10})]


@pytest.mark.parametrize("odd", ["1e999", "NaN", "-Infinity"])
async def test_a_number_that_is_none_is_not_handed_on(odd: str) -> None:
    """JSON readers accept them, JSON itself and every tool do not."""
    run = await talk(
        "Add 2 and 3, then multiply it by 4", SUMS, lambda _n, _a: f'{{"result": {odd}}}'
    )
    assert [x[0] for x in run.calls] == ["add"]


async def test_what_follows_a_change_waits_for_it() -> None:
    """Calls of one turn run at once: returning and lending must not."""
    tools = [
        tool("return_book", "Take a book back.", book="integer"),
        tool("lend_book", "Lend a book to a reader.", book="integer", reader="string"),
    ]
    run = await talk("Return book 7 and lend book 7 to Ada", tools)
    assert run.turns == [
        [("return_book", {"book": 7})],
        [("lend_book", {"book": 7, "reader": "Ada"})],
    ]


async def test_a_step_whose_source_failed_is_not_called() -> None:
    run = await talk("Search for silent films and rent it to Ada", FILMS,
                     lambda _name, _arguments: "ERROR: the catalogue is closed")  # fmt: skip
    assert len(run.calls) == 1
    assert "films_search_films failed: the catalogue is closed" in run.answer
    assert "films_rent_film: it needs the result of films_search_films" in run.answer


@pytest.mark.parametrize(
    "error",
    [
        "ERROR: There is no unit 'mils' here. Did you mean 'mile'?",
        "ERROR: Unknown unit: mils. Did you mean mile or metre?",
        "ERROR: mils is not a unit. Known units: metre, mile, foot.",
    ],
)
async def test_a_value_is_mended_once_as_the_error_offers(error: str) -> None:
    convert = tool(
        "convert", "Convert units.", value="number", from_unit="string", to_unit="string"
    )

    def strict(_name: str, arguments: dict[str, Any]) -> str:
        return error if arguments["from_unit"] == "mils" else "8.05 km"

    run = await talk("convert 5 mils to km", [convert], strict)
    assert [x[1]["from_unit"] for x in run.calls] == ["mils", "mile"]
    assert run.answer == "8.05 km"


async def test_an_error_that_stays_is_explained_and_not_tried_for_ever() -> None:
    convert = tool(
        "convert", "Convert units.", value="number", from_unit="string", to_unit="string"
    )
    error = "ERROR: There is no unit 'mils'. Did you mean 'mills'?"
    run = await talk("convert 5 mils to km", [convert], lambda _n, _a: error)
    assert len(run.calls) == 2
    assert "convert failed: There is no unit 'mils'." in run.answer


# More than one request in a conversation


async def followed_by(run: Talk, request: str, tools: list[Any], **more: Any) -> Talk:
    said = {"role": "assistant", "content": run.answer}
    return await talk(request, tools, before=[*run.messages, said], **more)


async def test_it_means_the_result_of_the_request_before() -> None:
    run = await talk("Search for silent films", FILMS, cinema)
    again = await followed_by(run, "Rent the second one to Ada", FILMS)
    assert again.calls == [("films_rent_film", {"film_id": 9, "customer": "Ada"})]


async def test_and_in_another_place_repeats_the_last_tool() -> None:
    run = await talk("What time is it in Rome?", CLOCK)
    again = await followed_by(run, "And in Tokyo?", CLOCK)
    assert again.calls == [("clock_current_time", {"timezone": "Asia/Tokyo"})]


async def test_a_path_holds_until_another_is_named() -> None:
    tools = [
        tool("repo_status", "Show the working tree status.", repo_path="string"),
        tool("repo_log", "Show the commit log.", repo_path="string"),
    ]
    run = await talk("show the status of /srv/site", tools)
    again = await followed_by(run, "now show the log", tools)
    assert again.calls == [("repo_log", {"repo_path": "/srv/site"})]


async def test_an_old_person_is_not_taken_for_a_new_request() -> None:
    """Whom a film is rented to is said each time."""
    run = await talk("Rent film 9 to Ada", FILMS, cinema)
    again = await followed_by(run, "Rent film 4", FILMS)
    assert again.calls == []
    assert "`customer`" in again.answer


async def test_a_bare_value_does_not_repeat_a_change() -> None:
    """ "8" after "return book 7" may mean anything."""
    tools = [tool("return_book", "Take a book back.", book_id="integer")]
    run = await talk("Return book 7", tools)
    assert (await followed_by(run, "8", tools)).calls == []


async def test_what_was_named_is_it_and_not_what_the_tool_said_of_it() -> None:
    tools = [
        tool("create_branch", "Create a branch.", branch_name="string"),
        tool("checkout", "Switch to a branch.", branch_name="string"),
    ]
    run = await talk("Create the branch demo and switch to it", tools,
                     lambda _n, _a: "Created branch 'demo' from 'main'")  # fmt: skip
    assert run.turns[1] == [("checkout", {"branch_name": "demo"})]


async def test_give_it_back_is_a_return() -> None:
    tools = [*FILMS, tool("films_return_film", "Take a film back.", film_id="integer")]
    run = await talk("Rent film 9 to Ada", tools, cinema)
    again = await followed_by(run, "give it back", tools)
    assert again.calls == [("films_return_film", {"film_id": 9})]


async def test_a_value_said_beside_the_request_is_used() -> None:
    run = await talk("My name is Ada. Please rent film 9.", FILMS, cinema)
    assert run.calls == [("films_rent_film", {"film_id": 9, "customer": "Ada"})]


async def test_when_no_tool_may_be_used_any_more_it_answers_from_what_there_is() -> None:
    """The loop's last turn, when the limit of thoughts is reached."""
    run = await talk("Search for silent films", FILMS, cinema)
    notice = "The limit of thoughts is reached and no tool can be used any more. Answer now."
    asked: Message = {"role": "user", "content": "Search for silent films, then rent film 4 to Ada"}
    messages = [asked, *run.messages[1:], {"role": "user", "content": notice}]
    reply = await ask(messages, FILMS, may_call=False)
    assert reply.calls == ()
    assert "TOOL:" not in reply.text
    assert "Safety Last!" in reply.text


async def test_tools_that_appear_on_the_way_do_not_make_it_start_again() -> None:
    first = await ask([{"role": "user", "content": "Search for silent films"}], FILMS)
    messages: list[Message] = [
        {"role": "user", "content": "Search for silent films"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": x.id, "type": "function", "function": {"name": x.name, "arguments": x.arguments}}
            for x in first.calls]},
        {"role": "tool", "tool_call_id": first.calls[0].id, "content": json.dumps(FOUND)},
    ]  # fmt: skip
    reply = await ask(messages, [*FILMS, *SUMS, WEEKDAY])
    assert reply.calls == ()
    assert "Metropolis" in reply.text


async def test_call_ids_are_new_in_the_conversation() -> None:
    messages: list[Message] = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
        {"role": "user", "content": "Add 1 and 2, and multiply 3 by 4"},
    ]  # fmt: skip
    reply = await ask(messages, SUMS)
    assert [x.id for x in reply.calls] == ["call_2", "call_3"]
