"""Watchdog: ends the servers of a process that was killed and could not end them itself.

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

# "+ group", "- group" and "= group pid:began ..." come in, one in a line: the last one says who was
# seen below that group's server. After that politely, then not. As `family.py` does: what left its
# group is still found below its parents, and known again by its start time. The first look starts
# no process: servers end as soon as we do, and then nothing tells whose their children were.
_SCRIPT = """
groups= family=
without() {
  kept=
  for one in $2; do case $one in "$1" | "$1/"*) ;; *) kept="$kept $one" ;; esac; done
}
while read -r what group members; do
  case $what in
    +) groups="$groups $group" ;;
    -) without "$group" "$groups"; groups=$kept; without "$group" "$family"; family=$kept ;;
    =) without "$group" "$family"; family=$kept
       for one in $members; do family="$family $group/$one"; done ;;
  esac
done
[ -n "$groups" ] || exit 0

began() { since=; read -r stat <"/proc/$1/stat" && set -- ${stat##*) } && since=${20}; }
look() {
  for file in /proc/$1/task/*/children; do
    found=
    [ -r "$file" ] && { read -r found <"$file" || :; }
    for one in $found; do
      case "$family " in *"/$one:"*) ;; *) began $one
        [ -n "$since" ] && family="$family $group/$one:$since" ;; esac
      look $one
    done
  done
}
look_at_all() {
  for group in $groups; do look $group; done
  for one in $family; do is_the_same $one && look $pid; done
}
is_the_same() { one=${1#*/}; pid=${one%:*}; began $pid; [ "$since" = "${one#*:}" ]; }
end() {
  for one in $groups; do kill -s $1 -- "-$one"; done
  for one in $family; do is_the_same $one && kill -s $1 $pid; done
}
look_at_all; sleep 1; look_at_all; end TERM
look_at_all; sleep 1; look_at_all; end KILL
"""
# It ends in a moment; we are on an event loop, which must not stand still for longer.
_END_SECONDS = 0.05


class _Guard:
    """At most one shell for this process. Used from the event loops of several bridges."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """At first, and in a fork, where the shell is the parent's and the lock may be held."""
        shell: subprocess.Popen[bytes] | None = getattr(self, "_shell", None)
        if shell is not None and shell.stdin is not None:
            shell.stdin.close()  # or it would not see the parent end
            shell.returncode = 0  # it is not our child: there is nothing to collect
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._shell = None

    def protect(self, group: int) -> None:
        """From now on this process group does not outlive us."""
        if os.name != "posix":
            return
        with self._lock:
            if not self._groups:
                self._start()
            self._groups.add(group)
            self._tell(f"+ {group}\n")

    def tell_family(self, group: int, members: str) -> None:
        """Who is below the server of this group now; see `Family.members`."""
        with self._lock:
            if group in self._groups:
                self._tell(f"= {group} {members}\n")

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
        if shell is None or shell.stdin is None:
            return
        shell.stdin.close()
        try:
            shell.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            _collect(shell)


def _collect(shell: subprocess.Popen[bytes]) -> None:
    """Wait for a slow one where nobody has to wait with us."""
    try:
        threading.Thread(target=shell.wait, name="xai-mcp-guard", daemon=True).start()
    except RuntimeError:  # Python is ending, and starts no threads any more
        shell.wait()


_guard = _Guard()
protect = _guard.protect
tell_family = _guard.tell_family
release = _guard.release
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_guard.begin_anew)
