"""The executable of a warm Python (`warm_python.py`): it hands over, and ends as the script does.

`python SCRIPT ...`, `python -m MODULE ...` or `python [-u -P] -c CODE ...` sends its words, folder,
environment and standard files to a process that forks a child for it (`warm_process.py`); a
terminal that it leads becomes the child's. With anything else, or with variables that tell Python
how to start, it becomes the usual Python.

It is compiled at each start, and starts for thousands of tests: as little as possible, and no
module of the standard library that is written in Python. Linux only.
"""

import _signal
import _socket
import marshal
import os
import sys

SOCKET = "socket"
_TELL_PYTHON = {"PYTHONHOME", "PYTHONSAFEPATH", "PYTHONUTF8", "PYTHONWARNINGS"}
_STATUS_BYTES = 4


def hand_over(words: list) -> None:
    """Run the script in the other process, and end as it does."""
    environment = dict(os.environ)
    line = _socket.socket(_socket.AF_UNIX)
    try:
        if not _is_usual(words, environment):
            raise OSError
        line.connect(os.path.join(os.path.dirname(os.path.abspath(__file__)), SOCKET))
    except OSError:
        os.execv(sys.executable, [sys.executable, *words])
    _release_terminal()
    request = marshal.dumps([words, os.getcwd(), environment])
    files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)]
    line.sendmsg([len(request).to_bytes(_STATUS_BYTES, "little"), request], rights)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # so that the end of the script's files is the end of them
        os.dup2(nowhere, number)
    _end_with(line.recv(_STATUS_BYTES, _socket.MSG_WAITALL))


def _is_usual(words: list, environment: dict) -> bool:
    is_supported = words[:1] in (["-m"], ["-c"]) or words[:3] == ["-u", "-P", "-c"]
    starts = is_supported or (bool(words) and not words[0].startswith("-"))
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    return starts and encoding == "utf-8" and environment.keys().isdisjoint(_TELL_PYTHON)


def _release_terminal() -> None:
    """Release the terminal; its leader would get a signal for that."""
    if os.isatty(0) and os.getsid(0) == os.getpid():
        import fcntl
        import termios

        usual = _signal.signal(_signal.SIGHUP, _signal.SIG_IGN)
        try:  # noqa: SIM105 - that would be an import
            fcntl.ioctl(0, termios.TIOCNOTTY)
        except OSError:  # it is another's
            pass
        _signal.signal(_signal.SIGHUP, usual)


def _end_with(status: bytes) -> None:
    code = os.waitstatus_to_exitcode(int.from_bytes(status, "little")) if status else 1
    if code < 0:
        if -code not in (_signal.SIGKILL, _signal.SIGSTOP):
            _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    hand_over(sys.argv[1:])
