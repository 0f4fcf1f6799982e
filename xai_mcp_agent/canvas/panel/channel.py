"""Events of this kernel's runs, sent to the lab's panel over the kernel's own channel.

Each event is a message of our own type on the iopub channel: the lab passes it to our extension,
and no output area keeps it. The events of the last runs stay here for a page that is reloaded.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NoReturn

from ...console.notebook import at_end_of_cell, is_in_lab, kernel
from ...console.text import clean
from ...core.errors import XaiMcpError, node_in
from ...core.json import JsonObject
from ...secrets.redactor import Redactor

MESSAGE = "xai_mcp_agent_event"

_RUN = re.compile(r"%run (.+?)\.py(?=\s|$)", re.MULTILINE)  # as Xircuits' Run writes it
_OWN_LINES = ("Executing: ", "Finished Executing")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MOST_RUNS, _MOST_EVENTS = 50, 1_000
_GATHER_SECONDS = 0.1
BRIEF = frozenset(("Text", "ToolProgressed"))  # the next one replaces it


@dataclass
class Run:
    """One run of a workflow. `nodes` has the last state of each node, by its id on the canvas.

    Nodes and printed lines are sent in batches: a loop has thousands of them in a second, and
    Jupyter's server drops messages that come faster than that.
    """

    id: str
    path: str
    events: list[JsonObject] = field(default_factory=list[JsonObject])
    nodes: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    is_over: bool = False
    _changed_nodes: set[str] = field(default_factory=set[str])
    _lines: list[str] = field(default_factory=list[str])
    _timer: threading.Timer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def node(self, node: str, **values: Any) -> None:
        """Set the state of a node."""
        with self._lock:
            self.nodes[node] = {**self.nodes.get(node, {"node": node}), **values}
            self._changed_nodes.add(node)
            self._flush_soon()

    def print(self, line: str) -> None:
        """Add a printed line."""
        with self._lock:
            self._lines.append(line)
            self._flush_soon()

    def tell(self, event: str, **values: Any) -> None:
        """Send an event, and keep it for a later page; beyond the limit drop the oldest."""
        last = self.events[-1] if self.events else {}
        if event in BRIEF and last.get("event") == event:
            self.events.pop()
        message = {"run": self.id, "event": event, **values}
        self.events.append(message)
        if len(self.events) > _MOST_EVENTS:
            del self.events[1]  # the first says which workflow it is
        _send(message)

    def flush(self) -> None:
        """Send the batch."""
        with self._lock:
            ids, self._changed_nodes = self._changed_nodes, set[str]()
            lines, self._lines = self._lines, list[str]()
            self._timer = None
        if ids:
            nodes = [self.nodes[x] for x in ids]
            _send({"run": self.id, "event": "Nodes", "nodes": nodes})
        if lines:
            text = clean(_COLOURS.sub("", _redact("\n".join(lines))))
            self.tell("Printed", text=text)

    def _flush_soon(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(_GATHER_SECONDS, self.flush)
            self._timer.daemon = True
            self._timer.start()


runs = deque[Run](maxlen=_MOST_RUNS)


def send(event: str, **values: Any) -> None:
    """Send an event that belongs to no run."""
    _send({"event": event, **values})


def tell(event: str, **values: Any) -> None:
    """Send an event of the current run, if there is one, and keep it."""
    if run := _current_run():
        run.flush()
        run.tell(event, **values)


class _Stop(KeyboardInterrupt):
    """A person pressed Stop in the lab, which shows this sentence in place of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def _stop(*_: object) -> NoReturn:
    """Handle SIGINT in a kernel of the lab."""
    raise _Stop("Stopped by you.")


def begin(path: str, **values: Any) -> None:
    """Begin a run of this workflow; it ends with the current cell."""
    run = Run(kernel().get_parent()["header"]["msg_id"], path)
    runs.append(run)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _stop)  # until the cell's end: the kernel sets its own then

    close = _forward_prints(run)

    def end(error: BaseException | None) -> None:
        """End the run with its cell."""
        close()
        _end(run, error)

    at_end_of_cell(end)
    tell("Began", path=path, time=time.time(), **values)


