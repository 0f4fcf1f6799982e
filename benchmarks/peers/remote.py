"""The runner's end of a worker: jobs go in, messages come out, and every wait has a limit."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_END_SECONDS = 10.0
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


@dataclass
class JobResult:
    """Outcome of one job. `problem` says why it did not finish; empty if it did."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""
    terminal: str = ""  # the output that a person would see meanwhile
    seconds: float = 0.0  # until the result, or the end of waiting

    @property
    def measurements(self) -> dict[str, Any] | None:
        """The measurements, or None if the job did not get that far."""
        return next((x["result"] for x in self.messages if "result" in x), None)

    def all(self, key: str) -> Iterator[Any]:
        """Yield every message of one kind."""
        return (x for x in self.messages if key in x)


class Worker:
    """One process that measures a peer. It ends together with all that it started."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], log: Path) -> None:
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                env=dict(variables),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output,
                text=True,
                # Ctrl-C must not reach the workers: we end them, in order.
                start_new_session=True,
            )  # fmt: skip
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def is_usable(self) -> bool:
        """Whether it still runs, and takes another job."""
        return self._process.poll() is None

    def ask(self, job: Mapping[str, Any], seconds: float) -> JobResult:
        """Have it do a job. A worker that takes longer is ended."""
        result, start = JobResult(), time.perf_counter()
        logged_bytes = self._log.stat().st_size
        try:
            self._send(job)
            for message in self._messages(result, start + seconds):
                result.messages.append(message)
                if "result" in message:
                    result.seconds = time.perf_counter() - start
        finally:
            result.seconds = result.seconds or time.perf_counter() - start
            with self._log.open("rb") as log:
                log.seek(logged_bytes)
                result.terminal = log.read().decode(errors="replace")
        return result

    def end(self) -> None:
        """End it, and its children: our servers end when their stdin does."""
        with suppress(OSError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, _KILL)
        self._process.wait(_END_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()

    def _messages(self, result: JobResult, deadline: float) -> Iterator[dict[str, Any]]:
        """The messages until all is closed. A job that fails or takes too long ends the worker."""
        start = time.perf_counter()
        while True:
            try:
                line = self._lines.get(timeout=max(deadline - time.perf_counter(), 0.0))
            except queue.Empty:
                result.problem = f"none within {deadline - start:.0f} s"
                break
            if line is None:
                result.problem = "its process ended"
                break
            message = json.loads(line)
            yield message
            if "closed" in message:
                return
            if "error" in message:
                result.problem = message["error"]
                break
        self.end()

    def _send(self, job: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it ended: reading will show that
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):  # closed at the end
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(None)
