"""Requests of a server to its client: questions to a person, sampling, roots and the log.

A callback passed to the SDK's client declares the capability, so callbacks exist only for the
features offered to this server. They serve both eras: in the older one the server asks in the
middle of a call; on 2026-07-28 the SDK calls again with the answers.

Import it only after the SDK is loaded.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any, get_args

import anyio
import mcp_types as types
from mcp import Client, MCPError
from pydantic import FileUrl, ValidationError

from ...core.json import JsonObject
from ...core.questions import (
    Answer,
    Question,
    SamplingMessage,
    SamplingRefused,
    SamplingReply,
    SamplingRequest,
    ToolUse,
    ToolUseResult,
    answer_with_defaults,
)
from ...core.schema_check import SchemaCheck
from ...core.visible import visible_text
from ...settings.server import ServerSettings
from . import convert
from .connection import Connection, is_modern
from .requests import Requests

logger = logging.getLogger(__name__)

# Loggers of servers. They print nothing unless the program sets up logging.
SERVERS = logging.getLogger("xai_mcp_agent.servers")
SERVERS.addHandler(logging.NullHandler())

_LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)  # least serious first
_IN_PYTHON = {
    "debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO,
    "warning": logging.WARNING, "error": logging.ERROR,
}  # fmt: skip
_MAX_LOG_CHARS = 20_000
_MAX_SYSTEM_CHARS = 200_000  # of a system prompt
_REJECTED = -1  # the protocol's code for a person's refusal


class ClientFeatures:
    """Client features of one connection."""

    def __init__(self, connection: Connection, requests: Requests) -> None:
        self.roots = Roots(connection.settings)
        self.log = ServerLog(connection, requests)
        self.elicitation = Elicitation(connection, requests)
        self._sampling = Sampling(connection, requests)
        self._settings = connection.settings

    def callbacks(self) -> dict[str, Any]:
        """Return the arguments that the SDK's client is made with."""
        options: dict[str, Any] = {"log_level": self.log.level}
        if self._settings.elicitation != "decline":
            options["elicitation_callback"] = self.elicitation.answer
        if self._settings.sampling == "allow":
            tools = types.SamplingToolsCapability()
            options["sampling_callback"] = self._sampling.answer
            options["sampling_capabilities"] = types.SamplingCapability(tools=tools)
        if self.roots.is_offered:
            options["list_roots_callback"] = self.roots.answer
        return options


