"""A call that waits for approval, as a person reads it, and what counts as an answer."""

from __future__ import annotations

import threading
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from xai_mcp_agent import ApprovalRequest
from xai_mcp_agent.bridge.callback_host import CallbackHost
from xai_mcp_agent.console.approval import ApprovalPage, argument_lines, ask_approval
from xai_mcp_agent.console.question_page import serving

REQUEST = ApprovalRequest(
    "files", "delete", {"path": "/a", "text": "x\npath: /b", "n": [1]}, "<script>Deletes</script>"
)


def test_no_value_can_pass_for_another_argument() -> None:
    assert argument_lines(REQUEST) == [
        ("path", ('"/a"',)),
        ("text", ("", "| x", "| path: /b")),
        ("n", ("[", "  1", "]")),
    ]


def test_too_many_wrong_words_and_no_time_are_no_approval() -> None:
    def late(_: str) -> str:
        raise TimeoutError

    assert ask_approval(REQUEST, lambda *_: None, lambda _: "yes").scope == "no"
    answer = ask_approval(REQUEST, lambda *_: None, late)
    assert (answer.scope, answer.reason) == ("no", "nobody answered within 300 s")


def test_on_the_page_only_a_button_of_ours_approves_and_only_once() -> None:
    for action, scope in (("accept", "no"), ("", "no"), ("run", "run")):
        with serving(ApprovalPage(REQUEST)) as page:
            with urlopen(page.url, timeout=10) as first:
                text = first.read().decode()
            assert "&lt;script&gt;Deletes" in text
            for word in (action, "always"):
                urlopen(page.url, urlencode({"action": word}).encode(), timeout=10).close()
            assert page.answer.result(10).scope == scope


@pytest.mark.anyio
async def test_a_program_that_does_not_answer_in_time_approves_nothing() -> None:
    over = threading.Event()

    def wait(_: ApprovalRequest) -> str:
        over.wait(30)
        return "once"

    request = ApprovalRequest("files", "delete", {}, limit_seconds=0.1)
    try:
        answer = await CallbackHost(None, wait).approve(request)  # pyright: ignore[reportArgumentType]
    finally:
        over.set()
    assert (answer.scope, answer.was_asked) == ("no", True)
    assert answer.reason == "nobody answered within 0.1 s"
