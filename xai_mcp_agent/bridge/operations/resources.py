"""Resources, prompts and changes of servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import UnknownTool
from ...core.results import Completion, Prompt, PromptMessage, Resource, ResourcePart
from ...core.util import fill_template
from ...sources.base import Completed, SourceFeatures
from ..context import Context
from ..streams import Changes, OnChange


class Resources(Context):
    """Resources, prompts and subscriptions. All operations raise what `list_resources` does."""

    async def prompts(self) -> dict[str, tuple[Prompt, ...]]:
        """The prompts of all sources that were connected, by source. Connects nothing."""
        return {x: y.prompts for x, y in self.engine.catalog.inventories().items() if y.prompts}

    async def resources(self) -> dict[str, tuple[Resource, ...]]:
        """The resources and templates of all sources that were connected. Connects nothing."""
        return {x: y.resources for x, y in self.engine.catalog.inventories().items() if y.resources}

    async def list_resources(self, server: str) -> list[Resource]:
        """Every resource and resource template of one server, which is connected for it.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            SourceClosed, ToolTimeout, ServerError: the far side.
        """
        return await (await self._features(server)).list_resources()

    async def read_resource(
        self, server: str, uri: str, values: Mapping[str, Any] | None = None
    ) -> list[ResourcePart]:
        """The contents of one resource. With `values`, `uri` is a template.

        Raises:
            InvalidArguments: the template needs other values; nothing was sent.
        """
        if values is not None:
            uri = fill_template(uri, values)
        return await (await self._features(server)).read_resource(uri)

    async def list_prompts(self, server: str) -> list[Prompt]:
        """Every prompt of one server, which is connected for it."""
        return await (await self._features(server)).list_prompts()

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> list[PromptMessage]:
        """One prompt of one server, filled in with these arguments."""
        arguments = {} if arguments is None else arguments
        return await (await self._features(server)).get_prompt(name, arguments)

    async def complete(
        self,
        server: str,
        of: str | Prompt | Resource,
        argument: str,
        value: str = "",
        given: Mapping[str, str] | None = None,
    ) -> Completion:
        """Completions of the value of an argument, from the server; nothing if it has none.

        `of` is a prompt or a resource template, or the name of the one or the URI of the other.
        `given` are the other arguments.
        """
        kind, name = _kind_and_name(of)
        given = {} if given is None else given
        return await (await self._features(server)).complete(kind, name, argument, value, given)

    async def ping(self, server: str) -> float:
        """The seconds that the server takes to answer a ping, once it is connected."""
        return await (await self._features(server)).ping()

    async def listen(
        self, server: str, whats: Sequence[str], on_change: OnChange | None = None
    ) -> Changes:
        """The changes of these resources or lists from now on, until `stop_listening`."""
        changes = Changes(on_change)
        for what in whats:
            await (await self._features(server)).subscribe(what, changes.put)
        self.engine.feeds.add(changes)
        return changes

    async def stop_listening(self, server: str, whats: Sequence[str], changes: Changes) -> None:
        """End the subscriptions of `listen`. Connects nothing."""
        self.engine.feeds.discard(changes)
        changes.end()
        source = self.engine.sessions.running(server, self.caller)
        features = None if source is None else source.features(self.caller)
        for what in whats:
            if features is not None:
                await features.unsubscribe(what, changes.put)
            else:
                updates = self.engine.sessions.updates(server, self.caller)
                (updates or self.engine.updates[server]).remove(what, changes.put)

    async def _features(self, server: str) -> SourceFeatures:
        source = await self.engine.sessions.source(server, self.caller)
        features = source.features(self.caller)
        if features is None:
            raise UnknownTool(f"{server} is a source without resources and prompts.")
        return features


def _kind_and_name(of: str | Prompt | Resource) -> tuple[Completed, str]:
    match of:
        case Prompt(name):
            return "prompt", name
        case Resource(uri):
            return "template", uri
        case str(text):
            # Only a template has parameters in braces; names of prompts have none.
            return ("template" if "{" in text else "prompt"), text
