"""Behaviour of the offline model: plain answers, unchanged results, no change without an order."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.any_json import SCHEMA_PARTS, SCHEMAS
from tests.support.offline_talk import Call, Talk, ask, first_calls, talk, text, tool
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.search.meta_tools import TOOL_SEARCH

pytestmark = pytest.mark.anyio

WHO = "I am the offline model. I follow rules; ask me for one thing a tool can do."
SUMS = [
    tool("add", "Add two numbers.", a="number", b="number"),
    tool("multiply", "Multiply two numbers.", a="number", b="number"),
    tool("divide", "Divide the first number by the second.", a="number", b="number"),
]
FIND = replace(
    tool("films_search_films", "Find films by title or subject.", query="string"), read_only=True
)
RENT = tool("films_rent_film", "Rent a film to a customer.", film_id="integer", customer="string")
FILMS = [FIND, RENT]
WEEKDAY = tool("weekday_of", "Tell the weekday of a date.", date=text("YYYY-MM-DD"))
POSTER = tool("make_poster", "Makes a poster.", optional="input", input="string")
CLOCK = tool("clock_current_time", "Tell the current time in a zone.", timezone=text("IANA zone."))
BAG = tool("bag_add_item", "Put something into the bag.", optional="amount",
           item=text("What to buy or pack."), amount="integer")  # fmt: skip
CATALOGUE = [
    {"film_id": 4, "title": "Safety Last!", "year": 1923, "released": "1923-04-01"},
    {"film_id": 9, "title": "Metropolis", "year": 1927, "released": "1927-01-10"},
    {"film_id": 2, "title": "Nosferatu", "year": 1922, "released": "1922-03-04"},
]


def cinema(name: str, arguments: dict[str, Any]) -> str:
    if name != FIND.name:
        return json.dumps(arguments)
    return json.dumps(
        {"films": [x for x in CATALOGUE if arguments["query"] in ("silent", x["title"])]}
    )


def counts(name: str, arguments: dict[str, Any]) -> str:
    a, b = arguments["a"], arguments["b"]
    return str({"add": a + b, "multiply": a * b, "divide": a / b}[name])


async def followed_by(run: Talk, request: str, tools: list[FunctionSpec]) -> Talk:
    answer = {"role": "assistant", "content": run.answer}
    return await talk(request, tools, cinema, before=[*run.messages, answer])


# Small talk


@pytest.mark.parametrize("question", ["Hello!", "What can you do?", "Paint the fence"])
async def test_without_tools_it_says_so(question: str):
    assert (await talk(question, [])).answer == f"{WHO} I have no tools."


async def test_asked_what_it_can_it_lists_its_tools():
    answer = (await talk("What can you do?", FILMS)).answer
    assert answer.startswith(f"{WHO} My tools:\n- films_search_films: Find films")
    assert "OPENAI_API_KEY" in answer


async def test_if_no_tool_fits_it_says_so_and_how_to_get_a_real_model():
    answer = (await talk("Sing me a song", SUMS)).answer
    assert answer.startswith(f'{WHO} No tool fits "Sing me a song".\nFor example: "')
    assert "OPENAI_API_KEY" in answer


async def test_a_clause_that_no_tool_fits_is_reported():
    run = await talk("Add 1 and 2. Sing me a song.", SUMS, counts)
    assert run.answer.startswith("3\n\n")
    assert 'No tool fits "Sing me a song."' in run.answer


async def test_the_answer_names_a_missing_value():
    branches = tool("list_branches", "List branches.", kind={"enum": ["local", "remote"]})
    run = await talk("list the branches", [branches])
    assert run.calls == []
    assert "does not say what `kind` (one of: local, remote) should be." in run.answer


# Results


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ("Rope, 10 m\n", "Rope, 10 m"),
        ("5", "5"),
        ("{broken", "{broken"),
        ({"weekday": "Thursday", "day_of_year": 71}, "weekday: Thursday\nday of year: 71"),
        ({"name": "Rope", "in_stock": True, "note": None},
         "name: Rope\nin stock: true\nnote: none"),
        ({"name": "Rope", "metres": 10, "in_stock": True, "tags": []},
         "name: Rope\nmetres: 10\nin stock: true\ntags:"),
        ([{"name": "Rope"}, {"name": "Chain", "sizes": [1, 2]}],
         "- name: Rope\n- name: Chain, sizes: 1, 2"),
        (["fig", "pear"], "fig, pear"),
    ],
)  # fmt: skip
async def test_a_result_is_shown_as_it_is(result: Any, answer: str):
    text_of_result = result if isinstance(result, str) else json.dumps(result)
    run = await talk("weekday of 2026-03-12", [WEEKDAY], lambda _n, _a: text_of_result)
    assert run.answer == answer


async def test_an_error_and_an_empty_list_are_reported_plainly():
    run = await talk("Find films like rope", FILMS, lambda _n, _a: "ERROR: the shop is closed")
    assert run.answer == "films_search_films failed: the shop is closed"
    run = await talk("Find films like rope", FILMS, lambda _n, _a: "[]")
    assert run.answer == 'films_search_films found nothing for "rope".'


async def test_several_results_name_their_calls():
    run = await talk("What time is it in Rome and Oslo?", [CLOCK], lambda _n, a: a["timezone"])
    assert run.answer == (
        "clock_current_time (Europe/Rome): Europe/Rome\n\n"
        "clock_current_time (Europe/Oslo): Europe/Oslo"
    )


# Changes


@pytest.mark.parametrize(
    "question",
    ["Show ticket 7", "Should I ever delete ticket 7?", "The deleted tickets are gone.", "8",
     "Which ticket was deleted?", "ticket 7"],
)  # fmt: skip
async def test_a_tool_that_changes_something_waits_for_its_verb(question: str):
    delete = tool("desk_delete_ticket", "Delete a ticket for good.", ticket_id="integer")
    assert await first_calls(question, [delete]) == []
    assert await first_calls("Delete ticket 7", [delete]) == [(delete.name, {"ticket_id": 7})]


@pytest.mark.parametrize(
    ("name", "description", "question"),
    [
        ("library_return_book", "Take a book back.", "Book 7"),
        ("library_return_book", "Take a book back.", "Read book 7"),
        ("order_cancel", "Cancel an order.", "Order 7"),
        ("order_refund", "Refund an order.", "Order 7"),
        ("hosts_reboot", "Reboots a server.", "server 7"),
    ],
)
async def test_a_noun_in_the_name_of_a_tool_does_not_call_it(
    name: str, description: str, question: str
):
    changing = replace(tool(name, description, book_id="integer"), read_only=False)
    assert await first_calls(question, [changing]) == []


@pytest.mark.parametrize("question", ["buy", "We are out of everything", "Do we need towels?"])
async def test_a_wish_empties_no_list(question: str):
    empty = tool("bag_delete_everything", "Empty the bag.")
    assert empty.name not in {name for name, _ in await first_calls(question, [BAG, empty])}


async def test_it_searches_only_with_read_only_tools():
    beds = replace(tool("garden_list_beds", "All beds."), read_only=True)
    water = replace(tool("garden_water_plant", "Water a plant.", name="string"), read_only=False)
    run = await talk("Where is the Queen of Denmark?", [water, beds],
                     lambda _n, _a: '[{"bed": "North", "roses": "Queen of Denmark"}]')  # fmt: skip
    assert run.calls == [("garden_list_beds", {})]
    assert "bed: North" in run.answer


@pytest.mark.parametrize("film", ["Caligari", "caligari"])
async def test_an_ambiguous_name_changes_nothing(film: str):
    run = await talk(f"Rent {film} to Ada", FILMS, lambda _n, _a: json.dumps({"films": CATALOGUE}))
    assert [name for name, _ in run.calls] == [FIND.name]
    assert f'did not give exactly one `film_id` for "{film}"' in run.answer


async def test_a_bare_value_does_not_repeat_a_change():
    """ "8" after "return book 7" may mean anything."""
    tools = [tool("return_book", "Take a book back.", book_id="integer")]
    run = await talk("Return book 7", tools)
    assert (await followed_by(run, "8", tools)).calls == []


# Results that the next call uses


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("Add 2 and 3 and then multiply the result by 4", ("multiply", {"a": 5, "b": 4})),
        ("add 6 and 6, then divide by 3", ("divide", {"a": 12, "b": 3})),
        ("Add 2 and 8, then divide 100 by it", ("divide", {"a": 100, "b": 10})),
    ],
)
async def test_a_result_is_an_operand_of_the_next_calculation(question: str, second: Call):
    run = await talk(question, SUMS, counts)
    assert [len(x) for x in run.turns] == [1, 1]
    assert run.calls[1] == second


async def test_the_parts_of_a_request_are_done_one_after_another():
    """A part may need what those before it change or return."""
    run = await talk("What time is it in Rome? Add 1 and 2.", [CLOCK, *SUMS])
    assert run.turns == [[(CLOCK.name, {"timezone": "Europe/Rome"})], [("add", {"a": 1, "b": 2})]]


@pytest.mark.parametrize(
    ("question", "film"),
    [
        ("Search for silent films and rent it to Ada", 4),
        ("Search for silent films and rent the second one to Ada", 9),
        ("Rent Metropolis to Ada", 9),
    ],
)
async def test_an_ordinal_selects_one_of_the_results(question: str, film: int):
    run = await talk(question, FILMS, lambda n, a: cinema(n, {**a, "query": _subject(a)}))
    assert run.calls[-1] == (RENT.name, {"film_id": film, "customer": "Ada"})


def _subject(arguments: dict[str, Any]) -> str:
    query = str(arguments.get("query", ""))
    return "silent" if "silent" in query else query


async def test_them_means_each_of_the_results():
    run = await talk("Find silent films and rent them to Ada", FILMS, cinema)
    assert [arguments["film_id"] for _, arguments in run.turns[1]] == [4, 9, 2]


async def test_them_means_at_most_five_results_and_the_answer_says_so():
    films = json.dumps({"films": [{"film_id": n, "title": f"Film {n}"} for n in range(7)]})
    run = await talk(
        "Find silent films and rent them to Ada", FILMS,
        lambda name, arguments: films if name == FIND.name else json.dumps(arguments),
    )  # fmt: skip
    assert [arguments["film_id"] for _, arguments in run.turns[1]] == [0, 1, 2, 3, 4]
    assert "I used the first 5 of 7 results." in run.answer


async def test_a_field_of_a_result_becomes_an_argument():
    run = await talk(
        "Find a silent film and make a poster for it", [FIND, POSTER],
        lambda name, _arguments: cinema(name, {"query": "silent"}),
    )  # fmt: skip
    assert run.calls[1] == (POSTER.name, {"input": "Safety Last!"})


async def test_a_step_whose_source_failed_is_not_called():
    run = await talk("Search for silent films and rent it to Ada", FILMS,
                     lambda _n, _a: "ERROR: the catalogue is closed")  # fmt: skip
    assert [name for name, _ in run.calls] == [FIND.name]
    assert "films_search_films failed: the catalogue is closed" in run.answer


async def test_calls_after_a_change_wait_for_it():
    """Calls of one turn run at once: returning and lending must not."""
    tools = [
        tool("return_book", "Take a book back.", book="integer"),
        tool("lend_book", "Lend a book to a reader.", book="integer", reader="string"),
    ]
    run = await talk("Return book 7 and lend book 7 to Ada", tools)
    assert [name for turn in run.turns for name, _ in turn] == ["return_book", "lend_book"]
    assert len(run.turns) == 2


async def test_a_later_request_goes_on_from_an_earlier_result():
    run = await talk("Search for silent films", FILMS, lambda n, _a: cinema(n, {"query": "silent"}))
    again = await followed_by(run, "Rent the second one to Ada", FILMS)
    assert again.calls == [(RENT.name, {"film_id": 9, "customer": "Ada"})]
    run = await talk("What time is it in Rome?", [CLOCK])
    again = await talk("And in Tokyo?", [CLOCK], before=run.messages)
    assert again.calls == [(CLOCK.name, {"timezone": "Asia/Tokyo"})]


# Memory, dates, and the search for tools


@pytest.mark.parametrize(
    ("question", "call"),
    [
        (
            "Remember that my dog is called Rex.",
            ("create_memory", {"summary": "my dog is called Rex"}),
        ),
        ("Please keep in mind that I like tea.", ("create_memory", {"summary": "I like tea"})),
        ("What is my dog called?", ("lookup_memory", {"query": "What is my dog called"})),
        ("Where do I live?", ("lookup_memory", {"query": "Where do I live"})),
    ],
)
async def test_it_notes_and_recalls(question: str, call: Call):
    lookup = tool("lookup_memory", "Looks up what you remember.", query="string")
    create = tool("create_memory", "Remembers a new note.", summary="string")
    assert await first_calls(question, [lookup, create]) == [call]


@pytest.mark.parametrize(
    ("words", "day"),
    [("today", "2026-03-12"), ("tomorrow", "2026-03-13"), ("yesterday", "2026-03-11"),
     ("24 December 2026", "2026-12-24"), ("December 24th", "2026-12-24"),
     ("the 3rd of May", "2026-05-03"), ("next Thursday", "2026-03-19"),
     ("last monday", "2026-03-09")],
)  # fmt: skip
async def test_days_are_read_as_people_say_them(words: str, day: str):
    assert await first_calls(f"Which weekday is {words}?", [WEEKDAY]) == [
        (WEEKDAY.name, {"date": day})
    ]


async def test_an_impossible_day_is_not_a_date():
    assert await first_calls("Which weekday is 30 February 2026?", [WEEKDAY]) == []


async def test_a_hidden_tool_is_searched_for_and_used():
    parameters = TOOL_SEARCH.input_schema
    search = FunctionSpec(TOOL_SEARCH.name, TOOL_SEARCH.description, parameters, read_only=True)
    messages: list[Message] = [{"role": "user", "content": "Get the current weather in Berlin"}]
    reply = await ask(messages, [search])
    assert [x.name for x in reply.calls] == [search.name]
    call = {
        "id": "call_1",
        "function": {"name": search.name, "arguments": reply.calls[0].arguments},
    }
    messages += [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": "sky_weather(city: string) - Weather",
        },
    ]
    weather = tool("sky_weather", "Get the current weather of a city.", city="string")
    reply = await ask(messages, [search, weather])
    assert [(x.name, json.loads(x.arguments)) for x in reply.calls] == [
        (weather.name, {"city": "Berlin"})
    ]


async def test_without_further_calls_it_answers_from_the_results():
    run = await talk("Add 1 and 2", SUMS, counts)
    notice = {"role": "user", "content": "No tool can be used any more. Answer now."}
    reply = await ask([*run.messages, notice], SUMS, may_call=False)
    assert (reply.text, reply.calls) == ("3", ())


# Arbitrary tools and requests


REQUEST_WORDS = """
add find the book 2 3.5 then it them Tokyo 'quoted' today 14:30 2026-03-12 Ada 5 km to miles
delete what is how many #12 a@b.org https://x.org /tmp/x.txt limit = : ( { \u6771\u4eac
"""
WORDS = st.sampled_from(REQUEST_WORDS.split())
REQUESTS = st.lists(WORDS, max_size=15).map(" ".join) | st.text(max_size=120)
NAMES = st.sampled_from(["find_books", "add", "deleteBook", "get-time", "list_books"])
TOOLS = st.lists(
    st.builds(FunctionSpec, NAMES, REQUESTS, SCHEMAS), max_size=4, unique_by=lambda x: x.name
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(functions=TOOLS, question=REQUESTS, result=REQUESTS | SCHEMA_PARTS.map(json.dumps))
def test_arbitrary_tools_requests_and_results_lead_to_an_answer(
    functions: list[FunctionSpec], question: str, result: str
):
    """Calls name offered tools, and asking again gives the same."""
    run = partial(talk, question, functions, lambda _n, _a: result)
    once, again = anyio.run(run), anyio.run(run)
    assert (once.turns, once.answer) == (again.turns, again.answer)
    assert {name for name, _ in once.calls} <= {x.name for x in functions}
    assert once.answer


async def test_a_schema_that_refers_to_itself_is_read_to_an_end():
    fields = {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}
    node = {"type": "object", "properties": fields, "required": ["name", "next"]}
    schema = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    question: Message = {"role": "user", "content": "make a chain 'x'"}
    assert (await ask([question], [FunctionSpec("make_chain", "Makes a chain.", schema)])).text


def test_one_model_answers_in_several_threads_at_once():
    def calls(number: int) -> list[Call]:
        return anyio.run(partial(first_calls, f"Add {number} and 2", SUMS))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(calls, range(40)))
    assert results == [[("add", {"a": x, "b": 2})] for x in range(40)]
