"""A server that asks without an end holds up neither calls nor their limits."""

from __future__ import annotations

from functools import partial
from time import monotonic

import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry
from tests.support.http_faults import questions
from tests.support.processes import wait_until
from tests.support.stalls import STALL_SECONDS, watching
from xai_mcp_agent import ToolTimeout

MANY = 40_000
# Far less than all of them; a fast machine answers five thousand within the limit.
SOME = 15_000
# The cancellation gives up after five seconds; on a busy machine everything takes longer.
LATE_SECONDS = 3.0


@pytest.mark.parametrize(("era", "method"), [("legacy", "ping"), ("modern", "unheard/of")])
def test_the_limit_of_a_call_holds_while_questions_arrive_on_its_stream(era: str, method: str):
    with fault_http(era=era) as peer, bridge_with(it=peer.entry()) as bridge:
        bridge.list_tools("it")
        peer.faults["tools/call"] = questions(method, MANY)
        began = monotonic()
        with watching(bridge) as stalls, pytest.raises(ToolTimeout, match=r"after 0\.4 s"):
            bridge.call_tool("it", "echo", {"text": "x"}, timeout_seconds=0.4)
        assert monotonic() - began < LATE_SECONDS, "its cancellation waits for no answers"
        peer.faults.clear()
        assert bridge.call_tool("it", "echo", {"text": "next"}).text == "next"
        assert peer.methods.count("(answer)") < SOME, "it was let go at once"
        assert stalls.longest_step_seconds < STALL_SECONDS


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_questions_over_stdio_are_all_answered_and_the_call_too(era: str):
    with bridge_with(it=entry(era=era)) as bridge:
        called = bridge.call_tool("it", "ask", {"method": "ping", "times": 2_000})
        assert called.text == "asked"
        # Calls do not wait for answers that are still to be sent.
        answers = partial(bridge.call_tool, "it", "answers")
        wait_until(lambda: answers().text.count('"id": "s') == 2_000, "all are answered")
