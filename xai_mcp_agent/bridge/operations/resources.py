"""Resources, prompts and changes of servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import UnknownTool
from ...core.results import Completion, Prompt, PromptMessage, Resource, ResourcePart
from ...core.util import fill_template
from ...sources.base import CompletionKind, SourceFeatures
from ..context import OperationContext
from ..streams import Changes, OnChange


class ResourceOperations(OperationContext):
    """Resources, prompts and subscriptions. All operations raise what `list_resources` raises."""

    async def prompts(self) -> dict[str, tuple[Prompt, ...]]:
        """Return the prompts of all sources that were connected, by source. Connects nothing."""
        return {x: y.prompts for x, y in self.catalog.inventories().items() if y.prompts}

    async def resources(self) -> dict[str, tuple[Resource, ...]]:
        """Return resources and templates of all sources that were connected. Connects nothing."""
        return {x: y.resources for x, y in self.catalog.inventories().items() if y.resources}

    async def list_resources(self, server: str) -> list[Resource]:
        """Return every resource and resource template of one server, connecting it if needed.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            SourceClosed, ToolTimeout, ServerError: the far side failed.
        """
        return await (await self._features(server)).list_resources()

    async def read_resource(
        self, server: str, uri: str, values: Mapping[str, Any] | None = None
    ) -> list[ResourcePart]:
        """Return the contents of one resource. With `values`, `uri` is a template.

        Raises:
            InvalidArguments: the template needs other values; nothing was sent.
        """
        if values is not None:
            uri = fill_template(uri, values)
        return await (await self._features(server)).read_resource(uri)

    async def list_prompts(self, server: str) -> list[Prompt]:
        """Return every prompt of one server, connecting it if needed."""
        return await (await self._features(server)).list_prompts()

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> list[PromptMessage]:
        """Return one prompt of one server, filled in with these arguments."""
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
        """Return the server's completions of an argument's value; none if it has none.

        `of` is a prompt or a resource template, or the name or URI of one. `given` are the other
        arguments.
        """
        kind, name = _kind_and_name(of)
        given = {} if given is None else given
        return await (await self._features(server)).complete(kind, name, argument, value, given)

    async def ping(self, server: str) -> float:
        """Return the seconds that the connected server takes to answer a ping."""
        return await (await self._features(server)).ping()

    async def listen(
        self, server: str, topics: Sequence[str], on_change: OnChange | None = None
    ) -> Changes:
        """Subscribe to changes of these resources or lists, until `stop_listening`."""
        changes = Changes(on_change)
        for topic in topics:
            await (await self._features(server)).subscribe(topic, changes.put)
        self.engine.feeds.add(changes)
        return changes

    async def stop_listening(self, server: str, topics: Sequence[str], changes: Changes) -> None:
        """End the subscriptions of `listen`. Connects nothing."""
        self.engine.feeds.discard(changes)
        changes.end()
        source = self.engine.sessions.running(server, self.caller)
        features = None if source is None else source.features(self.caller)
        for topic in topics:
            if features is not None:
                await features.unsubscribe(topic, changes.put)
            else:
                updates = self.engine.sessions.updates(server, self.caller)
                (updates or self.engine.updates[server]).remove(topic, changes.put)

    async def _features(self, server: str) -> SourceFeatures:
        source = await self.engine.sessions.source(server, self.caller)
        features = source.features(self.caller)
        if features is None:
            raise UnknownTool(f"{server} is a source without resources and prompts.")
        return features


def _kind_and_name(of: str | Prompt | Resource) -> tuple[CompletionKind, str]:
    match of:
        case Prompt(name):
            return "prompt", name
        case Resource(uri):
            return "template", uri
        case str(text):
            # Only a template has parameters in braces; names of prompts have none.
            return ("template" if "{" in text else "prompt"), text
