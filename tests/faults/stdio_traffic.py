"""Floods, requests the other way, secrets, and servers that do not want to end."""

from __future__ import annotations

from xai_mcp_agent import ServerError

from .fault import Call, Fails, Fault, Works
from .stdio_start import speaking

_SECRET = "tok-6f1c2b9d4e8a7350"
_NOTICE = '{"jsonrpc": "2.0", "method": "notifications/%s", "params": {}}\n'
_ODD = '{"jsonrpc": "2.0", "method": "notifications/%s", "params": %s}\n'
_FINE = {"content": [{"type": "text", "text": "fine"}]}


def _flood(line: str, times: int) -> Call:
    steps = [["times", times, line], ["reply", _FINE]]
    return Call("act", {"steps": steps}, Works("fine"))


TRAFFIC = (
    Fault(
        "list_changed_storm",
        "says 20,000 times that its tools changed",
        speaking(),
        call=_flood(_NOTICE % "tools/list_changed", 20_000),
    ),
    Fault(
        "progress_flood",
        "tells its progress 20,000 times",
        speaking(),
        call=Call("progress", {"steps": 1, "flood": 20_000}, Works("done")),
    ),
    Fault(
        "progress_for_nobody",
        "tells the progress of calls that nobody made",
        speaking(),
        call=_flood(_ODD % ("progress", '{"progressToken": "zz", "progress": 1}'), 20_000),
    ),
    Fault(
        "odd_progress",
        "tells its progress in words",
        speaking(),
        call=_flood(_ODD % ("progress", '{"progressToken": ID, "progress": "half"}'), 10),
    ),
    Fault(
        "log_flood",
        "sends 20,000 lines of its log",
        speaking(),
        call=Call("log", {"lines": 20_000}, Works("done")),
    ),
    Fault(
        "unknown_notices",
        "sends 20,000 notices of a kind nobody knows",
        speaking(),
        call=_flood(_NOTICE % "unheard/of", 20_000),
    ),
    Fault(
        "other_notices",
        "says 5,000 times that its resources and prompts changed",
        speaking(),
        call=_flood(_NOTICE % "resources/list_changed" + _NOTICE % "prompts/list_changed", 5_000),
    ),
    Fault(
        "cancelled_for_nobody",
        "cancels 5,000 calls that nobody made",
        speaking(),
        call=_flood(_ODD % ("cancelled", '{"requestId": "zz"}'), 5_000),
    ),
    Fault(
        "noise_flood",
        "writes 20,000 lines to stdout that are no messages",
        speaking(),
        call=_flood("still working on it\n", 20_000),
    ),
    Fault(
        "stderr_flood_in_call",
        "writes 5 MB to stderr during a call",
        speaking(),
        call=Call(
            "act",
            {"steps": [["stderr", "trouble " * 10 + "\n", 60_000], ["reply", _FINE]]},
            Works("fine"),
        ),
    ),
    Fault(
        "server_requests",
        "asks the client for things it does not have",
        speaking(),
        call=Call("ask", {"method": "sampling/createMessage", "times": 20}, Works("asked")),
    ),
    Fault(
        "unknown_requests",
        "asks the client what nobody knows",
        speaking(),
        call=Call("ask", {"method": "who/knows", "times": 20}, Works("asked")),
    ),
    Fault(
        "ping_flood",
        "pings 500 times",
        speaking(),
        call=Call("ask", {"method": "ping", "times": 500}, Works("asked")),
    ),
    Fault(
        "question_flood",
        "pings 20,000 times",
        speaking(),
        call=Call("ask", {"method": "ping", "times": 20_000}, Works("asked")),
    ),
    Fault(
        "env_echo",
        "tells its environment",
        {**speaking(), "env": {"TOKEN": "given"}},
        call=Call("environment", {}, Works('"TOKEN": "given"')),
    ),
    Fault(
        "secret_in_error",
        "puts a secret into an error",
        {**speaking(), "env": {"API_TOKEN": _SECRET}},
        call=Call(
            "rpc_error",
            {"code": -32000, "message": f"auth failed for {_SECRET}"},
            Fails(r"auth failed for (?!tok-6)", ServerError, speaks=False),
        ),
    ),
)

ENDING = (
    Fault(
        "ignore_stdin_close",
        "goes on when its input ends, and ignores SIGTERM",
        speaking(ignore_eof=True, ignore_term=True),
    ),
    Fault("slow_end", "needs a second to end", speaking(slow_end=1)),
    Fault("orphan_child", "leaves a child behind when it ends", speaking(child="polite")),
    Fault("deaf_child", "leaves a child behind that ignores SIGTERM", speaking(child="deaf")),
    Fault("child_in_own_session", "has a child in a session of its own", speaking(child="apart")),
    Fault("double_fork", "leaves a child of a child behind", speaking(child="double")),
    Fault("heir", "its child holds its standard output", speaking(child="heir")),
)
