"""Faults of calls and between calls, floods, and requests of the server."""

from __future__ import annotations

import json
from typing import Any

from .fault import LATE_SECONDS, LONG_SECONDS, Call, Entry, Fault, speaking

_FOR_EVER = ["pause", 60]


def _text(text: str = "fine") -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def _answer(text: str = "fine", request: str = "ID", **more: Any) -> str:
    result = json.dumps({"content": _text(text), **more})
    return f'{{"jsonrpc": "2.0", "id": {request}, "result": {result}}}'


def _in_call(name: str, does: str, call: Call, **more: Any) -> Fault:
    """Return a fault of the usual server that shows in this call."""
    return Fault(name, does, speaking(), call=call, **more)


def _act(*steps: list[Any], seconds: float = LONG_SECONDS) -> Call:
    return Call("act", {"steps": list(steps)}, seconds)


def _line(line: str, seconds: float = LONG_SECONDS) -> Call:
    return _act(["line", line], seconds=seconds)


def _result(**result: Any) -> Call:
    return Call("result", result)


def _late(tool: str = "echo", **arguments: Any) -> Call:
    return Call(tool, arguments, LATE_SECONDS)


def _declaring(schema: dict[str, Any]) -> Entry:
    """Return a server whose tool `result` declares this output schema."""
    tool = {"name": "result", "inputSchema": {"type": "object"}, "outputSchema": schema}
    echo = {"name": "echo", "inputSchema": {"type": "object"}}
    return speaking(tools=[tool, echo])


_NUMBER = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
_HALF_READ = [1, None, {"type": "image"}, {"type": 3}, {"type": "text"},
              {"type": "resource", "resource": 1}, *_text()]  # fmt: skip
_NULL_ID = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}'
_DYING = Call("die", {})

CALLS = (
    _in_call("is_error", "the tool fails and says so",
             _result(content=_text("out of paper"), isError=True)),
    _in_call("rpc_error", "refuses the call with an error of the protocol",
             Call("rpc_error", {"code": -32603, "message": "internal trouble"})),
    _in_call("hang_call", "does not answer a call, and goes on with others", _late("never")),
    _in_call("hang_all_after_call", "does not answer anything any more",
             _late("freeze"), again=_late(text="x"), last=Call()),
    _in_call("late_answer", "answers a call when nobody waits any more",
             _act(["pause", 1], ["line", _answer("late")], seconds=LATE_SECONDS)),
    _in_call("slow_drip", "sends its answer byte by byte, for ever",
             _act(["drip", "{"], seconds=LATE_SECONDS), again=_late(text="x"), last=Call()),
    _in_call("stop_reading", "stops reading; the next call has 1 MB of arguments",
             _late("freeze"), again=_late(text="x" * 1_000_000), last=Call()),
    _in_call("die_in_call", "dies during a call", _DYING),
    _in_call("killed_in_call", "is killed during a call", Call("die", {"code": -9})),
    _in_call("die_between_calls", "answers, then dies",
             _act(["line", _answer()], ["exit", 3]), dies_after_call=True),
    _in_call("half_line_death", "dies in the middle of an answer",
             _act(["write", _answer()[:40]], ["exit", 3])),
    _in_call("stdout_closed", "closes its standard output during a call and lives on",
             _act(["close", 1], _FOR_EVER)),
    _in_call("stdout_cut", "closes its standard output in the middle of an answer",
             _act(["write", _answer()[:40]], ["close", 1], _FOR_EVER)),
    _in_call("stdin_closed", "closes its standard input and lives on",
             _act(["line", _answer()], ["close", 0], _FOR_EVER),
             again=Call("echo", {"text": "x"}, seconds=20)),  # before it ends by itself
    _in_call("crash_loop", "dies of every call", _DYING, again=_DYING, last=Call()),
    Fault("schema_change", "has other tools after it died and came back",
          speaking(journal="journal", mode="legacy",
                   then={"tools": [{"name": "new", "inputSchema": {"type": "object"}}]}),
          call=_DYING, last=Call("new", {}), again=Call("echo", {"text": "x"})),
    _in_call("invalid_json", "writes half a JSON object between two messages",
             _act(["line", '{"jsonrpc": "2.0", "method": '], ["line", _answer()])),
    _in_call("invalid_json_answer", "its answer is not JSON",
             _line('{"jsonrpc": "2.0", "id": ID, "result": {"content": [}')),
    _in_call("cut_json_answer", "its answer ends in the middle", _line(_answer()[:50])),
    _in_call("deep_json", "its answer is nested 100,000 levels deep",
             _act(["write", '{"jsonrpc": "2.0", "id": ID, "result": '], ["times", 100_000, "["],
                  ["times", 100_000, "]"], ["line", "}"])),
    _in_call("invalid_utf8", "its answer has bytes that are not UTF-8",
             _line(_answer("caf\u00e9 \u00ff").replace("\\u00e9", "\u00e9"))),
    _in_call("nul_bytes", "its answer begins with NUL bytes", _line("\0\0\0" + _answer())),
    _in_call("surrogates", "its answer has half a character",
             _line(_answer().replace("fine", "\\ud83d"))),
    _in_call("not_a_number", "its answer has NaN and Infinity in it",
             _line(_answer(structuredContent=None).replace("null", "[NaN, Infinity]"))),
    _in_call("huge_number", "its answer has an integer of 10,000 digits",
             _line(_answer(structuredContent=None).replace("null", "9" * 10_000))),
    _in_call("batch", "sends its answer in an array", _line(f"[{_answer()}]")),
    _in_call("wrong_id", "answers a request that nobody made",
             _line(_answer(request="99999"), LATE_SECONDS)),
    _in_call("negative_id", "answers with a negative id",
             _line(_answer(request="-1"), LATE_SECONDS)),
    _in_call("huge_id", "answers with an id of 400 digits",
             _line(_answer(request="9" * 400), LATE_SECONDS)),
    _in_call("string_id", "gives the id back as text", _line(_answer(request='"ID"'))),
    _in_call("float_id", "gives the id back as 7.0", _line(_answer(request="ID.0"))),
    _in_call("null_id_error", "answers with an error for nobody", _line(_NULL_ID, LATE_SECONDS)),
    _in_call("duplicate_answer", "answers twice",
             _act(["line", _answer()], ["line", _answer("second")])),
    _in_call("no_version", "leaves out which JSON-RPC it speaks",
             _line(_answer().replace('"jsonrpc": "2.0", ', ""))),
    _in_call("error_without_words", "refuses with an error that is only a text",
             _line('{"jsonrpc": "2.0", "id": ID, "error": "no"}')),
    _in_call("result_and_error", "sends a result and null as error",
             _line(_answer()[:-1] + ', "error": null}')),
    _in_call("result_null", "its result is null",
             _line('{"jsonrpc": "2.0", "id": ID, "result": null}')),
    _in_call("huge_result", "its result has 50 MB", Call("big", {"characters": 50_000_000})),
    _in_call("too_large_result", "its result has 70 MB, which is too much",
             Call("big", {"characters": 70_000_000})),
    _in_call("unknown_content", "its result has a part of an unknown type",
             _result(content=[{"type": "hologram", "data": 1}, *_text()])),
    _in_call("bad_content", "parts of its result are numbers, null and half of what they should be",
             _result(content=_HALF_READ)),
    _in_call("missing_content", "its result has no content", _result()),
    _in_call("null_content", "the content of its result is null", _result(content=None)),
    _in_call("text_as_content", "the content of its result is a text", _result(content="fine")),
    _in_call("odd_flags", "says isError with a word, and its structured content is a list",
             _result(content=_text(), isError="yes", structuredContent=[1, 2], _meta="x")),
    Fault("output_violates", "its result breaks the schema it promised", _declaring(_NUMBER),
          call=_result(content=[], structuredContent={"x": "one"})),
    Fault("output_missing", "its result lacks what the schema promised", _declaring(_NUMBER),
          call=_result(content=_text())),
    Fault("odd_output_schema", "the schema it promised is no schema", _declaring({"type": 7}),
          call=_result(content=[], structuredContent={"x": 1})),
)  # fmt: skip

