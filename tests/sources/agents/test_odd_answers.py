"""Agents with invalid answers: clear errors, and no effect on other sources."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.bridges import failure_of, names_of, status_of
from tests.support.http_service import BrokenOff
from tests.support.odd_agent import DONE, EVENTS, JSON, TASK, Answer, event, odd_agent, ok
from xai_mcp_agent import Bridge, ServerError, SourceClosed, SourceError, ToolResult
from xai_mcp_agent.core.results import ImagePart
from xai_mcp_agent.settings.sources import AgentSettings
from xai_mcp_agent.sources.agents.http import AgentHttp


def do(bridge: Bridge, message: str = "x") -> ToolResult:
    return bridge.call_tool("it", "do", {"message": message})


UNUSABLE: tuple[tuple[int, dict[str, str], bytes, str], ...] = (
    (200, JSON, b"", "it is empty"),
    (200, JSON, b"[]", "cannot be understood"),
    (200, JSON, b"[" * 100_000, "it is not JSON"),
    (200, {"content-type": "text/html"}, b"<html>Hi</html>", "it is an HTML page"),
    (200, JSON, b'{"jsonrpc": "2.0", "result": {"task": 4}}', "cannot be understood"),
    (200, JSON, b'{"jsonrpc": "2.0", "result": {"task": {}}}', "no task that could be polled"),
    (200, JSON, b'{"jsonrpc": "2.0", "error": {"code": "x", "message": [1]}}', "error"),
    (200, EVENTS, b"data: nonsense\n\n", "it is not JSON"),
    (200, EVENTS, b": hello\n\n", "no task that could be polled"),
    (200, {**JSON, "content-encoding": "gzip"}, gzip.compress(b"{}", mtime=0), "no task that"),
    (404, JSON, b'{"jsonrpc": "2.0", "error": {"code": -1, "message": "no task t"}}', "no task t"),
    (500, JSON, b'{"detail": "tok-secret-1234 is wrong"}', "HTTP 500: *** is wrong"),
    (500, {}, b"Traceback (most recent call last):\n  x\nKeyError: 'a'\n", "KeyError: 'a'"),
    (307, {"location": "http://localhost:9/x"}, b"", "nothing is sent to another server"),
    (302, {}, b"", "it redirects"),
)  # fmt: skip


def test_an_unusable_answer_is_reported_with_what_is_wrong_with_it():
    with odd_agent() as (agent, bridge):
        for status, headers, body, words in UNUSABLE:
            agent.reply = status, headers, body
            with pytest.raises(SourceError) as caught:
                do(bridge)
            assert words in caught.value.problem
            assert caught.value.next_step
            assert "Traceback" not in str(caught.value)
            assert "tok-secret-1234" not in str(caught.value)
        agent.answers(task=DONE)
        assert do(bridge).text == "done"


def test_the_status_of_a_refusal_is_in_its_error():
    """It decides whether the circuit breaker counts the call."""
    with odd_agent() as (agent, bridge):
        for status in (404, 500, 503, 429):
            agent.reply = status, {}, b"no"
            with pytest.raises(ServerError) as caught:
                do(bridge)
            assert (caught.value.status, caught.value.code) == (status, 0)


def test_unknown_parts_of_a_task_are_ignored():
    many = [{"artifactId": str(x), "parts": []} for x in range(5_000)]
    odd = {"parts": [{"new": 1}, {}]}
    with odd_agent() as (agent, bridge):
        for more in (
            {"history": [{"parts": [{"text": "x"}] * 1000}] * 100},
            {"x" * 100_000: "y" * 5_000_000},
            {"artifacts": [*DONE["artifacts"], odd, *many], "later": {}},
        ):
            agent.answers(task={**DONE, **more})
            assert do(bridge).text == "done"


_MEGABYTE = 1_000_000
_SIZES: dict[str, tuple[dict[str, Any], int]] = {
    "text": ({"text": "\u00e4" * 2 * _MEGABYTE}, 2 * _MEGABYTE),
    "file": ({"raw": "QUFB" * 3 * _MEGABYTE, "mediaType": "image/png"}, 51),
    "data": ({"data": {"all": list(range(200_000))}}, 1_488_899),
}


@pytest.mark.parametrize("kind", _SIZES)
def test_a_large_answer_is_whole_and_blocks_no_other_work(kind: str):
    """A fixture of all tests reports a blocked event loop."""
    part, length = _SIZES[kind]
    with odd_agent(streams=kind != "text") as (agent, bridge):
        agent.answers(task={**DONE, "artifacts": [{"artifactId": "a", "parts": [part]}]})
        result = do(bridge)
    assert len(result.text) == length
    if "data" in part:
        assert result.structured["data"] == part["data"]
    if "raw" in part:
        assert result.parts == (ImagePart(part["raw"], "image/png"),)


def test_a_task_in_a_state_of_a_later_version_is_asked_for_again():
    states = iter(["TASK_STATE_DREAMING", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"])
    with odd_agent() as (agent, bridge):

        def reply(request: dict[str, Any]) -> Answer:
            task = {**DONE, "status": {"state": next(states)}}
            return ok(request, task if request["method"] == "GetTask" else {"task": task})

        agent.reply = reply
        assert do(bridge).text == "done"
        assert [x["method"] for x in agent.requests] == ["SendMessage", "GetTask", "GetTask"]


def test_a_task_id_that_leads_elsewhere_is_refused():
    face = {"protocolBinding": "HTTP+JSON", "protocolVersion": "1.0", "url": "/rest"}
    with odd_agent(supportedInterfaces=[face]) as (agent, bridge):
        task = {**TASK, "id": "../../admin"}
        agent.reply = 200, JSON, json.dumps({"task": task}).encode()
        with pytest.raises(ServerError, match="no task that could be polled"):
            do(bridge)
        assert not any("admin" in x for x in agent.paths)


# Streams


def test_a_broken_stream_is_continued_by_polling_the_task():
    with odd_agent(streams=True) as (agent, bridge):

        def reply(request: dict[str, Any]) -> Answer:
            if request["method"] == "SendStreamingMessage":
                return 200, EVENTS, iter([event(request, task=TASK), b"data: {"])
            return ok(request, DONE)

        agent.reply = reply
        assert do(bridge).text == "done"
        assert agent.requests[-1]["method"] == "GetTask"


def test_a_stream_that_stays_open_after_the_last_update_is_closed():
    over = threading.Event()
    with odd_agent(streams=True) as (agent, bridge):

        def pieces(request: dict[str, Any]) -> Iterator[bytes]:
            yield event(request, task=DONE)
            over.wait(30)

        agent.reply = lambda request: (200, EVENTS, pieces(request))
        try:
            assert bridge.call_tool("it", "do", {"message": "x"}, timeout_seconds=10).text == "done"
        finally:
            over.set()


def artifact(text: str, append: bool = False) -> dict[str, Any]:
    """A piece of the artifact `a`."""
    piece = {"artifactId": "a", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": "t", "artifact": piece, "append": append}}


def test_a_stream_may_begin_with_a_piece_and_replace_an_artifact():
    end = {"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_COMPLETED"}}}
    with odd_agent(streams=True) as (agent, bridge):
        agent.streams(
            artifact("draft"), b"event: ping\n\n: comment\r\n\r\n",
            artifact("fin"), artifact("al", append=True), end,
        )  # fmt: skip
        assert do(bridge).text == "final"


def test_an_endless_stream_is_closed_at_the_size_limit():
    with odd_agent(streams=True) as (agent, bridge):
        agent.streams(*[artifact("x" * 500_000, append=True)] * 100)
        with pytest.raises(ServerError, match="larger than 16 MiB"):
            do(bridge)


# Cards


@pytest.mark.parametrize(
    "card",
    [
        {"skills": {"a": 1}, "capabilities": None},
        {"skills": [None, 4, {}, {"id": 4}, {"id": " "}, {"id": "\ud800"}, {"id": "a" * 300}],
         "description": 4, "version": [], "securitySchemes": {"x": 4}, "signatures": "no"},
        {"supportedInterfaces": [4, None, {}, {"url": 4}, {"url": "http://[", "protocolBinding":
         "JSONRPC"}, {"url": "/rpc", "protocolBinding": "jsonrpc", "protocolVersion": "no"}]},
        {"supportedInterfaces": None, "url": "/rpc", "preferredTransport": "GRPC",
         "additionalInterfaces": [4, {"url": "/rpc", "transport": "JSONRPC"}]},
    ],
)  # fmt: skip
def test_an_invalid_part_of_a_card_does_not_affect_the_others(card: dict[str, Any]):
    with odd_agent(**card) as (agent, bridge):
        if "url" in card:  # of the old version
            artifact = {"artifactId": "a", "parts": [{"kind": "text", "text": "done"}]}
            status = {"state": "completed"}
            task = {"kind": "task", **DONE, "status": status, "artifacts": [artifact]}
            agent.reply = lambda request: ok(request, task)
        else:
            agent.answers(task=DONE)
        (tool,) = names_of(bridge.list_tools("it"))
        assert bridge.call_tool("it", tool, {"message": "x"}).text == "done"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "no interface with an address that we support"),
        ("file:///etc/passwd", "another place"),
        ("http://127.0.0.1@169.254.169.254/", "http://169.254.169.254"),
        ("//169.254.169.254/x", "http://169.254.169.254"),
    ],
)
def test_a_card_that_leads_nowhere_says_so(url: str, words: str):
    faces = [{"url": url, "protocolBinding": "JSONRPC"}] if url else []
    with odd_agent(supportedInterfaces=faces) as (_, bridge):
        assert words in failure_of(bridge).problem
        assert status_of(bridge, "it").state == "failed"


def test_an_interface_on_another_host_is_not_used_if_there_is_another():
    faces = [
        {"url": "http://localhost:9/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        {"url": "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]
    with odd_agent(supportedInterfaces=faces) as (agent, bridge):
        agent.answers(task=DONE)
        assert do(bridge).text == "done"
        assert agent.requests[0]["method"] == "SendMessage"  # the newest protocol
        assert "is on another host" in status_of(bridge, "it").notes[0]


@pytest.mark.parametrize(
    ("place", "hosts", "is_allowed"),
    [
        ("https://A.example:443/y", (), True),
        ("http://a.example/y", (), False),
        ("https://a.example:8443/y", (), False),
        ("https://b.example/y", (), False),
        ("https://b.example:9/y", ("b.example",), True),
        ("https://b.example:9/y", ("https://b.example:9",), True),
        ("https://b.example:8/y", ("b.example:9",), False),
        ("https:///y", ("", "["), False),
    ],
)
def test_a_card_over_tls_leads_only_to_its_own_origin_or_allowed_hosts(
    place: str, hosts: tuple[str, ...], is_allowed: bool
):
    settings = AgentSettings(name="it", url="https://a.example/x", allowed_hosts=hosts)
    assert AgentHttp(settings, str).may_go_to(place) == is_allowed


def test_a_connection_that_breaks_in_a_call_says_that_it_may_have_been_carried_out():
    with odd_agent() as (agent, bridge):
        agent.reply = 200, JSON, BrokenOff(b"{")
        with pytest.raises(SourceClosed, match="check that before you try again"):
            do(bridge)
