"""Every error a caller may meet. Each says what happened, where, and what to do next.

The class says whose turn it is: `SettingsError`, `UnknownServer`, `UnknownAgent` (a person edits
something), `NotAccepted` (a person decides), `InvalidArguments`, `UnknownTool`, `ToolDisabled` (the
model tries something else), `SourceFailed`, `SourceClosed`, `ToolTimeout`, `ServerError` (the far
side), `ModelError` (the model's service). The facts are attributes too.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, TracebackType
from typing import Any

from .shell import tool_command
from .visible import visible

_WIDTH = 80  # the lab's panel breaks longer lines in the middle of a word
_INDENT = "  "
_NEXT_STEP = "\n  Next step: "
_NODE_METHOD = re.compile(r"(\w+)\.(?:execute|init)$")
# Text from outside in a message must not move a terminal's cursor.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

PROGRAM_ERRORS = (Exception, SystemExit, KeyboardInterrupt)
"""Errors that a function of the program may raise: the last two would end the event loop."""


class XaiMcpError(Exception):
    """Base of all errors of this library; `str(error)` is the whole message for a person."""

    is_in_card = False
    """Whether the lab already shows the message, in the card of the run that it ended."""

    @property
    def _render_traceback_(self) -> Callable[[], list[str]]:
        """Lines that IPython, and so the lab's output panel, shows instead of a traceback.

        Only for an error that a node raised: a Python programmer wants the traceback.

        Raises:
            AttributeError: no node raised it; IPython then shows its usual traceback.
        """
        if not self.node_message():
            raise AttributeError("_render_traceback_")
        if self.is_in_card:
            return lambda: [f"{self._stopped_at()} see the card above."]
        return lambda: self.node_message(_WIDTH)

    def node_message(self, width: int | None = None) -> list[str]:
        """Return lines with the node that stopped and the message; none if no node raised it.

        Lines are folded to `width` characters. Without a width they stay as they are, so that a
        command in them can be copied.
        """
        title = self._stopped_at()
        return [title, "", *_indent(_CONTROLS.sub("?", str(self)), width)] if title else []

    def _stopped_at(self) -> str:
        node = node_in(self.__traceback__)
        return f"The workflow stopped at {node} ({type(self).__name__}):" if node else ""


def _indent(message: str, width: int | None) -> Iterator[str]:
    for line in textwrap.indent(message, _INDENT).splitlines():
        before = line[: len(line) - len(line.lstrip())]
        yield line if width is None else textwrap.fill(
            line.lstrip(), width, initial_indent=before, subsequent_indent=before,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


class SettingsError(XaiMcpError):
    """An error in the settings file, which disables one server or the whole file."""

    def __init__(self, file: str, key_path: str, problem: str, fix: str) -> None:
        where = f"{file}, at {key_path}" if key_path else file
        super().__init__(f"{where}: {problem} {fix}")
        self.file, self.key_path = file, key_path
        self.problem, self.fix = problem, fix


class UnknownServer(XaiMcpError):
    """A server name that is not in the settings."""

    def __init__(self, message: str, server: str, known: Sequence[str]) -> None:
        super().__init__(message)
        self.server, self.known = server, tuple(known)


class BadSetting(XaiMcpError):
    """A value that is not allowed; the message names the port or argument and what is allowed."""


class UnknownAgent(XaiMcpError):
    """An agent name that no `AgentInit` set up in this run, or that is not in the history."""


class NoTools(XaiMcpError):
    """The run ended before the model was called, because all sources or a required one had no tool.

    `reasons` has one entry for each source without a tool.
    """

    stopped = "no_tools"
    """How the run ended, in the word that its transcript and the port of AgentRun use."""

    def __init__(self, problem: str, reasons: Sequence[str]) -> None:
        super().__init__("\n".join((problem, *reasons)))
        self.reasons = tuple(reasons)


class UnknownTool(XaiMcpError):
    """A tool name that no source offers; the message suggests the nearest ones."""


class InvalidArguments(XaiMcpError):
    """Arguments that do not fit the tool's input schema. `problems` has one line for each."""

    def __init__(self, tool: str, problems: Sequence[str], expected: str) -> None:
        lines = "; ".join(x.rstrip(".") for x in problems)
        stop = "" if lines.endswith("?") else "."
        super().__init__(f"Wrong arguments for {tool}: {lines}{stop} Expected: {expected}.")
        self.tool = tool
        self.problems = tuple(problems)


class ToolDisabled(XaiMcpError):
    """An agent called a tool that a person has switched off."""


