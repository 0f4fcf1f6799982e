"""One run of a workflow, in its own process: given its arguments, asked for its outputs."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any

JsonObject = dict[str, Any]

# Of a message: it may quote a whole document, and stands in a model's conversation.
_MAX_CHARS = 4000
_NODE_METHODS = ("execute", "init")


class CompiledModules(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports workflows from the text that they were compiled to: there is no file of it.

    `sources` has the text, and `files` what would be its file, by the name of the module.
    """

    def __init__(self, sources: Mapping[str, str], files: Mapping[str, str]) -> None:
        self._sources = sources
        self._files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Ours, before any of that name elsewhere."""
        if fullname not in self._sources:
            return None
        file = self._files[fullname]
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=file)
        spec.has_location = True
        return spec

    def get_source(self, fullname: str) -> str:
        """The text; also for tracebacks."""
        return self._sources[fullname]

    def get_code(self, fullname: str) -> CodeType:
        """Compiled under the name of its file."""
        return compile(self._sources[fullname], self._files[fullname], "exec", dont_inherit=True)


def run(request: JsonObject) -> JsonObject:
    """The values of the outputs, in their order; or why there are none."""
    sys.meta_path.insert(0, CompiledModules(request["modules"], request["files"]))
    sys.argv = [request["files"][request["module"]]]
    values = request["arguments"]
    try:
        flow = getattr(importlib.import_module(request["module"]), request["class"])()
        flow.next = None
        for name, value in values.items():
            getattr(flow, name).value = value
        flow.do({"args": Namespace(**values)})
        return {"outputs": [getattr(flow, name).value for name in request["outputs"]]}
    except BaseException as cause:  # noqa: BLE001 - whatever a workflow raises is told
        return {"failed": _failure(cause, request["class"])}


def _failure(cause: BaseException, workflow: str) -> JsonObject:
    """In words, with the innermost node that it came through, and its line there."""
    node, where = "", ""
    traceback = cause.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if (name := _node_in(frame)) and name != workflow:
            file = os.path.basename(frame.f_code.co_filename)
            node, where = name, f"{file}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return {"text": _words_of(cause), "node": node, "where": where}


def _node_in(frame: FrameType) -> str:
    """The component that this frame is a method of, if it is one that runs nodes."""
    if frame.f_code.co_name not in _NODE_METHODS:
        return ""
    node: Any = frame.f_locals.get("self")
    return node.__class__.__name__ if hasattr(node, "do") and hasattr(node, "__id__") else ""


def _words_of(cause: BaseException) -> str:
    if isinstance(cause, SystemExit):
        return f"it ended itself with exit code {cause.code!r}"
    try:
        said = str(cause)[:_MAX_CHARS]
    except BaseException:  # noqa: BLE001 - it is a person's class
        said = ""
    return f"{type(cause).__name__}{': ' if said else ''}{said}"
