"""The REST interface of a bridge, over HTTP: every response is checked against its document.

Decided by spec/4 (refresh and its error rows), spec/5 (POST /discover), and us.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest

from tests.support.admin import SECONDS, AdminClient, all_events, next_event, serving_admin
from tests.support.mcp_servers import gallery_entry
from tests.support.processes import wait_until
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import ApprovalRequest, Bridge
from xai_mcp_agent.admin.document import OPERATIONS, document
from xai_mcp_agent.admin.events import ApprovalDesk, EventStream
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.errors import NotApproved

BROKEN = {"command": "/nowhere/at-all", "args": ["--token", "sk-secret-value-123456789"]}
PAPER = {"tool": "shredder/shred", "arguments": {"paper": "contract"}}


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bridge]:
    folder = tmp_path_factory.mktemp("admin")
    servers = {
        "gallery": gallery_entry(startTimeout=100),
        "shredder": {**shredder_entry(), "startTimeout": 100}, "broken": BROKEN,
        "asleep": {**gallery_entry(), "disabled": True}, "wrong": {"command": 7},
    }  # fmt: skip
    with Bridge({"mcpServers": servers}, store=folder / "history.db") as bridge:
        bridge.connect("gallery", "shredder", wait=True)
        yield bridge


@pytest.fixture(scope="module")
def client(bridge: Bridge) -> Generator[AdminClient]:
    with serving_admin(bridge) as address, AdminClient(address) as client:
        yield client


def test_the_document_is_served_and_valid(client: AdminClient):
    answer = client.http.get("/openapi.json").json()
    assert answer == document()
    for schema in answer["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)


def test_sources_have_their_state_and_the_next_step(client: AdminClient):
    by_name = {x["name"]: x for x in client.get("/api/sources")["sources"]}
    assert by_name["gallery"]["state"] == "ready"
    assert by_name["asleep"]["state"] == "disabled"
    assert by_name["wrong"]["next_step"]
    one = client.get("/api/sources/gallery")
    assert (one["tool_count"], one["marks"]) == (by_name["gallery"]["tool_count"], [])


def test_a_refresh_says_what_changed(client: AdminClient):
    first = client.post("/api/sources/gallery/refresh")
    assert "add" in first["tools"]
    assert first["changes"] == []
    assert client.post("/api/sources/gallery/refresh", force=True)["error"] == ""


REFUSED = {
    "refresh of an unknown source (spec/4: 404)": (
        "POST", "/api/sources/galery/refresh", None, 404, "UnknownServer", "gallery"),
    "refresh of a source that fails (spec/4: 500)": (
        "POST", "/api/sources/broken/refresh", None, 500, "RefreshFailed", "nowhere"),
    "refresh of a source that is wrong": (
        "POST", "/api/sources/wrong/refresh", None, 409, "SettingsError", "command"),
    "refresh of a disabled source": (
        "POST", "/api/sources/asleep/refresh", None, 404, "UnknownServer", "disabled"),
    "refresh with a wrong query": (
        "POST", "/api/sources/gallery/refresh?force=perhaps", None, 422, "BadRequest", "force"),
    "unknown source": ("GET", "/api/sources/galery", None, 404, "UnknownServer", "gallery"),
    "tools of an unknown source": (
        "GET", "/api/tools?source=galery", None, 404, "UnknownServer", "gallery"),
    "unknown filter": ("GET", "/api/tools?sorce=x", None, 422, "BadRequest", "source"),
    "foreign cursor": ("GET", "/api/tools?cursor=7.5", None, 422, "BadRequest", "next_cursor"),
    "unknown tool": ("GET", "/api/tools/gallery/ad", None, 404, "UnknownTool", "add"),
    "tool of a source that fails": (
        "GET", "/api/tools/broken/any", None, 502, "SourceFailed", "nowhere"),
    "accept what was not read": (
        "POST", "/api/tools/gallery/add/accept", {"digest": "0"}, 409, "ReviewNeeded", "gallery"),
    "accept without a digest": (
        "POST", "/api/tools/gallery/add/accept", {}, 422, "BadRequest", "missing"),
    "time that is none": ("GET", "/api/history?since=once", None, 422, "BadRequest", "2h"),
    "history of an unknown tool": (
        "GET", "/api/history?source=gallery&tool=ad", None, 404, "UnknownTool", "add"),
    "graph of an unknown source": ("GET", "/api/graph?source=no", None, 404, "UnknownServer", "no"),
    "empty request": ("POST", "/api/select", {"request": " "}, 422, "BadRequest", "empty"),
    "number for a text": ("POST", "/api/plan", {"request": 7}, 422, "BadRequest", "request"),
    "unknown field": (
        "POST", "/api/call", {"tool": "x", "argumnets": {}}, 422, "BadRequest", "arguments"),
    "wrong arguments": (
        "POST", "/api/call", {"tool": "gallery/add", "arguments": {"a": 1}}, 422,
        "InvalidArguments", "b"),
    "call of a source that fails": (
        "POST", "/api/call", {"tool": "broken/any"}, 502, "SourceFailed", "nowhere"),
    "call that takes too long": (
        "POST", "/api/call",
        {"tool": "gallery/wait", "arguments": {"label": "late"}, "timeout_seconds": 0.2}, 504,
        "ToolTimeout", "0.2 s"),
    "unknown approval": (
        "POST", "/api/approvals/0", {"answer": "once"}, 404, "UnknownApproval", "'0'"),
    "approval that is none": (
        "POST", "/api/approvals/0", {"answer": "yes"}, 422, "BadRequest", "once"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind", "says"), REFUSED.values(), ids=REFUSED
)
def test_an_error_says_what_happened_and_what_to_do(
    client: AdminClient, method: str, path: str, body: Any, status: int, kind: str, says: str
):
    path, _, query = path.partition("?")
    params = dict(x.split("=") for x in query.split("&")) if query else {}
    problem = client.ask(method, path, status, json=body, params=params)
    assert problem["type"] == f"urn:xai-mcp-agent:{kind}"
    assert problem["status"] == status
    assert says in problem["detail"] + problem["next_step"]
    assert "sk-secret" not in str(problem)


def test_unknown_routes_and_methods_and_bad_bodies_are_problems_too(client: AdminClient):
    answers = {
        404: client.http.get("/api/nothing"),
        405: client.http.delete("/discover"),
        400: client.http.post("/api/call", content=b"{"),
        413: client.http.post("/api/call", content=b" " * (5 << 20)),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["next_step"]


def test_without_a_token_nothing_but_the_page_is_served(client: AdminClient):
    for one in OPERATIONS:
        path = one.path.replace("{id}", "gallery").replace("{key}", "gallery/add")
        answer = client.http.request(one.method, path, headers={"Authorization": ""})
        assert answer.status_code == 401
    assert client.http.get("/", headers={"Authorization": ""}).status_code == 200


def test_tools_come_in_pages_linked_by_a_cursor(client: AdminClient):
    whole = client.get("/api/tools")
    names, cursor = list[str](), ""
    while True:
        page = client.get("/api/tools", limit=3, cursor=cursor)
        names += [f"{x['server']}/{x['name']}" for x in page["tools"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert names == [f"{x['server']}/{x['name']}" for x in whole["tools"]]
    assert whole["total"] == len(names) > 6
    assert "broken" in whole["not_listed"]


def test_tools_are_filtered_and_switched_off_and_on(client: AdminClient):
    def names(**query: Any) -> list[str]:
        return [x["name"] for x in client.get("/api/tools", **query)["tools"]]

    assert names(source="gallery", text="two INTEGERS") == ["add"]
    (choice,) = client.post("/api/tools/gallery/add/disable")["choices"]
    assert choice["decision"] == "disabled"
    assert names(enabled=False) == ["add"]
    problem = client.post("/api/call", 403, {"tool": "gallery/add", "arguments": {"a": 1, "b": 2}})
    assert problem["type"].endswith("ToolDisabled")
    client.post("/api/tools/gallery/add/enable")
    assert names(enabled=False) == []
    assert client.get("/api/tools/gallery/add")["signature"].startswith("add(")


def test_a_call_succeeds_and_is_recorded_in_the_history(client: AdminClient):
    call = {"tool": "gallery/add", "arguments": {"a": 20, "b": 22}}
    assert client.post("/api/call", body=call)["structured"] == {"result": 42}
    (event,) = client.get("/api/history", source="gallery", tool="add", limit=1)["events"]
    assert (event["change"], event["payload"]["agent"]) == ("called", "admin")
    failed = client.post("/api/call", body={"tool": "gallery/refuse"})
    assert (failed["is_error"], "told on purpose" in failed["text"]) == (True, True)


def test_the_history_comes_in_pages_from_the_newest(client: AdminClient):
    positions, cursor = list[int](), ""
    while cursor is not None:
        page = client.get("/api/history", limit=2, cursor=cursor, since="1d")
        positions = [x["position"] for x in page["events"]] + positions
        cursor = page["next_cursor"]
    assert positions == [x["position"] for x in client.get("/api/history", limit=500)["events"]]


def test_select_plan_and_graph(client: AdminClient):
    body = {"request": "add two integers", "servers": ["gallery"]}
    assert client.post("/api/select", body=body)["selected"]["tool"] == "add"
    assert client.post("/api/plan", body=body)["calls"]
    assert {"nodes", "edges"} <= client.get("/api/graph", source="gallery").keys()


def test_a_call_that_needs_an_approval_waits_for_one(client: AdminClient):
    with client.events() as events, ThreadPoolExecutor() as pool:
        call = pool.submit(client.post, "/api/call", 200, PAPER)
        approval = next_event(events, "approval").data
        assert (approval["tool"], approval["arguments"]) == ("shred", {"paper": "contract"})
        assert client.get("/api/approvals")["approvals"] == [approval]
        client.post(f"/api/approvals/{approval['id']}", body={"answer": "once"})
        assert call.result(SECONDS)["text"] == "shredded contract"
        assert next_event(events, "approval_over").data == {"id": approval["id"], "answer": "once"}
        call = pool.submit(client.post, "/api/call", 403, PAPER)
        approval = next_event(events, "approval").data
        client.post(f"/api/approvals/{approval['id']}", body={"answer": "no"})
        assert call.result(SECONDS)["type"].endswith("NotApproved")
        client.post(f"/api/approvals/{approval['id']}", 404, {"answer": "once"})


def test_an_approval_without_an_answer_in_time_is_a_no(
    client: AdminClient, monkeypatch: pytest.MonkeyPatch
):
    soon = partial(ApprovalRequest, limit_seconds=0.2)
    monkeypatch.setattr("xai_mcp_agent.policy.approvals.ApprovalRequest", soon)
    problem = client.post("/api/call", 403, PAPER)
    assert "0.2 s" in problem["detail"]


def test_approvals_of_other_callers_are_shown_while_a_client_reads_events(
    bridge: Bridge, client: AdminClient
):
    """The client of the gateway cannot be asked; without an open page its call is refused."""

    async def shred(operations: Operations) -> str:
        claude = operations.for_caller(Caller("gateway", "Claude"))
        return (await claude.execute_tool(PAPER["tool"], PAPER["arguments"])).text  # pyright: ignore[reportArgumentType]

    with client.events() as events:
        call = bridge.submit(shred)
        approval = next_event(events, "approval", agent="Claude").data
        client.post(f"/api/approvals/{approval['id']}", body={"answer": "once"})
        assert call.result(SECONDS) == "shredded contract"
    desks = bridge.aio.engine.approvals.hosts
    wait_until(lambda: not any(getattr(x, "is_watched", False) for x in desks), "nobody reads")
    with pytest.raises(NotApproved, match="nobody has the admin page open"):
        bridge.run(shred)


def test_a_call_ends_when_its_client_disconnects(client: AdminClient):
    """Neither the call at its server nor its approval is left behind."""
    with client.events() as events:
        for tool in (PAPER, {"tool": "gallery/wait", "arguments": {"label": "gone"}}):
            with pytest.raises(Exception, match="timed out"):
                client.http.post("/api/call", json=tool, timeout=0.5)
        next_event(events, "approval_over", answer="no")
    stopped = {"tool": "gallery/was_stopped"}
    wait_until(lambda: "gone" in client.post("/api/call", body=stopped)["text"], "it was stopped")


def test_events_report_sources_inventories_and_calls(bridge: Bridge, client: AdminClient):
    with client.events() as events:
        assert next_event(events, "source", name="gallery").data["state"] == "ready"
        assert next_event(events, "history", change="discovered").data["count"] > 1
        client.post("/api/call", body={"tool": "gallery/grow", "arguments": {"name": "fresh"}})
        inventory, called = all_events(
            events, ("inventory", {"source": "gallery"}), ("history", {"tool": "grow"})
        )
        bridge.disconnect("gallery")
        next_event(events, "source", name="gallery", state="idle")
        bridge.connect("gallery")
        fewer = inventory.data["tool_count"] - 1
        next_event(events, "source", name="gallery", state="ready", tool_count=fewer)
    with client.events(**{"Last-Event-ID": called.id}) as events:
        assert int(next_event(events, "history").id) > int(called.id)


def test_a_client_that_missed_many_events_gets_reread(
    client: AdminClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("xai_mcp_agent.admin.events._MAX_EVENTS", 3)
    with client.events(**{"Last-Event-ID": "1"}) as events:
        next_event(events, "reread")


def test_a_client_of_another_history_starts_again(client: AdminClient):
    with client.events(**{"Last-Event-ID": "9" * 18}) as events:
        next_event(events, "history")


def test_a_client_that_reads_nothing_is_disconnected(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("xai_mcp_agent.admin.events._SEND_SECONDS", 0.1)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await anyio.sleep_forever()

    async def stream(operations: Operations) -> None:
        with anyio.fail_after(SECONDS):
            response = EventStream(operations, ApprovalDesk(), 0)
            await response({"type": "http"}, anyio.sleep_forever, send)  # pyright: ignore[reportArgumentType]

    bridge.run(stream)


def test_discover_restarts_servers_and_reports_each(client: AdminClient):
    """spec/5: re-discovery restarts child services and re-indexes tools."""

    def process() -> str:
        return client.post("/api/call", body={"tool": "gallery/process"})["text"]

    before = process()
    answers = {x["server"]: x for x in client.post("/discover")["sources"]}
    assert answers.keys() == {"gallery", "shredder", "broken"}
    assert "nowhere" in answers["broken"]["error"]
    assert "add" in answers["gallery"]["tools"]
    assert process() != before
    body = {"request": "add two integers", "servers": ["gallery"]}
    assert client.post("/api/select", body=body)["selected"]["tool"] == "add"


def test_a_locked_tool_can_be_reviewed_and_accepted(tmp_path: Path):
    settings = {"mcpServers": {"gallery": gallery_entry(lock=True)}}
    with (
        Bridge(settings, lock=tmp_path / "lock.json") as bridge,
        serving_admin(bridge) as address,
        AdminClient(address) as client,
    ):
        call = {"tool": "gallery/add", "arguments": {"a": 1, "b": 2}}
        assert client.post("/api/call", 403, call)["type"].endswith("NotAccepted")
        review = client.get("/api/tools/gallery/add")["review"]
        assert (review["standing"], bool(review["lines"])) == ("new", True)
        body = {"digest": review["digest"]}
        assert client.post("/api/tools/gallery/add/accept", body=body)["choices"]
        assert client.get("/api/tools/gallery/add")["review"] is None
        assert client.post("/api/call", body=call)["structured"] == {"result": 3}


def test_a_refresh_that_the_history_cannot_store_is_an_error(tmp_path: Path):
    """spec/4: 500; part of the inventory may be stored."""
    (tmp_path / "file").touch()
    settings = {"mcpServers": {"gallery": gallery_entry()}}
    with (
        Bridge(settings, store=tmp_path / "file/h.db") as bridge,
        serving_admin(bridge) as address,
        AdminClient(address) as client,
    ):
        problem = client.post("/api/sources/gallery/refresh", 500)
        assert "was listed" in problem["detail"]
        assert client.get("/api/tools")["total"] > 0


def test_over_a_socket_no_token_is_needed(tmp_path: Path):
    """A history that is switched off is not an error either."""
    socket, servers = tmp_path / "admin.sock", {"gallery": gallery_entry()}
    with (
        Bridge({"mcpServers": servers}, store="off") as bridge,
        serving_admin(bridge, None, socket),
        AdminClient("http://localhost", "", socket) as client,
    ):
        assert "add" in client.post("/api/sources/gallery/refresh")["tools"]
        with client.events() as events:
            next_event(events, "source", name="gallery", state="ready")
