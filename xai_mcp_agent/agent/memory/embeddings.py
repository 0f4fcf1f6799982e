"""Vectors of texts from an embeddings endpoint, for memories that search by meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.errors import ModelError
from ...core.imports import import_aside
from ...secrets.secrets import Secret
from ..models.openai_access import Access
from ..models.openai_errors import shown_url

_TIMEOUT_SECONDS = 30.0


def endpoint_embeddings(
    model: str, *, base_url: str = "", api_key: Secret | None = None
) -> Callable[[list[str]], list[Sequence[float]]]:
    """A function that asks an OpenAI-compatible endpoint for the vectors of texts.

    It waits for the answer, at most half a minute with retries; call it in a worker
    thread. The key defaults to OPENAI_API_KEY where the address is OpenAI's, or the one in
    OPENAI_BASE_URL. The function raises `ModelError`.
    """
    access = Access("openai", model, base_url or None, api_key, node="AgentNumpyMemory")

    def embed(texts: list[str]) -> list[Sequence[float]]:
        # Here, because the library is heavy and only asked for when notes are made.
        import_aside("openai")
        import openai

        limit = _TIMEOUT_SECONDS / 2
        access.check(limit)
        try:
            with openai.OpenAI(**access.identity(), timeout=limit, max_retries=1) as client:
                answer = client.embeddings.create(model=model, input=texts)
            return [x.embedding for x in sorted(answer.data, key=lambda x: x.index)]
        except openai.OpenAIError as cause:
            service = access.service(None, limit)
            words = service.secrets.redact(str(cause))
        # Out here, so that it is not chained to one that holds the request with its key.
        where = shown_url(base_url) if base_url else "the default endpoint"
        raise ModelError(
            f"The embedding model {model!r} at {where} did not answer: {words} "
            "Check `embedding_model`, `base_url` and the key of the memory node."
        )

    return embed
