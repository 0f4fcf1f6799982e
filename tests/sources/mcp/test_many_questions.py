"""A server that asks without an end holds up neither calls nor their limits."""

from __future__ import annotations

import json
import threading
from functools import partial

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry
from tests.support.http_faults import questions
from tests.support.processes import wait_until
from tests.support.stalls import watching
from xai_mcp_agent import Answer, Bridge, Question, ToolTimeout

MANY = 20_000
# Far less than answering all of them takes, far more than one call needs.
SOME = 5_000


@pytest.mark.parametrize("method", ["ping", "roots/list", "unheard/of"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_limit_of_a_call_holds_while_questions_arrive_on_its_stream(era: str, method: str):
    with fault_http(era=era) as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = questions(method, MANY)
        with watching(bridge) as stalls, pytest.raises(ToolTimeout, match=r"within 0\.4 s"):
            bridge.call_tool("it", "echo", {"text": "x"}, timeout_seconds=0.4)
        peer.faults.clear()
        assert bridge.call_tool("it", "echo", {"text": "next"}).text == "next"
        assert peer.methods.count("(answer)") < SOME, "it was let go at once"
        assert stalls.longest_step_seconds < 0.3


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_questions_over_stdio_are_all_answered_and_the_call_too(era: str):
    with bridge_with(it=entry(era=era)) as bridge:
        called = bridge.call_tool("it", "ask", {"method": "ping", "times": 2_000})
        assert called.text == "asked"
        # Calls do not wait for answers that are still to be sent.
        answers = partial(bridge.call_tool, "it", "answers")
        wait_until(lambda: answers().text.count('"id": "s') == 2_000, "all are answered")


_QUESTION = {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}


def test_questions_that_wait_for_a_person_leave_room_for_calls(monkeypatch: pytest.MonkeyPatch):
    """Those beyond the limit are refused, one after the other; the first ones wait on."""
    monkeypatch.setattr("xai_mcp_agent.sources.mcp.wire.questions._AT_ONCE", 3)
    monkeypatch.setattr("xai_mcp_agent.sources.mcp.wire.questions._WAIT_SECONDS", 0.05)
    decided = threading.Event()

    def decide(_question: Question) -> Answer:
        decided.wait(60)
        return Answer.declined("late")

    asked = {"jsonrpc": "2.0", "method": "elicitation/create", "params": _QUESTION}
    steps = [["line", json.dumps({**asked, "id": f"q{x}"})] for x in range(5)]
    with Bridge({"mcpServers": {"it": entry()}}, answer=decide) as bridge:
        steps.append(["reply", {"content": [{"type": "text", "text": "asked"}]}])
        assert bridge.call_tool("it", "act", {"steps": steps}).text == "asked"
        refused = json.loads(bridge.call_tool("it", "answers").text)
        decided.set()
    assert {x["id"] for x in refused} == {"q3", "q4"}
    assert {x["error"]["message"] for x in refused} == {"more than 100 requests at the same time"}
