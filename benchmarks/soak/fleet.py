"""The servers of the soak, half of them over stdio, half behind a URL, and attacks on them.

The bridge starts those over stdio itself. The others are started here, and restarted on the same
port when they have ended. Everything here has its own process, so that only the bridge is measured.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from tests.support.processes import free_port

_SERVER = str(Path(__file__).with_name("server.py"))
_ROOT = Path(__file__).parents[2]
_CALL_SECONDS = 2.0
_START_SECONDS = 10.0  # for the bridge to connect with one
_FIRST_START_SECONDS = 60.0  # for all behind a URL together, on a busy machine
_END_SECONDS = 10.0
_PAUSE_SECONDS = (0.2, 1.2)  # between two attacks
_STOP_SECONDS = (0.2, 3.0)  # how long a server is stopped, as if its machine were overloaded
_AWAY_SECONDS = (0.0, 2.0)  # how long a server behind a URL is gone


class Fleet:
    """All servers, and their `settings`."""

    def __init__(self, count: int, journal: Path, seed: str) -> None:
        self.attacks: Counter[str] = Counter()
        self._random = random.Random(f"{seed} fleet")
        self._journal = journal
        self._stop = threading.Event()
        self._web: list[_WebServer] = []
        # All tools are shown: the model calls any of them.
        search = {"tokenBudget": 1_000_000}
        self.settings: dict[str, Any] = {"mcpServers": {}, "toolSearch": search}
        for number in range(count):
            era = ("legacy", "modern")[number // 2 % 2]
            options = {"era": era, "journal": str(journal)}
            name = f"{'web' if number % 2 else 'box'}{number}"
            self.settings["mcpServers"][name] = self._entry(options, is_web=bool(number % 2))

    def starts(self) -> int:
        """Return the number of starts of all servers so far."""
        return self._journal.read_text(encoding="utf-8").count("start ")

    @contextmanager
    def running(self) -> Generator[None]:
        """Run the servers behind a URL for the length of the block."""
        threads = [threading.Thread(target=x.run, args=[self._stop]) for x in self._web]
        for thread in threads:
            thread.start()
        try:
            for server in self._web:
                is_up = server.is_up.wait(_FIRST_START_SECONDS)
                assert is_up, "a server behind a URL did not start"
            yield
        finally:
            self._stop.set()
            for server in self._web:
                server.kill()
            for thread in threads:
                thread.join(_END_SECONDS)

    @contextmanager
    def under_attack(self) -> Generator[None]:
        """Attack servers for the length of the block."""
        over = threading.Event()
        thread = threading.Thread(target=self._attack, args=[over], name="attacks")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(_END_SECONDS)

    def _entry(self, options: dict[str, Any], *, is_web: bool) -> dict[str, Any]:
        limits = {"timeout": _CALL_SECONDS, "startTimeout": _START_SECONDS}
        if not is_web:
            return {"command": sys.executable, "args": _arguments(options), **limits}
        options["port"] = self._new_port()
        self._web.append(_WebServer(options, self._random.getrandbits(32)))
        return {"url": f"http://127.0.0.1:{options['port']}/mcp", **limits}

    def _new_port(self) -> int:
        """Return a free port that no other server has; some of them may not listen yet."""
        ports = {x.port for x in self._web}
        return next(x for x in iter(free_port, None) if x not in ports)

    def _attack(self, over: threading.Event) -> None:
        while not over.wait(self._random.uniform(*_PAUSE_SECONDS)):
            victims = _children_running(_SERVER)
            if not victims:
                continue
            victim = self._random.choice(victims)
            with suppress(psutil.NoSuchProcess):
                if self._random.random() < 0.6:
                    victim.kill()
                    self.attacks["killed"] += 1
                else:
                    self.attacks["stopped for a while"] += 1
                    victim.suspend()
                    over.wait(self._random.uniform(*_STOP_SECONDS))
                    victim.resume()


class _WebServer:
    """A server behind a URL: a process that is restarted whenever it ended."""

    def __init__(self, options: dict[str, Any], seed: int) -> None:
        self.is_up = threading.Event()
        self.port: int = options["port"]
        self._options = options
        self._random = random.Random(seed)
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, stop: threading.Event) -> None:
        """Keep it running until `stop` is set."""
        while not stop.is_set():
            with subprocess.Popen(
                [sys.executable, *_arguments(self._options)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            ) as self._process:  # fmt: skip
                assert self._process.stdout is not None
                if self._process.stdout.readline():
                    self.is_up.set()
                if stop.is_set():
                    self.kill()
                self._process.wait()
            stop.wait(self._random.uniform(*_AWAY_SECONDS))

    def kill(self) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)


@contextmanager
def model_process(seed: str) -> Generator[str]:
    """Run the model of the soak for the length of the block; yield its address."""
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.soak.model", seed],
        cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        address = child.stdout.readline().decode().strip()
        assert address, "the model of the soak did not start"
        yield address
    finally:
        with suppress(subprocess.TimeoutExpired):
            child.communicate(timeout=_END_SECONDS)  # this closes its stdin, and so it ends
        child.kill()


def _arguments(options: dict[str, Any]) -> list[str]:
    return ["-S", "-E", _SERVER, json.dumps(options)]


def _children_running(script: str) -> list[psutil.Process]:
    """Return our own children that run this script."""
    running: list[psutil.Process] = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if script in child.cmdline():
                running.append(child)
    return running
