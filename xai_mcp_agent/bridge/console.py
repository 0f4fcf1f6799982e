"""A run on the screen: turns, tool calls with their results, the answer, the totals.

Plain text, readable in eighty columns and in the lab's output panel.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from ..agent.events import (
    ProtocolChanged,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolProgressed,
    ToolsChanged,
    ToolStarted,
)
from ..core.results import ToolResult
from ..core.tools import JsonObject

_WIDTH = 80
_INDENT = "  "
_RESULT_LINES = 6
_ARGUMENT_CHARS = 60
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Console:
    """Writes the events of one run as they come. `write` takes text as `print` would show it."""

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        self._write_plain = write or _write_to_stdout
        self._agent = ""
        self._streams = False
        self._streamed = False

    def waiting(self, servers: list[str]) -> None:
        """Write that a run has to wait for these before it can begin."""
        self._line(f".. waiting for {', '.join(servers)}", hanging=True)

    def show(self, event: RunEvent) -> None:
        """Write one event."""
        match event:
            case RunStarted():
                self._started(event)
            case TextArrived(text) if self._streams:
                self._stream(text)
            case ThoughtFinished():
                self._thought(event)
            case ToolStarted(_, tool, arguments):
                self._line(f"-> {tool}({short_arguments(arguments)})", hanging=True)
            case ToolProgressed(_, tool, done, total, message):
                self._line(f".. {tool}: {progress_text(done, total, message)}")
            case ToolFinished():
                self._finished_tool(event)
            case ProtocolChanged(protocol):
                self._streams = protocol == "native"
                self._line(f"-- the service takes no functions; {protocol} protocol from here")
            case ToolsChanged(added, removed):
                self._changed(added, removed)
            case RunFinished():
                self._finished(event)
            case RunFailed(error):
                self._line(f"!! {self._agent} stopped: {error}", hanging=True)
            case _:
                pass

    def _started(self, event: RunStarted) -> None:
        self._agent = event.agent
        # In the text protocol the calls stand in the text; it is shown when they are taken out.
        self._streams = event.protocol == "native"
        count = len(event.tool_names)
        tools = f"{count} tool{'' if count == 1 else 's'}"
        self._write(f"== {event.agent}: {event.model}, {tools}, {event.protocol} protocol\n")
        for reason in event.left_out:
            self._line(f"!! left out: {reason}", hanging=True)

    def _stream(self, text: str) -> None:
        if not self._streamed:
            self._write(_INDENT)
        self._streamed = True
        self._write(text.replace("\n", f"\n{_INDENT}"))

    def _thought(self, event: ThoughtFinished) -> None:
        if self._streamed:
            self._write("\n")
            self._streamed = False
        elif event.text:
            self._paragraphs(event.text)

    def _finished_tool(self, event: ToolFinished) -> None:
        mark = "!!" if event.result.is_error else "<-"
        lines = _short_result(event.result)
        self._line(f"{mark} {event.tool} ({event.seconds:.2f} s)")
        for line in lines:
            self._write(f"{_INDENT * 2} {line}\n")

    def _changed(self, added: tuple[str, ...], removed: tuple[str, ...]) -> None:
        if added:
            self._line(f"++ new tools: {', '.join(added)}", hanging=True)
        if removed:
            self._line(f"-- gone: {', '.join(removed)}", hanging=True)

    def _finished(self, event: RunFinished) -> None:
        tokens = event.usage.input_tokens + event.usage.output_tokens
        parts = [
            f"{event.steps} turn{'' if event.steps == 1 else 's'}",
            f"{event.tool_calls} tool call{'' if event.tool_calls == 1 else 's'}",
            f"{event.seconds:.1f} s",
        ]
        if tokens:
            parts.append(f"{event.usage.input_tokens} + {event.usage.output_tokens} tokens")
        if event.stopped != "answered":
            parts.append(
                {"length": "cut off at the output limit"}.get(event.stopped, event.stopped)
            )
        self._write(f"== {self._agent} is done: {', '.join(parts)}\n")

    def _paragraphs(self, text: str) -> None:
        for paragraph in text.splitlines():
            self._line(paragraph)

    def _write(self, text: str) -> None:
        # Servers and models may send what moves a terminal's cursor and hides what was shown.
        self._write_plain(_CONTROLS.sub("?", text))

    def _line(self, text: str, *, hanging: bool = False) -> None:
        if self._streamed:  # a stream that broke off
            self._write_plain("\n")
            self._streamed = False
        head, *rest = text.splitlines() or [""]
        after = _INDENT + ("   " if hanging else "")
        wrapped = textwrap.wrap(
            head, _WIDTH, initial_indent=_INDENT, subsequent_indent=after, break_on_hyphens=False
        )
        self._write("\n".join([*(wrapped or [""]), *(f"{after}{x}" for x in rest)]) + "\n")


def progress_text(done: float, total: float | None, message: str) -> str:
    """How far a call is, to read."""
    share = f"{done:g} of {total:g}" if total else f"{done:g}"
    return f"{share} {message}".rstrip()


def short_arguments(arguments: JsonObject | None) -> str:
    """Arguments in one line to read; long values are cut."""
    shown = (f"{name}={_short_value(value)}" for name, value in (arguments or {}).items())
    return ", ".join(shown)


def _short_value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _ARGUMENT_CHARS else f"{text[:_ARGUMENT_CHARS]}..."


def _short_result(result: ToolResult) -> list[str]:
    text = _compact(result.text.strip()) or "(nothing)"
    width = _WIDTH - 2 * len(_INDENT) - 1
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, width) or [""]]
    left = len(lines) - _RESULT_LINES
    more = [f"... {left} more line{'' if left == 1 else 's'}"] if left > 0 else []
    lines = lines[:_RESULT_LINES] + more
    return lines + [f"note: {note}" for note in result.notes]


def _compact(text: str) -> str:
    """JSON on as few lines as it takes; any other text as it is."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def _write_to_stdout(text: str) -> None:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    # Servers may say what a terminal's encoding cannot; that must not end the run.
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()
