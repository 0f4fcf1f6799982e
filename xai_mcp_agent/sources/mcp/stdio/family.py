"""Descendants of a server's process, found again even where they left its process group.

A child in a session of its own is not reached through the group, and once its parent has ended
nothing tells whose it was. So the server's descendants are looked at while it lives, and at its end
those that were seen are ended with it. One that cut itself loose before anybody looked, as a daemon
does, stays: it cannot be told from a program that was started for a person, such as a browser.

Linux lists a process's children in its file system; elsewhere only the group is ended.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

# Of the words in `/proc/PID/stat` after the name: when it began, in ticks since the system started.
_BEGAN = 19


class Family:
    """The processes below one process, as far as they were seen. Known by number and start time."""

    def __init__(self, pid: int) -> None:
        self._head = (pid, _began(pid))
        self._seen: dict[int, str] = {}

    @property
    def members(self) -> str:
        """Those that were seen, each as its number and start time, for `guard.py`."""
        return " ".join(f"{pid}:{began}" for pid, began in self._seen.items())

    def look(self) -> bool:
        """Note who is there now, and say whether that changed.

        Costs about a tenth of a millisecond for a small family.
        """
        before = self._seen
        # Numbers are given out again: who has one now may be somebody else.
        self._seen = {x: began for x, began in self._seen.items() if _began(x) == began}
        head, began = self._head
        ahead = [*self._seen, *([head] if began and _began(head) == began else [])]
        while ahead:
            for child in _children(ahead.pop()):
                if child not in self._seen and (began := _began(child)):
                    self._seen[child] = began
                    ahead.append(child)
        return self._seen != before

    def signal(self, number: int) -> None:
        """Send a signal to each that still runs; not to others that have its number now."""
        for pid, began in self._seen.items():
            with suppress(OSError):
                _signal(pid, began, number)


def _children(pid: int) -> list[int]:
    """Those that it started itself; none where the system does not tell."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as children:
                found += map(int, children.read().split())
    return found


def _began(pid: int) -> str:
    try:
        # The name may be in any encoding, and have blanks and brackets in it.
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        return stat.rpartition(b")")[2].split()[_BEGAN].decode()
    except (OSError, IndexError):
        return ""


def _signal(pid: int, began: str, number: int) -> None:
    # A handle is for one process for ever, also when its number is given to another meanwhile.
    handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    try:
        if _began(pid) != began:
            return
        if handle is not None:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(pid, number)
    finally:
        if handle is not None:
            os.close(handle)
