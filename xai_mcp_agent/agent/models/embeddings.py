"""Vectors of texts from an embeddings endpoint, or from a model in a folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence

from ...core.errors import ModelError
from ...core.imports import import_aside
from ...search.embeddings import Embedder
from ...search.local_model import local_embedder
from ...secrets.secrets import Secret
from ...settings.embeddings import EmbeddingSettings
from .openai_access import Access
from .openai_errors import shown_url

_TIMEOUT_SECONDS = 30.0
_SETTING = "`toolSearch.embeddings` in the settings"
_DIGEST_CHARS = 12


def embedder_of(settings: EmbeddingSettings) -> Embedder:
    """What the settings name. A folder is read, which may take a second: call it in a thread.

    Raises:
        BadModelFolder: there is no model in the folder, or a package is missing.
    """
    if settings.folder is not None:
        return local_embedder(settings.folder)
    embed = endpoint_embeddings(
        settings.model, base_url=settings.base_url, api_key=settings.api_key, owner=_SETTING
    )
    address = shown_url(settings.base_url or os.environ.get("OPENAI_BASE_URL", ""))
    # At another address there may be another model of that name.
    digest = hashlib.sha256(address.encode()).hexdigest()[:_DIGEST_CHARS]
    where = f"the embedding model {settings.model!r}" + (f" at {address}" if address else "")
    return Embedder(embed, f"{settings.model} {digest}", where)


def endpoint_embeddings(
    model: str,
    *,
    base_url: str = "",
    api_key: Secret | None = None,
    owner: str = "AgentNumpyMemory",
) -> Callable[[list[str]], list[Sequence[float]]]:
    """A function that asks an OpenAI-compatible endpoint for the vectors of texts.

    It waits for the answer, at most half a minute with retries; call it in a worker
    thread. The key defaults to OPENAI_API_KEY where the address is OpenAI's, or the one in
    OPENAI_BASE_URL. `owner` is where model, address and key were given. The function raises
    `ModelError`.
    """
    access = Access("openai", model, base_url or None, api_key, node=owner)

    def embed(texts: list[str]) -> list[Sequence[float]]:
        # Here, because the library is heavy and only asked for when something is compared.
        import_aside("openai")
        import openai

        limit = _TIMEOUT_SECONDS / 2
        access.check(limit)
        try:
            with openai.OpenAI(**access.identity(), timeout=limit, max_retries=1) as client:
                answer = client.embeddings.create(model=model, input=texts)
            return [x.embedding for x in sorted(answer.data, key=lambda x: x.index)]
        except (openai.OpenAIError, TypeError, ValueError, AttributeError) as cause:
            # The last three: of an answer that is something else.
            service = access.service(None, limit)
            words = service.secrets.redact(str(cause))
        # Out here, so that it is not chained to one that holds the request with its key.
        where = shown_url(base_url) if base_url else "the default endpoint"
        raise ModelError(
            f"The embedding model {model!r} at {where} did not answer with vectors: {words} "
            f"Check the model, the address and the key of {owner}."
        )

    return embed
