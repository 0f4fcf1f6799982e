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
    """What servers offer beside tools. All raise what `list_resources` does."""

    async def list_resources(self, server: str) -> list[Resource]:
        """Every resource and resource template of one server.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            SourceClosed, ToolTimeout, ServerError: the far side.
        """
        return await self._features(server).list_resources()

    async def read_resource(
        self, server: str, uri: str, values: Mapping[str, Any] | None = None
    ) -> list[ResourcePart]:
        """The contents of one resource. With `values`, `uri` is a template to be filled in.

        Raises:
            InvalidArguments: the template needs other values; nothing was sent.
        """
        if values is not None:
            uri = fill_template(uri, values)
        return await self._features(server).read_resource(uri)

    async def list_prompts(self, server: str) -> list[Prompt]:
        """Every prompt of one server."""
        return await self._features(server).list_prompts()

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> list[PromptMessage]:
        """One prompt of one server, filled in with these arguments."""
        return await self._features(server).get_prompt(name, arguments or {})

    async def complete(
        self,
        server: str,
        of: str | Prompt | Resource,
        argument: str,
        value: str = "",
        given: Mapping[str, str] | None = None,
    ) -> Completion:
        """How the value of an argument may go on, as the server says; nothing if it cannot tell.

        `of` is a prompt or a resource template, or the name of the one or the URI of the other.
        `given` are the arguments that are known already.
        """
        kind, name = _kind_and_name(of)
        return await self._features(server).complete(kind, name, argument, value, given or {})

    async def ping(self, server: str) -> float:
        """How many seconds the server needs to answer anything at all, once it is connected."""
        return await self._features(server).ping()

    async def listen(
        self, server: str, whats: Sequence[str], on_change: OnChange | None = None
    ) -> Changes:
        """What changes from now on of these resources or lists, until `stop_listening`."""
        changes = Changes(on_change)
        for what in whats:
            await self._features(server).subscribe(what, changes.put)
        self.engine.feeds.add(changes)
        return changes

    async def stop_listening(self, server: str, whats: Sequence[str], changes: Changes) -> None:
        """End that. Connects nothing."""
        self.engine.feeds.discard(changes)
        changes.end()
        source = self.engine.pool.running().get(server)
        features = None if source is None else source.features(self.caller)
        for what in whats:
            if features is not None:
                await features.unsubscribe(what, changes.put)
            else:
                self.engine.updates[server].remove(what, changes.put)

    def _features(self, server: str) -> SourceFeatures:
        features = self.engine.pool.start(server).features(self.caller)
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
            # Only a template has anything to fill in, and no prompt is called like that.
            return ("template" if "{" in text else "prompt"), text
