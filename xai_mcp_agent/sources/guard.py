"""Guard that ends our child processes after we were killed and could not end them ourselves.

A server sees its stdin close when we are gone, and most then exit. For the others, and for
processes they started, a small shell reads from a pipe that we hold open: when it closes while
process groups are left, the shell ends them. It runs only while there are any.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from contextlib import suppress

logger = logging.getLogger(__name__)

# Reads lines "+ group" and "- group".
_SCRIPT = """
groups=
while read -r what group; do
  others=
  for one in $groups; do [ "$one" = "$group" ] || others="$others $one"; done
  groups=$others
  [ "$what" = - ] || groups="$groups $group"
done
for signal in TERM KILL; do
  [ -n "$groups" ] && sleep 1
  for one in $groups; do kill -s $signal -- "-$one"; done
done
"""
# The shell ends at once; the event loop must not wait any longer.
_END_SECONDS = 0.05


class _Guard:
    """At most one shell for this process. Used from the event loops and threads of all bridges."""

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()
        self._lock = threading.Lock()

    def reset(self) -> None:
        """Start afresh in a fork: the shell belongs to the parent, and the lock may be taken."""
        if self._shell is not None and self._shell.stdin is not None:
            self._shell.stdin.close()  # otherwise the shell would not see the parent end
            self._shell.returncode = 0  # it is not our child, so there is no exit code to collect
        self.__init__()

    def protect(self, *groups: int) -> None:
        """Make these process groups end when we do."""
        if groups and os.name == "posix":
            with self._lock:
                if not self._groups:
                    self._start()
                self._groups.update(groups)
                self._write("+", groups)

    def release(self, *groups: int) -> None:
        """Stop guarding these groups, because they have ended."""
        with self._lock:
            self._groups.difference_update(groups)
            self._write("-", groups)
            if not self._groups:
                self._end()

    def _start(self) -> None:
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # our interrupts must not reach it
            )
        except OSError as cause:
            logger.debug("no guard for child processes: %s", cause)

    def _write(self, sign: str, groups: tuple[int, ...]) -> None:
        if self._shell is not None and self._shell.stdin is not None:
            with suppress(OSError):
                lines = "".join(f"{sign} {group}\n" for group in groups)
                os.write(self._shell.stdin.fileno(), lines.encode())

    def _end(self) -> None:
        shell, self._shell = self._shell, None
        if shell is None or shell.stdin is None:
            return
        shell.stdin.close()
        try:
            shell.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            try:
                threading.Thread(target=shell.wait, name="xai-mcp-guard", daemon=True).start()
            except RuntimeError:  # Python is shutting down and starts no more threads
                shell.wait()


_guard = _Guard()
protect = _guard.protect
release = _guard.release
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_guard.reset)
