"""Catalogs of tools with labelled queries, a folder for each, and what a scorer says of answers."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCORER_SECONDS = 60.0

Json = dict[str, Any]


@dataclass(frozen=True)
class ToolSet:
    """Dicts with at least `id`, `server`, `name`, `description`, `input_schema`; and queries."""

    name: str
    tools: list[Json]
    queries: list[str]
    labels: Path


def read_sets(folder: Path) -> list[ToolSet]:
    """Each folder in it that has `tools.jsonl`; without `queries.jsonl` a set has no queries."""
    found = [_read(x.parent) for x in sorted(folder.glob("*/tools.jsonl"))]
    if not any(x.queries for x in found):
        raise FileNotFoundError(f"{folder} has no folder with tools.jsonl and queries.jsonl")
    return found


def score(scorer: Path, of: ToolSet, ranked: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the scores that the scorer, a program, prints for the ranked ids of each query."""
    lines = (
        json.dumps({"query_index": n, "ranked": list(ids)}) + "\n" for n, ids in enumerate(ranked)
    )
    with tempfile.TemporaryDirectory() as folder:
        predictions = Path(folder) / "predictions.jsonl"
        predictions.write_text("".join(lines), encoding="utf-8")
        command = [sys.executable, str(scorer), str(of.labels), str(predictions)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SCORER_SECONDS, check=False
        )
    if done.returncode:
        raise ValueError(f"{scorer} says of {of.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def json_lines(file: Path) -> list[Json]:
    """The objects of a file; only a line feed ends a line."""
    text = file.read_text(encoding="utf-8-sig")
    return [json.loads(x) for x in text.split("\n") if x.strip()]


def means(rows: Iterable[dict[str, float]]) -> dict[str, float]:
    """The plain mean of each figure."""
    listed = list(rows)
    return {key: sum(x[key] for x in listed) / len(listed) for key in listed[0]}


def _read(folder: Path) -> ToolSet:
    labels = folder / "queries.jsonl"
    queries = [x["query"] for x in json_lines(labels)] if labels.exists() else []
    return ToolSet(folder.name, json_lines(folder / "tools.jsonl"), queries, labels)
