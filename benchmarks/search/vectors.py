"""Vectors of a model in a folder, cached in a file for the next run."""

from __future__ import annotations

import base64
import hashlib
import json
from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from xai_mcp_agent.search.embeddings import Embed
from xai_mcp_agent.search.local_model import local_embedder

from .helpers import CACHE


class CachedVectors:
    """A function for `ToolIndex(..., embed=...)`; the model is loaded for the first new text."""

    def __init__(self, model: Path) -> None:
        digest = hashlib.sha256(str(model.resolve()).encode()).hexdigest()[:12]
        self._model = model
        self._file = CACHE / f"vectors-{digest}.jsonl"
        self._vectors = _read(self._file)

    def __call__(self, texts: list[str]) -> list[Sequence[float]]:
        """Return the vectors of these texts, in this order."""
        if missing := [x for x in dict.fromkeys(texts) if x not in self._vectors]:
            self._compute(missing)
        return [self._vectors[x] for x in texts]

    @cached_property
    def _embed(self) -> Embed:
        return local_embedder(self._model).embed

    def _compute(self, texts: list[str]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as file:
            for text in texts:
                vector = array("f", map(float, self._embed([text])[0]))
                self._vectors[text] = vector
                line = json.dumps([text, base64.b64encode(vector.tobytes()).decode()])
                file.write(f"{line}\n")


def _read(file: Path) -> dict[str, array[float]]:
    if not file.exists():
        return {}
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(x) for x in lines if x.endswith("\n")]  # the last may be cut off
    return {text: array("f", base64.b64decode(vector)) for text, vector in rows}
