"""Which calls of agents are asked for, and what an answer lets through. Decided by us."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.bridges import wait_for_tool
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import ApprovalAnswer, ApprovalRequest, Bridge, SettingsError, settings_from
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.calls import Caller, ToolInvocation
from xai_mcp_agent.core.errors import NotApproved
from xai_mcp_agent.core.tools import Tool, ToolAnnotations, ToolKey
from xai_mcp_agent.policy.approvals import Approvals

PAPER = {"paper": "contract"}
SECONDS = 30.0


class Clerk:
    """Approves as it was told, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> Any:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def agent(**options: Any) -> Caller:
    return Caller("agent", "helper", **options)


def shred(bridge: Bridge, caller: Caller, tool: str = "shred", **arguments: Any) -> str:
    """What the call of an agent gives, or for what reason it was not made."""

    async def go(operations: Operations) -> str:
        given = arguments or (PAPER if tool == "shred" else {})
        with anyio.fail_after(SECONDS):
            found = await operations.for_caller(caller).call_tool("shredder", tool, given)
        return found.text

    try:
        return bridge.run(go)
    except NotApproved as refused:
        return refused.for_model


def shredding(approve: Callable[..., Any] | None = None, **entry: Any) -> Bridge:
    settings = {"mcpServers": {"shredder": {**shredder_entry(), **entry}}}
    return Bridge(settings, approve=approve)


def test_once_is_for_one_call_and_shows_all_of_it() -> None:
    clerk = Clerk("once", "no")
    with shredding(clerk) as bridge:
        who = agent()
        assert shred(bridge, who) == "shredded contract"
        assert "was not approved" in shred(bridge, who)
        assert shred(bridge, who, "count") == "1"
    first = clerk.asked[0]
    assert (first.server, first.tool, first.arguments) == ("shredder", "shred", PAPER)
    assert first.description.startswith("Shred a paper.")
    assert first.annotations.destructive
    assert first.agent == "helper"


def test_for_the_run_is_for_its_tool_and_ends_with_it() -> None:
    clerk = Clerk("run", "no")
    with shredding(clerk) as bridge:
        who = agent()
        assert [shred(bridge, who, paper=x) for x in "ab"] == ["shredded a", "shredded b"]
        assert "was not approved" in shred(bridge, agent())
    assert len(clerk.asked) == 2


def test_for_good_stands_in_the_lock_file_and_ends_with_the_definition(tmp_path: Path) -> None:
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"shredder": shredder_entry()}}), encoding="utf-8")
    with Bridge.open(file, approve=Clerk("always")) as bridge:
        assert shred(bridge, agent()) == "shredded contract"
    lock = json.loads((tmp_path / "mcp_tools.lock.json").read_text(encoding="utf-8"))
    assert list(lock["sources"]["mcp:shredder"]["approved"]) == ["shred"]
    clerk = Clerk("no")
    with Bridge.open(file, approve=clerk) as bridge:
        assert shred(bridge, agent()) == "shredded contract"
        assert not clerk.asked
        shred(bridge, Caller("person"), "rename", description="Reads a paper.")
        bridge.refresh("shredder")
        assert "was not approved" in shred(bridge, agent())
    assert clerk.asked[0].description == "Reads a paper."


def test_a_tool_that_changes_while_somebody_reads_is_not_called() -> None:
    """Approved is what was shown."""
    bridge: Bridge

    def approve(_: ApprovalRequest) -> str:
        shred(bridge, Caller("person"), "rename", description="Something else.")
        bridge.refresh("shredder")
        assert wait_for_tool(bridge, "shredder", "shred").description == "Something else."
        return "once"

    with shredding(approve) as bridge:
        assert "changed after a person approved it" in shred(bridge, agent())
        assert shred(bridge, agent(), "count") == "0"


def test_whatever_is_no_answer_is_no_approval() -> None:
    no_scope = ApprovalAnswer("anything")  # pyright: ignore[reportArgumentType]
    answers = [RuntimeError("no"), True, None, "yes", "", no_scope]
    with shredding(Clerk(*answers)) as bridge:
        for answer in answers:
            assert "was not approved" in shred(bridge, agent()), answer
        assert shred(bridge, agent(), "count") == "0"


def test_with_nobody_there_the_model_and_a_person_are_told_what_to_do() -> None:
    async def go(operations: Operations) -> None:
        await operations.for_caller(agent()).call_tool("shredder", "shred", PAPER)

    with shredding() as bridge, pytest.raises(NotApproved) as refused:
        bridge.run(go)
    assert "nobody could be asked" in refused.value.for_model
    assert '"approval": {"shred": "allow"} under mcpServers.shredder' in str(refused.value)


