"""An agent that speaks A2A, 1.0 or 0.3, over JSON-RPC or HTTP+JSON: the SDK's client over our wire.

A module to be imported in a thread when the first agent is reached: its libraries are heavy.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable
from uuid import uuid4

import anyio
import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import parse_agent_card
from a2a.types import a2a_pb2 as types
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError
from google.protobuf.json_format import MessageToDict, ParseDict

from ...core.errors import SourceClosed, SourceError, SourceFailed
from ...core.results import AudioPart, ImagePart, LinkPart, ResourcePart, TextPart
from .answer import Answer, AnswerPart, Asked, DataPart, Tell, text_in
from .card import BINDINGS, Card
from .http import AgentHttp
from .wire import SdkTransport, kept, packed, values_kept

logger = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0
_PAUSE_GROWTH = 1.5
_MOST_MISSES = 3  # in a row: an agent that restarts is asked again, one that is gone is not
# After its last word a stream ends by itself, or is left.
_END_SECONDS = 0.5

_NO_ANSWER = "Invalid JSON-RPC response"  # the SDK's own words

# What it logs is in our errors; who sets up logging sees it all the same.
logging.getLogger("a2a").addHandler(logging.NullHandler())


class A2aAgent:
    """One agent as its card has it. All methods raise `SourceError` kinds."""

    def __init__(self, card: Card, http: AgentHttp) -> None:
        self.card = card
        self._failures = http.failures
        face = card.interface
        deep_data = face.is_old and face.binding == "HTTP+JSON"
        config = ClientConfig(
            streaming=card.streams,
            # A task that is told of at once can be canceled.
            polling=not card.streams,
            httpx_client=httpx.AsyncClient(
                transport=SdkTransport(http, deep_data=deep_data), timeout=None, trust_env=False
            ),
            supported_protocol_bindings=list(BINDINGS),
        )
        self._client = ClientFactory(config).create(_sdk_card(card))

    async def ask(self, asked: Asked, answer: Answer, tell: Tell) -> None:
        """Send a message, and collect the answer until it is settled."""
        try:
            with values_kept():
                await self._send(asked, answer, tell)
                await self._poll(answer, tell)
        except A2AError as cause:
            raise self._refusal(cause) from cause
        except SourceError:
            raise
        except Exception as cause:
            # Of the SDK, over what the agent sent.
            logger.debug("An answer of an agent cannot be understood", exc_info=cause)
            raise self._failures.unreadable(type(cause).__name__) from cause

    async def cancel(self, task_id: str) -> None:
        """Ask the agent to stop working on a task."""
        try:
            await self._client.cancel_task(types.CancelTaskRequest(id=task_id))
        except A2AError as cause:
            raise self._refusal(cause) from cause

    async def _send(self, asked: Asked, answer: Answer, tell: Tell) -> None:
        request = types.SendMessageRequest(message=_message(asked))
        try:
            with anyio.CancelScope() as scope:
                async for event in self._client.send_message(request):
                    await _take(event, answer, tell)
                    if answer.is_settled:
                        scope.deadline = anyio.current_time() + _END_SECONDS
        except SourceClosed:
            if not answer.task_id:
                raise
            # The task may go on without this connection: it is asked for.
        if not answer.task_id and not answer.is_settled:
            raise self._failures.unreadable("there is no task in it that could be asked for")

    async def _poll(self, answer: Answer, tell: Tell) -> None:
        """Ask for the task, with pauses that grow, until it is settled."""
        pause, misses = _FIRST_PAUSE_SECONDS, 0
        request = types.GetTaskRequest(id=answer.task_id, history_length=0)
        while not answer.is_settled:
            await anyio.sleep(pause)
            pause = min(pause * _PAUSE_GROWTH, _LONGEST_PAUSE_SECONDS)
            before = answer.words
            try:
                _take_task(await self._client.get_task(request), answer)
            except (SourceFailed, SourceClosed) as cause:
                misses += 1
                if misses == _MOST_MISSES:
                    raise self._failures.lost(cause) from cause
            else:
                misses = 0
                if answer.words != before:
                    await tell(text_in(answer.words))

    def _refusal(self, cause: A2AError) -> SourceError:
        if cause.message.startswith(_NO_ANSWER):
            return self._failures.unreadable(self._failures.words(cause.message))
        code = JSON_RPC_ERROR_CODE_MAP.get(type(cause), 0)
        return self._failures.answered(code, cause.message)


def _sdk_card(card: Card) -> types.AgentCard:
    """As much of the card as the SDK needs, with the one interface that is to be used."""
    face = card.interface
    interface = {
        "url": face.url,
        "protocolBinding": face.binding,
        # What came before 0.3 is nearest to that.
        "protocolVersion": "0.3.0" if face.is_old else face.version,
        "tenant": face.tenant,
    }
    capabilities = {"streaming": card.streams}
    return parse_agent_card({"supportedInterfaces": [interface], "capabilities": capabilities})


def _message(asked: Asked) -> types.Message:
    message = types.Message(
        message_id=uuid4().hex,
        role=types.ROLE_USER,
        task_id=asked.task_id,
        context_id=asked.context_id,
        parts=[types.Part(text=asked.message)],
    )
    if asked.data is not None:
        message.parts.append(types.Part(data=ParseDict(packed(asked.data), types.Part().data)))
    if asked.skill:
        # There is no field for it. Agents that look into metadata find it there, others read on.
        ParseDict({"skillId": asked.skill}, message.metadata)
    if asked.remark:
        message.parts.append(types.Part(text=asked.remark))
    return message


async def _take(event: types.StreamResponse, answer: Answer, tell: Tell) -> None:
    """One event, or a whole answer; an answer may be a message without any task."""
    match event.WhichOneof("payload"):
        case "message":
            answer.note_ids(event.message.task_id, event.message.context_id)
            answer.note_state("completed", _parts(event.message.parts))
        case "task":
            _take_task(event.task, answer)
            await tell(text_in(answer.words))
        case "status_update":
            update = event.status_update
            answer.note_ids(update.task_id, update.context_id)
            _take_status(update.status, answer)
            await tell(text_in(answer.words))
        case "artifact_update":
            more = event.artifact_update
            answer.note_ids(more.task_id, more.context_id)
            parts = _parts(more.artifact.parts)
            answer.add(more.artifact.artifact_id, parts, is_more=more.append)
            await tell(text_in(parts))
        case _:
            pass  # of a later version


def _take_task(task: types.Task, answer: Answer) -> None:
    answer.note_ids(task.id, task.context_id)
    for artifact in task.artifacts:
        answer.add(artifact.artifact_id, _parts(artifact.parts), is_more=False)
    _take_status(task.status, answer)


def _take_status(status: types.TaskStatus, answer: Answer) -> None:
    state = types.TaskState.Name(status.state).removeprefix("TASK_STATE_").lower()
    answer.note_state(state, _parts(status.message.parts))


def _parts(found: Iterable[types.Part]) -> list[AnswerPart]:
    return [_part(x) for x in found if x.WhichOneof("content")]


def _part(part: types.Part) -> AnswerPart:
    match part.WhichOneof("content"):
        case "text":
            return TextPart(kept(part.text))
        case "data":
            return DataPart(kept(MessageToDict(part.data)))
        case "url":
            return LinkPart(part.url, part.filename or part.url, mime_type=part.media_type or None)
        case _:
            known = kept(part.raw)
            data = base64.b64encode(known).decode() if isinstance(known, bytes) else known
            return _file(data, part.media_type, part.filename)


def _file(data: str, media_type: str, name: str) -> AnswerPart:
    if media_type.startswith("image/"):
        return ImagePart(data, media_type)
    if media_type.startswith("audio/"):
        return AudioPart(data, media_type)
    return ResourcePart(name or "file", data=data, mime_type=media_type or None)
