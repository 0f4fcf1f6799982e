"""What a server offers beside its tools: resources and prompts, and help with their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ....core.resources import Completion, Prompt, PromptMessage, Resource
from ....core.results import ResourcePart
from ...base import Completed
from .. import results
from ..requests import Requests
from ..wire.eras import is_modern


class Content:
    """One server's, asked for over the connection of `requests`."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def list_resources(self) -> list[Resource]:
        """Every resource and every template; empty for a server that has none."""
        client = self._requests.connected()
        if client.server_capabilities.resources is None:
            return []
        ask = client.list_resource_templates
        resources = await self._requests.listed(
            "resources/list", client.list_resources, "resources"
        )
        templates = await self._requests.listed(
            "resources/templates/list", ask, "resource_templates"
        )
        return [*map(results.resource_of, resources), *map(results.template_of, templates)]

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """The contents of one resource."""
        ask = partial(self._requests.connected().read_resource, uri)
        result = await self._requests.ask(f"reading {uri!r}", ask, self._requests.seconds)
        return [results.resource_part_of(x) for x in result.contents]

    async def list_prompts(self) -> list[Prompt]:
        """Every prompt; empty for a server that has none."""
        client = self._requests.connected()
        if client.server_capabilities.prompts is None:
            return []
        listed = await self._requests.listed("prompts/list", client.list_prompts, "prompts")
        return [results.prompt_of(x) for x in listed]

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """One prompt, filled in."""
        ask = partial(self._requests.connected().get_prompt, name, dict(arguments))
        result = await self._requests.ask(f"the prompt {name!r}", ask, self._requests.seconds)
        return [results.prompt_message_of(x) for x in result.messages]

    async def complete(
        self, kind: Completed, of: str, argument: str, value: str, given: Mapping[str, str]
    ) -> Completion:
        """How an argument may go on after `value`; nothing for a server that cannot tell."""
        import mcp_types as types  # as heavy as the SDK, which is loaded by now

        client = self._requests.connected()
        if client.server_capabilities.completions is None:
            return Completion()
        is_prompt = kind == "prompt"
        ref = (
            types.PromptReference(name=of) if is_prompt else types.ResourceTemplateReference(uri=of)
        )
        begun = {"name": argument, "value": value}
        ask = partial(client.complete, ref, begun, dict(given) or None)
        what = f"completing {argument!r} of {of!r}"
        result = await self._requests.ask(what, ask, self._requests.seconds)
        return results.completion_of(result.completion)

    async def ping(self) -> None:
        """Have the server answer: to the handshake era's ping, or by saying again who it is."""
        import mcp_types as types

        client = self._requests.connected()
        session, era = client.session, client.protocol_version
        if not is_modern(era):
            ask = partial(session.send_request, types.PingRequest(), types.EmptyResult)
        else:
            ask = partial(session.send_discover, era)
        await self._requests.ask("ping", ask, self._requests.seconds)
