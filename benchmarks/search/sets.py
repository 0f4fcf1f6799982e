"""Sets of tools with labelled queries, a folder for each, and programs that score answers."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCORER_SECONDS = 120.0
_CHANGED_WORDS = 0.3  # of a copied tool
_SEED = 20

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
    sets: list[ToolSet] = []
    for tools in sorted(folder.glob("*/tools.jsonl")):
        labels = tools.with_name("queries.jsonl")
        queries = [x["query"] for x in json_lines(labels)] if labels.exists() else []
        sets.append(ToolSet(tools.parent.name, json_lines(tools), queries, labels))
    if not any(x.queries for x in sets):
        raise FileNotFoundError(f"{folder} has no folder with tools.jsonl and queries.jsonl")
    return sets


def json_lines(file: Path) -> list[Json]:
    """Return the objects of a file; only a line feed ends a line."""
    text = file.read_text(encoding="utf-8-sig")
    return [json.loads(x) for x in text.split("\n") if x.strip()]


def run_scorer(scorer: Path, labels: Path, predictions: Iterable[Json]) -> Json:
    """Return the scores that the scorer, a program, prints for predictions beside the labels."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "predictions.jsonl"
        file.write_text("".join(f"{json.dumps(x)}\n" for x in predictions), encoding="utf-8")
        command = [sys.executable, str(scorer), str(labels), str(file)]
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=_SCORER_SECONDS, check=False
        )
    if process.returncode:
        raise ValueError(f"{scorer} failed for {labels}: {process.stderr.strip()}")
    return json.loads(process.stdout)


def means(rows: Iterable[dict[str, float]]) -> dict[str, float]:
    """Return the plain mean of each figure."""
    listed = list(rows)
    return {key: sum(x[key] for x in listed) / len(listed) for key in listed[0]}


def catalog(sets: Sequence[ToolSet], count: int) -> Iterator[Json]:
    """So many tools: the real ones in random order, then copies with some other words."""
    generator = random.Random(_SEED)
    real = [tool | {"id": f"{x.name}/{tool['id']}"} for x in sets for tool in x.tools]
    generator.shuffle(real)
    words = sorted({word for tool in real for word in tool["description"].split()})
    for number in range(count):
        tool = real[number % len(real)]
        yield tool if number < len(real) else _copy(tool, number, words, generator)


def _copy(tool: Json, number: int, words: Sequence[str], generator: random.Random) -> Json:
    text = [
        generator.choice(words) if generator.random() < _CHANGED_WORDS else word
        for word in tool["description"].split()
    ]
    name = f"{tool['name']}_{generator.choice(words)}"
    return tool | {"id": f"{tool['id']}#{number}", "name": name, "description": " ".join(text)}
