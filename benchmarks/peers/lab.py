"""Workers and servers of a run, all of which end with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .environments import CACHE, Environment, variables
from .peers import Peer
from .remote import JobResult, Worker

_RAW_SERVER = str(Path(__file__).with_name("raw_server.py"))
_END_SECONDS = 5.0
_PREPARE_SECONDS = 120.0  # some import for half a minute on a busy machine


class Lab:
    """One run. Leaving its block ends every process that it started, also after an interrupt."""

    def __init__(self, environments: Mapping[str, Environment], cache: Path = CACHE) -> None:
        self.environments = environments
        self._logs = cache / "logs"
        self._workers: dict[str, Worker] = {}
        self._http: dict[str, tuple[subprocess.Popen[str], str]] = {}
        # Stands in the command line of every server, so that a leftover server can be found.
        self._mark = f"peers-{uuid.uuid4().hex}"

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.end()
        for process, _ in self._http.values():
            process.kill()
            process.communicate(timeout=_END_SECONDS)
        self._end_leftover_servers()

    def prepare(self, peer: Peer) -> None:
        """Have a worker that has made a call, so that no import is part of the next measurement."""
        worker = self._workers.get(peer.name)
        if worker is None or not worker.is_usable:
            self.ask(peer, {"kind": "first", "servers": {"one": self.stdio()}}, _PREPARE_SECONDS)

    def ask(self, peer: Peer, job: Mapping[str, Any], seconds: float) -> JobResult:
        """Have the peer's worker do a job; a new one is started if the last one had to end."""
        worker = self._workers.get(peer.name)
        if worker is None or not worker.is_usable:
            worker = self._workers[peer.name] = self._new_worker(peer)
        return worker.ask(job, seconds)

    def renew(self, peer: Peer) -> None:
        """End the peer's worker, so that its failure does not affect the next step."""
        if peer.name in self._workers:
            self._workers.pop(peer.name).end()

    def ask_once(
        self, peer: Peer, job: Mapping[str, Any], seconds: float
    ) -> tuple[JobResult, float]:
        """Have a new process do a job; the seconds from its start to its result."""
        start = time.perf_counter()
        worker = self._new_worker(peer)
        starting = time.perf_counter() - start
        try:
            result = worker.ask(job, seconds)
        finally:
            worker.end()
        return result, starting + result.seconds

    def _new_worker(self, peer: Peer) -> Worker:
        python = self.environments[peer.name].python
        command = [python, "-m", "benchmarks.peers.worker", peer.driver]
        return Worker(command, variables(), self._logs / f"{peer.name.replace(' ', '-')}.log")

    def stdio(self, **options: Any) -> dict[str, Any]:
        """Return the settings entry of a server over stdio."""
        return {"command": sys.executable, "args": self._arguments(options)}

    def http(self, **options: Any) -> dict[str, Any]:
        """Return the entry of a server behind a URL, which runs until the end of this run."""
        key = json.dumps(options)
        if key not in self._http:
            process = subprocess.Popen(
                [sys.executable, *self._arguments({**options, "http": True})],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            )  # fmt: skip
            assert process.stdout is not None
            self._http[key] = process, process.stdout.readline().strip()
        return {"url": f"http://127.0.0.1:{self._http[key][1]}/mcp"}

    def _arguments(self, options: Mapping[str, Any]) -> list[str]:
        return ["-I", "-S", _RAW_SERVER, json.dumps(options), self._mark]

    def server_pids(self) -> list[int]:
        """Return the servers of this run that still run. Only on Linux; empty elsewhere."""
        pids: list[int] = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self._mark.encode() in (process / "cmdline").read_bytes():
                    pids.append(int(process.name))
        return pids

    def _end_leftover_servers(self) -> None:
        """End servers whose stdin a client keeps open; the others end when theirs does."""
        until = time.monotonic() + _END_SECONDS
        while self.server_pids() and time.monotonic() < until:
            time.sleep(0.05)
        for pid in self.server_pids():
            with suppress(OSError):
                os.kill(pid, 9)
