"""Ends the servers of a process that was killed and could not end them itself.

A server sees its stdin close when we are gone, and most end then. For those that do not, and for
what they started, a small shell waits at a pipe of which we hold the other end: when
that closes while servers are left, it ends them. It lives only as long as there are servers.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from contextlib import suppress

logger = logging.getLogger(__name__)

# "+ group" and "- group" come in, one in a line. After that politely, then not.
_SCRIPT = """
groups=
while read -r what group; do
  case $what in
    +) groups="$groups $group" ;;
    -) kept=
       for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done
       groups=$kept ;;
  esac
done
[ -n "$groups" ] || exit 0
sleep 1; for one in $groups; do kill -s TERM -- "-$one"; done
sleep 1; for one in $groups; do kill -s KILL -- "-$one"; done
"""
_END_SECONDS = 2.0


class _Guard:
    """At most one shell for this process. Used from the event loops of several bridges."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._shell: subprocess.Popen[bytes] | None = None

    def protect(self, group: int) -> None:
        """From now on this process group does not outlive us."""
        if os.name != "posix":
            return
        with self._lock:
            if not self._groups:
                self._start()
            self._groups.add(group)
            self._tell(f"+ {group}\n")

    def release(self, group: int) -> None:
        """It was ended."""
        with self._lock:
            self._groups.discard(group)
            self._tell(f"- {group}\n")
            if not self._groups:
                self._end()

    def _start(self) -> None:
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # What interrupts or hangs up on us must not reach it.
                start_new_session=True,
            )
        except OSError as cause:
            logger.debug("no guard for servers: %s", cause)

    def _tell(self, line: str) -> None:
        if self._shell is not None and self._shell.stdin is not None:
            with suppress(OSError):
                os.write(self._shell.stdin.fileno(), line.encode())

    def _end(self) -> None:
        shell, self._shell = self._shell, None
        if shell is None:
            return
        with suppress(OSError, subprocess.TimeoutExpired):
            shell.communicate(timeout=_END_SECONDS)


_guard = _Guard()
protect = _guard.protect
release = _guard.release
