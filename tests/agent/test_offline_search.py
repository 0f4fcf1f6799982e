"""The offline model among more tools than a request shows: it searches, then uses what is found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.offline_talk import Call, Talk, ask, text, tool
from xai_mcp_agent.agent.conversation import call_message, result_messages
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.core.results import ToolResult
from xai_mcp_agent.core.schemas import signature
from xai_mcp_agent.search.tools import ToolIndex

pytestmark = pytest.mark.anyio

SEARCH = tool("tool_search", "Finds tools that are not listed here.", optional="max_results",
              query=text("What one tool should do."), max_results="integer")  # fmt: skip
EXPLAIN = tool("tool_explain", "Shows all there is to know of one tool.", tool="string")
CLOCK = tool("clock_current_time", "Tell the current time in a time zone.",
             timezone=text("IANA time zone."))  # fmt: skip
WEATHER = tool("sky_current_weather", "Get the current weather of a city.", city="string")
FORECAST = tool("sky_forecast", "Forecast the weather of the next days.", optional="days",
                city="string", days="integer")  # fmt: skip
TICKET = tool("desk_create_ticket", "Open a ticket for the help desk.", optional="priority",
              title="string", priority={"enum": ["low", "high"]})  # fmt: skip
DELETE = tool("desk_delete_ticket", "Delete a ticket for good.", ticket_id="integer")
SERVER = tool("hosts_add_server", "Add a server to the list of hosts.", optional="port",
              nickname="string", host="string", port="integer")  # fmt: skip
PODS = tool("cluster_list_pods", "List the pods of a namespace.", namespace="string")
DEFERRED = [WEATHER, FORECAST, TICKET, DELETE, SERVER, PODS]


async def run_of(
    request: str, shown: Sequence[FunctionSpec] = (), deferred: Sequence[FunctionSpec] = DEFERRED,
    *, before: Talk | None = None, finds: str | None = None,
) -> Talk:  # fmt: skip
    """A run with the two functions that find others; what is found is offered from then on."""
    run = Talk(
        messages=[*(before.messages if before else ()), {"role": "user", "content": request}]
    )
    index = ToolIndex([_entry(x) for x in (*shown, *deferred)])
    found = {x for x, _ in before.calls} if before else set[str]()
    for _ in range(6):
        offered = [SEARCH, EXPLAIN, *shown, *(x for x in deferred if x.name in found)]
        reply = await ask(run.messages, offered)
        thought, calls = reply.text, reply.calls
        if not calls:
            run.answer = thought
            run.messages.append({"role": "assistant", "content": thought})
            return run
        run.turns.append([(x.name, json.loads(x.arguments)) for x in calls])
        results: list[tuple[Any, str, ToolResult]] = []
        for call in calls:
            said = "done"
            if call.name == "tool_search":
                hits = index.search(json.loads(call.arguments)["query"], 5)
                found |= {x.tool["id"] for x in hits}
                said = _answer([x.tool for x in hits]) if finds is None else finds
            is_error = said.startswith("ERROR")
            results.append((call, said, ToolResult.of_text(said, is_error=is_error)))
        run.messages.append(call_message(thought, calls))
        run.messages += result_messages(results)
    raise AssertionError(f"no answer: {run.turns}")


def _entry(spec: FunctionSpec) -> dict[str, Any]:
    return {"id": spec.name, "name": spec.name, "description": spec.description,
            "input_schema": spec.parameters}  # fmt: skip


def _answer(hits: Sequence[dict[str, Any]]) -> str:
    lines = [f"{x['id']}({signature(x['input_schema'])}) - {x['description']}" for x in hits]
    return "\n".join([*lines, "Call them by these names."] if hits else ["No tool fits."])


def searched(run: Talk) -> list[str]:
    return [arguments["query"] for name, arguments in run.calls if name == "tool_search"]


def used(run: Talk) -> list[Call]:
    return [x for x in run.calls if x[0] != "tool_search"]


async def test_it_searches_for_what_is_not_shown_and_calls_what_is_found() -> None:
    run = await run_of("Get the current weather in Berlin", [CLOCK])
    assert [x[0] for x in run.turns[0]] == ["tool_search"]
    assert run.turns[1:] == [[("sky_current_weather", {"city": "Berlin"})]]
    assert run.answer == "done"


async def test_a_tool_that_is_shown_and_fits_is_called_without_a_search() -> None:
    run = await run_of("What time is it in Tokyo?", [CLOCK])
    assert run.calls == [("clock_current_time", {"timezone": "Asia/Tokyo"})]


async def test_values_said_are_no_reason_to_search() -> None:
    run = await run_of("Open a ticket titled 'No light' for Ada Lovelace", [TICKET])
    assert searched(run) == []


async def test_a_tool_that_is_shown_and_hardly_fits_gives_way_to_one_that_is_found() -> None:
    """It is the namespace, too; but nothing is to be listed in it."""
    shown = tool("cluster_list_namespace", "List what is in a namespace.", namespace="string")
    scale = tool("cluster_scale_replicas", "Scale the replicas of a deployment in a namespace.",
                 namespace="string")  # fmt: skip
    run = await run_of("Scale the deployment replicas of namespace blue", [shown], [scale])
    assert used(run) == [("cluster_scale_replicas", {"namespace": "blue"})]


async def test_what_one_part_states_is_no_value_for_another() -> None:
    run = await run_of("Get the current weather in Berlin and open a ticket")
    assert run.turns[1] == [("sky_current_weather", {"city": "Berlin"})]
    assert "Berlin" not in json.dumps(run.turns[2:])


async def test_each_part_of_a_request_is_searched_by_itself() -> None:
    run = await run_of("Get the current weather in Berlin and list the pods of the namespace blue")
    assert [len(x) for x in run.turns] == [2, 2]
    assert used(run) == [
        ("sky_current_weather", {"city": "Berlin"}),
        ("cluster_list_pods", {"namespace": "blue"}),
    ]


async def test_a_part_that_has_its_tool_is_done_beside_the_search_for_another_and_only_once() -> (
    None
):
    run = await run_of("What time is it in Tokyo? Get the current weather in Berlin.", [CLOCK])
    assert used(run) == [
        ("clock_current_time", {"timezone": "Asia/Tokyo"}),
        ("sky_current_weather", {"city": "Berlin"}),
    ]
    assert len(searched(run)) == 1


async def test_what_was_found_is_used_by_the_next_request_without_another_search() -> None:
    first = await run_of("Get the current weather in Berlin")
    again = await run_of("And in Paris?", before=first)
    assert again.calls == [("sky_current_weather", {"city": "Paris"})]


async def test_it_searches_once_for_the_same_words_and_says_what_was_not_found() -> None:
    run = await run_of("Sing me a lullaby")
    assert searched(run).count("Sing lullaby") == 1
    assert used(run) == []
    assert "I searched, and nothing was found." in run.answer
    again = await run_of("Sing me a lullaby", before=run)
    assert again.calls == []


async def test_the_order_of_the_search_decides_between_tools_that_fit() -> None:
    """Who searches knows more of the tools than their names tell."""
    twins = [tool(f"{x}_weather", "Get the weather of a city.", city="string") for x in "ba"]
    lines = _answer([_entry(x) for x in twins])
    run = await run_of("Get the weather in Rome", deferred=twins, finds=lines)
    assert used(run) == [("b_weather", {"city": "Rome"})]


async def test_a_changing_tool_that_was_found_is_not_called_unless_a_change_was_asked_for() -> None:
    run = await run_of("Show ticket 7", deferred=[DELETE])
    assert used(run) == []
    assert "none of desk_delete_ticket fits" in run.answer
    run = await run_of("Delete ticket 7", deferred=[DELETE])
    assert used(run) == [("desk_delete_ticket", {"ticket_id": 7})]


async def test_what_a_found_tool_needs_and_nobody_said_is_asked_for() -> None:
    run = await run_of("Delete the ticket", deferred=[DELETE])
    assert used(run) == []
    assert "does not say what `ticket_id` should be" in run.answer


async def test_sentences_that_only_state_values_belong_to_the_request_before_them() -> None:
    run = await run_of("Add a server to the hosts. The nickname is 'web'. The host is 'a.example'.")
    assert len(searched(run)) == 1
    assert used(run) == [("hosts_add_server", {"nickname": "web", "host": "a.example"})]


async def test_a_request_that_is_said_as_a_wish_is_searched_for() -> None:
    run = await run_of("I'm looking for a forecast of the weather in Oslo")
    assert used(run) == [("sky_forecast", {"city": "Oslo"})]


async def test_a_search_that_fails_is_said() -> None:
    run = await run_of(
        "Get the weather in Rome", deferred=[], finds="ERROR: the index is not ready"
    )
    assert len(searched(run)) == 1
    assert "The search for one failed: the index is not ready" in run.answer


async def test_what_a_search_says_is_no_value_for_a_tool() -> None:
    """`It` is the result of the request before, not the list of tools."""
    first = await run_of("Get the current weather in Berlin")
    again = await run_of("Open a ticket for it", [TICKET], before=first)
    assert "tool" not in json.dumps(used(again))


async def test_the_functions_that_find_others_are_not_told_as_tools() -> None:
    greeting: list[Message] = [{"role": "user", "content": "hello"}]
    said = (await ask(greeting, [SEARCH, EXPLAIN, CLOCK])).text
    assert "I can use 1 tool, and search for others" in said
    assert "tool_explain" not in said
    assert "search for others" in (await ask(greeting, [SEARCH, EXPLAIN])).text


async def test_where_no_function_may_be_called_any_more_it_does_not_search() -> None:
    messages: list[Message] = [{"role": "user", "content": "Get the weather in Rome"}]
    reply = await ask(messages, [SEARCH, CLOCK], may_call=False)
    assert reply.calls == ()
