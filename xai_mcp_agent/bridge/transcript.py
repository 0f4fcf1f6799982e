"""Transcript of runs: one line of JSON for each event, appended to a file.

`XAI_MCP_TRANSCRIPT=<file>` turns it on. Each line has the `time` (seconds since 1970), the `run`
(the same in all lines of one run of a workflow, or of one run of an agent from Python or a
command), the `agent` or the `node` it is about, the `event`, and the event's own fields. Lines of
one run of an agent, or of a node that calls a tool, have the `run_id` that the calls have in the
history. Runs, threads and processes may share a file: a line is one write at its end. Secrets are
masked and long values cut. Only the owner can read the file, also if others could before. A file
that cannot be written is reported once, and no run stops for it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

from ..agent.events import ModelAsked, RunEvent, TextArrived, ToolReturned, ToolsSelected
from ..core.json import JsonObject
from ..core.results import ToolResult
from ..secrets.private_files import append_private
from ..secrets.redactor import Redactor
from ..secrets.secrets import Secrets
from ..sources.canvas import CANVAS

ENVIRONMENT_VARIABLE = "XAI_MCP_TRANSCRIPT"

_RUN_ID_BYTES = 6
_NO_WORKFLOWS = ("ipykernel_launcher", "xai-mcp-agent")

_reported: set[str] = set()


def read_transcript(file: Path) -> list[JsonObject]:
    """Return the lines of a transcript in order; other lines are left out."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", errors="replace") as lines:
        values = [_line(x) for x in lines]
    return [x for x in values if x]


def _line(text: str) -> JsonObject:
    try:
        value: Any = json.loads(text)
    # Half a line, of a process that was killed or a disk that was full; or not a transcript.
    except (ValueError, RecursionError):
        return {}
    return cast(JsonObject, value) if isinstance(value, dict) and "event" in value else {}


def transcript_file() -> str:
    """Return the file that the environment names, or ""."""
    return os.environ.get(ENVIRONMENT_VARIABLE, "").strip()


def new_run_id() -> str:
    """Return an id for one run of an agent or node, for the transcript and the history."""
    return token_hex(_RUN_ID_BYTES)


def workflow_name() -> str:
    """Return the name of the workflow that runs in this process, from its script, or ""."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    name = Path(script).stem if isinstance(script, str) else ""
    return "" if name.startswith("__") or name in _NO_WORKFLOWS else name


class Recorder:
    """Writes the events of one agent or node. Holds neither the run's `ctx` nor its bridge.

    The fields of `who` are in every line. `listen` gets each line too. With neither
    this nor a file, the recorder does nothing.
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
        self.is_on = bool(file or listen)
        self._redactor = Redactor(secrets, guesses=True, environ=os.environ if self.is_on else {})

    def event(self, event: RunEvent, at: float) -> None:
        """Write an event of an agent's run that happened at this time.

        Pieces of text are left out: `ThoughtFinished` has all of it, and half a secret cannot be
        masked. Events that only announce a wait are left out, too.
        """
        if self.is_on and not isinstance(event, TextArrived | ModelAsked | ToolReturned):
            self._write(type(event).__name__, _fields_of(event), at)

    def note(self, event: str, **values: Any) -> None:
        """Write an event that is not of an agent's run."""
        if self.is_on:
            self._write(event, values, time.time())

    def _write(self, event: str, values: Mapping[str, Any], at: float) -> None:
        line = {"time": round(at, 3), **self._who, "event": event}
        line |= {name: self._redactor.short(x, name) for name, x in values.items()}
        if self._file:
            _append(self._file, json.dumps(line, ensure_ascii=False))
        if self._listen:
            self._listen(line)


def _fields_of(event: RunEvent) -> JsonObject:
    """Return an event's fields, flat: the result of a tool as its text, not its parts."""
    values = {x.name: getattr(event, x.name) for x in fields(event)}
    result = values.pop("result", None)
    if isinstance(event, ToolsSelected):
        values |= values.pop("selection").as_json(deferred_names=False)
    if isinstance(result, ToolResult):
        values |= {"text": result.text, "is_error": result.is_error, "notes": result.notes}
        values["structured"] = result.structured
    if values.get("source") == CANVAS:
        values["source"] = "canvas"
    return {k: asdict(x) if is_dataclass(x) else _round(x) for k, x in values.items()}  # pyright: ignore[reportArgumentType, reportUnknownArgumentType]


def _round(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


def _append(file: str, line: str) -> None:
    # Lone surrogates, which Python's texts may contain, stay readable as JSON's escapes.
    data = f"{line}\n".encode("utf-8", "backslashreplace")
    try:
        append_private(Path(os.path.expanduser(file)), data)
    except (OSError, ValueError) as reason:
        if file not in _reported:
            _reported.add(file)
            print(
                f"No transcript is written: {file}: {reason}. {ENVIRONMENT_VARIABLE} names this "
                "file. The run goes on.",
                file=sys.stderr,
            )
