"""The conversation as values; what the loop does with it is in test_loop.py."""

from __future__ import annotations

import copy
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent.agent.conversation import BadConversation, Conversation, messages_to_send
from xai_mcp_agent.agent.messages import as_text

CALL_IDS = st.sampled_from(["c1", "c2", "c3"])
CALL = st.builds(
    lambda i: {"id": i, "type": "function", "function": {"name": "t", "arguments": "{}"}}, CALL_IDS
)
MESSAGE = st.one_of(
    st.builds(lambda t: {"role": "user", "content": t}, st.text(max_size=5).filter(str.strip)),
    st.builds(lambda t: {"role": "system", "content": t}, st.text(max_size=5)),
    st.builds(
        lambda t, c: {"role": "assistant", "content": t, "tool_calls": c, "_added": {"x": t}},
        st.text(max_size=5),
        st.lists(CALL, min_size=1, max_size=2, unique_by=lambda x: x["id"]),
    ),
    st.builds(lambda i: {"role": "tool", "tool_call_id": i, "content": "r"}, CALL_IDS),
)


@given(st.lists(MESSAGE, max_size=8))
def test_every_conversation_becomes_a_request_with_all_answers(messages: list[dict[str, Any]]):
    before = copy.deepcopy(messages)
    request = messages_to_send("Be kind.", Conversation(messages).turns())
    assert messages == before
    assert request[0]["role"] == "system"
    assert request[-1]["role"] != "assistant"
    calls = {call["id"] for x in request for call in x.get("tool_calls") or ()}
    answers = {x["tool_call_id"] for x in request if x["role"] == "tool"}
    assert calls == answers
    texts = as_text(request)
    assert all(set(x) == {"role", "content"} for x in texts)
    assert {x["role"] for x in texts} <= {"system", "user", "assistant"}


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(5_000):
        value = [value]
    return value


NO_CONTENT = "is from the user and has no `content`"


@pytest.mark.parametrize(
    ("message", "says"),
    [
        *[({"role": "user", "content": x}, NO_CONTENT) for x in (None, " \n", [], {"text": "Hi"})],
        (42, "is int, not a message"),
        ({"role": ["user"], "content": "x"}, "has the role"),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, "has an invalid tool call"),
        ({"role": "user", "content": "x", "lock": threading.Lock()}, "cannot be sent"),
        ({"role": "user", "content": deep()}, "cannot be sent"),
    ],
)
def test_the_error_for_an_impossible_message_has_its_position(message: Any, says: str):
    """Services answer it with 400, each in its own words."""
    with pytest.raises(BadConversation, match=f"Message 2 of the conversation {says}"):
        Conversation([{"role": "user", "content": "first"}, message])


def test_messages_may_come_from_anything_that_gives_them_one_by_one():
    conversation = Conversation({"role": "user", "content": x} for x in ("one", "two"))
    assert [x["content"] for x in conversation.messages] == ["one", "two"]
    reply = {"role": "assistant", "content": None, "refusal": "No."}
    dumped = {**reply, "tool_calls": [], "function_call": None}
    assert Conversation(dumped).messages == [reply], "services refuse empty fields"
    assert Conversation("one").messages == [{"role": "user", "content": "one"}]
    with pytest.raises(BadConversation, match="not bytes"):
        Conversation(b"one")
