"""A transcript of what really happened: one line of JSON for each event, added to a file.

`XAI_MCP_TRANSCRIPT=<file>` turns it on. Each line has the `time` (seconds since 1970), the `run`
(the same in all lines of one run of a workflow), the `agent` or the `node` it is about, the
`event`, and the event's own fields. Lines of one run of an agent, or of a node that calls a tool,
have the `run_id` that the calls have in the history. Runs, threads and processes may share a file:
a line is one write at its end. Secrets are masked and long values cut. Only the owner can read the
file, also where others could before. One that cannot be written is told of once, and no run stops
for it.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, cast

from ..agent.events import ModelAsked, RunEvent, TextArrived, ToolReturned, ToolsSelected
from ..bridge.bridge import Bridge
from ..core.results import ToolResult
from ..core.tools import JsonObject
from ..secrets.private_files import append_private
from ..secrets.redactor import Redactor
from ..secrets.secrets import Secrets
from ..sources.canvas import CANVAS
from ..views.selection import selection_json
from .agents import learn_keys
from .lease import bridge_of
from .lessons.run import lesson_run

ENVIRONMENT_VARIABLE = "XAI_MCP_TRANSCRIPT"

_RUN_KEY = "mcp_run"
_told: set[str] = set()


class Recorder:
    """Writes the events of one agent or node. Holds neither the run's `ctx` nor its bridge.

    `who` is what every line says besides. `listen` is given each line too. Without it and a file
    it does nothing.
    """

    def __init__(
        self,
        file: str,
        who: Mapping[str, str],
        secrets: Iterable[Secrets] = (),
        listen: Callable[[JsonObject], None] | None = None,
    ) -> None:
        self._file = file
        self._who = who
        self._listen = listen
        self._is_on = bool(file or listen)
        self._redactor = Redactor(secrets, guesses=True, environ=os.environ if self._is_on else {})

    def event(self, event: RunEvent, at: float) -> None:
        """Write an event of an agent's run that happened at this time.

        Pieces of text are left out: `ThoughtFinished` has it whole, and half a secret is not known.
        So is what only tells that something is waited for.
        """
        if self._is_on and not isinstance(event, TextArrived | ModelAsked | ToolReturned):
            self._write(type(event).__name__, _fields_of(event), at)

    def note(self, event: str, **values: Any) -> None:
        """Write an event that is none of an agent's run."""
        if self._is_on:
            self._write(event, values, time.time())

    def _write(self, event: str, values: Mapping[str, Any], at: float) -> None:
        line = {"time": round(at, 3), **self._who, "event": event}
        line |= {name: self._redactor.short(x, name) for name, x in values.items()}
        if self._file:
            _append(self._file, json.dumps(line, ensure_ascii=False))
        if self._listen:
            self._listen(line)


def recorder(ctx: Any, bridge: Bridge, **who: str) -> Recorder:
    """The recorder for one agent or node of this run; it knows the keys of all agents in it."""
    file = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    lesson = lesson_run(ctx)
    if not file and lesson is None:
        return Recorder("", who)
    run = ctx.setdefault(_RUN_KEY, uuid.uuid4().hex[:8])
    learn_keys(ctx, bridge.settings.secrets)
    secrets, listen = [bridge.settings.secrets], lesson.note if lesson else None
    return Recorder(file, {"run": run, **who}, secrets, listen)


@contextmanager
def used(ctx: Any, node: str, **asked: Any) -> Generator[tuple[Bridge, Callable[..., None]]]:
    """The bridge for a node without a model, and a function to tell what came of it.

    Written as `NodeStarted` with what was `asked`, and `NodeFinished` or `NodeFailed`.
    """
    bridge, answer, started = bridge_of(ctx), dict[str, Any](), time.monotonic()
    writing = recorder(ctx, bridge, node=node)
    writing.note("NodeStarted", **asked)
    try:
        yield bridge, answer.update
    except BaseException as error:
        words = str(error) or type(error).__name__
        writing.note("NodeFailed", **asked, error=words, seconds=_since(started))
        raise
    writing.note("NodeFinished", **asked, **answer, seconds=_since(started))


def read_transcript(file: Path) -> list[JsonObject]:
    """The lines of a transcript in order; what is no line of one is left out."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", errors="replace") as lines:
        values = [_line(x) for x in lines]
    return [x for x in values if x]


def _line(text: str) -> JsonObject:
    try:
        value: Any = json.loads(text)
    # Half a line, of a process that was killed or a disk that was full; or what is no transcript.
    except (ValueError, RecursionError):
        return {}
    return cast(JsonObject, value) if isinstance(value, dict) and "event" in value else {}


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)


def _fields_of(event: RunEvent) -> JsonObject:
    """An event's fields, flat: the result of a tool as its text, not its parts."""
    values = {x.name: getattr(event, x.name) for x in fields(event)}
    result = values.pop("result", None)
    if isinstance(event, ToolsSelected):
        values |= selection_json(values.pop("selection"), deferred_names=False)
    if isinstance(result, ToolResult):
        values |= {"text": result.text, "is_error": result.is_error, "notes": result.notes}
        values["structured"] = result.structured
    if values.get("source") == CANVAS:
        values["source"] = "canvas"
    return {k: asdict(x) if is_dataclass(x) else _rounded(x) for k, x in values.items()}  # pyright: ignore[reportArgumentType, reportUnknownArgumentType]


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


def _append(file: str, line: str) -> None:
    # Odd halves of characters, which Python's texts may hold, stay readable as JSON's escapes.
    data = f"{line}\n".encode("utf-8", "backslashreplace")
    try:
        append_private(Path(os.path.expanduser(file)), data)
    except (OSError, ValueError) as reason:
        if file not in _told:
            _told.add(file)
            print(
                f"No transcript is written: {file}: {reason}. {ENVIRONMENT_VARIABLE} names this "
                "file. The run goes on.",
                file=sys.stderr,
            )
