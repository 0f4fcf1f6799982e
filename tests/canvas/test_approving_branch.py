"""The branch on_approval of AgentRun: drawn nodes say whether a call is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.canvas import ask_scripted, call, chain, make
from tests.support.model_endpoint import calls, says
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import BadSetting
from xai_mcp_agent.agent_components import AgentApprove, AgentRun
from xai_mcp_agent.canvas.lease import bridge_of
from xai_mcp_agent.canvas.node_answers import collect_approval, give_approval

from .conftest import UseServers

PAPERS = ("will", "deed")


@pytest.fixture(autouse=True)
def _servers(use_servers: UseServers) -> None:
    use_servers(shredder=shredder_entry())


def shred_papers(ctx: dict[str, Any], decide: Callable[[Any], Any] | None) -> list[str]:
    """Have an agent shred two papers; return the results that it reads. `decide` is the branch."""
    steps = [*(calls(("shredder_shred", {"paper": x})) for x in PAPERS), says("Done.")]
    run = make(AgentRun, conversation="Tidy up.")
    looks = call(decide or (lambda _: None), run.approval)
    answer = [make(AgentApprove, answer=looks.result)] if decide else []
    run.on_approval = chain(looks, *answer)
    return ask_scripted(steps, "shredder", run=run, ctx=ctx, name="clerk")[-1].results


def answers(ctx: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The decisions in the history."""
    events = bridge_of(ctx).history("shredder", "shred")
    decisions = [x for x in events if x.event_kind == "decision"]
    return [(x.change, x.payload["scope"], x.payload["by"]) for x in decisions]


def test_the_branch_reads_all_of_a_call_and_answers_for_it_alone() -> None:
    approvals: list[dict[str, Any]] = []

    def decide(approval: dict[str, Any]) -> str:
        approvals.append(approval)
        return "Once" if approval["arguments"] == {"paper": "will"} else "no"

    ctx: dict[str, Any] = {}
    will, deed = shred_papers(ctx, decide)
    assert will == "shredded will"
    assert "was not approved (the branch on_approval said no)" in deed
    first = approvals[0]
    assert (first["server"], first["tool"], first["agent"]) == ("shredder", "shred", "clerk")
    assert first["description"].startswith("Shred a paper.")
    assert first["annotations"]["destructive"] is True
    by = "the branch on_approval"
    assert answers(ctx) == [("approved", "once", by), ("refused", "no", by)]
    ctx = {}
    assert shred_papers(ctx, lambda _: "run") == ["shredded will", "shredded deed"]
    assert ("approved", "run", by) in answers(ctx), "for the run is asked once"


@pytest.mark.parametrize(
    ("decide", "why"),
    [
        (None, "the branch on_approval gave no answer"),
        (lambda _: 1 / 0, "the branch on_approval failed: ZeroDivisionError"),
        (lambda _: "yes", "must be one of once, run, always, no"),
        (lambda _: True, "the branch on_approval failed"),
    ],
    ids=["no answer", "an error", "another word", "another type"],
)
def test_a_branch_that_gives_no_answer_says_no(
    decide: Callable[[Any], Any] | None, why: str
) -> None:
    results = shred_papers({}, decide)
    assert all("was not approved" in x and why in x for x in results)


def test_of_several_answers_no_counts() -> None:
    def nodes() -> None:
        for answer in ("once", "no", "always"):
            give_approval(answer)

    assert collect_approval(nodes) == "no"
    with pytest.raises(BadSetting, match="draw it in on_approval"):
        give_approval("once")
