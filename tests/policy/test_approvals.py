"""Which calls of agents need an approval, and which calls an answer allows. Decided by us."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from tests.policy.shredding import (
    PAPER,
    SECONDS,
    SHREDDED,
    Clerk,
    agent,
    run_all,
    shred,
    shredding,
    tool,
    tool_entry,
)
from tests.support.bridges import wait_for_tool
from tests.support.commands import Cli, write_settings
from tests.support.fault_server import entry
from tests.support.http_service import as_json, http_service
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import ApprovalAnswer, ApprovalRequest, Bridge, load_settings, settings_from
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.catalog.catalog import Catalog
from xai_mcp_agent.core.calls import Caller, ToolInvocation
from xai_mcp_agent.core.errors import NotApproved
from xai_mcp_agent.core.events import Inventory, InventoryChanged
from xai_mcp_agent.policy.approval_trust import approvals_in
from xai_mcp_agent.policy.approvals import DESTRUCTIVE_VERBS, Approvals
from xai_mcp_agent.settings.trust import TrustStore

LOCK = "mcp_tools.lock.json"
NOT_APPROVED = "was not approved"
SECRET = "a-very-secret-token-1234"


def test_an_approval_is_for_one_call_or_for_the_run(monkeypatch: pytest.MonkeyPatch):
    """The person sees the whole call, but no secrets."""
    monkeypatch.setenv("ACME_TOKEN", SECRET)
    clerk = Clerk("once", "no", "run", "no", "once")
    with shredding(clerk) as bridge:
        who = agent()
        assert shred(bridge, who) == SHREDDED
        assert NOT_APPROVED in shred(bridge, who)
        assert shred(bridge, who, "count") == "1"
        assert [shred(bridge, who, paper=x) for x in "ab"] == ["shredded a", "shredded b"]
        assert NOT_APPROVED in shred(bridge, agent()), "of another run"
        assert SECRET in shred(bridge, agent(), paper=f"use {SECRET}")
    assert len(clerk.requests) == 5
    first = clerk.requests[0]
    assert (first.agent, first.server, first.tool, first.arguments) == (
        "helper", "shredder", "shred", PAPER,
    )  # fmt: skip
    assert first.description.startswith("Shred a paper.")
    assert first.annotations.destructive
    assert SECRET not in str(clerk.requests[-1].arguments)


def test_an_approval_for_good_is_in_the_lock_file_and_ends_when_the_definition_changes(
    tmp_path: Path,
):
    file = write_settings(tmp_path, {"shredder": shredder_entry()})
    with Bridge.open(file, approve=Clerk("always")) as bridge:
        assert shred(bridge) == SHREDDED
    lock = json.loads((tmp_path / LOCK).read_text(encoding="utf-8"))
    assert list(lock["sources"]["mcp:shredder"]["approved"]) == ["shred"]
    clerk = Clerk("no")
    with Bridge.open(file, approve=clerk) as bridge:
        assert shred(bridge) == SHREDDED
        assert not clerk.requests
        shred(bridge, Caller("person"), "rename", description="Reads a paper.")
        bridge.refresh("shredder")
        assert NOT_APPROVED in shred(bridge)
    assert clerk.requests[0].description == "Reads a paper."


def test_a_tool_that_changes_while_somebody_reads_is_not_called():
    """An approval is for the definition that was shown."""
    bridge: Bridge

    def approve(_: ApprovalRequest) -> str:
        shred(bridge, Caller("person"), "rename", description="Something else.")
        bridge.refresh("shredder")
        assert wait_for_tool(bridge, "shredder", "shred").description == "Something else."
        return "once"

    with shredding(approve) as bridge:
        assert "its definition changed just now" in shred(bridge)
        assert shred(bridge, tool="count") == "0"


def test_an_invalid_answer_is_no_approval():
    """If nobody can be asked, the model and a person read what to do."""
    no_scope = ApprovalAnswer("anything")  # pyright: ignore[reportArgumentType]
    answers = [RuntimeError("no"), True, None, "yes", "", no_scope]
    with shredding(Clerk(*answers)) as bridge:
        for answer in answers:
            assert NOT_APPROVED in shred(bridge), answer
        assert shred(bridge, tool="count") == "0"

    async def go(operations: Operations) -> None:
        await operations.for_caller(agent()).call_tool("shredder", "shred", PAPER)

    with shredding() as bridge, pytest.raises(NotApproved) as refusal:
        bridge.run(go)
    assert "nobody could be asked" in refusal.value.for_model
    assert '"approval": {"shred": "allow"} under mcpServers.shredder' in str(refusal.value)


def test_an_answer_of_a_host_in_other_words_is_no_approval():
    class Host:
        async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
            return ApprovalAnswer("anything")  # pyright: ignore[reportArgumentType]

    async def take_host(operations: Operations) -> None:
        operations.engine.approvals.hosts = [Host()]  # pyright: ignore[reportAttributeAccessIssue]

    with shredding() as bridge:
        bridge.run(take_host)
        assert NOT_APPROVED in shred(bridge)


def test_calls_at_the_same_time_ask_one_after_the_other_and_no_more_than_needed():
    asking = threading.Semaphore(1)
    tools: list[str] = []

    def approve(request: ApprovalRequest) -> str:
        assert asking.acquire(blocking=False)
        tools.append(request.tool)
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
    assert tools == ["shred"]


def test_calls_of_a_person_or_a_program_need_no_approval():
    with shredding(approval="deny") as bridge:
        assert bridge.call_tool("shredder", "shred", PAPER).text == SHREDDED
        assert shred(bridge, Caller("person")) == SHREDDED
        assert "do not allow it" in shred(bridge, agent())
        assert "do not allow it" in shred(bridge, Caller("gateway"))


def verdict(settings: dict[str, Any], source: str, name: str, **belt: Any) -> str:
    """Return the word for a destructive tool."""
    approvals = Approvals(settings_from(settings), *[None] * 4)  # pyright: ignore[reportArgumentType]
    return approvals.verdict(tool(source, name, destructive=True), agent(**belt)).word


def test_the_most_specific_word_wins_and_then_the_strictest():
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
    for own, belt, general, word in cases:
        document = {"mcpServers": {"shredder": {"command": "x", **own}}, "approval": general}
        assert verdict(document, "shredder", "shred", approval=belt) == word


def test_a_word_for_a_tool_of_one_source_allows_no_tool_of_another():
    """Any server may call a tool `bank/pay`."""
    document = {"mcpServers": {}, "approval": {"bank/pay": "allow"}}
    assert verdict(document, "bank", "pay") == "allow"
    assert verdict(document, "stranger", "bank/pay") == "ask"


@pytest.mark.anyio
async def test_a_tool_that_becomes_destructive_right_before_it_is_called_is_not_called():
    """A reconnect in the middle of a call can change it, and nobody was asked."""
    before, now = tool("shredder", "shred"), tool("shredder", "shred", destructive=True)
    catalog, no_part = Catalog(), cast(Any, None)
    catalog.notice(InventoryChanged("shredder", Inventory("shredder", (before,))))
    settings = settings_from({"mcpServers": {}})
    approvals = Approvals(settings, no_part, no_part, catalog, no_part)
    call = await approvals.step(ToolInvocation(before, {}, agent()))
    assert call.check is not None
    call.check()
    catalog.notice(InventoryChanged("shredder", Inventory("shredder", (now,))))
    with pytest.raises(NotApproved) as refusal:
        call.check()
    assert "changed just now" in refusal.value.for_model


# Approvals that came with somebody else's folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with settings that this user agreed to, and another person's approval of `shred`."""
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("XAI_MCP_TRUST")
    clone = tmp_path / "clone"
    clone.mkdir()
    monkeypatch.chdir(clone)
    file = write_settings(clone, {"shredder": shredder_entry()})
    TrustStore().agree(load_settings(file))
    with Bridge.open(file, approve=Clerk("always")) as bridge:
        shred(bridge)
    return clone


