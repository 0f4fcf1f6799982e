"""Calls of remote agents: the same over both bindings, streamed and polled, 1.0 and 0.3.

Who decided what counts as what: A2A 1.0, and we where it leaves that open.
"""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.support.a2a_server import FACES, AgentServer
from tests.support.bridges import source_bridge
from tests.support.processes import wait_until
from xai_mcp_agent import (
    Bridge,
    InvalidArguments,
    ServerError,
    SourceError,
    ToolResult,
    ToolTimeout,
)
from xai_mcp_agent.core.results import ImagePart, LinkPart, ResourcePart

every_face = pytest.mark.parametrize("face", FACES)


def ask(bridge: Bridge, face: str, message: str, **more: Any) -> ToolResult:
    return bridge.call_tool(face, "echo", {"message": message, **more})


# What comes back

WORDS: list[tuple[str, str, bool, str]] = [
    ("echo hello", "echo hello\n(Use your skill Echo.)", False, "completed"),
    ("chunks", "Hello world", False, "completed"),
    ("words", "All done.\nfirst\nsecond", False, "completed"),
    ("nothing", "The agent finished and returned nothing.", False, "completed"),
    ("fail", "The agent failed:\nout of soup", True, "failed"),
    ("reject", "The agent refused the task:\nnot my job", True, "rejected"),
    ("login", "Sign in at x.", False, "auth_required"),
]


@every_face
def test_an_agent_answers_with_its_artifacts_or_the_reason_why_not(faces: Bridge, face: str):
    for message, text, is_error, state in WORDS:
        result = ask(faces, face, message)
        answer = (result.text, result.is_error, result.structured["state"])
        assert answer == (text, is_error, state), message
    assert "only a person can give" in result.notes[0]
    message = ask(faces, face, "say hi")
    assert message.text.startswith("say hi")
    assert "task_id" not in message.structured, "a message without any task"
    assert ask(faces, face, "files").parts == (
        ImagePart("iVBORw==", "image/png"),
        ResourcePart("a.pdf", data="JVBERg==", mime_type="application/pdf"),
        LinkPart("https://example.com/b.txt", "b.txt", mime_type="text/plain"),
    )


@every_face
def test_data_is_sent_and_returned_unchanged(faces: Bridge, face: str, server: AgentServer):
    """The SDK turns 4 into 4.0."""
    result = ask(faces, face, "data")
    data = result.structured["data"]
    assert data == {"whole": 4, "half": 4.5, "big": 12345678901, "list": [1, 2, None, True]}
    assert [type(data[x]) for x in ("whole", "half", "big")] == [int, float, int]
    assert '"whole": 4' in result.text
    assert ask(faces, face, "plain").structured["data"] == [1, "two"]
    data = {"whole": 4, "deep": {"list": [1, {"a": None}]}, "text": "\u00e4\u2028\0"}
    assert ask(faces, face, "mirror", data=data).structured["data"] == data
    assert server.log()["messages"][-1]["metadata"] == {"skillId": "echo"}


@every_face
def test_a_question_of_an_agent_can_be_answered(faces: Bridge, face: str, server: AgentServer):
    """It is not an error: the model reads the question and how to continue."""
    question = ask(faces, face, "ask")
    assert (question.is_error, question.text) == (False, "Which colour?")
    ids = {name: question.structured[name] for name in ("task_id", "context_id")}
    assert question.structured["state"] == "input_required"
    assert all(x in question.notes[0] for x in (*ids.values(), "call this tool again"))
    answer = ask(faces, face, "red", **ids)
    assert (answer.is_error, answer.text) == (False, "thanks for red")
    assert answer.structured["task_id"] == ids["task_id"]
    again = ask(faces, face, "echo two", context_id=ids["context_id"])
    assert again.structured["context_id"] == ids["context_id"]
    assert server.log()["messages"][-1]["contextId"] == ids["context_id"]
    assert again.notes == (
        f"To go on with this conversation, call again with context_id {ids['context_id']}.",
    )


# What is no success


@every_face
def test_a_task_that_is_over_or_unknown_says_what_to_do(faces: Bridge, face: str):
    task = ask(faces, face, "echo one").structured["task_id"]
    for wrong in (task, "no-such-task"):
        with pytest.raises(SourceError) as caught:
            ask(faces, face, "echo two", task_id=wrong)
        # The SDK's own server closes the connection there.
        assert face == "rest-old" or "eave `task_id` out" in caught.value.next_step


@pytest.mark.parametrize("face", ["rpc", "rest-old"])
def test_an_exception_of_an_agent_is_cut_and_has_no_secrets(server: AgentServer, face: str):
    entry = {"url": server.url(face), "bearer": "let-me-in-1234"}
    with source_bridge("agents", **entry) as bridge:
        try:
            text = ask(bridge, "it", "crash").text
        except ServerError as error:
            text = str(error)
    assert not [x for x in ("Traceback", "secret.py", "\x1b", "let-me-in") if x in text]
    assert len(text) < 600


def test_arguments_are_checked_before_anything_is_sent(faces: Bridge, server: AgentServer):
    count = len(server.log()["messages"])
    for arguments in ({}, {"message": ""}, {"message": 4}, {"message": "x", "data": "no object"}):
        with pytest.raises(InvalidArguments):
            faces.call_tool("rpc", "echo", arguments)
    for wrong in ("../../admin", "a/b", "..", "x?y", "a b", "x" * 300):
        with pytest.raises(InvalidArguments, match="task_id did not come from the agent"):
            ask(faces, "rest", "echo", task_id=wrong)  # it stands in addresses
    assert len(server.log()["messages"]) == count


# Time


@pytest.mark.parametrize("face", [x for x, (_, _, streams) in FACES.items() if streams])
def test_progress_is_reported_in_the_agents_words(faces: Bridge, face: str):
    steps: list[tuple[float, float | None, str]] = []
    faces.call_tool(
        face, "echo", {"message": "chunks"}, on_progress=lambda *step: steps.append(step)
    )
    texts = ["thinking hard", "Hel", "lo", "wor", "ld"]
    assert [(x, text) for x, _, text in steps] == [*enumerate(texts, 1)]


@every_face
@pytest.mark.anyio
async def test_a_task_is_canceled_with_its_call(faces: Bridge, face: str, server: AgentServer):
    """Small events keep a stream alive longer than any limit for reading."""

    async def is_canceled(count: int) -> None:
        def look() -> bool:
            return len(server.log()["canceled"]) == count

        await anyio.to_thread.run_sync(wait_until, look, "it was canceled")

    before = len(server.log()["canceled"])
    with anyio.fail_after(20):
        with pytest.raises(ToolTimeout, match="We asked it to stop"):
            await faces.aio.call_tool(face, "echo", {"message": "forever"}, timeout_seconds=0.3)
        await is_canceled(before + 1)
        began, loop = anyio.Event(), asyncio.get_running_loop()

        def tell(*_: Any) -> None:  # on the bridge's thread
            loop.call_soon_threadsafe(began.set)

        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await faces.aio.call_tool(face, "echo", {"message": "forever"}, on_progress=tell)

            tasks.start_soon(call)
            await began.wait()
            tasks.cancel_scope.cancel()
        await is_canceled(before + 2)


# Sizes: the fixture of all tests sees to it that no loop stands still


def test_an_answer_without_end_is_not_read_and_of_many_parts_the_first_are(faces: Bridge):
    with pytest.raises(ServerError, match="larger than 16 MiB"):
        ask(faces, "rpc", "huge")
    assert ask(faces, "rpc", "many").text == "x" * 300
