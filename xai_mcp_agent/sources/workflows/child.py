"""What a child process does: reads one request from its stdin, does it, and answers in one line.

The answer goes to what was its stdout at first. Whatever a workflow prints, also through programs
that it starts, goes to stderr, so nothing can be mistaken for an answer. Little is imported here: a
call waits for it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from types import FrameType
from typing import Any

JsonObject = dict[str, Any]

BOOTSTRAP = (
    "import json, sys; request = json.loads(sys.stdin.buffer.readline()); "
    "sys.path[:] = request['path']; "
    f"from {__name__} import serve; serve(request)"
)
"""The program of a child: it imports what its parent does, from the same places."""

# A larger one is a file that somebody forgot to save; nobody can read it.
_MAX_ANSWER_BYTES = 16 * 1024 * 1024
_TERMINATED = 128 + signal.SIGTERM


def serve(request: JsonObject) -> None:
    """Do what is asked, and answer. What goes wrong in a workflow is an answer, too."""
    answers = _set_streams_aside()
    # As SystemExit: what the workflow has opened is closed on the way out.
    signal.signal(signal.SIGTERM, _end)
    if request["do"] == "read":
        from .reading import read

        answer = read(request)
    else:
        from .running import run

        answer = run(request)
    with open(answers, "wb") as stream:
        stream.write(_line(answer))


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(_TERMINATED)


def _set_streams_aside() -> int:
    """Keep the streams to our parent where no workflow finds them; gives the one for answers."""
    answers = os.dup(1)
    os.dup2(2, 1)
    os.dup(0)  # never read, but a stdin that is closed counts as our end
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # pyright: ignore
    return answers


def _line(answer: JsonObject) -> bytes:
    line = _encoded(answer)
    if len(line) > _MAX_ANSWER_BYTES:
        megabytes = len(line) / 1024**2
        text = f"its result has {megabytes:.0f} MB, and at most 16 can be used. Save it to a file"
        line = _encoded({"failed": {"text": f"{text} and give back the file's name."}})
    return line + b"\n"


def _encoded(answer: JsonObject) -> bytes:
    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return _as_far_as_possible(answer)
    return text.encode("utf-8", "replace")


def _as_far_as_possible(answer: JsonObject) -> bytes:
    """What JSON does not know as text, such as dates; what cannot even be a text is an error."""
    from pydantic_core import to_json

    try:
        return to_json(answer, fallback=str, inf_nan_mode="strings")
    except Exception as cause:  # noqa: BLE001 - of a person's class
        text = f"its result cannot be turned into JSON: {type(cause).__name__}"
        fix = "Give back texts, numbers, lists, dicts."
        return json.dumps({"failed": {"text": f"{text}. {fix}"}}).encode()