def test_an_approval_of_somebody_else_does_not_count(folder: Path):
    clerk = Clerk("no", "once")
    with Bridge(approve=clerk) as bridge:
        assert NOT_APPROVED in shred(bridge)
        assert shred(bridge) == SHREDDED
        assert [x.counts for x in bridge.approvals()] == [False]
    assert len(clerk.requests) == 2
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    lock["sources"]["mcp:shredder"]["approved"] = {"shred": "always"}
    (folder / LOCK).write_text(json.dumps(lock), encoding="utf-8")
    with Bridge(approve=Clerk("no")) as bridge:
        assert NOT_APPROVED in shred(bridge), "`always` does not count either"


def test_trusting_a_folder_includes_its_approvals(folder: Path, capsys: Any):
    status, out, _ = Cli(capsys)("trust", "--yes")
    assert (status, "approved: mcp:shredder/shred" in out) == (0, True)
    with Bridge(approve=Clerk()) as bridge:
        assert shred(bridge) == SHREDDED
    lock = (folder / LOCK).read_text(encoding="utf-8")
    (folder / LOCK).write_text(lock.replace('"shred"', '"count"'), encoding="utf-8")
    settings = load_settings()
    (part,) = TrustStore().untrusted_parts(settings, approvals_in(settings))
    assert part.key_path == "approved: mcp:shredder/count"


