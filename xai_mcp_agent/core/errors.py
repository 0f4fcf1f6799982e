"""Every error a caller may meet. Each says what happened, where, and what to do next.

Ask whose turn it is: `SettingsError`, `UnknownServer`, `UnknownAgent` (a person
edits something), `NotAccepted` (a person decides), `InvalidArguments`,
`UnknownTool`, `ToolDisabled` (the model tries something else), `SourceFailed`,
`SourceClosed`, `ToolTimeout`, `ServerError` (the far side), `ModelError` (the model's
service). The facts are kept as attributes too.
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
# Foreign words in a message must not move a terminal's cursor.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class XaiMcpError(Exception):
    """Base of all errors of this library; `str(error)` is the whole message for a person."""

    is_in_card = False
    """Whether the lab shows the message already, in the card of the run that it ended."""

    @property
    def _render_traceback_(self) -> Callable[[], list[str]]:
        """IPython, and so the lab's output panel, shows these lines in place of a traceback.

        Only when a node raised it: who writes Python wants to see where.

        Raises:
            AttributeError: no node raised it; IPython then shows what it always does.
        """
        if not self.told_by_node():
            raise AttributeError("_render_traceback_")
        if self.is_in_card:
            return lambda: [f"{self._stopped_at()} see the card above."]
        return lambda: self.told_by_node(_WIDTH)

    def told_by_node(self, width: int | None = None) -> list[str]:
        """The node that stopped, and the message; nothing where no node raised it.

        Lines are folded to `width` characters. Without one they stay as they are, so that a
        command in them can be copied.
        """
        title = self._stopped_at()
        return [title, "", *_indented(_CONTROLS.sub("?", str(self)), width)] if title else []

    def _stopped_at(self) -> str:
        node = node_in(self.__traceback__)
        return f"The workflow stopped at {node} ({type(self).__name__}):" if node else ""


def _indented(message: str, width: int | None) -> Iterator[str]:
    for line in textwrap.indent(message, _INDENT).splitlines():
        before = line[: len(line) - len(line.lstrip())]
        yield line if width is None else textwrap.fill(
            line.lstrip(), width, initial_indent=before, subsequent_indent=before,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


class SettingsError(XaiMcpError):
    """Something in the settings file is wrong. One server is disabled by it, or the file is."""

    def __init__(self, file: str, key_path: str, problem: str, fix: str) -> None:
        where = f"{file}, at {key_path}" if key_path else file
        super().__init__(f"{where}: {problem} {fix}")
        self.file, self.key_path = file, key_path
        self.problem, self.fix = problem, fix


class UnknownServer(XaiMcpError):
    """A server name that the settings do not have."""

    def __init__(self, message: str, server: str, known: Sequence[str]) -> None:
        super().__init__(message)
        self.server, self.known = server, tuple(known)


class BadSetting(XaiMcpError):
    """A value that is not allowed; the message names the port or argument and what is allowed."""


class UnknownAgent(XaiMcpError):
    """An agent name that no `AgentInit` set up in this run, or that the history does not know."""


class NoTools(XaiMcpError):
    """A run ended before its model was asked: its sources, or a required one, gave it no tool.

    `reasons` has one for each source without a tool.
    """

    stopped = "no_tools"
    """How the run ended, as the word in its transcript and on the port of AgentRun."""

    def __init__(self, problem: str, reasons: Sequence[str]) -> None:
        super().__init__("\n".join((problem, *reasons)))
        self.reasons = tuple(reasons)


class UnknownTool(XaiMcpError):
    """A tool name that nothing offers; the message names the nearest ones."""


class InvalidArguments(XaiMcpError):
    """Arguments that do not fit the tool's input schema. `problems` has one line for each."""

    def __init__(self, tool: str, problems: Sequence[str], expected: str) -> None:
        lines = "; ".join(x.rstrip(".") for x in problems)
        stop = "" if lines.endswith("?") else "."
        super().__init__(f"Wrong arguments for {tool}: {lines}{stop} Expected: {expected}.")
        self.tool = tool
        self.problems = tuple(problems)


class ToolDisabled(XaiMcpError):
    """A tool that a person has switched off was asked for by an agent."""


class NotAccepted(XaiMcpError):
    """A tool of a locked source that nobody has accepted as it is now; nothing was sent.

    `digest` is that of what the server says of it now; `like` an accepted tool for which its name
    may be taken.
    """

    def __init__(self, server: str, tool: str, digest: str, like: str = "") -> None:
        alike = f" Its name looks like that of {like!r}, which was accepted." if like else ""
        super().__init__(
            f"{server}: nobody has accepted yet what the server says of its tool {tool!r}, and the "
            f"server is locked.{alike} Nothing was sent.{_NEXT_STEP}{_accept_step(server, tool)}"
        )
        self.server, self.tool = server, tool
        self.digest, self.like = digest, like


class DefinitionChanged(NotAccepted):
    """The definition of a locked tool is not the one that was accepted; nothing was sent.

    `lines` tell what changed, all of it. They quote the server, so no model should read them.
    """

    _MOST_LINES = 100  # in the message; whoever accepts the tool is told all

    def __init__(self, server: str, tool: str, digest: str, lines: Sequence[str]) -> None:
        left = len(lines) - self._MOST_LINES
        more = [f"and {left:,} more changes"] if left > 0 else []
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
    """Nothing was accepted or approved: `digests` of what a person has to read, a line for each."""

    def __init__(
        self,
        server: str,
        problem: str,
        digests: Sequence[str],
        command: str,
        reading: str,
        done: str = "accepted",
    ) -> None:
        waiting = "".join(f"\n    {line}" for line in digests)
        verb = {"accepted": "accepts", "approved": "approves"}[done]
        super().__init__(
            f"{server}: nothing was {done}: {problem} What waits:{waiting}{_NEXT_STEP}read it "
            f"with `{reading}` in a terminal. If it is right, `{command}` {verb} it."
        )
        self.server = server
        self.digests = tuple(digests)


