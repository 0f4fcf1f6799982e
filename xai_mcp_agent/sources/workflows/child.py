"""The child process: it reads one request from stdin, carries it out, and answers in one line.

The answer goes to the original stdout. Output of a workflow and of its programs goes to stderr, so
that none of it can be mistaken for an answer. It imports little, because a call waits for it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any

JsonObject = dict[str, Any]

BOOTSTRAP = (
    "import json, sys; request = json.loads(sys.stdin.buffer.readline()); "
    "sys.path[:] = request['path']; "
    f"from {__name__} import serve; serve(request)"
)
"""Program of a child: it imports modules from the same places as its parent."""

# A larger result belongs in a file.
_MAX_ANSWER_BYTES = 8 * 1024 * 1024
_TERMINATED = 128 + signal.SIGTERM
# Length of a message, which may quote a whole document and goes into a conversation.
_MAX_ERROR_CHARS = 4000
_NODE_METHODS = ("execute", "init")


def serve(request: JsonObject) -> None:
    """Carry out a request and answer it. An error in a workflow is an answer, too."""
    answers, parent = _set_streams_aside()
    # A SystemExit lets the workflow close its files and connections.
    signal.signal(signal.SIGTERM, _end)
    if request["do"] == "read":
        from .reading import read

        answer = read(request)
    else:
        answer = _run(request)
    with open(answers, "wb") as stream:
        stream.write(_line(answer))
    # Our parent first looks for our children: it cannot find those of a process that ended.
    os.read(parent, 1)


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(_TERMINATED)


def _set_streams_aside() -> tuple[int, int]:
    """Move the streams to and from our parent out of the workflow's reach, and return them."""
    answers = os.dup(1)
    os.dup2(2, 1)
    parent = os.dup(0)  # it ends when our parent closes it, or has ended
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # pyright: ignore
    return answers, parent


def _line(answer: JsonObject) -> bytes:
    line = _encode(answer)
    if len(line) > _MAX_ANSWER_BYTES:
        megabytes = len(line) / 1024**2
        text = f"its result has {megabytes:.0f} MB, and at most 8 can be used. Save it to a file"
        line = _encode({"failed": {"text": f"{text} and return the file's name."}})
    return line + b"\n"


def _encode(answer: JsonObject) -> bytes:
    """Encode an answer: what JSON does not know, such as dates, becomes a text."""
    from ..results import json_of  # here: an answer comes last

    try:
        return json_of(answer)
    except Exception as cause:  # noqa: BLE001 - of a person's class
        text = f"its result cannot be turned into JSON: {type(cause).__name__}"
        fix = "Return texts, numbers, lists or dicts."
        return json.dumps({"failed": {"text": f"{text}. {fix}"}}).encode()


class _CompiledModules(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports workflows from their compiled text, which is in no file.

    `sources` has the text of each module, and `files` the name of a file for tracebacks.
    """

    def __init__(self, sources: Mapping[str, str], files: Mapping[str, str]) -> None:
        self._sources = sources
        self._files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find our modules before others of the same name."""
        if fullname not in self._sources:
            return None
        file = self._files[fullname]
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=file)
        spec.has_location = True
        return spec

    def get_source(self, fullname: str) -> str:
        """Return the text, also for tracebacks."""
        return self._sources[fullname]

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text under the name of its file."""
        return compile(self._sources[fullname], self._files[fullname], "exec", dont_inherit=True)


def _run(request: JsonObject) -> JsonObject:
    """Run the workflow; return the values of its outputs in order, or why there are none."""
    sys.meta_path.insert(0, _CompiledModules(request["modules"], request["files"]))
    sys.argv = [request["files"][request["module"]]]
    values = request["arguments"]
    try:
        flow = getattr(importlib.import_module(request["module"]), request["class"])()
        flow.next = None
        for name, value in values.items():
            getattr(flow, name).value = value
        flow.do({"args": Namespace(**values)})
        return {"outputs": [getattr(flow, name).value for name in request["outputs"]]}
    except BaseException as cause:  # noqa: BLE001 - any error of a workflow is its answer
        return {"failed": _failure(cause, request["class"])}


def _failure(cause: BaseException, workflow: str) -> JsonObject:
    """Describe an error, with the innermost node that it came through and the line there."""
    node, where = "", ""
    traceback = cause.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if (name := _node_in(frame)) and name != workflow:
            file = os.path.basename(frame.f_code.co_filename)
            node, where = name, f"{file}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return {"text": _error_words(cause), "node": node, "where": where}


def _node_in(frame: FrameType) -> str:
    """Return the component whose method this frame runs; empty for other frames."""
    if frame.f_code.co_name not in _NODE_METHODS:
        return ""
    node: Any = frame.f_locals.get("self")
    return node.__class__.__name__ if hasattr(node, "do") and hasattr(node, "__id__") else ""


def _error_words(cause: BaseException) -> str:
    if isinstance(cause, SystemExit):
        return f"it ended itself with exit code {cause.code!r}"
    try:
        text = str(cause)[:_MAX_ERROR_CHARS]
    except BaseException:  # noqa: BLE001 - it is a person's class
        text = ""
    return f"{type(cause).__name__}{': ' if text else ''}{text}"
