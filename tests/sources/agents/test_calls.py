"""Calls of remote agents: the same over both bindings, streamed and polled, 1.0 and 0.3.

Who decided what counts as what: A2A 1.0, and we where it leaves that open.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.support.a2a_server import FACES, AgentServer, agents
from tests.support.bridges import names_of
from tests.support.processes import wait_until
from xai_mcp_agent import (
    Bridge,
    InvalidArguments,
    ServerError,
    SourceClosed,
    SourceError,
    SourceFailed,
    ToolResult,
    ToolTimeout,
)
from xai_mcp_agent.core.results import ImagePart, LinkPart, ResourcePart

every_face = pytest.mark.parametrize("face", FACES)


def ask(bridge: Bridge, face: str, message: str, **more: Any) -> ToolResult:
    return bridge.call_tool(face, "echo", {"message": message, **more})


# What comes back


@every_face
def test_an_agent_answers_with_what_it_made(faces: Bridge, face: str) -> None:
    result = ask(faces, face, "echo hello")
    assert result.text == "echo hello\n(Use your skill Echo.)"
    assert not result.is_error
    assert result.structured["state"] == "completed"
    assert result.notes == (
        f"To go on with this conversation, call again with context_id "
        f"{result.structured['context_id']}.",
    )


@every_face
def test_an_answer_may_be_a_message_without_any_task(faces: Bridge, face: str) -> None:
    result = ask(faces, face, "say hi")
    assert result.text.startswith("say hi")
    assert "task_id" not in result.structured


@every_face
def test_pieces_of_a_stream_are_joined_without_anything_between(faces: Bridge, face: str) -> None:
    assert ask(faces, face, "chunks").text == "Hello world"


@every_face
def test_things_that_were_made_and_last_words_are_distinguished(faces: Bridge, face: str) -> None:
    assert ask(faces, face, "words").text == "All done.\nfirst\nsecond"


@every_face
def test_an_agent_that_gives_back_nothing_says_so(faces: Bridge, face: str) -> None:
    assert ask(faces, face, "nothing").text == "The agent finished and returned nothing."


@every_face
def test_data_has_its_numbers_as_they_are(faces: Bridge, face: str) -> None:
    """The SDK makes 4.0 of 4."""
    result = ask(faces, face, "data")
    data = result.structured["data"]
    assert data == {"whole": 4, "half": 4.5, "big": 12345678901, "list": [1, 2, None, True]}
    assert [type(data[x]) for x in ("whole", "half", "big")] == [int, float, int]
    assert '"whole": 4,' in result.text or '"whole": 4}' in result.text
    assert ask(faces, face, "plain").structured["data"] == [1, "two"]


@every_face
def test_data_goes_along_with_a_message(faces: Bridge, face: str, server: AgentServer) -> None:
    given = {"whole": 4, "half": 4.5, "deep": {"list": [1, {"a": None}]}, "text": "\u00e4\u2028"}
    assert ask(faces, face, "given", data=given).structured["data"] == given
    assert server.seen()["messages"][-1]["metadata"] == {"skillId": "echo"}


@every_face
def test_files_and_links_come_as_what_they_are(faces: Bridge, face: str) -> None:
    assert ask(faces, face, "files").parts == (
        ImagePart("iVBORw==", "image/png"),
        ResourcePart("a.pdf", data="JVBERg==", mime_type="application/pdf"),
        LinkPart("https://example.com/b.txt", "b.txt", mime_type="text/plain"),
    )


# What is no success


@every_face
@pytest.mark.parametrize(
    ("message", "text", "state"),
    [
        ("fail", "The agent failed:\nout of soup", "failed"),
        ("reject", "The agent refused the task:\nnot my job", "rejected"),
    ],
)
def test_what_an_agent_does_not_do_is_the_tools_error(
    faces: Bridge, face: str, message: str, text: str, state: str
) -> None:
    result = ask(faces, face, message)
    assert (result.is_error, result.text, result.structured["state"]) == (True, text, state)


@every_face
def test_a_question_of_an_agent_can_be_answered(faces: Bridge, face: str) -> None:
    """It is no error: the model reads it, and how to go on."""
    asked = ask(faces, face, "ask")
    assert (asked.is_error, asked.text) == (False, "Which colour?")
    ids = {name: asked.structured[name] for name in ("task_id", "context_id")}
    assert asked.structured["state"] == "input_required"
    assert all(x in asked.notes[0] for x in (*ids.values(), "call this tool again"))
    answered = ask(faces, face, "red", **ids)
    assert (answered.is_error, answered.text) == (False, "thanks for red")
    assert answered.structured["task_id"] == ids["task_id"]


@every_face
def test_an_agent_that_wants_access_says_that_a_person_has_to_give_it(
    faces: Bridge, face: str
) -> None:
    result = ask(faces, face, "login")
    assert (result.is_error, result.text) == (False, "Sign in at x.")
    assert "only a person can give" in result.notes[0]


@every_face
def test_a_conversation_goes_on_with_its_context(
    faces: Bridge, face: str, server: AgentServer
) -> None:
    context = ask(faces, face, "echo one").structured["context_id"]
    again = ask(faces, face, "echo two", context_id=context)
    assert again.structured["context_id"] == context
    assert server.seen()["messages"][-1]["contextId"] == context


@every_face
def test_a_task_that_is_over_or_unknown_says_what_to_do(faces: Bridge, face: str) -> None:
    task = ask(faces, face, "echo one").structured["task_id"]
    for wrong in (task, "no-such-task"):
        with pytest.raises(SourceError) as caught:
            ask(faces, face, "echo two", task_id=wrong)
        # The SDK's own server breaks off there.
        assert face == "rest-old" or "eave `task_id` out" in caught.value.next_step


@every_face
def test_an_exception_of_an_agent_is_reported_short_and_clean(faces: Bridge, face: str) -> None:
    try:
        said = ask(faces, face, "crash").text
    except ServerError as error:
        said = str(error)
    assert "Traceback" not in said
    assert "secret.py" not in said
    assert "\x1b" not in said
    assert len(said) < 600


def test_a_secret_in_what_an_agent_says_is_masked(server: AgentServer) -> None:
    entry = {"url": server.url("rpc"), "bearer": "let-me-in-1234"}
    with (
        Bridge({"agents": {"it": entry}}, store="memory") as bridge,
        pytest.raises(ServerError, match=r"RuntimeError: \*\*\*"),
    ):
        ask(bridge, "it", "crash")


def test_arguments_are_checked_before_anything_is_sent(faces: Bridge, server: AgentServer) -> None:
    count = len(server.seen()["messages"])
    for arguments in ({}, {"message": ""}, {"message": 4}, {"message": "x", "data": "no object"}):
        with pytest.raises(InvalidArguments):
            faces.call_tool("rpc", "echo", arguments)
    assert len(server.seen()["messages"]) == count


@every_face
@pytest.mark.parametrize("wrong", ["../../admin", "a/b", "..", "x?y", "a b", "x" * 300])
def test_an_id_cannot_lead_elsewhere(faces: Bridge, face: str, wrong: str) -> None:
    """It stands in addresses, and a model wrote it."""
    with pytest.raises(InvalidArguments, match="task_id did not come from the agent"):
        ask(faces, face, "echo", task_id=wrong)


@every_face
def test_texts_that_cannot_be_sent_as_they_are_do_no_harm(faces: Bridge, face: str) -> None:
    assert ask(faces, face, "echo x\0y\u2028z\r\n").text.startswith("echo x")
    odd = {"": [10**300, -0.0, 1e308, "\0"], "a" * 1000: {"xai-mcp-agent/json": "{"}}
    assert ask(faces, face, "echo x", data=odd).text.startswith("echo x")


# Time


@pytest.mark.parametrize("face", [x for x, (_, _, streams) in FACES.items() if streams])
def test_progress_is_reported_in_the_agents_words(faces: Bridge, face: str) -> None:
    told: list[tuple[float, float | None, str]] = []
    faces.call_tool(
        face, "echo", {"message": "chunks"}, on_progress=lambda *args: told.append(args)
    )
    assert [done for done, _, _ in told] == list(range(1, len(told) + 1))
    assert [text for _, _, text in told] == ["thinking hard", "Hel", "lo", "wor", "ld"]


@every_face
def test_a_task_that_never_ends_is_canceled_when_its_time_is_over(
    faces: Bridge, face: str, server: AgentServer
) -> None:
    """Small events keep a stream alive longer than any limit for reading."""
    before = len(server.seen()["canceled"])
    began = time.monotonic()
    with pytest.raises(ToolTimeout, match="We asked it to stop"):
        faces.call_tool(face, "echo", {"message": "forever"}, timeout_seconds=0.5)
    assert time.monotonic() - began < 10
    _wait_until_canceled(server, before + 1)


@every_face
@pytest.mark.anyio
async def test_a_task_is_canceled_when_its_call_is(
    faces: Bridge, face: str, server: AgentServer
) -> None:
    before = len(server.seen()["canceled"])
    began, loop = anyio.Event(), asyncio.get_running_loop()

    def tell(*_: Any) -> None:  # on the bridge's thread
        loop.call_soon_threadsafe(began.set)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await faces.aio.call_tool(face, "echo", {"message": "forever"}, on_progress=tell)

            tasks.start_soon(call)
            await began.wait()
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(_wait_until_canceled, server, before + 1)


def _wait_until_canceled(server: AgentServer, count: int) -> None:
    wait_until(lambda: len(server.seen()["canceled"]) == count, "it was canceled")


def test_many_calls_go_on_at_once(faces: Bridge) -> None:
    names = [*FACES]
    with ThreadPoolExecutor(8) as pool:
        results = pool.map(lambda n: ask(faces, names[n % 7], f"echo {n}"), range(40))
        assert [int(x.text.split()[1]) for x in results] == list(range(40))


# Sizes: the fixture of all tests sees to it that no loop stands still


@every_face
def test_large_data_is_whole_and_blocks_no_other_work(faces: Bridge, face: str) -> None:
    assert ask(faces, face, "large").structured["data"]["all"] == list(range(50_000))


@pytest.mark.parametrize("face", ["rpc", "rest", "rpc-polled", "rest-polled"])
def test_an_answer_without_end_is_not_read(faces: Bridge, face: str) -> None:
    with pytest.raises(ServerError, match="larger than 16 MiB"):
        ask(faces, face, "huge")


@pytest.mark.parametrize("face", ["rpc", "rest-polled", "rpc-old"])
def test_of_very_many_parts_the_first_are_taken(faces: Bridge, face: str) -> None:
    assert ask(faces, face, "many").text == "x" * 300


def test_a_listener_that_raises_costs_only_itself(faces: Bridge) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("in the listener")

    result = faces.call_tool("rpc", "echo", {"message": "chunks"}, on_progress=fail)
    assert result.text == "Hello world"
    assert "the listener raised RuntimeError" in result.notes[-1]


# What is gone


@pytest.mark.parametrize("face", ["rpc", "rest-polled"])
def test_an_agent_that_dies_in_a_call_is_reported_and_its_tools_stay(face: str) -> None:
    with agents() as dying:
        entry = {"url": dying.url(face), "timeout": 20}
        with Bridge({"agents": {"it": entry}}, store="memory") as bridge:
            with pytest.raises(SourceClosed, match="check that before you try again"):
                ask(bridge, "it", "die")
            assert names_of(bridge.list_tools("it")) == ["echo", "count_words"]
            with pytest.raises(SourceFailed, match="cannot be reached"):
                ask(bridge, "it", "echo again")
