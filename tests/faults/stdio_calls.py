"""What goes wrong with a call, and between calls."""

from __future__ import annotations

import json
from typing import Any

from xai_mcp_agent import ServerError, SourceClosed, ToolTimeout, UnknownTool

from .fault import LONG_SECONDS, Call, Entry, Expected, Fails, Fault, Works
from .stdio_start import speaking

_FINE = Works("fine")
_FOR_EVER = ["pause", 60]


def _answer(text: str = "fine", request: str = "ID", **more: Any) -> str:
    result = json.dumps({"content": _text(text), **more})
    return f'{{"jsonrpc": "2.0", "id": {request}, "result": {result}}}'


def _in_call(name: str, does: str, call: Call, **more: Any) -> Fault:
    """The usual server, whose fault shows in this call."""
    return Fault(name, does, speaking(), call=call, **more)


def _act(*steps: list[Any], expected: Expected = _FINE, seconds: float = LONG_SECONDS) -> Call:
    return Call("act", {"steps": list(steps)}, expected, seconds)


def _line(line: str, expected: Expected, seconds: float = LONG_SECONDS) -> Call:
    return _act(["line", line], expected=expected, seconds=seconds)


def _result(expected: Expected | None = None, **result: Any) -> Call:
    return Call("result", result, expected or Works())


def _text(text: str = "fine") -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


_LATE = Fails("timed out after 0.5 s; we asked the server to stop", ToolTimeout)
_UNREADABLE = Fails("unusable response: it is not a valid message", ServerError)


def _lost(how: str) -> Fails:
    return Fails(rf"the connection was lost during the call of .*: {how}", SourceClosed)


def _promising(schema: dict[str, Any]) -> Entry:
    """A server whose tool `result` promises results of this schema."""
    tool = {"name": "result", "inputSchema": {"type": "object"}, "outputSchema": schema}
    echo = {"name": "echo", "inputSchema": {"type": "object"}}
    return speaking(tools=[tool, echo])


_NUMBER = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}

_HALF_READ = [1, None, {"type": "image"}, {"type": 3}, {"type": "text"},
              {"type": "resource", "resource": 1}, *_text()]  # fmt: skip
_NULL_ID = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}'
_DEAF = Call("echo", {"text": "x"}, _LATE, 0.5)
_DYING = Call("die", {}, _lost("it exited with code 3"))

