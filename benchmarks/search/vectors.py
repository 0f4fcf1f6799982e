"""Vectors of a model in a folder: made in a process with what that takes, and kept in a file."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import threading
from array import array
from pathlib import Path

from ..peers.environments import CACHE, ROOT, environment_with, variables

_KEPT = CACHE.parent / "search"
_PINS = ("numpy==2.4.6", "tokenizers==0.23.3", "safetensors==0.8.0")
_END_SECONDS = 5.0


class KeptVectors:
    """A function for `ToolIndex(..., embed=...)`. Leaving its block ends the process.

    `made` counts the texts whose vectors were not there yet.
    """

    def __init__(self, model: Path, kept: Path = _KEPT) -> None:
        digest = hashlib.sha256(str(model.resolve()).encode()).hexdigest()[:12]
        self._model = model
        self._file = kept / f"vectors-{digest}.jsonl"
        self._vectors = dict(_read(self._file))
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self.made = 0

    def __enter__(self) -> KeptVectors:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate(timeout=_END_SECONDS)

    def __call__(self, texts: list[str]) -> list[array[float]]:
        """The vectors of these texts, in this order."""
        with self._lock:
            missing = [x for x in dict.fromkeys(texts) if x not in self._vectors]
            if missing:
                self._make(missing)
            return [self._vectors[x] for x in texts]

    def _make(self, texts: list[str]) -> None:
        process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(texts)}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise OSError(f"the process with the model in {self._model} has ended")
        with self._file.open("a", encoding="utf-8") as file:
            for text, vector in zip(texts, json.loads(line), strict=True):
                self._vectors[text] = array("f", base64.b64decode(vector))
                file.write(f"{json.dumps([text, vector])}\n")
        self.made += len(texts)

    def _started(self) -> subprocess.Popen[str]:
        made = environment_with("embeddings", "tokenizers", _PINS)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [made.python, "-m", "benchmarks.search.embed", str(self._model)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            cwd=ROOT, env={**variables(), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        return self._process


def _read(file: Path) -> list[tuple[str, array[float]]]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(x) for x in lines if x.endswith("\n")]
    return [(text, array("f", base64.b64decode(vector))) for text, vector in rows]
