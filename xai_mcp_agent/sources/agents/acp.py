"""Compatibility only: agents behind the REST interface of BeeAI's ACP, which became part of A2A.

Asked for with `"protocol": "acp"`. One service has several agents; each of them is a tool, its runs
are tasks, its sessions contexts. Nothing new is to be built here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

import anyio
import anyio.to_thread

from ...core.errors import ServerError, SourceClosed, SourceFailed
from ...core.json import JsonObject, as_text
from ...core.results import AudioPart, ImagePart, LinkPart, ResourcePart, TextPart
from ..web.large_json import read_large
from .answer import Answer, AnswerPart, Asked, DataPart, Tell, text_in
from .card import MOST_SKILLS, Card, Clean, Interface, Skill, is_skill_id
from .http import AgentHttp

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0
_PAUSE_GROWTH = 1.5
_MOST_MISSES = 3
_MOST_PARTS = 300  # of one run
_MAX_TITLE, _MAX_DESCRIPTION = 100, 1_500  # characters
_STATES = {
    "awaiting": "input_required", "completed": "completed", "failed": "failed",
    "cancelled": "canceled",
}  # fmt: skip


class AcpService:
    """One service and its agents. All methods raise `SourceError` kinds."""

    def __init__(self, card: Card, http: AgentHttp) -> None:
        self.card = card
        self._http = http

    async def ask(self, asked: Asked, answer: Answer, tell: Tell) -> None:
        """Start a run, or answer the question of one, and wait until it has ended or asks."""
        await self._take(await self._start(asked), answer)
        if not answer.task_id:
            raise self._http.failures.unreadable("it has no `run_id` that could be asked for")
        pause, misses = _FIRST_PAUSE_SECONDS, 0
        while not answer.is_settled:
            await tell(text_in(answer.words))
            await anyio.sleep(pause)
            pause = min(pause * _PAUSE_GROWTH, _LONGEST_PAUSE_SECONDS)
            try:
                await self._take(await self._call("GET", f"runs/{answer.task_id}"), answer)
                misses = 0
            except (SourceFailed, SourceClosed) as cause:
                misses += 1
                if misses == _MOST_MISSES:
                    raise self._http.failures.lost(cause) from cause

    async def cancel(self, task_id: str) -> None:
        """Ask the service to stop a run."""
        await self._call("POST", f"runs/{task_id}/cancel")

    async def _take(self, run: JsonObject, answer: Answer) -> None:
        """In a thread: what it made may be megabytes of JSON in a text."""
        await anyio.to_thread.run_sync(_take, run, answer)

    async def _start(self, asked: Asked) -> JsonObject:
        message = {"role": "user", "parts": list(_sent_parts(asked))}
        if asked.task_id:
            resume = {"type": "message", "message": message}
            sent = {"run_id": asked.task_id, "await_resume": resume, "mode": "async"}
            return await self._call("POST", f"runs/{asked.task_id}", sent)
        start: JsonObject = {"agent_name": asked.skill, "input": [message], "mode": "async"}
        if asked.context_id:
            start["session_id"] = asked.context_id
        try:
            return await self._call("POST", "runs", start)
        except ServerError as cause:
            if cause.code != 422:
                raise
            # The first versions called it so.
            return await self._call("POST", "runs", start | {"inputs": [message]})

    async def _call(self, method: str, path: str, sent: Any = None) -> JsonObject:
        url = f"{self.card.interface.url.rstrip('/')}/{path}"
        found = await self._http.json(method, url, sent=sent)
        if not isinstance(found, dict):
            raise self._http.failures.unreadable("it is no JSON object")
        return cast(JsonObject, found)


async def read_acp_card(http: AgentHttp, url: str) -> Card:
    """The agents of a service, as a card would have them."""
    failures = http.failures
    found = await http.json("GET", f"{url.rstrip('/')}/agents?limit={MOST_SKILLS}")
    listed = cast(JsonObject, found).get("agents") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise failures.unreadable("it has no list of `agents`")
    return await anyio.to_thread.run_sync(_card, cast(list[Any], listed), url, failures.words)


def _card(listed: list[Any], url: str, clean: Clean) -> Card:
    agents = _dicts(listed[:MOST_SKILLS])
    named = {as_text(x.get("name")): x for x in agents if is_skill_id(as_text(x.get("name")))}
    skills = tuple(
        Skill(name, clean(name, _MAX_TITLE), clean(as_text(x.get("description")), _MAX_DESCRIPTION))
        for name, x in named.items()
    )
    notes: list[str] = []
    if len(named) < len(listed[:MOST_SKILLS]):
        notes.append(
            "Agents without a name that could be used, or with that of another, are left out."
        )
    if len(listed) > MOST_SKILLS:
        many = f"It has {len(listed):,} agents"
        notes.append(f"{many}; those after the first {MOST_SKILLS} are left out.")
    return Card("", "", skills, Interface(url, "ACP", ""), False, tuple(notes))


def _sent_parts(asked: Asked) -> Iterator[JsonObject]:
    yield {"content_type": "text/plain", "content": asked.message}
    if asked.data is not None:
        yield {"content_type": "application/json", "content": json.dumps(asked.data)}


def _take(run: JsonObject, answer: Answer) -> None:
    answer.note_ids(as_text(run.get("run_id")), as_text(run.get("session_id")))
    status = as_text(run.get("status"))
    left = _MOST_PARTS
    for number, message in enumerate(_dicts(run.get("output"))[:_MOST_PARTS]):
        parts = list(islice(_parts(message), left))
        answer.add(str(number), parts, is_more=False)
        left -= len(parts)
    answer.note_state(_STATES.get(status, "working"), list(_words(run, status)))


def _words(run: JsonObject, status: str) -> Iterator[AnswerPart]:
    """What it says of the state it is in: its question, or why it failed."""
    wanted, error = run.get("await_request"), run.get("error")
    if status == "awaiting" and isinstance(wanted, dict):
        message = cast(JsonObject, wanted).get("message")
        if isinstance(message, dict):
            yield from islice(_parts(cast(JsonObject, message)), _MOST_PARTS)
    elif status == "failed" and isinstance(error, dict):
        yield TextPart(as_text(cast(JsonObject, error).get("message")))


def _parts(message: JsonObject) -> Iterator[AnswerPart]:
    for part in _dicts(message.get("parts")):
        kind, content = as_text(part.get("content_type")), part.get("content")
        name, is_data = as_text(part.get("name")), part.get("content_encoding") == "base64"
        if not isinstance(content, str):
            if url := as_text(part.get("content_url")):
                yield LinkPart(url, name or url, mime_type=kind or None)
        elif kind == "application/json" and not is_data:
            yield _json(content)
        elif not is_data:
            yield TextPart(content)
        elif kind.startswith("image/"):
            yield ImagePart(content, kind)
        elif kind.startswith("audio/"):
            yield AudioPart(content, kind)
        else:
            yield ResourcePart(name or "file", data=content, mime_type=kind or None)


def _json(content: str) -> AnswerPart:
    try:
        return DataPart(read_large(content.encode()))
    except (ValueError, RecursionError):
        return TextPart(content)


def _dicts(value: Any) -> list[JsonObject]:
    found = cast(list[Any], value) if isinstance(value, list) else []
    return [cast(JsonObject, x) for x in found if isinstance(x, dict)]
