"""Vectors of texts from an embeddings endpoint, for memories that search by meaning."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ..core.errors import ModelError
from ..settings.secrets import Secret, Secrets

_TIMEOUT_SECONDS = 30.0
# A local server wants no key, but the client wants to send one.
_NO_KEY = "unused"


def endpoint_embeddings(
    model: str, *, base_url: str = "", api_key: Secret | None = None
) -> Callable[[list[str]], list[Sequence[float]]]:
    """A function that asks an OpenAI-compatible endpoint for the vectors of texts.

    It waits for the answer, at most half a minute with retries; call it in a worker
    thread. The key defaults to OPENAI_API_KEY. The function raises `ModelError`.
    """
    key = api_key.reveal() if api_key else os.environ.get("OPENAI_API_KEY", "")

    def embed(texts: list[str]) -> list[Sequence[float]]:
        # Here, because the library is heavy and only asked for when notes are made.
        import openai

        try:
            with openai.OpenAI(
                base_url=base_url or None,
                api_key=key or _NO_KEY,
                timeout=_TIMEOUT_SECONDS / 2,
                max_retries=1,
            ) as client:
                answer = client.embeddings.create(model=model, input=texts)
        except openai.OpenAIError as cause:
            words = Secrets([key]).mask(str(cause))
            where = base_url or "the default endpoint"
            raise ModelError(
                f"The embedding model {model!r} at {where} did not answer: {words} "
                "Check `embedding_model`, `base_url` and the key of the memory node."
            ) from cause
        return [x.embedding for x in sorted(answer.data, key=lambda x: x.index)]

    return embed
