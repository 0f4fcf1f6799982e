"""Prompts and resources in the form of tools, so that they can be compared and searched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from .json import JsonObject
from .results import Prompt, Resource
from .tools import PROMPT, RESOURCE, TEMPLATE, Tool, ToolKey

_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}


def tools_of_features(source: str, features: Iterable[Prompt | Resource]) -> Iterator[Tool]:
    """Yield these prompts and resources of a source as tools; a resource's name is its URI."""
    for x in features:
        yield _of_prompt(source, x) if isinstance(x, Prompt) else _of_resource(source, x)


# Cached, so that a long listing without changes is compared by identity.
@lru_cache(maxsize=10_000)
def _of_prompt(source: str, prompt: Prompt) -> Tool:
    schemas: JsonObject = {x.name: {"type": "string"} for x in prompt.arguments}
    for x in prompt.arguments:
        schemas[x.name] |= {"description": x.description} if x.description else {}
    required = [x.name for x in prompt.arguments if x.required]
    return Tool(
        ToolKey(PROMPT.name, source, prompt.name),
        prompt.description,
        {"type": "object", "properties": schemas, "required": required},
        title=prompt.title,
        icons=prompt.icons,
    )


@lru_cache(maxsize=10_000)
def _of_resource(source: str, resource: Resource) -> Tool:
    kind, mime_type = TEMPLATE if resource.is_template else RESOURCE, resource.mime_type
    return Tool(
        ToolKey(kind.name, source, resource.uri),
        resource.description,
        _NO_PARAMETERS,
        {"type": "string", "contentMediaType": mime_type} if mime_type else None,
        title=resource.title or resource.name,
        icons=resource.icons,
    )
