"""What a source listed: its tools, and the digests of what it says of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...core.definitions import definition_text, digest_of, inventory_digest
from ...core.tools import Tool


@dataclass(frozen=True, slots=True)
class Seen:
    """Tools by their names, each with the digest of its definition.

    `texts` are the definitions by their digests, of those that were not in the listing before.
    """

    tools: Mapping[str, Tool]
    digests: Mapping[str, str]
    texts: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def inventory(self) -> str:
        """The digest of it all."""
        return inventory_digest(self.digests.values())

    def without_texts(self) -> Seen:
        """The same, as it is kept until the next listing."""
        return Seen(self.tools, self.digests)


def seen_in(tools: Iterable[Tool], before: Seen | None) -> Seen:
    """What is in a listing. What was in the one before is not digested once more."""
    by_name = {tool.name: tool for tool in tools}
    digests: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, tool in by_name.items():
        if before is not None and _is_same(tool, before.tools.get(name)):
            digests[name] = before.digests[name]
        else:
            text = definition_text(tool)
            digests[name] = digest_of(text)
            texts[digests[name]] = text
    return Seen(by_name, digests, texts)


def _is_same(tool: Tool, before: Tool | None) -> bool:
    """Whether it is certainly the same; Python takes 1, 1.0 and true for equal, and JSON does not.

    A server's session gives out the same objects for what came as before.
    """
    return tool is before or (
        before is not None
        and tool.input_schema is before.input_schema
        and tool.output_schema is before.output_schema
        and tool == before
    )
