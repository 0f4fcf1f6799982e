"""Errors about one server, made of the exceptions underneath: what, why, and what to do next."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast

import anyio

from ...core.errors import (
    InvalidArguments,
    ServerError,
    SourceClosed,
    SourceFailed,
    ToolTimeout,
    XaiMcpError,
)
from ...secrets.redactor import redacted
from ...secrets.secrets import Mask, masked_and_cut
from ..web.network_errors import FEWER_FILES, has_too_many_files, reaching_help
from .connection import Connection
from .rpc_errors import (
    HTTP_STATUS,
    METHOD_NOT_FOUND,
    NEXT_STEP,
    TROUBLE,
    ConnectionLost,
    NotDelivered,
)

Verdict: TypeAlias = Literal[
    "late", "lost", "unsent", "broken", "unsendable", "refused", "unreadable"
]
"""What became of a request. late: no answer in time. lost: the connection is over. unsent: over as
well, and the request never arrived. broken: this answer is lost, the connection may be fine.
unsendable: it cannot be JSON. refused: answered with an error. unreadable: the answer is no use."""

# JSON-RPC codes of the SDK (mcp.types): also used by some servers for errors of their own.
_CONNECTION_CLOSED = -32000
_REQUEST_TIMEOUT = -32001
_SESSION_GONE = ("session terminated", "session not found")
_STREAM_BROKEN = "sse stream"
_NOT_PARSED = "failed to parse"

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
    **dict.fromkeys(
        (301, 302, 303, 307, 308), "Write the address where the server really is as `url`."
    ),
    401: "It wants authorization: add a valid `Authorization` header under `headers`.",
    403: "The credentials are not allowed to use it: check the token and its permissions.",
    404: "There is no MCP endpoint at this URL: check its path (often /mcp or /sse).",
    405: 'The URL may be of the older kind: set "type": "sse".',
    429: "It limits requests: wait a while, then try again.",
    502: "A gateway before it has trouble: it may have been carried out, so check that first.",
    503: "It is overloaded or starting: try again in a while.",
    504: "A gateway before it waited in vain: it may have been carried out, so check that first.",
}
_CODE_HELP = {
    -32042: "Finish what the page asks of you, which was shown or opened; then call again.",
    METHOD_NOT_FOUND: "List its tools anew, or look for a newer version of it.",
    -32602: "Check the name and the arguments against what it lists.",
}
_ASK_THE_SERVER = "The words are its own: its documentation, or its log, may say more."
_REPORT_IT = "Report it to the server's authors; its other tools are not affected."
_CHECK_FIRST = "It may have been carried out all the same: check that before you try again."
_MOST_CHARS = 64 * 1024  # of a server's words that are looked at
_SHOWN_WORDS = 1000  # characters; a model may read what was wrong with its arguments
_SHOWN_COMMAND = 1000  # characters; an error is to be read
_LASTING_STATUSES = (401, 403, 404, 405)
_NEITHER_KIND = (
    "There is no MCP endpoint at this URL, also not of the older kind (SSE): check its path (often "
    "/mcp or /sse)."
)
_IS_ENDPOINT = "Check that `url` is an MCP endpoint (often it ends in /mcp or /sse)."


class NotSent(SourceClosed):
    """The connection was lost before the request arrived: it may be sent again without harm."""


class LastingFailure(SourceFailed):
    """It could not be used, and trying again is in vain until a person has changed something."""


class WrongEra(Exception):
    """The server speaks another protocol version than the one the settings demand."""

    def __init__(self, spoken: str, demanded: str) -> None:
        super().__init__(f"it speaks protocol {spoken}, and the settings demand {demanded}")


class Failures:
    """Words the errors of one connection. `mask` hides known secrets in all of them."""

    def __init__(self, connection: Connection, mask: Mask) -> None:
        self._connection = connection
        self._settings = connection.settings
        self._server = connection.settings.name
        self._mask = mask

    def at_start(self, cause: BaseException, phase: str) -> SourceFailed:
        """The connection never became usable."""
        cause = root_cause(cause)
        problem, next_step = self._start_problem(cause, phase)
        kind = LastingFailure if self._is_lasting(cause) else SourceFailed
        return kind(self._server, self._mask(problem), self._mask(next_step), self._last_words())

    def of_loss(self, kind: type[SourceClosed] = SourceClosed, during: str = "") -> SourceClosed:
        """A connection that worked has ended; `during` is what the server may have begun."""
        when = f" during {during}" if during else ""
        if self._connection.closed_on_purpose:
            problem, again = f"it was closed here{when}.", "The next use opens it again."
        else:
            how = self._connection.how_it_ended() or "it did not answer any more"
            problem = f"the connection was lost{when}: {how}."
            word = "started" if self._settings.transport == "stdio" else "connected"
            again = f"It is {word} again by itself; try the call again."
        next_step = _CHECK_FIRST if during.startswith("the call") else again
        return kind(self._server, self._mask(problem), next_step, self._last_words())

    def of_request(
        self, verdict: Verdict, cause: BaseException, what: str, seconds: float, lines_before: int
    ) -> XaiMcpError:
        """A request on a connection that was usable failed.

        `lines_before`: how many lines were in the server's stderr when the request was sent.
        """
        cause = root_cause(cause)
        match verdict:
            case "late":
                late = f"{what} timed out after {round(seconds, 2):g} s; the server was told"
                longer = f"Raise `timeout` of {self._server!r} in the settings if it needs longer."
                return ToolTimeout(self._server, f"{late} to stop.", longer, self._last_words())
            case "lost":
                return self.of_loss(during=what)
            case "unsent":
                return self.of_loss(NotSent)
            case "broken":
                problem = f"the connection broke off during {what}: {self._words_of(cause)}."
                words = self._last_words()
                return SourceClosed(self._server, self._mask(problem), _CHECK_FIRST, words)
            case "unsendable":
                return InvalidArguments(what, [self._words_of(cause)], "values that JSON can hold")
            case "refused":
                return self._refused(cause, what, lines_before)
            case "unreadable":
                problem = f"{what} returned an unusable response: {self._words_of(cause)}."
                words = self._last_words()
                return ServerError(self._server, self._mask(problem), 0, _REPORT_IT, words)

    def of_queue(self, what: str, seconds: float) -> ToolTimeout:
        """A request was not sent: those of other clients took too long."""
        waited = "calls of several clients go one at a time here, and it waited for others."
        own = 'give each client its own session, with `"session": "client"` in its settings.'
        return ToolTimeout(
            self._server, f"{what} timed out after {round(seconds, 2):g} s: {waited}",
            f"Try again later; or {own}", is_of_tool=True, besides=own,
        )  # fmt: skip

    def _refused(self, cause: BaseException, what: str, lines_before: int) -> ServerError:
        """Its words are the reason; what it wrote to stderr meanwhile can explain more."""
        code = cast(int, getattr(cause, "code", 0))
        problem = self._mask(f"{what} was refused: {self._words_of(cause)} (code {code}).")
        status = _http_status(cause) or 0
        known = _STATUS_HELP.get(status) or _CODE_HELP.get(code, _ASK_THE_SERVER)
        next_step = self._mask(str(_data(cause).get(NEXT_STEP) or known))
        words = self._connection.stderr.since(lines_before)
        sent = getattr(cause, "data", None) if TROUBLE not in _data(cause) else None
        data = redacted(sent, self._mask)
        return ServerError(self._server, problem, code, next_step, words, status, data)

    def _start_problem(self, cause: BaseException, phase: str) -> tuple[str, str]:
        """What prevented the start, and what to do about it."""
        settings, is_stdio = self._settings, self._settings.transport == "stdio"
        if isinstance(cause, TimeoutError):
            by_hand = "Start it by hand" if is_stdio else "Ask it by hand"
            older = ', set "mode": "legacy" if it only knows the older protocol'
            return (
                f"the start timed out after {settings.start_timeout_seconds:g} s, while {phase}.",
                f"{by_hand} to see what it waits for{older if settings.mode == 'auto' else ''}, "
                f'or raise "startTimeout" of {settings.name!r}.',
            )
        if isinstance(cause, WrongEra):
            return f"{cause}.", 'Remove "mode" from its settings, or set it to "auto".'
        if not is_stdio:
            return self._url_problem(cause)
        if isinstance(cause, OSError) and self._connection.process is None:
            return self._spawn_problem(cause)
        reason = self._connection.how_it_ended() or self._words_of(cause)
        command = settings.target
        if len(command) > _SHOWN_COMMAND:
            command = f"{command[:_SHOWN_COMMAND]}... (see its settings)"
        problem = f"it failed while {phase}: {reason}."
        return problem, f"Run it by hand to see more: {command}"

    def _spawn_problem(self, cause: OSError) -> tuple[str, str]:
        command, cwd = self._settings.command, self._settings.cwd
        if has_too_many_files(cause):
            return "it could not be started: too many files are open here.", FEWER_FILES
        if cause.filename and cause.filename == cwd:
            return f"its folder {cwd!r} does not exist.", "Correct `cwd` in the settings."
        hint = _RUNNERS.get(command, "Install it, or write its full path as `command`")
        if isinstance(cause, FileNotFoundError):
            return f"the command {command!r} was not found.", f"{hint}."
        return f"the command {command!r} cannot be run: {cause.strerror}.", f"{hint}."

    def _url_problem(self, cause: BaseException) -> tuple[str, str]:
        where, http = self._settings.target, self._connection
        if http.no_access:
            return http.no_access.problem, http.no_access.next_step
        if http.failure:
            return f"{where} cannot be reached: {http.failure}.", reaching_help(http.failure)
        status, words = self._status_at_start(cause), self._words_of(cause)
        if status and f"HTTP {status}" not in words:
            words = f"HTTP {status}: {words}"
        known = getattr(cause, "next_step", "") or _STATUS_HELP.get(status or 0, _IS_ENDPOINT)
        is_neither = self._settings.transport_is_guess and http.has_no_endpoint
        return f"{where} answered: {words}.", _NEITHER_KIND if is_neither else known

    def _is_lasting(self, cause: BaseException) -> bool:
        if isinstance(cause, WrongEra):
            return True
        if self._settings.transport != "stdio":
            return self._status_at_start(cause) in _LASTING_STATUSES
        is_spawn = isinstance(cause, OSError) and self._connection.process is None
        return is_spawn and not has_too_many_files(cause)

    def _status_at_start(self, cause: BaseException) -> int | None:
        last = self._connection.status or 0
        return _http_status(cause) or (last if last >= 300 else None)

    def _last_words(self) -> tuple[str, ...]:
        return self._connection.stderr.tail()

    def _words_of(self, cause: BaseException) -> str:
        return masked_and_cut(_words_of(cause), self._mask, _SHOWN_WORDS)


def verdict_on(cause: BaseException) -> Verdict:
    """What became of the request that raised this."""
    # Here, because the SDK, which brings it, is only imported once a server is started.
    from pydantic_core import PydanticSerializationError

    cause = root_cause(cause)
    if isinstance(cause, TimeoutError):
        return "late"
    if isinstance(cause, UnicodeEncodeError | PydanticSerializationError):
        return "unsendable"
    if isinstance(cause, NotDelivered):
        return "unsent"
    if isinstance(cause, ConnectionLost | anyio.ClosedResourceError | anyio.BrokenResourceError):
        return "lost"
    code = getattr(cause, "code", None)
    return _verdict_on_error(cause, code) if isinstance(code, int) else "unreadable"


def _verdict_on_error(cause: BaseException, code: int) -> Verdict:
    text = str(cause).lower()
    trouble = _data(cause).get(TROUBLE)
    if trouble == "unreadable" or text.startswith(_NOT_PARSED):
        return "unreadable"
    if trouble == "broken" or (code == _CONNECTION_CLOSED and text.startswith(_STREAM_BROKEN)):
        return "broken"
    if trouble is not None or text in _SESSION_GONE:
        return "unsent"
    is_late = code == _REQUEST_TIMEOUT and "timed out" in text
    return "late" if is_late else "refused"


def is_missing_method(error: XaiMcpError) -> bool:
    """Whether a server answered that it does not know the method at all."""
    return isinstance(error, ServerError) and error.code == METHOD_NOT_FOUND


def root_cause(cause: BaseException) -> BaseException:
    """The first real exception inside nested groups."""
    while isinstance(cause, BaseExceptionGroup):
        cause = cast("BaseExceptionGroup[BaseException]", cause).exceptions[0]
    return cause


def hung_up(cause: BaseException, connection: Connection) -> bool:
    """Whether the server ended the connection by itself during the handshake."""
    if connection.process is not None:
        return connection.process.stdout_ended and not isinstance(root_cause(cause), TimeoutError)
    cause = root_cause(cause)
    is_over = isinstance(cause, ConnectionLost)
    return is_over or getattr(cause, "code", None) == _CONNECTION_CLOSED


def _data(cause: BaseException) -> dict[str, Any]:
    data: Any = getattr(cause, "data", None)
    return cast(dict[str, Any], data) if isinstance(data, dict) else {}


def _http_status(cause: BaseException) -> int | None:
    status = _data(cause).get(HTTP_STATUS)
    if status is None:
        status = getattr(getattr(cause, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _words_of(cause: BaseException) -> str:
    """What an error says, in one line; one of our own without what stands around it."""
    if isinstance(problem := getattr(cause, "problem", None), str):
        return problem.rstrip(".")
    lines = str(cause)[:_MOST_CHARS].strip().splitlines()
    text = lines[0].rstrip(".") if lines else type(cause).__name__
    if text.lower().startswith(_NOT_PARSED):
        return "it is not a valid message"
    if text.startswith("Server returned InputRequiredResult"):
        return "it asked again and again, whatever it was answered"
    if isinstance(cause, NotDelivered):
        return "it takes no messages any more"
    if isinstance(cause, ConnectionLost):
        return "it ended the connection"
    if "task_status.started" in text:
        return "its stream ended before it said where messages go"
    return text
