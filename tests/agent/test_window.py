"""A conversation made to fit a window: what is sent of it, and that it stays alike."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent.agent.context import fit, tokens_of
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.agent.results import id_of
from xai_mcp_agent.agent.window import ContextWindow, Folding

READER = "read_result"


def asks(text: str) -> Message:
    return {"role": "user", "content": text}


def uses(number: int, *results: str) -> list[Message]:
    """A turn of the assistant with a call for each result."""
    called = [
        {"id": f"c{number}_{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for n in range(len(results))
    ]
    answers = [
        {"role": "tool", "tool_call_id": x["id"], "content": text}
        for x, text in zip(called, results, strict=True)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": called}, *answers]


def working(turns: int, chars: int = 4_000) -> list[Message]:
    """One request, and so many turns with a long result each."""
    done = [x for n in range(turns) for x in uses(n, f"result {n}: " + "x" * chars)]
    return [asks("The task."), *done]


def sizes(messages: list[Message]) -> int:
    return sum(map(tokens_of, messages))


def assert_whole(messages: list[Message]) -> None:
    """Each call has its answer right after it, and each answer its call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [x["id"] for x in message.get("tool_calls") or ()]
    assert not waiting


def test_older_turns_are_left_out_with_a_note_but_not_the_request():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}
    assert tokens_of({"role": "user", "content": [picture]}) < 2_000, "not by its bytes"
    few, turns = working(3), working(400, chars=500)
    assert fit(few, 10_000, Folding(), READER).messages == few
    fitted = fit(turns, 4_000, Folding(), READER)
    assert sizes(fitted.messages) <= 4_000
    first = fitted.messages[0]["content"]
    assert first.startswith(f"[The {len(fitted.left_out)} earlier messages of this conversation")
    assert first.endswith("\n\nThe task.")
    assert len(fitted.left_out) + len(fitted.messages) == len(turns)


def test_a_text_that_is_too_long_by_itself_is_cut_and_can_be_read():
    text = "BEGIN " + "word " * 100_000 + " END"
    turns = [asks(text), *uses(1, "y" * 30_000, "small")]
    fitted = fit(turns, 2_000, Folding(), READER)
    assert sizes(fitted.messages) <= 2_000
    shown = fitted.messages[0]["content"]
    assert shown.startswith("BEGIN")
    assert shown.endswith("END")
    assert f'read_result: {{"result_id": "{id_of(text)}"' in shown
    assert fitted.texts[id_of(text)] == text
    assert fitted.messages[-1]["content"] == "small"
    longer = fit([*turns, *uses(2, "more")], 2_000, fitted.folding, READER)
    assert longer.messages[: len(fitted.messages)] == fitted.messages


def test_the_room_is_what_the_answer_and_the_tools_leave():
    for window, folding, room in (
        (ContextWindow(8_000, answer_tokens=1_000), Folding(), 6_500),
        (ContextWindow(128_000), Folding(window_tokens=8_000), 6_500),
        (ContextWindow(8_000), Folding(scale=2.0), 3_000),
        (ContextWindow(0), Folding(), float("inf")),
        (ContextWindow(400), Folding(), 50),
    ):
        assert window.room(folding, 500) == room


TURN = st.one_of(
    st.builds(lambda size: [asks("q" * size)], st.integers(1, 3_000)),
    st.builds(lambda size: [{"role": "assistant", "content": "a" * size}], st.integers(1, 3_000)),
    st.lists(st.integers(0, 9_000), min_size=1, max_size=3).map(
        lambda sizes: uses(len(sizes), *("r" * x for x in sizes))
    ),
)


@given(st.lists(TURN, min_size=1, max_size=30), st.integers(200, 20_000))
def test_no_call_is_torn_from_its_result_and_the_last_request_is_sent(
    turns: list[list[Message]], room: int
):
    given = Conversation([x for turn in turns for x in turn]).turns()
    folding = Folding()
    for end in range(1, len(given) + 1):
        if end < len(given) and given[end]["role"] == "tool":
            continue
        fitted = fit(given[:end], room, folding, READER)
        folding = fitted.folding
        assert_whole(fitted.messages)
        assert fitted.tokens == sizes(fitted.messages)
        asked: list[Any] = [x for x in given[:end] if x["role"] == "user"]
        assert not asked or asked[-1]["content"][:50] in json.dumps(fitted.messages)