_SECRET = "tok-6f1c2b9d4e8a7350"
_NOTICE = '{"jsonrpc": "2.0", "method": "notifications/%s", "params": %s}\n'
_REPLY = ["reply", {"content": _text()}]


def _flood(name: str, does: str, line: str, times: int = 5_000) -> Fault:
    return _in_call(name, does, _act(["times", times, line], _REPLY))


def _asking(name: str, does: str, method: str, times: int) -> Fault:
    return _in_call(name, does, Call("ask", {"method": method, "times": times}))


TRAFFIC = (
    _flood("list_changed_storm", "says 5,000 times that its tools changed",
           _NOTICE % ("tools/list_changed", "{}")),
    _in_call("progress_flood", "tells its progress 5,000 times",
             Call("progress", {"steps": 5_000})),
    _flood("progress_for_nobody", "tells the progress of calls that nobody made",
           _NOTICE % ("progress", '{"progressToken": "zz", "progress": 1}')),
    _flood("odd_progress", "tells its progress in words",
           _NOTICE % ("progress", '{"progressToken": ID, "progress": "half"}'), 10),
    _flood("log_flood", "sends 5,000 lines of its log",
           _NOTICE % ("message", '{"level": "info", "data": "a line"}')),
    _flood("unknown_notices", "sends 5,000 notices of a kind nobody knows",
           _NOTICE % ("unheard/of", "{}")),
    _flood("other_notices", "says 1,000 times that its resources and prompts changed",
           _NOTICE % ("resources/list_changed", "{}") + _NOTICE % ("prompts/list_changed", "{}"),
           1_000),
    _flood("cancelled_for_nobody", "cancels 1,000 calls that nobody made",
           _NOTICE % ("cancelled", '{"requestId": "zz"}'), 1_000),
    _flood("noise_flood", "writes 5,000 lines to stdout that are no messages",
           "still working on it\n"),
    _in_call("stderr_flood_in_call", "writes 5 MB to stderr during a call",
             _act(["stderr", "trouble " * 10 + "\n", 60_000], _REPLY)),
    _asking("server_requests", "asks the client for things it does not have",
            "sampling/createMessage", 20),
    _asking("unknown_requests", "asks the client what nobody knows", "who/knows", 20),
    _asking("question_flood", "pings 5,000 times", "ping", 5_000),
    Fault("env_echo", "tells its environment", {**speaking(), "env": {"TOKEN": "given"}},
          call=Call("environment", {})),
    Fault("secret_in_error", "puts a secret into an error",
          {**speaking(), "env": {"API_TOKEN": _SECRET}},
          call=Call("rpc_error", {"code": -32000, "message": f"auth failed for {_SECRET}"})),
)  # fmt: skip
