"""What goes wrong in a call to a server behind a URL."""

from __future__ import annotations

import json
from typing import Any

from tests.support.fault_http import Hang, cut_short, cut_stream, drop, first, refuse
from tests.support.http_faults import (
    Resumable,
    chattering,
    continuing,
    dripping,
    in_small_pieces,
    large_event,
    packed,
    questions,
    reset,
    with_length,
)
from xai_mcp_agent import ServerError, SourceClosed, ToolTimeout

from .fault import Call, Fault, Works
from .http_servers import FaultHttp, Setup, fails, in_both_eras, mend, of_calls

_ECHO = {"text": "fine"}


def failing(
    name: str, does: str, fault: Any, words: str, kind: Any = ServerError, tool: str = "echo"
) -> tuple[Fault, Fault]:
    """The call ends in this error, and the next one works once the fault is gone."""
    call = Call(tool, _ECHO, fails(words, kind=kind))
    return in_both_eras(name, does, of_calls(fault), call=call, mend=mend)


def late(name: str, does: str, fault: Any) -> tuple[Fault, Fault]:
    """The call ends at its limit, and the next one works."""
    call = Call("echo", _ECHO, fails("timed out after 0.5 s", kind=ToolTimeout), seconds=0.5)
    return in_both_eras(name, does, of_calls(fault), call=call, mend=mend)


def working(name: str, does: str, setup: Setup, tool: str = "read") -> tuple[Fault, Fault]:
    """The call works all the same."""
    return in_both_eras(name, does, setup, call=Call(tool, _ECHO, Works("this is|fine|xxx")))


def riddle(handler: Any, message: dict[str, Any]) -> None:
    """A result of a kind of its own."""
    said = {"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "riddle"}}
    handler.answer(200, json.dumps(said).encode(), "application/json")


def dying(handler: Any, _message: dict[str, Any]) -> None:
    """The whole server is gone from one moment to the next."""
    handler.owner.stop()


def forgetting(peer: FaultHttp) -> None:
    """Its sessions are forgotten before the call, as after a restart."""

    def forget(handler: Any, message: dict[str, Any]) -> None:
        del peer.faults["tools/call"]
        peer.forget_sessions()
        handler.answer_well(message)

    peer.faults["tools/call"] = forget


REFUSED: tuple[Fault, ...] = (
    *failing("http_401_call", "does not take the token any more", refuse(401, "expired"),
             "HTTP 401: expired"),
    *failing("http_429", "says to come later, again and again",
             refuse(429, "slow down", retry_after="0"), "HTTP 429: slow down"),
    *failing("http_429_long", "says to come in an hour", refuse(429, retry_after="3600"),
             "retry after 3600 s"),
    *working("http_429_once", "says to come in a second",
             of_calls(first(1, refuse(429, retry_after="1"))), "echo"),
    *failing("http_500", "has trouble of its own", refuse(500, "boom"), "HTTP 500: boom"),
    *failing("http_502", "stands behind a gateway with trouble", refuse(502), "HTTP 502"),
    *working("http_502_read", "stands behind a gateway with trouble, for a tool that only reads",
             of_calls(first(1, refuse(502)))),
    *working("http_session_expired", "has forgotten the session", forgetting),
)  # fmt: skip

ANSWERED: tuple[Fault, ...] = (
    *failing("http_html_call", "shows a page to sign in", refuse(200, "<html>", "text/html"),
             "unusable response: HTTP 200 with text/html instead of JSON"),
    *failing("http_accepted", "accepts the call, and gives no answer", refuse(202),
             "HTTP 202 with"),
    *failing("http_batch", "answers with a list", refuse(200, "[]", "application/json"),
             "it is not a JSON-RPC response"),
    *failing("http_unknown_type", "answers with a result of a kind that nobody knows", riddle,
             "the result type 'riddle' is unknown"),
    *failing("http_utf16", "answers in another encoding",
             lambda handler, _: handler.answer(200, "{}".encode("utf-16"), "application/json"),
             "it is not valid JSON"),
    *failing("http_truncated", "breaks off in the middle of an answer", cut_short,
             "the connection broke off", SourceClosed),
    *failing("http_sse_drop", "breaks off in the middle of a stream", cut_stream,
             "the connection broke off", SourceClosed),
    *failing("http_long_length", "promises more bytes than it sends", with_length(5),
             "the connection broke off", SourceClosed),
    *failing("http_short_length", "sends more bytes than it promises", with_length(-5),
             "it is not valid JSON"),
    *failing("http_drop_call", "closes the connection in place of an answer", drop,
             "the connection broke off", SourceClosed),
    *working("http_reset_read", "resets the connection, for a tool that only reads",
             of_calls(first(1, reset))),
    *failing("http_die_in_call", "is killed during the call", dying,
             "the connection broke off|was lost", SourceClosed),
    *working("http_resumed", "breaks a stream off three times, and can go on",
             lambda peer: Resumable(peer, 3)),
    *working("http_chunks", "sends its answer a byte at a time", of_calls(in_small_pieces)),
    *late("http_hang_call", "does not answer", Hang()),
    *late("http_slow_drip", "answers with a byte now and then", dripping(0.05)),
    *late("http_continue", "says for ever that one may go on (100 Continue)", continuing),
    *late("http_question_flood", "asks 200 times during the call, and does not answer",
          questions("ping", 200)),
    *late("http_comments", "sends comments on a stream for ever", chattering()),
)  # fmt: skip

LARGE: tuple[Fault, ...] = (
    *working("http_sse_big_event", "sends an event of 2 MiB", of_calls(large_event(2))),
    *failing("http_sse_huge_event", "sends an event of 80 MiB", large_event(80),
             "the connection broke off.*exceeded the 67108864 byte limit", SourceClosed),
    *failing("http_gzip_bomb", "packs 100 MiB into little", packed(100),
             "it is larger than 64 MiB"),
    *failing("http_deflate_bomb", "packs 100 MiB into little, in another way",
             packed(100, "deflate"), "it is larger than 64 MiB"),
)  # fmt: skip
