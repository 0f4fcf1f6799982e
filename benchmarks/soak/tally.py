"""Tally of all calls: a result, or an error with its cause and the next step."""

from __future__ import annotations

import re
import threading
from collections import Counter
from dataclasses import dataclass, field

from xai_mcp_agent.agent.events import ToolFinished

# The kinds of errors, with a pattern of their text; the first that matches counts.
_KINDS = {
    "the tool itself said so": r"^told on purpose$",
    "refused by the server": r"was refused: .*|(503|busy on purpose)",
    "no answer in time": r"timed out after .*; we asked the server to stop",
    "the connection was lost": r"the connection (was lost|broke off)",
    "an unreadable answer": r"returned an unusable response",
    "the server could not be reached": r"failed while|start timed out|cannot be reached|"
    r"was not ready|answered: |command .* cannot be run",
    "the tool has gone": r"no tool|There is no|not offer|does not have",
    "the arguments do not fit": r"^Wrong arguments for",
}
_NEXT_STEP = "Next step: "
# The text of these tells the model itself what to do next.
_FOR_THE_MODEL = ("the tool itself said so", "the arguments do not fit", "the tool has gone")
_UNFORESEEN = re.compile(r"failed: [A-Z]\w+(Error|Exception)?: ")
# After the limit of a call a new connection may follow, and limits are not exact.
LONGEST_CALL_SECONDS = 30.0


@dataclass
class Tally:
    """Counts calls from several threads. Anything in `unexplained` fails the soak."""

    calls: int = 0
    results: int = 0
    longest_seconds: float = 0.0
    errors: Counter[str] = field(default_factory=Counter[str])
    unexplained: list[str] = field(default_factory=list[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, event: ToolFinished) -> None:
        """Count one call."""
        with self._lock:
            self.calls += 1
            self.longest_seconds = max(self.longest_seconds, event.seconds)
            if event.seconds > LONGEST_CALL_SECONDS:
                self.unexplained.append(f"{event.tool} took {event.seconds:.1f} s")
            if event.result.is_error:
                self._count_error(event)
            else:
                self._count_result(event)

    def fail(self, what: str) -> None:
        """Add a failure besides the calls."""
        with self._lock:
            self.unexplained.append(what)

    def _count_result(self, event: ToolFinished) -> None:
        self.results += 1
        expected = str((event.arguments or {}).get("text", ""))
        if not event.result.text.startswith(expected):
            text = event.result.text[:80]
            self.unexplained.append(f"{event.tool} returned {text!r}, not {expected!r}")

    def _count_error(self, event: ToolFinished) -> None:
        text = event.result.text
        kind = next((x for x, pattern in _KINDS.items() if re.search(pattern, text)), "")
        self.errors[kind or "unknown"] += 1
        is_explained = kind in _FOR_THE_MODEL or _NEXT_STEP in text
        if not kind or not is_explained or _UNFORESEEN.search(text):
            self.unexplained.append(f"{event.tool}: {text}")