class NotAccepted(XaiMcpError):
    """The current definition of a locked source's tool is not accepted; nothing was sent.

    `digest` is the digest of the current definition; `like` is an accepted tool with a confusingly
    similar name.
    """

    def __init__(self, server: str, tool: str, digest: str, like: str = "") -> None:
        alike = f" Its name looks like that of {like!r}, which was accepted." if like else ""
        super().__init__(
            f"{server}: the definition of {tool!r} has not been accepted yet, and the tool is "
            f"locked.{alike} Nothing was sent.{_NEXT_STEP}{_accept_step(server, tool)}"
        )
        self.server, self.tool = server, tool
        self.digest, self.like = digest, like


class DefinitionChanged(NotAccepted):
    """The definition of a locked tool is not the accepted one; nothing was sent.

    `lines` list every change. They quote the server, so no model should read them.
    """

    _MOST_LINES = 100  # in the message; whoever accepts the tool sees all

    def __init__(self, server: str, tool: str, digest: str, lines: Sequence[str]) -> None:
        remaining = len(lines) - self._MOST_LINES
        more = [f"and {remaining:,} more changes"] if remaining > 0 else []
        changes = "".join(f"\n    {line}" for line in (*lines[: self._MOST_LINES], *more))
        XaiMcpError.__init__(
            self,
            f"{server}: the definition of {tool!r} has changed since it was accepted, and the tool "
            f"is locked. Nothing was sent. What changed:{changes}{_NEXT_STEP}"
            f"{_accept_step(server, tool)}",
        )
        self.server, self.tool = server, tool
        self.digest, self.like, self.lines = digest, "", tuple(lines)


class ReviewNeeded(XaiMcpError):
    """A person must read `digests`, one line for each, before they are accepted or approved."""

    def __init__(
        self,
        server: str,
        problem: str,
        digests: Sequence[str],
        command: str,
        reading: str,
        decision: str = "accepted",
    ) -> None:
        lines = "".join(f"\n    {line}" for line in digests)
        verb = {"accepted": "accepts", "approved": "approves"}[decision]
        super().__init__(
            f"{server}: nothing was {decision}: {problem} What waits:{lines}{_NEXT_STEP}read it "
            f"with `{reading}` in a terminal. If it is right, `{command}` {verb} it."
        )
        self.server = server
        self.digests = tuple(digests)


def _accept_step(server: str, tool: str) -> str:
    command = tool_command("accept", server, tool)
    return f"read it with `{command}`, and accept it if it is right."


class AcceptanceUnknown(XaiMcpError):
    """A locked tool was not called, because the accepted definitions cannot be read."""

    def __init__(self, server: str, tool: str, problem: str) -> None:
        super().__init__(
            f"{server}: {tool!r} is locked, and its accepted definition cannot be looked up. "
            f"Nothing was sent. {problem}"
        )
        self.server, self.tool = server, tool


class NotApproved(XaiMcpError):
    """An agent's call was not made: a person did not approve it, or none was there.

    The message is for a person; it is empty if the person knows already. `for_model` is for the
    model. `is_answer` means that a person was asked and refused.
    """

    def __init__(
        self, server: str, tool: str, for_model: str, message: str = "", *, is_answer: bool = False
    ) -> None:
        super().__init__(message)
        self.server, self.tool = server, tool
        self.for_model, self.is_answer = for_model, is_answer


class RuleDenied(NotApproved):
    """An agent's call was not made: a rule does not allow it, or its limit is used up."""


class SourceError(XaiMcpError):
    """Base for trouble with one source. `stderr_tail` are its last lines of output, newest last.

    Text quoted from the source in `problem` and `next_step` has no invisible characters.
    """

    def __init__(
        self, source: str, problem: str, next_step: str = "", stderr_tail: Sequence[str] = ()
    ) -> None:
        problem, next_step = visible(problem), visible(next_step)
        text = f"{source}: {problem}"
        if stderr_tail:
            text += "\n  Its last words on stderr:\n" + "\n".join(f"    {x}" for x in stderr_tail)
        if next_step:
            text += _NEXT_STEP + next_step
        super().__init__(text)
        self.source, self.stderr_tail = source, tuple(stderr_tail)
        self.problem, self.next_step = problem, next_step


class SourceFailed(SourceError):
    """The source could not be started or reached."""


class Misdirected(SourceFailed):
    """The source redirects to an address that is not allowed."""


class CircuitOpen(SourceFailed):
    """The source failed repeatedly, so it is not called for a while. Nothing was sent.

    `retry_seconds` is the time until the next try.
    """

    def __init__(
        self, source: str, problem: str, next_step: str = "", retry_seconds: float = 0.0
    ) -> None:
        super().__init__(source, problem, next_step)
        self.retry_seconds = retry_seconds


class SessionsUsedUp(SourceError):
    """Each client of the source has its own session, and the limit of sessions is reached."""


