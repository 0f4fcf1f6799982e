"""Notes in a vector space of the Vecto service, for people with an account there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from ...secrets.secrets import Secret
from .notes import MemoryFailed, MemoryNote

# The space may hold notes of other agents, which are skipped.
_LOOK_FURTHER = 5
_AGENT = "_agent"
_MODEL = "QWEN2"  # the service's model for texts
_KEY_VARIABLE = "VECTO_API_KEY"


@dataclass(frozen=True)
class VectoStore:
    """A vector space that keeps the notes of several agents apart."""

    client: Any

    def for_agent(self, agent: str) -> VectoMemory:
        """Return the memory of one agent."""
        return VectoMemory(self.client, agent)


@dataclass(frozen=True)
class VectoMemory:
    """One agent's notes in a vector space. A `Memory`."""

    client: Any
    agent: str

    def query(self, query: str, n: int) -> list[MemoryNote]:
        """Return the notes most like `query`, without other agents' notes."""
        matches = self.client.lookup_text_from_str(query, n * _LOOK_FURTHER)
        own = [x for x in matches if _agent_of(x.attributes) in (None, self.agent)]
        return [
            MemoryNote(str(x.id), float(x.similarity), _without_agent(x.attributes))
            for x in own[:n]
        ]

    def add(self, id: str, text: str, metadata: Any) -> None:
        """Add a note."""
        attributes = (
            dict(cast(Mapping[str, Any], metadata)) if isinstance(metadata, Mapping) else {}
        )
        attributes = attributes or {"note": metadata}
        self.client.ingest_text(text, {**attributes, _AGENT: self.agent})


def vecto_store(
    vector_space: str,
    *,
    api_key: Secret | None = None,
    initialize: bool = False,
    base_url: str = "",
) -> VectoStore:
    """Return the vector space of that name, creating it if need be; `initialize` empties it.

    The key defaults to VECTO_API_KEY.

    Raises:
        MemoryFailed: the key or the package is missing, or the service refuses.
    """
    key = api_key.reveal() if api_key else os.environ.get(_KEY_VARIABLE, "")
    if not key:
        raise MemoryFailed(
            f"AgentVectoMemory has no key: set the environment variable {_KEY_VARIABLE}. "
            "AgentNumpyMemory needs none."
        )
    try:
        # Imported here, because it is an extra that few have.
        vecto = import_module("vecto")
    except ImportError as cause:
        raise MemoryFailed(
            'AgentVectoMemory needs a package: pip install "xai-mcp-agent[vecto]". '
            "AgentNumpyMemory needs none."
        ) from cause
    options = {"vecto_base_url": base_url} if base_url else {}
    try:
        client = vecto.Vecto(key, None, **options)
        client.vector_space_id = _space_id(client, vector_space)
        if initialize:
            client.delete_vector_space_entries()
    except Exception as cause:
        # The package raises many types of its own and of its HTTP library.
        reason = str(cause).replace(key, "***")
        raise MemoryFailed(f"The Vecto service refused: {reason} Check the key.") from cause
    return VectoStore(client)


def _space_id(client: Any, name: str) -> Any:
    for space in client.list_vector_spaces():
        if space.name == name:
            return space.id
    return client.create_vector_space(name, _MODEL).id


def _agent_of(attributes: Any) -> Any:
    if not isinstance(attributes, Mapping):
        return None
    return cast(Mapping[str, Any], attributes).get(_AGENT)


def _without_agent(attributes: Any) -> Any:
    if not isinstance(attributes, Mapping):
        return attributes
    return {k: v for k, v in cast(Mapping[str, Any], attributes).items() if k != _AGENT}