def _forward_prints(run: Run) -> Callable[[], None]:
    """Send printed lines, except Xircuits' own, until the returned function is called."""
    out, line, is_blank = sys.stdout, "", False
    write = out.write

    def write_and_tell(text: str) -> int:
        """Send the complete lines of a text, and write the text."""
        nonlocal line, is_blank
        *lines, line = f"{line}{text}".split("\n")
        for complete in lines:
            if complete.startswith(_OWN_LINES):
                is_blank = False  # Xircuits prints an empty line before its own
                continue
            if is_blank:
                run.print("")
            is_blank = not complete
            if complete:
                run.print(complete.rpartition("\r")[2])
        return write(text)

    def close() -> None:
        del out.write

    # Replace the method, not the stream: the kernel's libraries check the stream's class.
    out.write = write_and_tell
    return close


def follow_nodes() -> None:
    """Report to the panel which node runs: Xircuits calls a logger of its own around each."""
    if not is_in_lab():
        return
    # Imported here: the panel may be the first to ask a kernel for anything, before any script.
    with suppress(ImportError):
        base = import_module("xai_components.base")
        home: Any = getattr(base, "StructuredDebugLogger", None)  # old folders have one without it
        if home is not None and not isinstance(home.get_logger(), _NodeLogger):
            home.logger = _NodeLogger(home.get_logger())


class _NodeLogger:
    """Xircuits' own logger, and the panel's."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self._start_times = dict[str, float]()

    def log_before_execution(self, comp: Any, ctx: Any) -> None:
        """Report that a node begins."""
        self._own.log_before_execution(comp, ctx)
        if node := _id_of(comp):
            self._start_times[node] = time.monotonic()
            if run := _current_run():
                run.node(node, state="running", time=time.time())

    def log_after_execution(self, comp: Any, ctx: Any) -> None:
        """Report that a node has ended."""
        self._own.log_after_execution(comp, ctx)
        if start := self._start_times.pop(_id_of(comp), 0.0):
            ms = round((time.monotonic() - start) * 1_000)
            if run := _current_run():
                run.node(_id_of(comp), state="done", ms=ms)


def _current_run() -> Run | None:
    """Return the current cell's run; the first call of a cell with Xircuits' Run begins it."""
    if not is_in_lab():
        return None
    last = runs[-1] if runs else None
    if last and not last.is_over:
        return last
    parent: JsonObject = kernel().get_parent() or {"header": {}, "content": {}}
    if last and last.id == parent["header"].get("msg_id"):
        return last  # events at the run's end
    if script := _RUN.search(parent["content"].get("code", "")):
        begin(f"{script[1]}.xircuits")
        return runs[-1]
    return None


def _end(run: Run, error: BaseException | None) -> None:
    state = "done"
    if error is not None:
        state = "stopped" if isinstance(error, KeyboardInterrupt) else "failed"
    for node in [x["node"] for x in run.nodes.values() if x["state"] == "running"]:
        run.node(node, state=state)  # the nodes that were running
    run.is_over = True
    tell("Ended", state=state, error="" if error is None else _redact(_words_of(error)))


def _redact(text: str) -> str:
    return Redactor([], guesses=True, environ=os.environ)(text)


def _words_of(error: BaseException) -> str:
    if isinstance(error, XaiMcpError | KeyboardInterrupt):
        return str(error)
    words = "".join(traceback.format_exception_only(error)).strip()
    node = node_in(error.__traceback__)
    return f"{node} failed: {words}" if node else words


def _id_of(component: Any) -> str:
    return getattr(component, "__id__", None) or ""


def _send(content: JsonObject) -> None:
    to = kernel()
    to.session.send(to.iopub_socket, MESSAGE, content, parent=to.get_parent())
