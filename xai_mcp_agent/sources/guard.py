"""Guard: ends the child processes of a program that was killed and could not end them itself.

A server sees its stdin close when we are gone, and most end then. For those that do not, and for
what they started, a small shell waits at a pipe of which we hold the other end: when that closes
while process groups are left, it ends them. It lives only as long as there are any.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from contextlib import suppress

logger = logging.getLogger(__name__)

# "+ group" and "- group" come in, one on a line.
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
# The shell ends in a moment; the event loop must not stand still for longer.
_END_SECONDS = 0.05


class _Guard:
    """At most one shell for this process. Used from the event loops and threads of all bridges."""

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Begin anew in a fork, where the shell is the parent's and the lock may be taken."""
        if self._shell is not None and self._shell.stdin is not None:
            self._shell.stdin.close()  # or it would not see the parent end
            self._shell.returncode = 0  # it is not our child: there is nothing to collect
        self.__init__()

    def protect(self, *groups: int) -> None:
        """Have these process groups end with us."""
        if groups and os.name == "posix":
            with self._lock:
                if not self._groups:
                    self._start()
                self._groups.update(groups)
                self._tell("+", groups)

    def release(self, *groups: int) -> None:
        """Leave these groups alone: they have ended."""
        with self._lock:
            self._groups.difference_update(groups)
            self._tell("-", groups)
            if not self._groups:
                self._end()

    def _start(self) -> None:
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what interrupts us must not reach it
            )
        except OSError as cause:
            logger.debug("no guard for child processes: %s", cause)

    def _tell(self, what: str, groups: tuple[int, ...]) -> None:
        if self._shell is not None and self._shell.stdin is not None:
            with suppress(OSError):
                lines = "".join(f"{what} {group}\n" for group in groups)
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
            except RuntimeError:  # Python is ending, and starts no threads any more
                shell.wait()


_guard = _Guard()
protect = _guard.protect
release = _guard.release
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_guard.forget)
