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
    result = json.dumps({"content": [{"type": "text", "text": text}], **more})
    return f'{{"jsonrpc": "2.0", "id": {request}, "result": {result}}}'


def _act(*steps: list[Any], expected: Expected = _FINE, seconds: float = LONG_SECONDS) -> Call:
    return Call("act", {"steps": list(steps)}, expected, seconds)


def _line(line: str, expected: Expected, seconds: float = LONG_SECONDS) -> Call:
    return _act(["line", line], expected=expected, seconds=seconds)


def _result(expected: Expected | None = None, **result: Any) -> Call:
    return Call("result", result, expected or Works())


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

CALLS = (
    Fault(
        "is_error",
        "the tool fails and says so",
        speaking(),
        call=_result(
            Works("out of paper"), content=[{"type": "text", "text": "out of paper"}], isError=True
        ),
    ),
    Fault(
        "rpc_error",
        "refuses the call with an error of the protocol",
        speaking(),
        call=Call(
            "rpc_error",
            {"code": -32603, "message": "internal trouble"},
            Fails("was refused: internal trouble .code -32603", ServerError, speaks=False),
        ),
    ),
    Fault(
        "hang_call",
        "does not answer a call, and goes on with others",
        speaking(),
        call=Call("never", {}, _LATE, 0.5),
    ),
    Fault(
        "hang_all_after_call",
        "does not answer anything any more",
        speaking(),
        call=Call("freeze", {}, _LATE, 0.5),
        again=Call("echo", {"text": "x"}, _LATE, 0.5),
        last=Call(),
    ),
    Fault(
        "late_answer",
        "answers a call when nobody waits any more",
        speaking(),
        call=_act(["pause", 1], ["line", _answer("late")], expected=_LATE, seconds=0.5),
    ),
    Fault(
        "slow_drip",
        "sends its answer byte by byte, for ever",
        speaking(),
        call=_act(["drip", "{"], expected=_LATE, seconds=0.5),
        again=Call("echo", {"text": "x"}, _LATE, 0.5),
        last=Call(),
    ),
    Fault(
        "stop_reading",
        "stops reading; the next call has 1 MB of arguments",
        speaking(),
        call=Call("freeze", {}, _LATE, 0.5),
        again=Call("echo", {"text": "x" * 1_000_000}, _LATE, 0.5),
        last=Call(),
    ),
    Fault(
        "die_in_call",
        "dies during a call",
        speaking(),
        call=Call("die", {}, _lost("it exited with code 3")),
    ),
    Fault(
        "killed_in_call",
        "is killed during a call",
        speaking(),
        call=Call("die", {"code": -9}, _lost("it was killed by signal 9 .SIGKILL")),
    ),
    Fault(
        "die_between_calls",
        "answers, then dies",
        speaking(),
        call=_act(["line", _answer()], ["exit", 3]),
        dies_after_call=True,
    ),
    Fault(
        "half_line_death",
        "dies in the middle of an answer",
        speaking(),
        call=_act(["write", _answer()[:40]], ["exit", 3], expected=_lost("it exited with code 3")),
    ),
    Fault(
        "stdout_closed",
        "closes its standard output during a call and lives on",
        speaking(),
        call=Call("close_stdout", {}, _lost("it closed its standard output")),
    ),
    Fault(
        "stdout_cut",
        "closes its standard output in the middle of an answer",
        speaking(),
        call=_act(
            ["write", _answer()[:40]],
            ["close", 1],
            _FOR_EVER,
            expected=_lost("it closed its standard output"),
        ),
    ),
    Fault(
        "stdin_closed",
        "closes its standard input and lives on",
        speaking(),
        call=_act(["line", _answer()], ["close", 0], _FOR_EVER),
        again=Call("echo", {"text": "x"}, Works(), seconds=20),  # long before it ends by itself
    ),
    Fault(
        "crash_loop",
        "dies of every call",
        speaking(),
        call=Call("die", {}, _lost("it exited with code 3")),
        again=Call("die", {}, _lost("it exited with code 3")),
        last=Call(),
    ),
    Fault(
        "schema_change",
        "has other tools after it died and came back",
        speaking(
            journal="journal",
            then={"tools": [{"name": "new", "inputSchema": {"type": "object"}}]},
            discover="mute",
            mode="legacy",
        ),
        call=Call("die", {}, _lost("it exited with code 3")),
        again=Call("echo", {"text": "x"}, Fails("has no tool 'echo'", UnknownTool)),
        last=Call("new", {}, Works("this is new")),
    ),
    Fault(
        "invalid_json",
        "writes half a JSON object between two messages",
        speaking(),
        call=_act(["line", '{"jsonrpc": "2.0", "method": '], ["line", _answer()]),
    ),
    Fault(
        "invalid_json_answer",
        "its answer is not JSON",
        speaking(),
        call=_line('{"jsonrpc": "2.0", "id": ID, "result": {"content": [}', _UNREADABLE),
    ),
    Fault(
        "cut_json_answer",
        "its answer ends in the middle",
        speaking(),
        call=_line(_answer()[:50], _UNREADABLE),
    ),
    Fault(
        "deep_json",
        "its answer is nested 100,000 levels deep",
        speaking(),
        call=_act(
            ["write", '{"jsonrpc": "2.0", "id": ID, "result": '],
            ["times", 100_000, "["],
            ["times", 100_000, "]"],
            ["line", "}"],
            expected=_UNREADABLE,
        ),
    ),
    Fault(
        "invalid_utf8",
        "its answer has bytes that are not UTF-8",
        speaking(),
        call=_line(_answer("caf\u00e9 \u00ff").replace("\\u00e9", "\u00e9"), Works("caf\ufffd")),
    ),
    Fault(
        "nul_bytes",
        "its answer begins with NUL bytes",
        speaking(),
        call=_line("\0\0\0" + _answer(), Works("fine")),
    ),
    Fault(
        "surrogates",
        "its answer has half a character",
        speaking(),
        call=_line(_answer().replace("fine", "\\ud83d"), Works()),
    ),
    Fault(
        "not_a_number",
        "its answer has NaN and Infinity in it",
        speaking(),
        call=_line(
            _answer(structuredContent=None).replace("null", "[NaN, Infinity]"), Works("fine")
        ),
    ),
    Fault(
        "huge_number",
        "its answer has an integer of 10,000 digits",
        speaking(),
        call=_line(_answer(structuredContent=None).replace("null", "9" * 10_000), Works("fine")),
    ),
    Fault(
        "batch",
        "sends its answer in an array",
        speaking(),
        call=_line(f"[{_answer()}]", Works("fine")),
    ),
    Fault(
        "wrong_id",
        "answers a request that nobody made",
        speaking(),
        call=_line(_answer(request="99999"), _LATE, 0.5),
    ),
    Fault(
        "negative_id",
        "answers with a negative id",
        speaking(),
        call=_line(_answer(request="-1"), _LATE, 0.5),
    ),
    Fault(
        "huge_id",
        "answers with an id of 400 digits",
        speaking(),
        call=_line(_answer(request="9" * 400), _LATE, 0.5),
    ),
    Fault(
        "string_id",
        "gives the id back as text",
        speaking(),
        call=_line(_answer(request='"ID"'), Works("fine")),
    ),
    Fault(
        "float_id",
        "gives the id back as 7.0",
        speaking(),
        call=_line(_answer(request="ID.0"), _UNREADABLE),
    ),
    Fault(
        "null_id_error",
        "answers with an error for nobody",
        speaking(),
        call=_line(
            '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}',
            _LATE,
            0.5,
        ),
    ),
    Fault(
        "duplicate_answer",
        "answers twice",
        speaking(),
        call=_act(["line", _answer()], ["line", _answer("second")]),
    ),
    Fault(
        "no_version",
        "leaves out which JSON-RPC it speaks",
        speaking(),
        call=_line(_answer().replace('"jsonrpc": "2.0", ', ""), _UNREADABLE),
    ),
    Fault(
        "error_without_words",
        "refuses with an error that is only a text",
        speaking(),
        call=_line('{"jsonrpc": "2.0", "id": ID, "error": "no"}', _UNREADABLE),
    ),
    Fault(
        "result_and_error",
        "sends a result and null as error",
        speaking(),
        call=_line(_answer()[:-1] + ', "error": null}', Works("fine")),
    ),
    Fault(
        "result_null",
        "its result is null",
        speaking(),
        call=_line('{"jsonrpc": "2.0", "id": ID, "result": null}', _UNREADABLE),
    ),
    Fault(
        "large_result",
        "its result has 10 MB",
        speaking(),
        call=Call("big", {"characters": 10_000_000}, Works("x{1000}")),
    ),
    Fault(
        "huge_result",
        "its result has 50 MB",
        speaking(),
        call=Call("big", {"characters": 50_000_000}, Works("x{1000}")),
    ),
    Fault(
        "too_large_result",
        "its result has 70 MB, which is too much",
        speaking(),
        call=Call(
            "big",
            {"characters": 70_000_000},
            Fails("unusable response: it is too large", ServerError),
        ),
    ),
    Fault(
        "unknown_content",
        "its result has a part of an unknown type",
        speaking(),
        call=_result(
            Works("fine"),
            content=[{"type": "hologram", "data": 1}, {"type": "text", "text": "fine"}],
        ),
    ),
    Fault(
        "bad_content",
        "parts of its result are numbers, null and half of what they should be",
        speaking(),
        call=_result(
            Works("fine"),
            content=[
                1,
                None,
                {"type": "image"},
                {"type": 3},
                {"type": "text"},
                {"type": "resource", "resource": 1},
                {"type": "text", "text": "fine"},
            ],
        ),
    ),
    Fault("missing_content", "its result has no content", speaking(), call=_result()),
    Fault(
        "null_content", "the content of its result is null", speaking(), call=_result(content=None)
    ),
    Fault(
        "text_as_content",
        "the content of its result is a text",
        speaking(),
        call=_result(Works("fine"), content="fine"),
    ),
    Fault(
        "odd_flags",
        "says isError with a word, and its structured content is a list",
        speaking(),
        call=_result(
            Works("fine"),
            content=[{"type": "text", "text": "fine"}],
            isError="yes",
            structuredContent=[1, 2],
            _meta="x",
        ),
    ),
    Fault(
        "output_violates",
        "its result breaks the schema it promised",
        _promising(_NUMBER),
        call=_result(
            Works(notes="the tool's output schema"), content=[], structuredContent={"x": "one"}
        ),
    ),
    Fault(
        "output_missing",
        "its result lacks what the schema promised",
        _promising(_NUMBER),
        call=_result(
            Works("fine", notes="the tool's output schema"),
            content=[{"type": "text", "text": "fine"}],
        ),
    ),
    Fault(
        "odd_output_schema",
        "the schema it promised is no schema",
        _promising({"type": 7}),
        call=_result(content=[], structuredContent={"x": 1}),
    ),
)
