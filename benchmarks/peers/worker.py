"""Measures one client in its own environment: `python -m benchmarks.peers.worker FILE:CLASS`.

FILE is one of the drivers, or a whole name with dots.

It takes jobs as lines of JSON from its stdin and sends lines of JSON to its stdout; output of the
client goes to stderr. It ends when its stdin does, even if the client hangs. It uses the standard
library only, and imports the client with the first job.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sys
import threading
from importlib import import_module
from typing import Any

from .drivers.base import Driver, describe
from .measure import Job, measure


def main(driver: str) -> None:
    """Do jobs until the other side closes."""
    private = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    jobs: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()

    def send(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=private, flush=True)

    while True:
        job: Job = json.loads(jobs.get())
        try:
            asyncio.run(measure(job, lambda: _new_driver(driver), send))
        except BaseException as error:  # noqa: BLE001 - the runner decides
            send({"error": describe(error)})


def _read(jobs: queue.Queue[str]) -> None:
    for line in sys.stdin:
        jobs.put(line)
    os._exit(0)  # not sys.exit: a client that hangs would keep the process


def _new_driver(driver: str) -> Driver:
    module, _, name = driver.partition(":")
    full = module if "." in module else f"{__package__}.drivers.{module}"
    return getattr(import_module(full), name)()


if __name__ == "__main__":
    main(sys.argv[1])
