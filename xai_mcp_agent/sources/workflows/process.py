"""A child process from the parent's side: its request, its answer, and its output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import anyio
import anyio.to_thread

from ...core.json import JsonObject
from ...core.results import OnProgress
from ..process import ChildProcess, CutLine, UnfinishedLine, start_process
from ..stderr import StderrLog
from ..web.json_text import LONG_BYTES, read_json
from .child import BOOTSTRAP

# After its answer a workflow closes its connections; an agent's servers take seconds.
_CLOSE_SECONDS = 5.0
# -P: a file beside the workflow must not replace a module of the same name.
_PYTHON = (sys.executable, "-u", "-P", "-c", BOOTSTRAP)
# A screen is not redrawn more often.
_PROGRESS_SECONDS = 0.2
_MAX_PROGRESS_CHARS = 200
_EXECUTING = "Executing: "  # what Xircuits prints before each node


class ChildOutput(StderrLog):
    """Last lines that a workflow printed, on stdout or stderr, and its current node."""

    node = ""
    nodes = 0
    _latest = ""

    def add(self, line: str, *, at_most: int = sys.maxsize) -> str:
        """Add a line; Xircuits' own lines only name the current node."""
        if line.startswith(_EXECUTING):
            self.node = self._clean_line(line.removeprefix(_EXECUTING))[:_MAX_PROGRESS_CHARS]
            self.nodes, self._latest = self.nodes + 1, ""
            return ""
        if clean := super().add(line, at_most=at_most):
            self._latest = clean
        return clean

    @property
    def lines(self) -> tuple[str, ...]:
        """The stored lines."""
        return tuple(self._lines)

    @property
    def progress(self) -> str:
        """The current node, and the last line printed there."""
        latest = self._latest[:_MAX_PROGRESS_CHARS]
        return f"{self.node}: {latest}" if self.node and latest else self.node or latest

    async def follow(self, on_progress: OnProgress) -> None:
        """Report progress until cancelled."""
        last = None
        while True:
            await anyio.sleep(_PROGRESS_SECONDS)
            if (self.nodes, self.progress) != last and self.progress:
                last = self.nodes, self.progress
                await on_progress(self.nodes, None, self.progress)


@dataclass(frozen=True)
class ChildAnswer:
    """Answer of a child; if it ended without one, its exit code."""

    value: JsonObject | None
    exit_code: int | None = None
    refusal: str = ""  # the system's error when starting it

    @property
    def ending(self) -> str:
        """How it ended without an answer, in words."""
        if self.refusal:
            return f"could not be started: {self.refusal}"
        if self.exit_code is None:
            return "closed its own stdout"
        if self.exit_code < 0:
            return f"was ended by the signal {-self.exit_code}"
        return f"ended itself with exit code {self.exit_code}"


async def ask_child(
    request: JsonObject, folder: str, env: Mapping[str, str], output: ChildOutput
) -> ChildAnswer:
    """Start a process, return its answer, and end it with everything that it started.

    Cancellation ends it at once. `env` is added to all our variables: a workflow is the user's own
    program, and has the same environment as if the user ran it.
    """
    has_answer = False
    try:
        process = await start_process(
            _PYTHON, {**os.environ, **env}, folder, output, _CLOSE_SECONDS
        )
    except OSError as cause:
        return ChildAnswer(None, refusal=str(cause))
    try:
        with suppress(anyio.BrokenResourceError):  # it has already ended; handled below
            process.write(json.dumps({**request, "path": _import_path(folder)}).encode())
        line = await process.next_line()
        has_answer = line is not None
        answer = await _answer(process, line)
    finally:
        await process.end(in_a_hurry=not has_answer)
    return answer


def _import_path(folder: str) -> list[str]:
    """Return the import path of a child: its folder, as for a script, then ours."""
    ours = (os.path.abspath(x or os.curdir) for x in sys.path)
    return list(dict.fromkeys((folder, *ours)))


async def _answer(process: ChildProcess, line: bytes | None) -> ChildAnswer:
    if line is None or isinstance(line, CutLine | UnfinishedLine):
        await process.wait_for_exit()
        return ChildAnswer(None, process.exit_code)
    if len(line) > LONG_BYTES:
        return ChildAnswer(await anyio.to_thread.run_sync(read_json, line, abandon_on_cancel=True))
    return ChildAnswer(read_json(line))
