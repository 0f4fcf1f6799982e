"""Messages of A2A as JSON, in 1.0 and 0.3, over both bindings.

JSON-RPC of 1.0 and HTTP+JSON use protobuf's JSON; JSON-RPC of 0.3 has a `kind` in each object.
Unreadable parts are skipped; the others remain usable.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

from ...core.json import JsonObject, as_list, as_object, as_text, is_list, is_object
from ...core.results import AudioPart, ImagePart, LinkPart, ResourcePart, ResultPart, TextPart

_MOST_PARTS = 300  # of one message or artifact; nobody reads more
_EXACT = 2**53  # whole numbers below it are exact in a float, too


@dataclass(frozen=True)
class DataPart:
    """A JSON value from an agent."""

    value: Any


AnswerPart: TypeAlias = ResultPart | DataPart


@dataclass(frozen=True)
class AgentRequest:
    """A message to an agent. `skill` is the id of the chosen skill, `remark` names it in words."""

    message: str
    data: JsonObject | None = None
    task_id: str = ""
    context_id: str = ""
    skill: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Artifact:
    """An artifact of an agent, or with `is_more` a further piece of it."""

    id: str
    parts: tuple[AnswerPart, ...]
    is_more: bool = False


@dataclass(frozen=True)
class Update:
    """An update of a task. `state` is empty if it is unchanged; `words` belong to the state."""

    task_id: str = ""
    context_id: str = ""
    state: str = ""
    words: tuple[AnswerPart, ...] = ()
    artifacts: tuple[Artifact, ...] = ()

    @property
    def text(self) -> str:
        """The texts of the update: those of its state or, without one, of its artifacts."""
        parts = [part for artifact in self.artifacts for part in artifact.parts]
        return text_in(self.words if self.state else parts)


def text_in(parts: Iterator[AnswerPart] | list[AnswerPart] | tuple[AnswerPart, ...]) -> str:
    """Return the text of all text parts."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def build_message(request: AgentRequest) -> JsonObject:
    """Return a message in the form of 1.0."""
    parts: list[JsonObject] = [{"text": request.message}]
    if request.data is not None:
        parts.append({"data": request.data})
    if request.remark:
        parts.append({"text": request.remark})
    message: JsonObject = {"messageId": uuid4().hex, "role": "ROLE_USER", "parts": parts}
    ids = {"taskId": request.task_id, "contextId": request.context_id}
    message |= {name: value for name, value in ids.items() if value}
    # There is no field for a skill. Agents that look into metadata find it there.
    return message | ({"metadata": {"skillId": request.skill}} if request.skill else {})


def as_old_rpc(message: JsonObject) -> JsonObject:
    """Return the message for JSON-RPC of 0.3."""
    parts = [{"kind": "data" if "data" in part else "text", **part} for part in message["parts"]]
    return {**message, "kind": "message", "role": "user", "parts": parts}


def as_old_rest(message: JsonObject) -> JsonObject:
    """Return the message for HTTP+JSON of 0.3, with the field names of its protobuf."""
    names = {"messageId": "message_id", "taskId": "task_id", "contextId": "context_id",
             "parts": "content"}  # fmt: skip
    renamed = {names.get(name, name): value for name, value in message.items()}
    content = [{"data": part} if "data" in part else part for part in message["parts"]]
    return renamed | {"content": content}


