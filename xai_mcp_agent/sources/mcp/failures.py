"""From what went wrong underneath to an error that says what, why, and what to do next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from ...core.errors import ServerError, SourceClosed, SourceError, SourceFailed, ToolTimeout
from .transport import Connection

# JSON-RPC codes of the SDK (mcp.types): also used by some servers for errors of their own.
_CONNECTION_CLOSED = -32000
_REQUEST_TIMEOUT = -32001
_SESSION_GONE = ("session terminated", "session not found")

_RUNNERS = {
    "npx": "Install Node.js (it brings npx)",
    "npm": "Install Node.js (it brings npm)",
    "node": "Install Node.js",
    "uvx": "Install uv (`pip install uv` brings uvx)",
    "uv": "Install uv (`pip install uv`)",
    "docker": "Install Docker and start it",
    "python": "Write ${python} as the command to use the Python that runs this",
    "python3": "Write ${python} as the command to use the Python that runs this",
}
_STATUS_HELP = {
    401: "It wants authorization: add a valid `Authorization` header under `headers`.",
    403: "The credentials are not allowed to use it: check the token and its permissions.",
    404: "There is no MCP endpoint at this URL: check its path (often /mcp or /sse).",
    405: 'The URL may be of the older kind: set "type": "sse".',
    429: "It limits requests: wait a while, then try again.",
    503: "It is overloaded or starting: try again in a while.",
}


class Failures:
    """Words errors about one server. `mask` hides known secrets in all of them."""

    def __init__(self, server: str, mask: Callable[[str], str]) -> None:
        self._server = server
        self._mask = mask

    def at_start(self, cause: BaseException, link: Connection, phase: str) -> SourceFailed:
        """The connection never became usable."""
        problem, next_step = _start_problem(cause, link, phase)
        return SourceFailed(
            self._server, self._mask(problem), self._mask(next_step), link.stderr.tail()
        )

    def of_loss(self, link: Connection) -> SourceClosed:
        """A connection that worked has ended."""
        return SourceClosed(
            self._server,
            self._mask(f"the connection was lost: {_how_it_ended(link)}."),
            "It is started again by itself; try the call again. If it keeps ending, read its words above.",
            link.stderr.tail(),
        )

    def of_request(
        self, cause: BaseException, link: Connection, what: str, seconds: float
    ) -> SourceError:
        """A request on a working connection failed."""
        cause = root_cause(cause)
        code = getattr(cause, "code", None)
        if isinstance(cause, TimeoutError) or (
            code == _REQUEST_TIMEOUT and "timed out" in str(cause)
        ):
            return self._timeout(link, what, seconds)
        if is_loss(cause, link):
            return self.of_loss(link)
        if isinstance(code, int):
            problem = f"{what} was refused: {cause} (code {code})."
            status = _http_status(cause)
            help_text = _STATUS_HELP.get(status or 0, "")
            return ServerError(self._server, self._mask(problem), code, help_text)
        problem = f"{what} gave an answer that is not MCP: {_first_line(cause)}"
        next_step = "Report it to the server's authors; its other tools are not affected."
        return ServerError(self._server, self._mask(problem), 0, next_step, link.stderr.tail())

    def _timeout(self, link: Connection, what: str, seconds: float) -> ToolTimeout:
        return ToolTimeout(
            self._server,
            f"{what} gave no answer within {seconds:g} s; the server was told to stop.",
            f"Raise `timeout` of {self._server!r} in the settings if it needs longer.",
            link.stderr.tail(),
        )


def root_cause(cause: BaseException) -> BaseException:
    """The first real exception inside nested groups."""
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return cause


def is_loss(cause: BaseException, link: Connection) -> bool:
    """Whether this error means that the connection is of no more use."""
    if isinstance(cause, anyio.ClosedResourceError | anyio.BrokenResourceError):
        return True
    code = getattr(cause, "code", None)
    if code == _CONNECTION_CLOSED:
        return link.watch.ended.is_set() or "connection closed" in str(cause).lower()
    no_answer = _http_status(cause) == 503 and bool(link.http.failure)
    return no_answer or str(cause).lower() in _SESSION_GONE


def hung_up(cause: BaseException, link: Connection) -> bool:
    """Whether the server ended the connection by itself during the handshake."""
    return getattr(root_cause(cause), "code", None) == _CONNECTION_CLOSED or (
        link.settings.transport == "stdio" and link.watch.ended.is_set()
    )


def _start_problem(cause: BaseException, link: Connection, phase: str) -> tuple[str, str]:
    settings, cause = link.settings, root_cause(cause)
    if isinstance(cause, TimeoutError):
        limit = f"{settings.start_timeout_seconds:g} s"
        return (
            f"it was still {phase} after {limit}, so it was given up.",
            f'Start it by hand to see what it waits for, or raise "startTimeout" of {settings.name!r}.',
        )
    if isinstance(cause, OSError) and settings.transport == "stdio" and not link.process:
        return _spawn_problem(cause, link)
    if settings.transport == "stdio":
        words = f": {_first_line(cause)}" if link.exit_code is None else ""
        return (
            f"it could not be used, while {phase}: {_how_it_ended(link)}{words}.",
            f"Run it by hand to see more: {' '.join([settings.command, *settings.args])}",
        )
    return _url_problem(cause, link)


def _spawn_problem(cause: OSError, link: Connection) -> tuple[str, str]:
    settings = link.settings
    if cause.filename == settings.cwd and cause.filename:
        return f"its folder {settings.cwd!r} does not exist.", "Correct `cwd` in the settings."
    hint = _RUNNERS.get(settings.command, "Install it, or write its full path as `command`")
    if isinstance(cause, FileNotFoundError):
        return f"the command {settings.command!r} was not found.", f"{hint}."
    return f"the command {settings.command!r} cannot be run: {cause.strerror}.", f"{hint}."


def _url_problem(cause: BaseException, link: Connection) -> tuple[str, str]:
    status = _http_status(cause) or (link.http.status if (link.http.status or 0) >= 400 else None)
    if link.http.failure:
        return (
            f"{link.settings.url} cannot be reached: {link.http.failure}.",
            "Check that the server runs and that `url` is right.",
        )
    problem = f"{link.settings.url} answered: {_first_line(cause)}."
    if status and f"HTTP {status}" not in problem:
        problem = f"{link.settings.url} answered HTTP {status}: {_first_line(cause)}."
    return problem, _STATUS_HELP.get(status or 0, "Check that `url` is an MCP endpoint.")


def _how_it_ended(link: Connection) -> str:
    if link.settings.transport != "stdio":
        return link.http.failure or "the server ended it"
    if link.process is None:
        return "it never started"
    code = link.exit_code
    if code is None:
        return "it stopped talking" if link.watch.ended.is_set() else "it gave no usable answer"
    return f"it was killed by signal {-code}" if code < 0 else f"it exited with code {code}"


def _http_status(cause: BaseException) -> int | None:
    data: Any = getattr(cause, "data", None)
    if isinstance(data, dict):
        status: Any = data.get("http_status")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return status if isinstance(status, int) else None
    response: Any = getattr(cause, "response", None)
    return getattr(response, "status_code", None)


def _first_line(cause: BaseException) -> str:
    lines = str(cause).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(cause).__name__