CALLS = (
    _in_call("is_error", "the tool fails and says so",
             _result(Works("out of paper"), content=_text("out of paper"), isError=True)),
    _in_call("rpc_error", "refuses the call with an error of the protocol",
             Call("rpc_error", {"code": -32603, "message": "internal trouble"},
                  Fails("was refused: internal trouble .code -32603", ServerError, speaks=False))),
    _in_call("hang_call", "does not answer a call, and goes on with others",
             Call("never", {}, _LATE, 0.5)),
    _in_call("hang_all_after_call", "does not answer anything any more",
             Call("freeze", {}, _LATE, 0.5), again=_DEAF, last=Call()),
    _in_call("late_answer", "answers a call when nobody waits any more",
             _act(["pause", 1], ["line", _answer("late")], expected=_LATE, seconds=0.5)),
    _in_call("slow_drip", "sends its answer byte by byte, for ever",
             _act(["drip", "{"], expected=_LATE, seconds=0.5), again=_DEAF, last=Call()),
    _in_call("stop_reading", "stops reading; the next call has 1 MB of arguments",
             Call("freeze", {}, _LATE, 0.5),
             again=Call("echo", {"text": "x" * 1_000_000}, _LATE, 0.5), last=Call()),
    _in_call("die_in_call", "dies during a call", _DYING),
    _in_call("killed_in_call", "is killed during a call",
             Call("die", {"code": -9}, _lost("it was killed by signal 9 .SIGKILL"))),
    _in_call("die_between_calls", "answers, then dies",
             _act(["line", _answer()], ["exit", 3]), dies_after_call=True),
    _in_call("half_line_death", "dies in the middle of an answer",
             _act(["write", _answer()[:40]], ["exit", 3], expected=_lost("it exited with code 3"))),
    _in_call("stdout_closed", "closes its standard output during a call and lives on",
             Call("close_stdout", {}, _lost("it closed its standard output"))),
    _in_call("stdout_cut", "closes its standard output in the middle of an answer",
             _act(["write", _answer()[:40]], ["close", 1], _FOR_EVER,
                  expected=_lost("it closed its standard output"))),
    _in_call("stdin_closed", "closes its standard input and lives on",
             _act(["line", _answer()], ["close", 0], _FOR_EVER),
             again=Call("echo", {"text": "x"}, Works(), seconds=20)),  # before it ends by itself
    _in_call("crash_loop", "dies of every call", _DYING, again=_DYING, last=Call()),
    Fault("schema_change", "has other tools after it died and came back",
          speaking(journal="journal", discover="mute", mode="legacy",
                   then={"tools": [{"name": "new", "inputSchema": {"type": "object"}}]}),
          call=_DYING, last=Call("new", {}, Works("this is new")),
          again=Call("echo", {"text": "x"}, Fails("has no tool 'echo'", UnknownTool))),
    _in_call("invalid_json", "writes half a JSON object between two messages",
             _act(["line", '{"jsonrpc": "2.0", "method": '], ["line", _answer()])),
    _in_call("invalid_json_answer", "its answer is not JSON",
             _line('{"jsonrpc": "2.0", "id": ID, "result": {"content": [}', _UNREADABLE)),
    _in_call("cut_json_answer", "its answer ends in the middle",
             _line(_answer()[:50], _UNREADABLE)),
    _in_call("deep_json", "its answer is nested 100,000 levels deep",
             _act(["write", '{"jsonrpc": "2.0", "id": ID, "result": '], ["times", 100_000, "["],
                  ["times", 100_000, "]"], ["line", "}"], expected=_UNREADABLE)),
    _in_call("invalid_utf8", "its answer has bytes that are not UTF-8",
             _line(_answer("caf\u00e9 \u00ff").replace("\\u00e9", "\u00e9"), Works("caf\ufffd"))),
    _in_call("nul_bytes", "its answer begins with NUL bytes", _line("\0\0\0" + _answer(), _FINE)),
    _in_call("surrogates", "its answer has half a character",
             _line(_answer().replace("fine", "\\ud83d"), Works())),
    _in_call("not_a_number", "its answer has NaN and Infinity in it",
             _line(_answer(structuredContent=None).replace("null", "[NaN, Infinity]"), _FINE)),
    _in_call("huge_number", "its answer has an integer of 10,000 digits",
             _line(_answer(structuredContent=None).replace("null", "9" * 10_000), _FINE)),
    _in_call("batch", "sends its answer in an array", _line(f"[{_answer()}]", _FINE)),
    _in_call("wrong_id", "answers a request that nobody made",
             _line(_answer(request="99999"), _LATE, 0.5)),
    _in_call("negative_id", "answers with a negative id",
             _line(_answer(request="-1"), _LATE, 0.5)),
    _in_call("huge_id", "answers with an id of 400 digits",
             _line(_answer(request="9" * 400), _LATE, 0.5)),
    _in_call("string_id", "gives the id back as text", _line(_answer(request='"ID"'), _FINE)),
    _in_call("float_id", "gives the id back as 7.0", _line(_answer(request="ID.0"), _UNREADABLE)),
    _in_call("null_id_error", "answers with an error for nobody", _line(_NULL_ID, _LATE, 0.5)),
    _in_call("duplicate_answer", "answers twice",
             _act(["line", _answer()], ["line", _answer("second")])),
    _in_call("no_version", "leaves out which JSON-RPC it speaks",
             _line(_answer().replace('"jsonrpc": "2.0", ', ""), _UNREADABLE)),
    _in_call("error_without_words", "refuses with an error that is only a text",
             _line('{"jsonrpc": "2.0", "id": ID, "error": "no"}', _UNREADABLE)),
    _in_call("result_and_error", "sends a result and null as error",
             _line(_answer()[:-1] + ', "error": null}', _FINE)),
    _in_call("result_null", "its result is null",
             _line('{"jsonrpc": "2.0", "id": ID, "result": null}', _UNREADABLE)),
    _in_call("large_result", "its result has 10 MB",
             Call("big", {"characters": 10_000_000}, Works("x{1000}"))),
    _in_call("huge_result", "its result has 50 MB",
             Call("big", {"characters": 50_000_000}, Works("x{1000}"))),
    _in_call("too_large_result", "its result has 70 MB, which is too much",
             Call("big", {"characters": 70_000_000},
                  Fails("unusable response: it is too large", ServerError))),
    _in_call("unknown_content", "its result has a part of an unknown type",
             _result(_FINE, content=[{"type": "hologram", "data": 1}, *_text()])),
    _in_call("bad_content", "parts of its result are numbers, null and half of what they should be",
             _result(_FINE, content=_HALF_READ)),
    _in_call("missing_content", "its result has no content", _result()),
    _in_call("null_content", "the content of its result is null", _result(content=None)),
    _in_call("text_as_content", "the content of its result is a text",
             _result(_FINE, content="fine")),
    _in_call("odd_flags", "says isError with a word, and its structured content is a list",
             _result(_FINE, content=_text(), isError="yes", structuredContent=[1, 2], _meta="x")),
    Fault("output_violates", "its result breaks the schema it promised", _promising(_NUMBER),
          call=_result(Works(notes="the tool's output schema"), content=[],
                       structuredContent={"x": "one"})),
    Fault("output_missing", "its result lacks what the schema promised", _promising(_NUMBER),
          call=_result(Works("fine", notes="the tool's output schema"), content=_text())),
    Fault("odd_output_schema", "the schema it promised is no schema", _promising({"type": 7}),
          call=_result(content=[], structuredContent={"x": 1})),
)  # fmt: skip