class UpdateReader:
    """Reads responses and events, by their `kind` or by the name of their only field.

    With `deep_data`, as in HTTP+JSON of 0.3, the JSON of a part is one level deeper.
    """

    def __init__(self, *, deep_data: bool) -> None:
        self._deep_data = deep_data
        self._readers = {
            "message": self._message, "msg": self._message, "task": self._task,
            "status_update": self._status_update, "artifact_update": self._artifact_update,
        }  # fmt: skip

    def read(self, payload: JsonObject) -> Update:
        """Return the update in a payload; an empty one if it cannot be read."""
        if kind := as_text(payload.get("kind")).replace("-", "_"):
            return self._readers.get(kind, self._task)(payload)
        for name, body in payload.items():
            if is_object(body) and (read := self._readers.get(snake(name))):
                return read(body)
        return self._task(payload)

    def _message(self, body: JsonObject) -> Update:
        return Update(*_ids(body, "taskId"), "completed", self._parts(body))

    def _task(self, body: JsonObject) -> Update:
        artifacts = [self._artifact(as_object(x)) for x in as_list(body.get("artifacts"))]
        return Update(*_ids(body, "id"), *self._status(body), tuple(artifacts))

    def _status_update(self, body: JsonObject) -> Update:
        return Update(*_ids(body, "taskId"), *self._status(body))

    def _artifact_update(self, body: JsonObject) -> Update:
        is_more = body.get("append") is True
        artifact = self._artifact(as_object(body.get("artifact")), is_more=is_more)
        return Update(*_ids(body, "taskId"), artifacts=(artifact,))

    def _artifact(self, body: JsonObject, *, is_more: bool = False) -> Artifact:
        return Artifact(as_text(_field(body, "artifactId")), self._parts(body), is_more)

    def _status(self, body: JsonObject) -> tuple[str, tuple[AnswerPart, ...]]:
        """Return the state in the words of 1.0, and the parts of its message."""
        status = as_object(body.get("status"))
        state = as_text(status.get("state")).removeprefix("TASK_STATE_").lower().replace("-", "_")
        words = self._parts(as_object(_field(status, "message", "update")))
        return "canceled" if state == "cancelled" else state, words

    def _parts(self, body: JsonObject) -> tuple[AnswerPart, ...]:
        parts = as_list(_field(body, "parts", "content"))[:_MOST_PARTS]
        return tuple(x for x in map(self._part, map(as_object, parts)) if x is not None)

    def _part(self, part: JsonObject) -> AnswerPart | None:
        if isinstance(text := part.get("text"), str):
            return TextPart(text)
        if "data" not in part:
            return _file(as_object(part.get("file")) or part)  # in a member of its own before 1.0
        value = as_object(part["data"]).get("data") if self._deep_data else part["data"]
        # 0.3 wraps a value that is not an object.
        if "data_part_compat" in as_object(part.get("metadata")):
            value = as_object(value).get("value")
        return DataPart(_whole_numbers(value))


def _file(file: JsonObject) -> AnswerPart | None:
    media_type = as_text(_field(file, "mediaType", "mimeType"))
    name = as_text(_field(file, "filename", "name"))
    if url := as_text(_field(file, "url", "uri", "fileWithUri")):
        return LinkPart(url, name or url, mime_type=media_type or None)
    data = as_text(_field(file, "raw", "bytes")) or _encoded_once(
        as_text(_field(file, "fileWithBytes"))
    )
    if not data:
        return None
    if media_type.startswith("image/"):
        return ImagePart(data, media_type)
    if media_type.startswith("audio/"):
        return AudioPart(data, media_type)
    return ResourcePart(name or "file", data=data, mime_type=media_type or None)


def _ids(body: JsonObject, of_task: str) -> tuple[str, str]:
    return as_text(_field(body, of_task)), as_text(_field(body, "contextId"))


def _encoded_once(data: str) -> str:
    """Return bytes encoded once: the SDK's server of 0.3 encodes them twice over HTTP+JSON."""
    try:
        inner = base64.b64decode(data, validate=True)
        base64.b64decode(inner, validate=True)
        return inner.decode("ascii")
    except ValueError:
        return data


def _whole_numbers(value: Any) -> Any:
    """Return the value with 4 for 4.0: agents made with the SDK write all numbers as floats."""
    if is_object(value):
        return {name: _whole_numbers(x) for name, x in value.items()}
    if is_list(value):
        return [_whole_numbers(x) for x in value]
    is_whole = isinstance(value, float) and abs(value) < _EXACT and value.is_integer()
    return int(value) if is_whole else value


def _field(body: JsonObject, *names: str) -> Any:
    """Return the first of these fields that is present; protobuf allows both spellings."""
    for name in names:
        for spelling in (name, snake(name)):
            if body.get(spelling) is not None:
                return body[spelling]
    return None


def snake(name: str) -> str:
    """Return the name as protobuf spells it: `context_id` for `contextId`."""
    return re.sub("(?<=[a-z])[A-Z]", lambda letter: f"_{letter[0]}", name[:100]).lower()
