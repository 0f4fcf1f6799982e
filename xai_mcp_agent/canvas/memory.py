"""Memories as nodes make them: plain values in, something for AgentInit out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..agent.memory.notes import MemoryFailed, NoteStore
from ..agent.memory.vecto import VectoStore, vecto_store
from ..agent.models.embeddings import endpoint_embeddings
from .model_settings import Env
from .panel.chat import chat_memory
from .ports import secret_on


def local_memory(
    file: str | None = None,
    embedding_model: str | None = None,
    base_url: str | None = None,
    api_key: Any = None,
    env: Env = dict,
) -> NoteStore:
    """Notes on this machine; with a file they are there again in the next run.

    Without an embedding model notes are compared by their words.

    Raises:
        MemoryFailed: the file is there and cannot be read.
    """
    path = Path(file).expanduser() if file else None
    if path and path.is_dir():
        raise MemoryFailed(f"The memory file {path} is a folder. Name a file in it.")

    def make() -> NoteStore:
        if not embedding_model:
            return NoteStore(path)
        key = secret_on(api_key, "api_key", "AgentNumpyMemory", env)
        embed = endpoint_embeddings(embedding_model, base_url=base_url or "", api_key=key)
        return NoteStore(path, embed)

    return make() if path else chat_memory((embedding_model, base_url), make)


def remote_memory(
    vector_space: str, api_key: Any = None, initialize: bool = False, env: Env = dict
) -> VectoStore:
    """Notes in a vector space of the Vecto service; see `vecto_store`."""
    key = secret_on(api_key, "api_key", "AgentVectoMemory", env)
    return vecto_store(vector_space, api_key=key, initialize=initialize)
