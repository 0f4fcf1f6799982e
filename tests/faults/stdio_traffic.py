"""Floods, requests the other way, secrets, and servers that do not want to end."""

from __future__ import annotations

from xai_mcp_agent import ServerError

from .fault import Call, Fails, Fault, Works
from .stdio_start import speaking

_SECRET = "tok-6f1c2b9d4e8a7350"
_NOTICE = '{"jsonrpc": "2.0", "method": "notifications/%s", "params": {}}\n'
_ODD = '{"jsonrpc": "2.0", "method": "notifications/%s", "params": %s}\n'
_FINE = {"content": [{"type": "text", "text": "fine"}]}


def _traffic(name: str, does: str, call: Call) -> Fault:
    return Fault(name, does, speaking(), call=call)


def _flood(name: str, does: str, line: str, times: int) -> Fault:
    steps = [["times", times, line], ["reply", _FINE]]
    return _traffic(name, does, Call("act", {"steps": steps}, Works("fine")))


def _asking(name: str, does: str, method: str, times: int) -> Fault:
    return _traffic(name, does, Call("ask", {"method": method, "times": times}, Works("asked")))


_COMPLAINTS = ["stderr", "trouble " * 10 + "\n", 60_000]

TRAFFIC = (
    _flood("list_changed_storm", "says 20,000 times that its tools changed",
           _NOTICE % "tools/list_changed", 20_000),
    _traffic("progress_flood", "tells its progress 20,000 times",
             Call("progress", {"steps": 1, "flood": 20_000}, Works("done"))),
    _flood("progress_for_nobody", "tells the progress of calls that nobody made",
           _ODD % ("progress", '{"progressToken": "zz", "progress": 1}'), 20_000),
    _flood("odd_progress", "tells its progress in words",
           _ODD % ("progress", '{"progressToken": ID, "progress": "half"}'), 10),
    _traffic("log_flood", "sends 20,000 lines of its log",
             Call("log", {"lines": 20_000}, Works("done"))),
    _flood("unknown_notices", "sends 20,000 notices of a kind nobody knows",
           _NOTICE % "unheard/of", 20_000),
    _flood("other_notices", "says 5,000 times that its resources and prompts changed",
           _NOTICE % "resources/list_changed" + _NOTICE % "prompts/list_changed", 5_000),
    _flood("cancelled_for_nobody", "cancels 5,000 calls that nobody made",
           _ODD % ("cancelled", '{"requestId": "zz"}'), 5_000),
    _flood("noise_flood", "writes 20,000 lines to stdout that are no messages",
           "still working on it\n", 20_000),
    _traffic("stderr_flood_in_call", "writes 5 MB to stderr during a call",
             Call("act", {"steps": [_COMPLAINTS, ["reply", _FINE]]}, Works("fine"))),
    _asking("server_requests", "asks the client for things it does not have",
            "sampling/createMessage", 20),
    _asking("unknown_requests", "asks the client what nobody knows", "who/knows", 20),
    _asking("ping_flood", "pings 500 times", "ping", 500),
    _asking("question_flood", "pings 20,000 times", "ping", 20_000),
    Fault("env_echo", "tells its environment", {**speaking(), "env": {"TOKEN": "given"}},
          call=Call("environment", {}, Works('"TOKEN": "given"'))),
    Fault("secret_in_error", "puts a secret into an error",
          {**speaking(), "env": {"API_TOKEN": _SECRET}},
          call=Call("rpc_error", {"code": -32000, "message": f"auth failed for {_SECRET}"},
                    Fails(r"auth failed for (?!tok-6)", ServerError, speaks=False))),
)  # fmt: skip

ENDING = (
    Fault("ignore_stdin_close", "goes on when its input ends, and ignores SIGTERM",
          speaking(ignore_eof=True, ignore_term=True)),
    Fault("slow_end", "needs a second to end", speaking(slow_end=1)),
    *(Fault(name, does, speaking(child=child)) for name, child, does in (
        ("orphan_child", "polite", "leaves a child behind when it ends"),
        ("deaf_child", "deaf", "leaves a child behind that ignores SIGTERM"),
        ("child_in_own_session", "apart", "has a child in a session of its own"),
        ("double_fork", "double", "leaves a child of a child behind"),
        ("heir", "heir", "its child holds its standard output"),
    )),
)  # fmt: skip
