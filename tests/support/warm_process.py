"""The process behind a warm Python (`warm_python.py`): it forks for each script.

The client (`warm_client.py`) sends its arguments, folder, environment and standard files. If the
client is killed, so is the fork; the client ends with the status of the fork. Linux only.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import io
import marshal
import os
import selectors
import socket
import sys
import termios

_LIBRARIES = (
    "mcp.server.mcpserver", "mcp", "openai", "jsonschema", "jsonschema_rs", "rich.console", "typer",
    "uvicorn", "sqlalchemy.dialects.sqlite", "sqlalchemy.dialects.postgresql", "psycopg", "sqlite3",
    "anyio._backends._asyncio", "asgiref.sync", "dill", "http.server", "platformdirs", "psutil",
    "xircuits.compiler",
)  # fmt: skip
# The parts of the engine whose import changes nothing: `canvas` and `console` change the process.
_ENGINE = "xai_mcp_agent"
_PARTS = (
    "core", "secrets", "settings", "history", "sources", "catalog", "policy", "search", "agent",
    "bridge",
)  # fmt: skip
_STATUS_BYTES = 4


class Process:
    """Forks a child with loaded libraries for each script. It ends when its input ends."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._ready = selectors.DefaultSelector()
        self._ready.register(0, selectors.EVENT_READ)
        self._ready.register(listening, selectors.EVENT_READ)

    def next_script(self) -> list[str] | None:
        """Return the arguments of its script in a child; None in the process itself, at its end."""
        while True:
            for key, _ in self._ready.select():
                if key.fileobj == 0:
                    return None
                if key.fileobj is self._listening:
                    line, _ = self._listening.accept()
                    if (script := self._fork(line)) is not None:
                        return script
                else:
                    self._report_end(key.fd, *key.data)

    def _fork(self, line: socket.socket) -> list[str] | None:
        head, files, _, _ = socket.recv_fds(line, _STATUS_BYTES, 3)
        size = int.from_bytes(head, "little")
        data = line.recv(size, socket.MSG_WAITALL) if len(files) == 3 else b""
        if not data or len(data) != size:
            line.close()
            return None
        _load()
        if child := os.fork():
            self._ready.register(os.pidfd_open(child), selectors.EVENT_READ, (child, line))
            for number in files:
                os.close(number)
            return None
        self._ready.close()
        self._listening.close()
        return _become(*marshal.loads(data), files, line)

    def _report_end(self, descriptor: int, child: int, line: socket.socket) -> None:
        self._ready.unregister(descriptor)
        os.close(descriptor)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(OSError):  # it was killed, and the script because of that
            line.send(status.to_bytes(_STATUS_BYTES, "little"))
        line.close()


def _load() -> None:
    import gc
    import importlib
    import warnings

    if "mcp" in sys.modules:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _LIBRARIES:
            with contextlib.suppress(ImportError):  # whoever needs it says so
                importlib.import_module(name)
        with contextlib.suppress(ImportError):
            _load_engine()
    gc.collect()
    gc.freeze()  # children do not look through it


def _load_engine() -> None:
    import importlib
    import pkgutil

    for part in _PARTS:
        package = importlib.import_module(f"{_ENGINE}.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def _become(
    words: list[str],
    folder: str,
    environment: dict[str, str],
    files: list[int],
    line: socket.socket,
) -> list[str]:
    """Become the process that the client would have started."""
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    with contextlib.suppress(OSError):  # none, or another's
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # The client is at the other end: its death sends a signal that ends this process.
    fcntl.fcntl(line, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(line, fcntl.F_SETFL, fcntl.fcntl(line, fcntl.F_GETFL) | os.O_ASYNC)
    line.detach()
    return words


def _open_standard_files() -> None:
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.FileIO(0), "utf-8")  # type: ignore
    sys.stdout = sys.__stdout__ = _writing(1, "strict")
    sys.stderr = sys.__stderr__ = _writing(2, "backslashreplace")


def _writing(number: int, errors: str) -> io.TextIOWrapper:
    unbuffered = "PYTHONUNBUFFERED" in os.environ
    by_line = number == 2 or os.isatty(number)
    return io.TextIOWrapper(
        open(number, "wb", 0 if unbuffered else -1),
        "utf-8",
        errors,
        line_buffering=by_line,
        write_through=unbuffered,
    )


class _Ending:
    """Ends a child at once after its exit handlers: freeing the libraries takes long."""

    def __init__(self) -> None:
        self._status: int | None = None
        atexit.register(self._end)  # before others do, so it is called after them

    @contextlib.contextmanager
    def of_script(self):
        """Keep the status of the script in the block; an interrupt is left to Python."""
        try:
            yield
            self._status = 0
        except SystemExit as leaving:
            code = leaving.code
            self._status = (code or 0) & 0xFF if isinstance(code, int | None) else 1
            raise
        except Exception:
            self._status = 1
            raise

    def _end(self) -> None:
        if self._status is not None:
            for stream in (sys.stdout, sys.stderr, sys.__stdout__):
                with contextlib.suppress(AttributeError, OSError, ValueError):  # none, or closed
                    stream.flush()
            os._exit(self._status)


def _run(words: list[str], executable: str) -> None:
    if words[:2] == ["-u", "-P"]:
        words, os.environ["PYTHONUNBUFFERED"] = words[2:], "1"
    first, is_file = words[0], words[0] not in ("-m", "-c")
    sys.argv[:] = words if is_file else words[1:] if first == "-m" else ["-c", *words[2:]]
    sys.executable = executable
    folder = os.path.dirname(os.path.abspath(first)) if is_file else os.getcwd()
    paths = os.environ.get("PYTHONPATH", "")
    sys.path[:1] = ["" if first == "-c" else folder, *filter(None, paths.split(os.pathsep))]
    _open_standard_files()
    if first == "-m":
        import runpy

        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    main = type(sys)("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    if first == "-c":
        exec(compile(words[1], "<string>", "exec", dont_inherit=True), main.__dict__)
        return
    main.__file__ = first
    with open(first, "rb") as file:
        exec(compile(file.read(), first, "exec", dont_inherit=True), main.__dict__)


if __name__ == "__main__":
    _folder, _ending = os.getcwd(), _Ending()
    _words = Process(socket.socket(fileno=int(sys.argv[1]))).next_script()
    if _words is not None:
        with _ending.of_script():
            _run(_words, os.path.join(_folder, "python"))