class SourceClosed(SourceError):
    """The source is not connected, or the connection was lost during the call."""


class ToolTimeout(SourceError):
    """No answer within the limit; the source was asked to cancel.

    With `is_of_tool` it says nothing about the source's other tools. `besides` is what else helps,
    other than more time.
    """

    def __init__(
        self,
        source: str,
        problem: str,
        next_step: str = "",
        stderr_tail: Sequence[str] = (),
        *,
        is_of_tool: bool = False,
        besides: str = "ask for less.",
    ) -> None:
        super().__init__(source, problem, next_step, stderr_tail)
        self.is_of_tool = is_of_tool
        self.besides = besides

    def of_call(self) -> ToolTimeout:
        """Return the same error for a limit that the call set, not the settings."""
        more = f"Give the call more time with `timeout_seconds`; or {self.besides}"
        return ToolTimeout(
            self.source, self.problem, more, self.stderr_tail, is_of_tool=self.is_of_tool
        )


class ServerError(SourceError):
    """The source answered a request with a protocol error.

    `code` is its JSON-RPC code and `data` the data it sent; `status` is the HTTP status, if it
    answered with one.
    """

    def __init__(
        self,
        source: str,
        problem: str,
        code: int,
        next_step: str = "",
        stderr_tail: Sequence[str] = (),
        status: int = 0,
        data: Any = None,
    ) -> None:
        super().__init__(source, problem, next_step, stderr_tail)
        self.code, self.data = code, data
        self.status = status


class _PlaceError(XaiMcpError):
    """Base for trouble with stored data; `place` is its file or address, without a password."""

    _what = _before_step = ""

    def __init__(self, place: str, problem: str, next_step: str = "") -> None:
        step = f"{self._before_step}{next_step}" if next_step else ""
        super().__init__(f"{self._what} in {place}: {problem}{step}")
        self.place, self.problem, self.next_step = place, problem, next_step


class StoreFailed(_PlaceError):
    """The store of the history cannot be used."""

    _what, _before_step = "The history", " "


class RulesUnknown(_PlaceError):
    """The rules of the store cannot be read, and the settings require them."""

    _what, _before_step = "The rules", _NEXT_STEP


class LockFailed(_PlaceError):
    """The file of people's decisions cannot be read or written.

    `choices` are the decisions that therefore apply in this process only.
    """

    _what, _before_step = "The decisions", _NEXT_STEP
    choices: Sequence[Any] = ()


class ModelError(XaiMcpError):
    """Base for trouble with the model's service."""


class ModelAuthenticationError(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""


class ModelRateLimited(ModelError):
    """Too many requests, or the account's quota is used up."""


class ModelContextOverflow(ModelError):
    """The conversation and the tools do not fit the model's context window.

    `window_tokens` is the size of the window, if the service reported it.
    """

    def __init__(self, message: str, window_tokens: int | None = None) -> None:
        super().__init__(message)
        self.window_tokens = window_tokens


class ModelTimeout(ModelError):
    """The model's service did not answer within the limit."""


class ModelContentFiltered(ModelError):
    """The service's content filter stopped the answer."""


class ModelCannotCallFunctions(ModelError):
    """The model or its service does not take functions; the text protocol still works."""


class ModelAnswerMissing(ModelError):
    """The model ended its turn, was cut off or used up its turns without an answer."""


class ModelAnswerInvalid(ModelError):
    """The answer does not fit the requested form; `problems` has one line for each fault."""

    def __init__(self, message: str, problems: Sequence[str]) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class ModelUnreachable(ModelError):
    """The service cannot be reached, or its response is not a model's reply."""


def drop_tracebacks(cause: BaseException) -> None:
    """Drop the tracebacks of an exception and of all its causes.

    Tracebacks hold the request and its key. If one of them holds the exception too, all stay until
    the garbage collector runs. In Python 3.12 and 3.13 that happens when a `contextlib` block
    raises another exception instead.
    """
    visited = set[int]()
    queue: list[BaseException | None] = [cause]
    while queue:
        error = queue.pop()
        if error is not None and id(error) not in visited:
            visited.add(id(error))
            error.__traceback__ = None
            queue += [error.__cause__, error.__context__]


def node_in(traceback: TracebackType | None) -> str | None:
    """Return the class of the innermost node in a traceback, or None."""
    node = None
    while traceback is not None:
        node = _node_of(traceback.tb_frame.f_code) or node
        traceback = traceback.tb_next
    return node


def _node_of(code: CodeType) -> str | None:
    """Return the class if this is the code of a node: its `execute` or `init`, which take `ctx`."""
    match = _NODE_METHOD.search(code.co_qualname)
    return match[1] if match and code.co_varnames[:2] == ("self", "ctx") else None
