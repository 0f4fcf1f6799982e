"""Errors about one server, made from exceptions: the problem, its reason, and the next step."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar, cast

import anyio

from ...core.errors import (
    InvalidArguments,
    ServerError,
    SourceClosed,
    SourceError,
    SourceFailed,
    ToolTimeout,
    XaiMcpError,
)
from ...core.json import JsonObject, as_object
from ...secrets.redactor import redact_value
from ...secrets.secrets import Mask, mask_and_cut
from ..web.network_errors import (
    CHECK_FIRST,
    FEWER_FILES,
    STATUS_HELP,
    has_too_many_files,
    reaching_help,
)
from .connection import (
    HTTP_STATUS,
    METHOD_NOT_FOUND,
    NEXT_STEP,
    TROUBLE,
    Connection,
    ConnectionLost,
    NotDelivered,
)

E = TypeVar("E", bound=SourceError)

Verdict: TypeAlias = Literal[
    "late", "lost", "unsent", "broken", "unsendable", "refused", "unreadable"
]
"""Outcome of a failed request.

late: no response in time. lost: the connection is over. unsent: the connection is over, and the
request never arrived. broken: this response is lost, but the connection may be fine. unsendable:
the request cannot be JSON. refused: the response is an error. unreadable: the response is unusable.
"""

# JSON-RPC codes of the SDK (mcp.types); some servers also use them for their own errors.
_CONNECTION_CLOSED = -32000
_REQUEST_TIMEOUT = -32001
_STREAM_BROKEN = "sse stream"
_NOT_PARSED = "failed to parse"

_ERRORS: dict[Verdict, tuple[type[SourceError], str, str]] = {
    "late": (
        ToolTimeout,
        "{operation} timed out after {seconds:g} s; we asked the server to stop.",
        "Raise `timeout` of {server!r} in the settings if it needs longer.",
    ),
    "broken": (SourceClosed, "the connection broke off during {operation}: {reason}.", CHECK_FIRST),
    "unreadable": (
        ServerError,
        "{operation} returned an unusable response: {reason}.",
        "Report it to the server's authors; its other tools are not affected.",
    ),
    "refused": (
        ServerError,
        "{operation} was refused: {reason} (code {code}).",
        "This is the server's own message: its documentation or its log may say more.",
    ),
}
"""Error type, problem and next step of a request, by verdict."""

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
_HELP = {
    **STATUS_HELP,
    **dict.fromkeys(
        (301, 302, 303, 307, 308), "Write the address where the server really is as `url`."
    ),
    401: "It wants authorization: add a valid `Authorization` header under `headers`.",
    404: "There is no MCP endpoint at this URL: check its path (often /mcp or /sse).",
    405: 'The URL may be of the older kind: set "type": "sse".',
    502: "A gateway in front of it failed: check whether the call was carried out.",
    504: "A gateway in front of it got no answer: check whether the call was carried out.",
    -32042: "Complete the steps on the page that was opened, then call again.",
    METHOD_NOT_FOUND: "List its tools again, or look for a newer version of it.",
    -32602: "Check the name and the arguments against its listing.",
}
"""Next steps by HTTP status or JSON-RPC code."""

_MAX_REASON_CHARS = 1000  # characters; a model may need them to correct its arguments
_MAX_COMMAND_CHARS = 1000  # characters, so that the error stays readable
_LASTING_STATUSES = (401, 403, 404, 405)
_NEITHER_KIND = (
    "There is no MCP endpoint at this URL, also not of the older kind (SSE): check its path (often "
    "/mcp or /sse)."
)
_IS_ENDPOINT = "Check that `url` is an MCP endpoint (often it ends in /mcp or /sse)."


class NotSent(SourceClosed):
    """The connection was lost before the request arrived: it may safely be sent again."""


class LastingFailure(SourceFailed):
    """The server cannot be used until a person has changed something; retries are in vain."""


class WrongEra(Exception):
    """The server speaks another protocol version than the settings demand."""

    def __init__(self, spoken: str, demanded: str) -> None:
        super().__init__(f"it speaks protocol {spoken}, and the settings demand {demanded}")


class Failures:
    """Errors of one connection, with known secrets hidden by `mask`."""

    def __init__(self, connection: Connection, mask: Mask) -> None:
        self._connection = connection
        self._settings = connection.settings
        self._mask = mask

    def at_start(self, cause: BaseException, phase: str) -> SourceFailed:
        """Return the error for a connection that never became usable."""
        cause = root_cause(cause)
        problem, next_step = self._start_problem(cause, phase)
        return self._error(
            LastingFailure if self._is_lasting(cause) else SourceFailed, problem, next_step
        )

    def of_loss(self, kind: type[SourceClosed] = SourceClosed, during: str = "") -> SourceClosed:
        """Return the error for a lost connection; the server may have begun `during`."""
        when = f" during {during}" if during else ""
        if self._connection.closed_on_purpose:
            problem, next_step = f"it was closed here{when}.", "The next use opens it again."
        else:
            reason = self._connection.end_reason() or "it stopped answering"
            problem = f"the connection was lost{when}: {reason}."
            verb = "started" if self._settings.transport == "stdio" else "connected"
            next_step = f"It is {verb} again automatically; try the call again."
        return self._error(
            kind, problem, CHECK_FIRST if during.startswith("the call") else next_step
        )

    def of_request(
        self,
        verdict: Verdict,
        cause: BaseException,
        operation: str,
        seconds: float,
        lines_before: int,
    ) -> XaiMcpError:
        """Return the error for a failed request on a usable connection.

        `lines_before` is the number of lines in the server's stderr when the request was sent.
        """
        cause, reason = root_cause(cause), self._reason_of(cause)
        if verdict == "lost":
            return self.of_loss(during=operation)
        if verdict == "unsent":
            return self.of_loss(NotSent)
        if verdict == "unsendable":
            return InvalidArguments(operation, [reason], "values that JSON can hold")
        kind, problem, next_step = _ERRORS[verdict]
        code = _code(cause) or 0
        facts = {
            "operation": operation, "reason": reason, "code": code, "server": self._settings.name,
        }  # fmt: skip
        problem = problem.format(**facts, seconds=round(seconds, 2))
        if verdict != "refused":
            more = {"code": 0} if kind is ServerError else {}
            return self._error(kind, problem, next_step.format(**facts), **more)
        # The server gives the reason; its stderr during the request can explain more.
        status, data = _http_status(cause) or 0, _data(cause)
        next_step = str(data.get(NEXT_STEP) or _HELP.get(status) or _HELP.get(code, next_step))
        server_data = getattr(cause, "data", None) if TROUBLE not in data else None
        return self._error(
            kind, problem, next_step, stderr_tail=self._connection.stderr.since(lines_before),
            code=code, status=status, data=redact_value(server_data, self._mask),
        )  # fmt: skip

    def of_queue(self, operation: str, seconds: float) -> ToolTimeout:
        """Return the error for a request that other clients kept from being sent in time."""
        reason = "calls of several clients go one at a time here, and it waited for others."
        own_session = (
            'give each client its own session, with `"session": "client"` in its settings.'
        )
        return ToolTimeout(
            self._settings.name, f"{operation} timed out after {round(seconds, 2):g} s: {reason}",
            f"Try again later; or {own_session}", is_of_tool=True, besides=own_session,
        )  # fmt: skip

    def _error(self, kind: type[E], problem: str, next_step: str, **more: Any) -> E:
        fields = {"stderr_tail": self._connection.stderr.tail(), **more}
        return kind(
            self._settings.name, self._mask(problem), next_step=self._mask(next_step), **fields
        )

    def _start_problem(self, cause: BaseException, phase: str) -> tuple[str, str]:
        """Return why the start failed, and the next step."""
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
        reason = self._connection.end_reason() or self._reason_of(cause)
        command = settings.target
        if len(command) > _MAX_COMMAND_CHARS:
            command = f"{command[:_MAX_COMMAND_CHARS]}... (see its settings)"
        return f"it failed while {phase}: {reason}.", f"Run it by hand to see more: {command}"

    def _spawn_problem(self, cause: OSError) -> tuple[str, str]:
        command, cwd = self._settings.command, self._settings.cwd
        if has_too_many_files(cause):
            return "it could not be started: too many files are open here.", FEWER_FILES
        if cause.filename and cause.filename == cwd:
            return f"its folder {cwd!r} does not exist.", "Correct `cwd` in the settings."
        is_missing = isinstance(cause, FileNotFoundError)
        why = "was not found" if is_missing else f"cannot be run: {cause.strerror}"
        hint = _RUNNERS.get(command, "Install it, or write its full path as `command`")
        return f"the command {command!r} {why}.", f"{hint}."

    def _url_problem(self, cause: BaseException) -> tuple[str, str]:
        where, connection = self._settings.target, self._connection
        if connection.no_access:
            return connection.no_access.problem, connection.no_access.next_step
        if failure := connection.failure:
            return f"{where} cannot be reached: {failure}.", reaching_help(failure)
        status, reason = self._status_at_start(cause), self._reason_of(cause)
        if status and f"HTTP {status}" not in reason:
            reason = f"HTTP {status}: {reason}"
        if self._settings.transport_is_guess and connection.has_no_endpoint:
            return f"{where} answered: {reason}.", _NEITHER_KIND
        next_step = getattr(cause, "next_step", "") or _HELP.get(status or 0, _IS_ENDPOINT)
        return f"{where} answered: {reason}.", next_step

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

    def _reason_of(self, cause: BaseException) -> str:
        return mask_and_cut(_reason_of(root_cause(cause)), self._mask, _MAX_REASON_CHARS)


def verdict_on(cause: BaseException) -> Verdict:
    """Return the verdict on a request that raised `cause`."""
    # Imported here, because the SDK brings it and is only imported once a server is started.
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
    code, text, trouble = _code(cause), str(cause).lower(), _data(cause).get(TROUBLE)
    if code is None or trouble == "unreadable" or text.startswith(_NOT_PARSED):
        return "unreadable"
    if trouble == "broken" or (code == _CONNECTION_CLOSED and text.startswith(_STREAM_BROKEN)):
        return "broken"
    if trouble is not None:
        return "unsent"
    return "late" if code == _REQUEST_TIMEOUT and "timed out" in text else "refused"


def is_missing_method(error: XaiMcpError) -> bool:
    """Return whether the server answered that it does not know the method."""
    return isinstance(error, ServerError) and error.code == METHOD_NOT_FOUND


def root_cause(cause: BaseException) -> BaseException:
    """Return the first real exception inside nested groups."""
    while isinstance(cause, BaseExceptionGroup):
        cause = cast("BaseExceptionGroup[BaseException]", cause).exceptions[0]
    return cause


def hung_up(cause: BaseException, connection: Connection) -> bool:
    """Return whether the server itself ended the connection during the handshake."""
    cause = root_cause(cause)
    if connection.process is not None:
        return connection.process.stdout_ended and not isinstance(cause, TimeoutError)
    return isinstance(cause, ConnectionLost) or _code(cause) == _CONNECTION_CLOSED


def _code(cause: BaseException) -> int | None:
    code = getattr(cause, "code", None)
    return code if isinstance(code, int) else None


def _data(cause: BaseException) -> JsonObject:
    return as_object(getattr(cause, "data", None))


def _http_status(cause: BaseException) -> int | None:
    response = getattr(cause, "response", None)
    status = _data(cause).get(HTTP_STATUS) or getattr(response, "status_code", None)
    return status if isinstance(status, int) else None


def _reason_of(cause: BaseException) -> str:
    """Return an error's text in one line; for an error of our own, only its problem."""
    if isinstance(problem := getattr(cause, "problem", None), str):
        return problem.rstrip(".")
    lines = str(cause).strip().splitlines()
    text = lines[0].rstrip(".") if lines else type(cause).__name__
    if text.lower().startswith(_NOT_PARSED):
        return "it is not a valid message"
    if text.startswith("Server returned InputRequiredResult"):
        return "it kept asking, whatever the answer"
    return text