class Elicitation:
    """Questions of a server to a person."""

    def __init__(self, connection: Connection, requests: Requests) -> None:
        self._settings = connection.settings
        self._clocks = connection.clocks
        self._requests = requests

    async def answer(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Answer the SDK's callback. Never raises: the server reads a failure as a refusal."""
        question = self._question(params)
        with self._clocks.pause():
            answer = _check_answer(question, await self._answer(question))
        if answer.action != "accept":
            self._note(answer)
        content = answer.content if question.schema is not None else None
        return types.ElicitResult(
            action=answer.action, content=content if answer.action == "accept" else None
        )

    async def open_pages(self, refusal: Exception) -> None:
        """Open the pages that a server demands before it accepts a call.

        The call still fails, because the person's part takes time.
        """
        for params in _pages_in(refusal):
            if (await self.answer(None, params)).action != "accept":
                break

    def _question(self, params: types.ElicitRequestParams) -> Question:
        name, limit = self._settings.name, self._settings.elicitation_timeout_seconds
        if params.mode == "url":
            return Question.from_server(name, params.message, None, params.url, limit)
        schema = {"type": "object", **params.requested_schema}
        return Question.from_server(name, params.message, schema, limit_seconds=limit)

    async def _answer(self, question: Question) -> Answer:
        if self._settings.elicitation == "defaults":
            return answer_with_defaults(question)
        with anyio.move_on_after(question.limit_seconds):
            return await self._requests.asker().answer(question)
        return Answer.cancelled(f"nobody answered within {question.limit_seconds:g} s")

    def _note(self, answer: Answer) -> None:
        outcome = "was declined" if answer.action == "decline" else "was not answered"
        reason = answer.reason.rstrip(".")
        text = f"A question of the server {outcome}" + (f": {reason}." if reason else ".")
        self._requests.note(text)
        SERVERS.getChild(self._settings.name).warning("%s", text)


def _pages_in(refusal: Exception) -> list[types.ElicitRequestURLParams]:
    """Return the pages that an error names (MCP 2025-11-25)."""
    if not isinstance(refusal, MCPError) or refusal.code != types.URL_ELICITATION_REQUIRED:
        return []
    try:
        return types.ElicitationRequiredErrorData.model_validate(refusal.data).elicitations
    except ValidationError:
        return []


def _check_answer(question: Question, answer: Answer) -> Answer:
    """Return the answer, or a cancelled one if its content does not fit the form."""
    if answer.action != "accept" or question.schema is None:
        return answer
    problems = SchemaCheck(question.schema).problems(answer.content or {})
    if problems:
        return Answer.cancelled(f"the answer does not fit the form: {'; '.join(problems)}")
    return Answer.accepted(answer.content or {})


class Sampling:
    """Sampling requests of a server to its caller's model, within limits."""

    def __init__(self, connection: Connection, requests: Requests) -> None:
        self._settings = connection.settings
        self._clocks = connection.clocks
        self._requests = requests

    async def answer(
        self, _context: Any, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData:
        """Answer the SDK's callback. Never raises: the server gets an error instead."""
        try:
            self._count()
            with self._clocks.pause():
                request = _request_of(params, self._settings)
                reply = await self._requests.sampler()(request)
        except SamplingRefused as reason:
            return types.ErrorData(code=_REJECTED, message=self._refuse(str(reason)))
        except Exception as cause:
            logger.exception("asking the model for %s failed", self._settings.name)
            why = f"the model could not be asked ({type(cause).__name__})"
            return types.ErrorData(code=types.INTERNAL_ERROR, message=self._refuse(why))
        return _result_of(reply, with_tools=bool(params.tools))

    def _count(self) -> None:
        limit = self._settings.sampling_max_calls
        for request in self._requests.asking()[-1:]:
            request.samples += 1
            if request.samples > limit:
                raise SamplingRefused(f"one call may ask the model {limit} times at most")

    def _refuse(self, reason: str) -> str:
        text = f"A request to the model was refused: {reason.rstrip('.')}."
        self._requests.note(text)
        SERVERS.getChild(self._settings.name).warning("%s", text)
        return text


def _request_of(
    params: types.CreateMessageRequestParams, settings: ServerSettings
) -> SamplingRequest:
    choice = params.tool_choice.mode if params.tool_choice else None
    return SamplingRequest(
        server=settings.name,
        messages=tuple(
            SamplingMessage(x.role, tuple(_part_of(_json_of(block)) for block in x.content_as_list))
            for x in params.messages
        ),
        max_tokens=max(1, min(params.max_tokens, settings.sampling_max_tokens)),
        system=visible_text(params.system_prompt or "", _MAX_SYSTEM_CHARS),
        temperature=params.temperature,
        stop_sequences=tuple(params.stop_sequences or ()),
        tools=tuple(convert.tool_of(settings.name, _json_of(x)) for x in params.tools or ()),
        may_use_tools=choice != "none",
    )


def _json_of(model: Any) -> JsonObject:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def _part_of(block: JsonObject) -> Any:
    match block["type"]:
        case "tool_use":
            return ToolUse(block["id"], block["name"], block["input"])
        case "tool_result":
            parts = tuple(convert.visible_part(convert.part_of(x)) for x in block["content"])
            return ToolUseResult(block["toolUseId"], parts, bool(block.get("isError")))
        case _:
            return convert.visible_part(convert.part_of(block))


def _result_of(
    reply: SamplingReply, *, with_tools: bool
) -> types.CreateMessageResult | types.CreateMessageResultWithTools:
    text = types.TextContent(text=reply.text)
    if not with_tools:
        return types.CreateMessageResult(
            role="assistant", content=text, model=reply.model, stop_reason=reply.stop
        )
    uses = [types.ToolUseContent(id=x.id, name=x.name, input=x.arguments) for x in reply.uses]
    return types.CreateMessageResultWithTools(
        role="assistant",
        content=[*([text] if reply.text or not uses else []), *uses],
        model=reply.model,
        stop_reason=reply.stop,
    )


class Roots:
    """Folders that a server may work with; `last_folders` is the last answer.

    `server-filesystem` allows only these and ignores the folders in its arguments. So the default
    is the folders in its arguments, or the working folder if there are none.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self.last_folders: tuple[str, ...] = ()

    @property
    def is_offered(self) -> bool:
        """Whether the server may ask for roots. A remote server has no use for local folders."""
        roots = self._settings.roots
        return bool(roots) if roots is not None else self._settings.transport == "stdio"

    async def answer(self, _context: Any) -> types.ListRootsResult:
        """Answer the SDK's callback."""
        self.last_folders = folders = self._folders()
        return types.ListRootsResult(
            roots=[
                types.Root(uri=FileUrl(Path(folder).as_uri()), name=Path(folder).name or folder)
                for folder in folders
            ]
        )

    async def notify_of_changes(self, client: Client) -> None:
        """Notify a server that asked for folders if the working folder has changed.

        Only in the handshake era: on 2026-07-28 a server asks when it needs them.
        """
        if not is_modern(client.protocol_version) and self.last_folders != self._folders():
            self.last_folders = ()  # once, until it asks again
            # The client's own method prints a deprecation warning.
            await client.session.send_notification(types.RootsListChangedNotification())

    def _folders(self) -> tuple[str, ...]:
        if self._settings.roots is not None:
            return self._settings.roots
        return _folders_in(self._settings) or _working_folder()


def _working_folder() -> tuple[str, ...]:
    """Return the working folder, or nothing if it was removed: that must not fail a call."""
    try:
        return (os.getcwd(),)
    except FileNotFoundError:
        return ()


def _folders_in(settings: ServerSettings) -> tuple[str, ...]:
    """Return the folders named in the arguments, also as `--name=folder`."""
    values = (x.rpartition("=")[2] if x.startswith("-") else x for x in settings.args)
    paths = (os.path.normpath(os.path.join(settings.cwd, x)) for x in values if x)
    return tuple(dict.fromkeys(path for path in paths if os.path.isdir(path)))


class ServerLog:
    """Log messages of a server, passed to its stderr log and to Python's logging.

    Far clients get every message that their calls may have caused, unchanged.
    """

    def __init__(self, connection: Connection, requests: Requests) -> None:
        self._requests = requests
        self._logger = SERVERS.getChild(connection.settings.name)
        self._level = connection.settings.log_level
        self._stderr = connection.stderr

    @property
    def level(self) -> types.LoggingLevel | None:
        """Lowest level to request, or None to request nothing."""
        return self._level if self._level != "off" else None  # pyright: ignore

    async def request_level(self, client: Client) -> None:
        """Send a server of the handshake era the log level; later servers read it in each request.

        If a server refuses, the session continues without it.
        """
        capabilities = client.server_capabilities
        if self.level is None or capabilities.logging is None or is_modern(client.protocol_version):
            return
        try:
            # The client's own method prints a deprecation warning.
            params = types.SetLevelRequestParams(level=self.level)
            request = types.SetLevelRequest(params=params)
            await client.session.send_request(request, types.EmptyResult)
        except Exception as cause:  # noqa: BLE001 - a refused level must not end the session
            self._logger.debug("it accepts no log level: %r", cause)

    def take(self, message: JsonObject) -> None:
        """Log one message. Called for each, so it must be quick; never raises."""
        for far in (x.caller.far for x in self._requests.asking()):
            if far is not None and far.log is not None:
                far.log(message)
        level = message.get("level")
        if level not in _LEVELS or self._level == "off":
            return
        if _LEVELS.index(level) < _LEVELS.index(self._level):
            return
        source = message.get("logger")
        origin = f" {source[:_MAX_LOG_CHARS]}:" if isinstance(source, str) and source else ""
        line = self._stderr.add(f"log, {level}:{origin} {_text(message.get('data'))}")
        if line:
            self._logger.log(_IN_PYTHON.get(level, logging.CRITICAL), "%s", line)


def _text(data: Any) -> str:
    """Return the log data on one line."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return " ".join(text[:_MAX_LOG_CHARS].split())
