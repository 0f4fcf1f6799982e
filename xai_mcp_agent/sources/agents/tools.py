"""Skills as tools. A skill cannot be called: a message goes to the agent, which chooses."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from ...core.json import JsonObject
from ...core.tools import AGENT, Tool, ToolAnnotations, ToolKey
from .card import Card, Skill

_MAX_NAME = 64  # characters; providers allow no more
# An id without meaning: a number, a UUID.
_NUMBER = re.compile(r"[0-9]+|[0-9a-fA-F-]{20,}")
_ASK = "ask"
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]+")

_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "minLength": 1,
            "description": "What the agent is to do, or your answer to its question. It knows "
            "nothing of this conversation: give it all it needs.",
        },
        "data": {"type": "object", "description": "Values that go along with the message."},
        "task_id": {
            "type": "string",
            "description": "Only to answer a question of the agent: the task_id it came with.",
        },
        "context_id": {
            "type": "string",
            "description": "Only to go on with a conversation: the context_id of its last result.",
        },
    },
    "required": ["message"],
}


@dataclass(frozen=True)
class SkillTool:
    """A tool and its skill; None for the agent as a whole."""

    tool: Tool
    skill: Skill | None


def offers_of(card: Card, source: str) -> dict[str, SkillTool]:
    """Return a tool for each skill, by name; one for an agent without skills."""
    if not card.skills:
        return {_ASK: SkillTool(_tool(source, _ASK, "", card.description, card), None)}
    offers: dict[str, SkillTool] = {}
    for skill in card.skills:
        name = _name(skill)
        if name in offers:
            digest = hashlib.sha256(skill.id.encode()).hexdigest()[:8]
            name = f"{name[: _MAX_NAME - 9]}_{digest}"
        offers[name] = SkillTool(_tool(source, name, skill.title, skill.description, card), skill)
    return offers


def _tool(source: str, name: str, title: str, description: str, card: Card) -> Tool:
    of = f"Asks the agent {card.title or source}"
    return Tool(
        ToolKey(AGENT.name, source, name),
        f"{of}: {description}" if description else f"{of}, {title}." if title else f"{of}.",
        _PARAMETERS,
        title=title or None,
        annotations=ToolAnnotations(open_world=True),
    )


def _name(skill: Skill) -> str:
    """Return the id of a skill as a name, or its title if the id says nothing."""
    first = (skill.title, skill.id) if _NUMBER.fullmatch(skill.id) else (skill.id, skill.title)
    names = (_NOT_ALLOWED.sub("_", x).strip("_-")[:_MAX_NAME] for x in first)
    return next(filter(None, names), "skill")