def test_calls_at_once_are_asked_one_after_the_other_and_no_more_than_needed() -> None:
    asking = threading.Semaphore(1)
    asked: list[str] = []

    def approve(request: ApprovalRequest) -> str:
        assert asking.acquire(blocking=False)
        asked.append(request.tool)
        asking.release()
        return "run"

    with shredding(approve) as bridge:
        who = agent()

        async def go(operations: Operations) -> None:
            own = operations.for_caller(who)
            with anyio.fail_after(SECONDS):
                async with anyio.create_task_group() as tasks:
                    for name in "abc":
                        tasks.start_soon(own.call_tool, "shredder", "shred", {"paper": name})

        bridge.run(go)
        assert shred(bridge, who, "count") == "3"
    assert asked == ["shred"]


def test_who_calls_by_hand_is_not_asked() -> None:
    with shredding(approval="deny") as bridge:
        assert bridge.call_tool("shredder", "shred", PAPER).text == "shredded contract"
        assert shred(bridge, Caller("person")) == "shredded contract"
        assert "do not allow it" in shred(bridge, agent())
        assert "do not allow it" in shred(bridge, Caller("gateway"))


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_TOKEN", "a-very-secret-token-1234")
    clerk = Clerk("once")
    with shredding(clerk) as bridge:
        said = shred(bridge, agent(), paper="use a-very-secret-token-1234")
    assert "a-very-secret-token-1234" in said
    assert "a-very-secret-token-1234" not in str(clerk.asked[0].arguments)


def test_the_most_specific_word_wins_and_then_the_strictest() -> None:
    cases: list[tuple[dict[str, Any], dict[str, str], dict[str, str], str]] = [
        ({}, {}, {}, "ask"),
        ({"autoApprove": ["shred"]}, {}, {}, "allow"),
        ({"alwaysAllow": True}, {}, {}, "allow"),
        ({"alwaysAllow": True, "approval": "ask"}, {}, {}, "ask"),
        ({"approval": {"*": "deny", "shred": "allow"}}, {}, {}, "allow"),
        ({"approval": {"shr*": "deny", "*": "allow"}}, {}, {}, "deny"),
        ({"approval": {"s*": "deny", "shr*": "ask"}}, {}, {}, "ask"),
        ({"approval": {"regex:sh.*": "deny"}}, {"*": "allow"}, {}, "deny"),
        ({}, {"*": "allow"}, {"*": "deny"}, "allow"),
        ({}, {"shredder": "deny"}, {"*": "allow"}, "deny"),
        ({}, {"shredder/shred": "allow"}, {"shred": "deny"}, "deny"),
        ({}, {}, {"*": "allow"}, "allow"),
    ]
    for entry, belt, general, word in cases:
        written = {"mcpServers": {"shredder": {"command": "x", **entry}}, "approval": general}
        rules = Approvals(settings_from(written), *[None] * 6)  # pyright: ignore[reportArgumentType]
        annotations = ToolAnnotations(destructive=True)
        tool = Tool(ToolKey("mcp", "shredder", "shred"), "", {}, annotations=annotations)
        assert rules.verdict(tool, agent(approval=belt)).word == word


def test_a_word_for_a_tool_of_one_source_lets_none_of_another_through() -> None:
    """Any server may call a tool `bank/pay`."""
    cases: list[tuple[str, str]] = [("bank", "allow"), ("stranger", "ask")]
    for source, word in cases:
        written = settings_from({"mcpServers": {}, "approval": {"bank/pay": "allow"}})
        rules = Approvals(written, *[None] * 6)  # pyright: ignore[reportArgumentType]
        name = "pay" if source == "bank" else "bank/pay"
        annotations = ToolAnnotations(destructive=True)
        tool = Tool(ToolKey("mcp", source, name), "", {}, annotations=annotations)
        assert rules.verdict(tool, agent()).word == word


@pytest.mark.anyio
async def test_a_tool_that_becomes_destructive_right_before_it_is_called_is_not_called() -> None:
    """As by a reconnect in the middle of a call: nobody was asked for what it is now."""
    key = ToolKey("mcp", "shredder", "shred")
    before, now = (
        Tool(key, "", {}),
        Tool(key, "", {}, annotations=ToolAnnotations(destructive=True)),
    )
    listed = [before]
    written = settings_from({"mcpServers": {}})
    unused: list[Any] = [None] * 3
    approvals = Approvals(written, *unused, lambda _: listed[-1], str, lambda *_: None)
    call = await approvals.step(ToolInvocation(before, {}, agent()))
    assert call.check is not None
    call.check()
    listed.append(now)
    with pytest.raises(NotApproved) as refused:
        call.check()
    assert "changed just now" in refused.value.for_model


def test_a_slip_opens_no_door() -> None:
    slips: list[Any] = ["sometimes", {"x": "perhaps"}, ["ask"], {"regex:(": "deny"}, {"": "deny"}]
    for written in slips:
        server = {"command": "x", "approval": written}
        assert "x" in settings_from({"mcpServers": {"x": server}}).problems
        with pytest.raises(SettingsError, match="approval"):
            settings_from({"mcpServers": {}, "approval": written})
    with pytest.raises(SettingsError, match="Rename it to 'approval'"):
        settings_from({"mcpServers": {}, "approvals": {"*": "deny"}})
