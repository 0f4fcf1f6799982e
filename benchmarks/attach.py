"""Attaching a client to servers in a long-lived process, beside a bare start of Python.

A client starts the relay, shakes hands and lists the tools of a server that is already running.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from .echo import ENTRY, client_of, warm_server
from .rows import Row, compare, seconds, size

_ROUNDS = size(20, 1)
_TARGET, _TARGET_SECONDS = 5.0, 0.2


def rows() -> Iterator[Row]:
    """Measure both in turn."""
    with warm_server(ENTRY) as (_, place):

        def attach() -> None:
            with client_of(place.relay) as client:
                client.wait_until_ready()
                client.request("tools/list", {})

        attach()  # the SDK is imported for the first client
        what = "a client attached to kept servers / a bare start of Python"
        yield compare(what, attach, _start_python, _ROUNDS, _TARGET)
        least = min(seconds(attach) for _ in range(_ROUNDS))
        yield Row("a client attached to kept servers, at best", least, " s", _TARGET_SECONDS)


def _start_python() -> None:
    subprocess.run([sys.executable, "-IS", "-c", "pass"], check=True)
