"""Agents that answer what no SDK would: each is told in clear words, and harms nobody."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.bridges import names_of, status_of
from tests.support.odd_agent import DONE, EVENTS, JSON, TASK, Answer, event, odd_agent, ok
from xai_mcp_agent import (
    Bridge,
    ServerError,
    SourceClosed,
    SourceError,
    SourceFailed,
    ToolResult,
)
from xai_mcp_agent.core.results import ImagePart


def do(bridge: Bridge, message: str = "x") -> ToolResult:
    return bridge.call_tool("it", "do", {"message": message})


@pytest.mark.parametrize(
    ("status", "headers", "body", "told"),
    [
        (200, JSON, b"", "it is empty"),
        (200, JSON, b"[]", "cannot be understood"),
        (200, JSON, b"{", "it is not JSON"),
        (200, JSON, b"[" * 100_000, "it is not JSON"),
        (200, {"content-type": "text/html"}, b"<html>Hi</html>", "it is an HTML page"),
        (200, JSON, b'{"jsonrpc": "2.0", "result": null}', "cannot be understood"),
        (200, JSON, b'{"jsonrpc": "2.0", "result": {"task": 4}}', "cannot be understood"),
        (200, JSON, b'{"jsonrpc": "2.0", "result": {"task": {}}}', "no task that could be polled"),
        (200, JSON, b'{"jsonrpc": "2.0", "error": "no"}', "error"),
        (200, JSON, b'{"jsonrpc": "2.0", "error": {"code": "x", "message": [1]}}', "error"),
        (200, EVENTS, b"data: nonsense\n\n", "it is not JSON"),
        (200, {**JSON, "content-encoding": "gzip"}, gzip.compress(b"{}", mtime=0), "no task that"),
        (500, JSON, b'{"detail": "tok-secret-1234 is wrong"}', "HTTP 500: *** is wrong"),
        (429, {}, b"slow down", "HTTP 429: slow down"),
        (500, {}, b"Traceback (most recent call last):\n  x\nKeyError: 'a'\n", "KeyError: 'a'"),
        (403, JSON, b'{"error": "no"}', "HTTP 403: no"),
        (307, {"location": "http://localhost:9/x"}, b"", "credentials are not taken"),
        (302, {}, b"", "it redirects"),
    ],
)  # fmt: skip
def test_an_answer_that_is_invalid_says_what_is_wrong_with_it(
    status: int, headers: dict[str, str], body: bytes, told: str
) -> None:
    with odd_agent() as (agent, bridge):
        agent.reply = lambda _: (status, headers, body)
        with pytest.raises(SourceError) as caught:
            do(bridge)
        assert told in caught.value.problem
        assert caught.value.next_step
        assert "Traceback" not in str(caught.value)
        assert "tok-secret-1234" not in str(caught.value)
        agent.answers(task=DONE)
        assert do(bridge).text == "done"


def test_an_error_of_json_rpc_counts_more_than_the_status_it_comes_with() -> None:
    error = {"code": -32001, "message": "Task t not found"}
    with odd_agent() as (agent, bridge):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
        agent.reply = lambda _: (404, JSON, body)
        with pytest.raises(ServerError, match="Task t not found") as caught:
            do(bridge)
        assert caught.value.code == -32001


@pytest.mark.parametrize(
    "task",
    [
        {**DONE, "history": [{"parts": [{"text": "x"}] * 1000}] * 100},
        {**DONE, "metadata": {"a": [[{}] * 1000] * 300}},
        {**DONE, "x" * 100_000: "y" * 5_000_000},
        {**DONE, "artifacts": [*DONE["artifacts"], *({"artifactId": str(x), "parts": []}
                                                    for x in range(50_000))]},
        {**DONE, "artifacts": [*DONE["artifacts"], {"parts": [{"new": 1}, {}]}], "later": {}},
        {**DONE, "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-01T00:00:00Z"}},
    ],
    ids=["history", "metadata", "long names", "artifacts", "unknown parts", "a time"],
)  # fmt: skip
def test_what_is_not_needed_is_passed_over(task: dict[str, Any]) -> None:
    with odd_agent() as (agent, bridge):
        agent.answers(task=task)
        assert do(bridge).text == "done"


_MEGABYTE = 1_000_000
_SIZES: dict[str, tuple[dict[str, Any], int, bool]] = {
    "text": ({"text": "\u00e4" * 7 * _MEGABYTE}, 7 * _MEGABYTE, False),
    "file": ({"raw": "QUFB" * 3 * _MEGABYTE, "mediaType": "image/png"}, 51, True),
    "data": ({"data": {"all": list(range(500_000))}}, 3_888_899, True),
}


@pytest.mark.parametrize("kind", _SIZES)
def test_a_large_answer_is_whole_and_blocks_no_other_work(kind: str) -> None:
    """Each test looks for what blocks a loop."""
    part, length, streams = _SIZES[kind]
    with odd_agent(streams=streams) as (agent, bridge):
        agent.answers(task=DONE)
        do(bridge)
        task = {**DONE, "artifacts": [{"artifactId": "a", "parts": [part]}]}
        body = json.dumps(task, ensure_ascii=False).encode()

        def reply(asked: dict[str, Any]) -> Answer:
            head = json.dumps({"jsonrpc": "2.0", "id": asked["id"]})[:-1].encode()
            whole = b'%s, "result": {"task": %s}}' % (head, body)
            return (200, EVENTS, b"data: %s\n\n" % whole) if streams else (200, JSON, whole)

        agent.reply = reply
        result = do(bridge)
        assert len(result.text) == length
        if "data" in part:
            assert result.structured["data"] == part["data"]
        if "raw" in part:
            assert result.parts == (ImagePart(part["raw"], "image/png"),)


def test_a_task_in_a_state_of_a_later_version_is_asked_for_again() -> None:
    states = iter(["TASK_STATE_DREAMING", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"])
    with odd_agent() as (agent, bridge):

        def reply(asked: dict[str, Any]) -> Answer:
            task = {**DONE, "status": {"state": next(states)}}
            return ok(asked, task if asked["method"] == "GetTask" else {"task": task})

        agent.reply = reply
        assert do(bridge).text == "done"
        assert [x["method"] for x in agent.asked] == ["SendMessage", "GetTask", "GetTask"]


def test_an_id_of_an_agent_that_leads_elsewhere_is_none() -> None:
    face = {"protocolBinding": "HTTP+JSON", "protocolVersion": "1.0", "url": "/rest"}
    with odd_agent(supportedInterfaces=[face]) as (agent, bridge):
        task = {**TASK, "id": "../../admin"}
        agent.reply = lambda _: (200, JSON, json.dumps({"task": task}).encode())
        with pytest.raises(ServerError, match="no task that could be polled"):
            do(bridge)
        assert not any("admin" in x for x in agent.paths)


# Streams


def test_a_stream_that_breaks_is_gone_on_with_by_asking_for_the_task() -> None:
    with odd_agent(streams=True) as (agent, bridge):

        def reply(asked: dict[str, Any]) -> Answer:
            if asked["method"] == "SendStreamingMessage":
                return 200, EVENTS, iter([event(asked, task=TASK), b"data: {"])
            return ok(asked, DONE)

        agent.reply = reply
        assert do(bridge).text == "done"
        assert agent.asked[-1]["method"] == "GetTask"


def test_a_stream_that_ends_without_a_word_is_a_lost_answer() -> None:
    with odd_agent(streams=True) as (agent, bridge):
        agent.reply = lambda _: (200, EVENTS, iter([b": hello\n\n"]))
        with pytest.raises(SourceError, match="no task that could be polled"):
            do(bridge)


def test_a_stream_that_stays_open_after_the_last_word_is_left() -> None:
    over = threading.Event()
    with odd_agent(streams=True) as (agent, bridge):

        def pieces(asked: dict[str, Any]) -> Iterator[bytes]:
            yield event(asked, task=DONE)
            over.wait(30)

        agent.reply = lambda asked: (200, EVENTS, pieces(asked))
        try:
            assert bridge.call_tool("it", "do", {"message": "x"}, timeout_seconds=10).text == "done"
        finally:
            over.set()


def test_a_stream_may_begin_with_a_piece_and_replace_what_it_made() -> None:
    with odd_agent(streams=True) as (agent, bridge):

        def pieces(asked: dict[str, Any]) -> Iterator[bytes]:
            ids = {"taskId": "t", "contextId": "c"}
            for number, (text, append) in enumerate(
                [("draft", False), ("fin", False), ("al", True)]
            ):
                part = {"artifactId": "a", "parts": [{"text": text}]}
                yield event(asked, artifactUpdate={**ids, "artifact": part, "append": append})
                if number == 0:
                    yield b"event: ping\n\n: comment\r\n\r\n"
            yield event(asked, statusUpdate={**ids, "status": {"state": "TASK_STATE_COMPLETED"}})

        agent.reply = lambda asked: (200, EVENTS, pieces(asked))
        assert do(bridge).text == "final"


def test_a_stream_without_end_is_left_when_it_is_too_large() -> None:
    with odd_agent(streams=True) as (agent, bridge):

        def pieces(asked: dict[str, Any]) -> Iterator[bytes]:
            part = {"artifactId": "a", "parts": [{"text": "x" * 500_000}]}
            for _ in range(100):
                yield event(asked, artifactUpdate={"taskId": "t", "artifact": part, "append": True})

        agent.reply = lambda asked: (200, EVENTS, pieces(asked))
        with pytest.raises(ServerError, match="larger than 16 MiB"):
            do(bridge)


def test_a_service_that_answers_a_stream_with_one_answer_is_understood() -> None:
    with odd_agent(streams=True) as (agent, bridge):
        agent.answers(task=DONE)
        assert do(bridge).text == "done"


# Cards


@pytest.mark.parametrize(
    "card",
    [
        {"skills": None, "capabilities": None},
        {"skills": {"a": 1}},
        {"skills": [None, 4, {}, {"id": 4}, {"id": " "}, {"id": "\ud800"}, {"id": "a" * 300}]},
        {"description": 4, "version": [], "securitySchemes": {"x": 4}, "signatures": "no"},
        {"supportedInterfaces": [4, None, {}, {"url": 4}, {"url": "http://[", "protocolBinding":
         "JSONRPC"}, {"url": "/rpc", "protocolBinding": "jsonrpc"}]},
        {"supportedInterfaces": None, "url": "/rpc"},
        {"supportedInterfaces": None, "url": "/rpc", "preferredTransport": "GRPC",
         "additionalInterfaces": [4, {"url": "/rpc", "transport": "JSONRPC"}]},
        {"supportedInterfaces": [{"url": "/rpc", "protocolBinding": "JSONRPC",
                                  "protocolVersion": "not a version"}]},
    ],
)  # fmt: skip
def test_an_odd_part_of_a_card_costs_only_itself(card: dict[str, Any]) -> None:
    with odd_agent(**card) as (agent, bridge):
        is_old = bool(card.get("url"))
        task = {"kind": "task", **DONE, "status": {"state": "completed"}} if is_old else DONE
        if is_old:
            parts = [{"kind": "text", "text": "done"}]
            task["artifacts"] = [{"artifactId": "a", "parts": parts}]
        agent.reply = lambda asked: ok(asked, task if is_old else {"task": task})
        (tool,) = names_of(bridge.list_tools("it"))
        assert bridge.call_tool("it", tool, {"message": "x"}).text == "done"


@pytest.mark.parametrize(
    ("card", "told"),
    [
        ({"name": 4}, "it has no `name`"),
        ({"supportedInterfaces": []}, "no interface with an address that we support"),
        ({"supportedInterfaces": None}, "no interface with an address that we support"),
        (
            {"supportedInterfaces": [{"url": "file:///etc/passwd", "protocolBinding": "JSONRPC"}]},
            "another place",
        ),
        (
            {"supportedInterfaces": [
                {"url": "http://127.0.0.1@169.254.169.254/", "protocolBinding": "JSONRPC"}]},
            "http://169.254.169.254",
        ),
        (
            {"supportedInterfaces": [
                {"url": "//169.254.169.254/x", "protocolBinding": "JSONRPC"}]},
            "http://169.254.169.254",
        ),
    ],
)  # fmt: skip
def test_a_card_that_leads_nowhere_says_so(card: dict[str, Any], told: str) -> None:
    with odd_agent(**card) as (_, bridge):
        with pytest.raises(SourceFailed) as caught:
            bridge.list_tools("it")
        assert told in caught.value.problem
        assert status_of(bridge, "it").state == "failed"


def test_an_interface_elsewhere_is_passed_over_where_there_is_another() -> None:
    faces = [
        {"url": "http://localhost:9/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        {"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]
    with odd_agent(supportedInterfaces=faces) as (agent, bridge):
        agent.answers(task=DONE)
        assert do(bridge).text == "done"
        assert agent.asked[0]["method"] == "SendMessage"  # the newest protocol
        assert "is on another host" in status_of(bridge, "it").notes[0]


def test_a_card_over_tls_leads_nowhere_without() -> None:
    from xai_mcp_agent.settings.sources import AgentSettings
    from xai_mcp_agent.sources.agents.http import AgentHttp

    def allows(url: str, place: str, *hosts: str) -> bool:
        settings = AgentSettings(name="it", url=url, allowed_hosts=hosts)
        return AgentHttp(settings, str).may_go_to(place)

    secure = "https://a.example/x"
    assert allows(secure, "https://A.example:443/y")
    assert not allows(secure, "http://a.example/y")
    assert not allows(secure, "https://a.example:8443/y")
    assert not allows(secure, "https://b.example/y")
    assert not allows(secure, "ftp://a.example/y")
    assert not allows(secure, "")
    assert allows(secure, "https://b.example:9/y", "b.example")
    assert allows(secure, "https://b.example:9/y", "https://b.example:9")
    assert not allows(secure, "https://b.example:8/y", "b.example:9")
    assert not allows(secure, "https:///y", "", "[")
    assert not allows("http://[::1]:80/", "http://[::2]/")
    assert allows("http://[::1]:80/", "http://[::1]/x")


def test_a_connection_that_breaks_in_a_call_says_that_it_may_have_been_carried_out() -> None:
    with odd_agent() as (agent, bridge):
        agent.reply = lambda _: (200, {**JSON, "content-length": "100"}, iter([b"{"]))
        with pytest.raises(SourceClosed, match="check that before you try again"):
            do(bridge)
