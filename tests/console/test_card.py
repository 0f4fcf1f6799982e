"""A run as a card: what it holds, that nothing in it acts, how often and how large it is drawn."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from xai_mcp_agent import ToolResult
from xai_mcp_agent.agent.events import (
    ModelAsked,
    ModelAskedAgain,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolStarted,
)
from xai_mcp_agent.agent.models.base import ModelRequest, TokenUsage
from xai_mcp_agent.console.card import RunCard
from xai_mcp_agent.console.surface import Detail
from xai_mcp_agent.console.text import as_it_is
from xai_mcp_agent.console.waiting import Waiting

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'\u202e\x1b[31m"
_RED = "rgb(211,47,47)"
END = RunFinished("3", "answered", 1, 0, 1.0, TokenUsage())
START = RunStarted("helper", "offline rules", "native", ("add",), asked="What is 1 + 2?")
RUN = (
    START,
    ThoughtFinished(1, "I will add.", 1, TokenUsage()),
    ToolStarted("c1", "add", {"a": 1, "b": 2}),
    ToolFinished("c1", "add", {"a": 1, "b": 2}, ToolResult.of_text("three"), 0.5, ""),
    TextArrived("It is **3**."),
    ThoughtFinished(2, "It is **3**.", 0, TokenUsage()),
    RunFinished("It is **3**.", "answered", 2, 1, 1.25, TokenUsage(10, 5)),
)


def call_end(text: str, *, is_error: bool = False, **arguments: Any) -> ToolFinished:
    """A call of `add` with this result."""
    result = ToolResult.of_text(text, is_error=is_error)
    return ToolFinished("c1", "add", arguments, result, 0.5, "")


class Harness:
    """A card that is drawn here, and its clock."""

    def __init__(
        self, mask: Callable[[str], str] = as_it_is, detail: Detail = Detail.NORMAL
    ) -> None:
        self.now = 100.0
        self.pages = list[str]()
        self.text = ""
        self.ends = 0
        self.waiting = Waiting(lambda: self.now)
        self.card = RunCard("helper", detail, self._draw, lambda: self.now, mask=mask)

    def show(self, *events: RunEvent) -> str:
        """Have them shown, a second apart; the last page."""
        for event in events:
            self.now += 1.0
            self.card.show(event)
        return self.pages[-1]

    def _draw(self, page: str, text: str, is_last: bool) -> None:
        self.pages.append(page)
        self.text = text
        self.ends += is_last


def test_it_holds_the_question_the_calls_and_the_answer_once() -> None:
    harness = Harness()
    page = harness.show(*RUN[:3])
    assert "<details" not in page
    assert "add(a=1, b=2)" in page, "as soon as it begins"
    page = harness.show(*RUN[3:])
    end = "2 turns, 1 tool call, 1.2 s, 10 + 5 tokens"
    for part in ("What is 1 + 2?", "I will add.", "add(a=1, b=2)", "three", end):
        assert part in page
    assert page.count("<details") == 1
    assert page.count("It is <strong>3</strong>.") == 1
    assert harness.ends == 1
    lines = harness.text.splitlines()
    assert (lines[0], lines[1]) == ("== helper: offline rules, 1 tool", "It is **3**.")


def test_calls_with_the_same_id_are_all_there_and_keep_the_name_of_their_fold() -> None:
    """Some models number the calls of each turn anew; by its name the lab keeps a fold open."""
    done, names = ToolResult.of_text("done"), re.compile(r'<details class="(xai-fold-\d+)"')
    harness = Harness()
    for number in (1, 2):
        harness.show(START, ToolStarted("a", "slow", {}), ToolStarted("b", "quick", {}))
        one = harness.show(ToolFinished("b", "quick", {}, done, 0.5, ""))
        two = harness.show(ToolFinished("a", "slow", {}, done, 0.5, ""))
        assert len(names.findall(one)) == 2 * number - 1
        assert len(set(names.findall(two))) == 2 * number
        assert set(names.findall(one)) < set(names.findall(two))


def test_untrusted_text_does_nothing_in_the_card() -> None:
    """The text may come from the model, a server, or a person who pasted it."""
    harness = Harness()
    page = harness.show(
        RunStarted("helper", HOSTILE, "native", (), (HOSTILE,), HOSTILE),
        ThoughtFinished(1, HOSTILE, 1, TokenUsage()),
        ToolStarted("c1", HOSTILE, {HOSTILE: HOSTILE}),
        ToolFinished("c1", HOSTILE, {}, ToolResult.of_text(HOSTILE), 0.5, ""),
        call_end(HOSTILE, is_error=True),
        ModelAskedAgain(2, HOSTILE, 1.0),
        RunFinished(HOSTILE, "answered", 2, 1, 1.25, TokenUsage()),
    )
    failed = Harness().show(START, RunFailed(HOSTILE))
    for one in (page, failed):
        tags = {x for x, _ in re.findall(r"<([a-z]\w*)([^>]*)>", one)}
        assert not tags & {"script", "img", "a"}
        assert not {"\u202e", "\x1b"} & set(one)
        assert "alert(1)" in one


def test_secrets_are_hidden_in_all_of_it() -> None:
    secret = "sk-hidden-1234"
    harness = Harness(lambda text: text.replace(secret, "***"))
    text = f"it is {secret} here"
    escaped = "".join(f"\\u{ord(x):04x}" for x in secret)  # as JSON may, until it is laid out
    harness.show(
        RunStarted("helper", "m", "native", (), (text,), text),
        TextArrived(f"so {secret[:6]}"),
        TextArrived(f"{secret[6:]} is it"),
        ThoughtFinished(1, text, 1, TokenUsage()),
        ToolStarted("c1", "add", {"a": [{"b": text}]}),
        call_end(text, is_error=True),
        call_end(f'{{"key": "{escaped}"}}'),
        RunFailed(text),
    )
    assert "key&#34;: &#34;***" in harness.pages[-1]
    assert all(secret[:6] not in page for page in harness.pages)
    assert secret not in harness.text


def test_long_results_are_cut_and_all_of_hundreds_are_there() -> None:
    page = Harness().show(START, call_end("x" * 1_000_000))
    assert "... 995,000 more characters" in page
    assert len(page) < 10_000
    page = Harness().show(START, *(call_end("line\n" * 10_000, a=x) for x in range(200)), RUN[-1])
    assert len(page) < 1_500_000
    assert page.count("<details") == 200
    assert "add(a=199)" in page


def test_a_long_answer_ends_with_a_paragraph_and_says_where_the_rest_is() -> None:
    paragraphs = [f"Paragraph {x} *ends* here." for x in range(6_000)]
    answer = "\n\n".join(paragraphs)
    page = Harness().show(START, RunFinished(answer, "answered", 1, 1, 1.25, TokenUsage()))
    count = page.count("<p>Paragraph")
    assert 1_000 < count < 3_000
    assert page.count("<em>ends</em> here.</p>") == count
    rest = len(answer) - len("\n\n".join(paragraphs[:count]))
    assert f"... {rest:,} more characters. The whole answer is on the node's port" in page


def test_it_is_drawn_at_a_bounded_rate_and_says_what_it_waits_for() -> None:
    harness = Harness()
    harness.show(START)
    for number in range(1_000):
        harness.now += 0.001
        harness.card.show(TextArrived(f"{number} "))
    assert 2 <= len(harness.pages) <= 6
    harness.now += 1.0
    harness.card.tick(harness.waiting)
    assert "998" in harness.pages[-1]
    harness.waiting.begin("model", "the model")
    harness.now += 5.0
    harness.card.tick(harness.waiting)
    assert "waiting for the model: 5 s" in harness.pages[-1]
    assert "waiting for" not in harness.show(*RUN[1:])


@pytest.mark.parametrize(
    ("events", "is_red"),
    [
        ((*RUN,), False),
        ((START, RunFailed("The service is away.")), True),
        ((RunStarted("helper", "m", "native", (), ("db: gone",)), END), True),
        ((START, RunFinished("3", "limit", 2, 1, 1.25, TokenUsage())), True),
        ((START, RunFinished("", "waiting", 2, 1, 1.25, TokenUsage())), False),
    ],
    ids=["answer", "error", "no tools", "limit", "waits"],
)
def test_a_failed_run_is_red(events: tuple[RunEvent, ...], is_red: bool) -> None:
    page = Harness().show(*events)
    assert (f"border:1px solid {_RED}" in page) is is_red


def test_notes_have_no_marks_and_trouble_is_set_apart() -> None:
    harness = Harness()
    start = RunStarted("helper", "m", "text", (), ("db: no such program",), "Hi")
    page = harness.show(start, ModelAsked(1, ModelRequest(())), ModelAskedAgain(1, "busy", 0.4))
    harness.card.note("!!", "this agent has no tools")
    page = harness.show(END)
    assert re.findall(r"xai-trouble.*?>(.*?)</div>", page, re.DOTALL) == [
        "left out: db: no such program",
        "this agent has no tools",
    ]
    assert ">busy: asked again in 0.4 s<" in page
    assert "m, 0 tools, text protocol" in page
    assert not re.search(r"(--|!!|\d\.) ", page)


def test_an_error_ends_it() -> None:
    harness = Harness()
    page = harness.show(
        START, TextArrived("Half an "), ModelAskedAgain(1, "cut off", 0.0), *RUN[1:4],
        RunFailed("The service is away."),
    )  # fmt: skip
    assert "Stopped by an error" in page
    assert "The service is away." in page
    assert "three" in page
    assert "Half an" not in page
    assert "cut off: asked again" in page
    assert "helper stopped: The service is away." in harness.text
    harness.card.stop("something else")
    assert harness.ends == 1
    failed = Harness().show(START, RunFailed("db: gone", stopped="no_tools"))
    assert "failed: it had no tools" in failed