def _accept_step(server: str, tool: str) -> str:
    command = tool_command("accept", server, tool)
    return f"read it with `{command}`, and accept it if it is right."


class AcceptanceUnknown(XaiMcpError):
    """A locked tool was not called, because it cannot be looked up what was accepted of it."""

    def __init__(self, server: str, tool: str, problem: str) -> None:
        super().__init__(
            f"{server}: {tool!r} is locked, and it cannot be looked up which definition of it was "
            f"accepted. Nothing was sent. {problem}"
        )
        self.server, self.tool = server, tool


class NotApproved(XaiMcpError):
    """A call of an agent was not made: a person did not approve it, or was not there.

    The message is for a person; empty where they know it already. `for_model` tells the model.
    `is_answer`: somebody was asked, and said no.
    """

    def __init__(
        self, server: str, tool: str, for_model: str, message: str = "", *, is_answer: bool = False
    ) -> None:
        super().__init__(message)
        self.server, self.tool = server, tool
        self.for_model, self.is_answer = for_model, is_answer


class RuleDenied(NotApproved):
    """A call of an agent was not made: a rule does not allow it, or its limit is used up."""


class SourceError(XaiMcpError):
    """Base for trouble with one source. `stderr_tail` is its own last words, newest last.

    What is quoted of the source in `problem` and `next_step` is as it looks.
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
    """The source answered, and its answer leads where it may not send us."""


class CircuitOpen(SourceFailed):
    """It failed again and again, so it is left alone for a while. Nothing was sent.

    `retry_seconds`: how long until it is tried again.
    """

    def __init__(
        self, source: str, problem: str, next_step: str = "", retry_seconds: float = 0.0
    ) -> None:
        super().__init__(source, problem, next_step)
        self.retry_seconds = retry_seconds


class SessionsUsedUp(SourceError):
    """Each client of the source has a session of its own, and no more are allowed now."""


class SourceClosed(SourceError):
    """The source is not connected, or the connection was lost during the call."""


class ToolTimeout(SourceError):
    """No answer within the limit; the source was told to stop working on it.

    With `is_of_tool` it says nothing about the source's other tools. `besides` is what else helps
    than more time.
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
        """The same where the limit was the call's own, and not that of the settings."""
        more = f"Give the call more time with `timeout_seconds`; or {self.besides}"
        return ToolTimeout(
            self.source, self.problem, more, self.stderr_tail, is_of_tool=self.is_of_tool
        )


class ServerError(SourceError):
    """The source answered a request with a protocol error.

    `code` is its JSON-RPC code and `data` what it sent along, `status` that of HTTP where it
    answered with one of these.
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
    """Base for trouble with something that is kept at a `place`, shown without a password."""

    _what = _before_step = ""

    def __init__(self, place: str, problem: str, next_step: str = "") -> None:
        step = f"{self._before_step}{next_step}" if next_step else ""
        super().__init__(f"{self._what} in {place}: {problem}{step}")
        self.place, self.problem, self.next_step = place, problem, next_step


class StoreFailed(_PlaceError):
    """The store of the history cannot be used."""

    _what, _before_step = "The history", " "


class RulesUnknown(_PlaceError):
    """The rules of the store cannot be read, and the settings want them."""

    _what, _before_step = "The rules", _NEXT_STEP


class LockFailed(_PlaceError):
    """The file of what people decided cannot be read or written.

    `choices` are the decisions that count in this process only, because of it.
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

    `window_tokens` is how large that is, if the service said it.
    """

    def __init__(self, message: str, window_tokens: int | None = None) -> None:
        super().__init__(message)
        self.window_tokens = window_tokens


class ModelTimeout(ModelError):
    """The model's service did not answer within the limit."""


class ModelContentFiltered(ModelError):
    """The service's content filter stopped the answer."""


class ModelCannotCallFunctions(ModelError):
    """The model or its service refuses to be offered functions; the text protocol still works."""


class ModelAnswerMissing(ModelError):
    """The model ended its turn, was cut off or used up its turns, and had said nothing."""


class ModelAnswerInvalid(ModelError):
    """The answer does not fit the form that was asked for; `problems` has a line for each fault."""

    def __init__(self, message: str, problems: Sequence[str]) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class ModelUnreachable(ModelError):
    """The service cannot be reached, or answered with something that is not a model's reply."""


def let_go_of_frames(cause: BaseException) -> None:
    """Drop the tracebacks of an exception and of every one beneath it.

    They hold what was asked and with which key. Where one of them holds the exception too, all stay
    until the garbage collector comes; in Python 3.12 and 3.13 a block of `contextlib` that raises
    another exception in its place does that.
    """
    seen = set[int]()
    waiting: list[BaseException | None] = [cause]
    while waiting:
        error = waiting.pop()
        if error is not None and id(error) not in seen:
            seen.add(id(error))
            error.__traceback__ = None
            waiting += [error.__cause__, error.__context__]


def node_in(traceback: TracebackType | None) -> str | None:
    """The class of the node that a traceback leads to, the innermost one; None without any."""
    node = None
    while traceback is not None:
        node = _node_of(traceback.tb_frame.f_code) or node
        traceback = traceback.tb_next
    return node


def _node_of(code: CodeType) -> str | None:
    """The class, if this is the code of a node: its `execute` or `init`, which take `ctx`."""
    match = _NODE_METHOD.search(code.co_qualname)
    return match[1] if match and code.co_varnames[:2] == ("self", "ctx") else None
