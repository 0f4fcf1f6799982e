"""Every error a caller may meet. Each says what happened, where, and what to do next.

Ask whose turn it is: `SettingsError`, `UnknownServer`, `UnknownAgent` (a person
edits something), `InvalidArguments`, `UnknownTool` (the model tries again),
`SourceFailed`, `SourceClosed`, `ToolTimeout`, `ServerError` (the far side),
`ModelError` (the model's service). The facts are kept as attributes too.
"""

from __future__ import annotations

from collections.abc import Sequence


class XaiMcpError(Exception):
    """Base of all errors of this library; `str(error)` is the whole message for a person."""


class SettingsError(XaiMcpError):
    """Something in the settings file is wrong. One server is disabled by it, or the file is."""

    def __init__(self, file: str, key_path: str, problem: str, fix: str) -> None:
        where = f"{file}, at {key_path}" if key_path else file
        super().__init__(f"{where}: {problem} {fix}")
        self.file = file
        self.key_path = key_path
        self.problem = problem
        self.fix = fix


class UnknownServer(XaiMcpError):
    """A server name that the settings do not have."""

    def __init__(self, message: str, server: str, known: Sequence[str]) -> None:
        super().__init__(message)
        self.server = server
        self.known = tuple(known)


class UnknownAgent(XaiMcpError):
    """An agent name that no `AgentInit` has set up in this run."""


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


class SourceError(XaiMcpError):
    """Base for trouble with one source. `stderr_tail` is its own last words, newest last."""

    def __init__(
        self, source: str, problem: str, next_step: str = "", stderr_tail: Sequence[str] = ()
    ) -> None:
        text = f"{source}: {problem}"
        if stderr_tail:
            text += "\n  Its last words on stderr:\n" + "\n".join(f"    {x}" for x in stderr_tail)
        if next_step:
            text += f"\n  Next step: {next_step}"
        super().__init__(text)
        self.source = source
        self.problem = problem
        self.next_step = next_step
        self.stderr_tail = tuple(stderr_tail)


class SourceFailed(SourceError):
    """The source could not be started or reached."""


class SourceClosed(SourceError):
    """The source is not connected, or the connection was lost during the call."""


class ToolTimeout(SourceError):
    """No answer within the limit; the source was told to stop working on it."""


class ServerError(SourceError):
    """The source answered a request with a protocol error. `code` is its JSON-RPC code."""

    def __init__(
        self,
        source: str,
        problem: str,
        code: int,
        next_step: str = "",
        stderr_tail: Sequence[str] = (),
    ) -> None:
        super().__init__(source, problem, next_step, stderr_tail)
        self.code = code


class ModelError(XaiMcpError):
    """Base for trouble with the model's service."""


class ModelAuthenticationError(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""


class ModelRateLimited(ModelError):
    """Too many requests, or the account's quota is used up."""


class ModelContextOverflow(ModelError):
    """The conversation and the tools do not fit the model's context window."""


class ModelTimeout(ModelError):
    """The model's service did not answer within the limit."""


class ModelContentFiltered(ModelError):
    """The service's content filter stopped the answer."""


class ModelCannotCallFunctions(ModelError):
    """The model or its service refuses to be offered functions; the text protocol still works."""


class ModelUnreachable(ModelError):
    """The service cannot be reached, or answered with something that is not a model's reply."""
