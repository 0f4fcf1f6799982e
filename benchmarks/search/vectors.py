"""Vectors of a model in a folder, kept in a file for the next run."""

from __future__ import annotations

import base64
import hashlib
import json
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

from xai_mcp_agent.search.embeddings import Embed
from xai_mcp_agent.search.local_model import local_embedder

from ..peers.environments import CACHE

_KEPT = CACHE.parent / "search"


class KeptVectors:
    """A function for `ToolIndex(..., embed=...)`. `made` counts the texts of this run."""

    def __init__(
        self,
        model: Path,
        folder: Path = _KEPT,
        load: Callable[[Path], Embed] = lambda x: local_embedder(x).embed,
    ) -> None:
        digest = hashlib.sha256(str(model.resolve()).encode()).hexdigest()[:12]
        self._file = folder / f"vectors-{digest}.jsonl"
        self._vectors = _read(self._file)
        self._load = lambda: load(model)
        self._embed: Embed | None = None
        self.made = 0

    def __call__(self, texts: list[str]) -> list[Sequence[float]]:
        """The vectors of these texts, in this order."""
        missing = [x for x in dict.fromkeys(texts) if x not in self._vectors]
        if missing:
            self._make(missing)
        return [self._vectors[x] for x in texts]

    def _make(self, texts: list[str]) -> None:
        self._embed = self._embed or self._load()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as file:
            for text in texts:
                vector = array("f", map(float, self._embed([text])[0]))
                self._vectors[text] = vector
                line = json.dumps([text, base64.b64encode(vector.tobytes()).decode()])
                file.write(f"{line}\n")
        self.made += len(texts)


def _read(file: Path) -> dict[str, array[float]]:
    if not file.exists():
        return {}
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(x) for x in lines if x.endswith("\n")]  # the last may be cut off
    return {text: array("f", base64.b64decode(vector)) for text, vector in rows}
