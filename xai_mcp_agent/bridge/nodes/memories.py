"""Memories as nodes make them: plain values in, something for AgentInit out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...agent.embeddings import endpoint_embeddings
from ...agent.memory import MemoryFailed, NoteStore
from ...agent.vecto import VectoStore, vecto_store
from ...settings.secrets import Secret


def local_memory(
    file: str | None = None,
    embedding_model: str | None = None,
    base_url: str | None = None,
    api_key: Any = None,
) -> NoteStore:
    """Notes on this machine; with a file they are there again in the next run.

    Without an embedding model notes are compared by their words.

    Raises:
        MemoryFailed: the file is there and cannot be read.
    """
    path = Path(file).expanduser() if file else None
    if path and path.is_dir():
        raise MemoryFailed(f"The memory file {path} is a folder. Name a file in it.")
    if not embedding_model:
        return NoteStore(path)
    key = _secret(api_key)
    return NoteStore(
        path, endpoint_embeddings(embedding_model, base_url=base_url or "", api_key=key)
    )


def remote_memory(vector_space: str, api_key: Any = None, initialize: bool = False) -> VectoStore:
    """Notes in a vector space of the Vecto service; see `vecto_store`."""
    return vecto_store(vector_space, api_key=_secret(api_key), initialize=bool(initialize))


def _secret(value: Any) -> Secret | None:
    return value if isinstance(value, Secret) or not value else Secret(str(value))