def test_an_approval_of_this_user_counts_until_it_is_withdrawn(folder: Path, capsys: Any):
    with Bridge(approve=Clerk("always")) as bridge:
        shred(bridge)
    lock = (folder / LOCK).read_text(encoding="utf-8")
    with Bridge() as bridge:
        assert shred(bridge) == SHREDDED
    Cli(capsys)("tools", "approve", "shredder", "shred", "--withdraw")
    (folder / LOCK).write_text(lock, encoding="utf-8")
    with Bridge() as bridge:
        assert "nobody could be asked" in shred(bridge)


# Calls that need an approval without any settings, and the note of a refused call.


READS, WRITES, SAFE = {"readOnlyHint": True}, {"readOnlyHint": False}, {"destructiveHint": False}
DESTROYS = {"destructiveHint": True}


def tools_to_approve(settings: dict[str, Any], **more: Any) -> set[str]:
    """Return the tools that need an approval; all others are called."""
    tools = set[str]()

    def approve(request: ApprovalRequest) -> str:
        tools.add(request.tool)
        return "no"

    with Bridge(settings, approve=approve) as bridge:
        result = run_all(bridge, "shop", **more)
    assert sum(x.result.is_error for x in result.calls) == len(tools)
    return tools


def shop(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Settings with one server."""
    return {"mcpServers": {"shop": {**entry(tools=tools), **more}}}


def test_a_tool_needs_approval_if_its_annotations_or_else_its_name_are_destructive():
    """Stated effects count more than the name. Functions of the program need no approval."""

    def delete_note() -> str:
        """Delete a note."""
        return "deleted"

    names = {
        *(f"{x}_everything" for x in DESTRUCTIVE_VERBS),
        "deleteEverything", "DELETEFile", "Delete-All", "DELETE_ALL", "delete", "remove.user",
        "d\u0435lete_it",
    }  # fmt: skip
    harmless = ("deleted_items", "dropdown_options", "add_drop", "undelete", "wiper_status")
    hints = {"delete_view": READS, "delete_draft": SAFE, "delete_one": WRITES, "tidy": DESTROYS}
    tools = [tool_entry(x, **hints.get(x, {})) for x in (*sorted(names), *harmless, *hints)]
    assert tools_to_approve(shop(*tools), own=[delete_note]) == {*names, "delete_one", "tidy"}


@pytest.mark.parametrize("is_general", [True, False], ids=["of the file", "of a source"])
def test_one_word_asks_for_every_tool_that_is_not_marked_read_only(is_general: bool):
    word = {"approval": "ask_unless_read_only"}
    hints = {"a": READS, "b": {}, "c": SAFE, "d": WRITES, "e": READS | DESTROYS}
    tools = [tool_entry(x, **own) for x, own in hints.items()]
    settings = shop(*tools) | word if is_general else shop(*tools, **word)
    assert tools_to_approve(settings) == {"b", "c", "d", "e"}


def test_methods_of_a_service_need_approval_as_its_settings_say(tmp_path: Path):
    methods = ("get", "post", "put", "patch", "delete")
    operations = {x: {"operationId": x, "responses": {"200": {"description": ""}}} for x in methods}
    words = {"approval": {"method:PUT": "ask", "method:patch": "ask"}}
    for options, expected in (({}, {"delete"}), (words, {"put", "patch", "delete"})):
        with http_service() as service:
            service.replies["*"] = lambda _: as_json({})
            document = {
                "openapi": "3.1.0", "info": {"title": "shop", "version": "1"},
                "servers": [{"url": service.url}], "paths": {"/order": operations},
            }  # fmt: skip
            (tmp_path / "shop.json").write_text(json.dumps(document))
            services = {"shop": {"spec": str(tmp_path / "shop.json"), **options}}
            assert tools_to_approve({"mcpServers": {}, "openapiServices": services}) == expected
            assert {x.method.lower() for x in service.got} == {*methods} - expected


LINE = re.compile(r'write "approval": (\{.*?\}) under mcpServers\.shop of the settings')


def test_without_a_person_a_call_is_refused_with_the_setting_that_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CI", "1")
    servers = shop(tool_entry("delete_everything"), tool_entry("look"))["mcpServers"]
    with Bridge.open(write_settings(tmp_path, servers)) as bridge:
        result = run_all(bridge, "shop")
    assert (result.stopped, result.answer) == ("answered", "done")
    assert [x.result.is_error for x in result.calls] == [True, False]
    (note,) = (x for x in result.notes if "delete_everything" in x)
    assert "its name begins with 'delete'" in note
    line = LINE.search(note)
    assert line is not None
    servers["shop"]["approval"] = json.loads(line[1])
    with Bridge.open(write_settings(tmp_path, servers)) as bridge:
        result = run_all(bridge, "shop")
    assert [x.result.is_error for x in result.calls] == [False, False]
