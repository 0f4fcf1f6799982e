"""The lists of a server's prompts, resources and templates, kept beside that of its tools."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TypeVar

import anyio
import anyio.lowlevel

from ...core.calls import Caller
from ...core.errors import SourceError
from ...core.json import JsonObject
from ...core.results import Prompt, Resource
from . import convert
from .connection import Connection
from .failures import is_missing_method
from .requests import Requests, all_pages

T = TypeVar("T")

# Computed in a row, then others on the event loop get their turn.
_SECONDS_IN_A_ROW = 0.01
FEATURE_SECONDS = 5.0
"""The limit of these lists where nobody asks for them: the tools wait for them at the start."""


@dataclass(frozen=True, slots=True)
class _Feature:
    """One list: its method, the field with its items, and the client's method that asks for it.

    Each item needs the texts `required`; the last one identifies it.
    """

    method: str
    field: str
    noun: str
    required: tuple[str, ...]
    ask: str
    convert: Callable[[JsonObject], Prompt | Resource]

    @property
    def list(self) -> str:
        """The one of `LISTS` it is part of, also the name of the server's capability."""
        return self.method.partition("/")[0]


_FEATURES = (
    _Feature("prompts/list", "prompts", "prompt", ("name",), "list_prompts", convert.prompt_of),
    _Feature(
        "resources/list", "resources", "resource", ("name", "uri"), "list_resources",
        convert.resource_of,
    ),
    _Feature(
        "resources/templates/list", "resourceTemplates", "template", ("name", "uriTemplate"),
        "list_resource_templates", partial(convert.resource_of, is_template=True),
    ),
)  # fmt: skip


class FeatureLists:
    """The last listing of one server's prompts and resources, and when it expires.

    `failed` has the error of each of `LISTS` that could not be listed; the listing before stays.
    """

    def __init__(self, connection: Connection, requests: Requests) -> None:
        self.failed: dict[str, SourceError] = {}
        self._connection = connection
        self._requests = requests
        self._listed: dict[str, Sequence[Prompt | Resource]] = {}  # by method
        self._stale_at: dict[str, float] = {}

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts."""
        return tuple(x for x in self._items() if isinstance(x, Prompt))

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources, then the templates."""
        return tuple(x for x in self._items() if isinstance(x, Resource))

    def is_stale(self) -> bool:
        """Whether the time-to-live of one of them is over."""
        return anyio.current_time() >= min(self._stale_at.values(), default=inf)

    async def fetch(self, lists: Collection[str], caller: Caller, seconds: float) -> None:
        """List those that the server has, at the same time; an error costs the one list."""
        capabilities = self._requests.connected().server_capabilities
        async with anyio.create_task_group() as tasks:
            for feature in _FEATURES:
                if feature.list in lists and getattr(capabilities, feature.list) is not None:
                    self.failed.pop(feature.list, None)
                    tasks.start_soon(self._fetch, feature, caller, seconds)

    def _items(self) -> list[Prompt | Resource]:
        return [item for x in _FEATURES for item in self._listed.get(x.method, ())]

    async def _fetch(self, feature: _Feature, caller: Caller, seconds: float) -> None:
        method, note = feature.method, partial(self._connection.traffic.note, method=feature.method)
        seconds = min(seconds, self._connection.settings.list_timeout_seconds)
        try:
            ask = getattr(self._requests.connected(), feature.ask)
            pages = await self._requests.ask(
                method, partial(all_pages, ask, feature.field), seconds, caller
            )
        except SourceError as error:
            if is_missing_method(error):
                self._listed.pop(method, None)  # some servers have resources but no templates
                return
            self.failed[feature.list] = error
            note(f"Its {feature.noun}s could not be listed: {error.problem}")
            return
        if pages.note:
            note(pages.note)
        usable = convert.usable(pages.items, feature.noun, feature.required, note)
        self._listed[method] = [feature.convert(x) async for x in in_turns(usable)]
        self._stale_at[method] = anyio.current_time() + pages.seconds_good


async def in_turns(items: Sequence[T]) -> AsyncIterator[T]:
    """Iterate over many, so that others on the event loop get their turn."""
    began = time.thread_time()
    for item in items:
        if time.thread_time() - began > _SECONDS_IN_A_ROW:
            await anyio.lowlevel.checkpoint()
            began = time.thread_time()
        yield item
