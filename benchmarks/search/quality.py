"""Quality of the search: labelled queries, here and with FastMCP's search transform."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xai_mcp_agent.search import ToolIndex
from xai_mcp_agent.search.embeddings import DenseIndex, Embedder
from xai_mcp_agent.search.terms import clauses

from .. import page
from .helpers import FASTMCP
from .sets import Json, ToolSet, means, run_scorer
from .vectors import CachedVectors

RESULTS = 10


@dataclass(frozen=True)
class Way:
    """A way to search, and what the mean over all sets should reach."""

    name: str
    targets: tuple[tuple[str, float], ...] = ()

    def target(self, figure: str) -> str:
        """Return the target of one figure, empty without one."""
        target = dict(self.targets).get(figure)
        return "" if target is None else f"{target:g}"


LEXICAL = Way("by words", (("ndcg@10", 0.73), ("recall@10", 0.82)))
WITH_EMBEDDINGS = Way("with embeddings", (("ndcg@10", 0.76), ("recall@10", 0.86)))
RIVAL = Way("FastMCP BM25")


@dataclass(frozen=True)
class Scores:
    """Scores of one set, and the CPU milliseconds of a query."""

    figures: dict[str, float]
    milliseconds: float


ScoresByWay = dict[Way, dict[str, Scores]]


def measure(sets: Sequence[ToolSet], scorer: Path, embed: CachedVectors | None) -> ScoresByWay:
    """Measure each set in each way; a way that cannot be measured is reported and left out."""
    labelled = [x for x in sets if x.queries]
    scores: ScoresByWay = {LEXICAL: {x.name: _score_ours(x, scorer, None) for x in labelled}}
    if embed:
        scores[WITH_EMBEDDINGS] = {x.name: _score_ours(x, scorer, embed) for x in labelled}
    try:
        scores[RIVAL] = {x.name: _score_rival(x, scorer) for x in labelled}
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{RIVAL.name} is left out: {error}", file=sys.stderr)
    return scores


def misses(scores: ScoresByWay) -> list[str]:
    """Targets that are not reached, and sets in which the rival is before a way of ours."""
    missed: list[str] = []
    for way, by_set in scores.items():
        over_all = means(x.figures for x in by_set.values())
        for figure, target in way.targets:
            if over_all[figure] < target:
                missed.append(f"{way.name}: {figure} is {over_all[figure]:.3f}, not {target:g}")
        for name, theirs in scores.get(RIVAL, {}).items():
            if way is not RIVAL and by_set[name].figures["ndcg@10"] <= theirs.figures["ndcg@10"]:
                missed.append(f"{way.name}: {RIVAL.name} is before us in {name}")
    return missed


def markdown(scores: ScoresByWay, sets: Iterable[ToolSet]) -> str:
    """NDCG: a line for each set and one for their means; the best of a line is bold."""
    lines = [
        [x.name, f"{len(x.tools):,}", f"{len(x.queries):,}",
         *_cells(by_set[x.name].figures for by_set in scores.values())]
        for x in sets if x.queries
    ]  # fmt: skip
    over_all = (means(x.figures for x in by_set.values()) for by_set in scores.values())
    lines.append(["mean of the sets", "", "", *_cells(over_all)])
    lines.append(["at least", "", "", *(way.target("ndcg@10") for way in scores)])
    return page.table(["NDCG@10 of", "tools", "queries", *(way.name for way in scores)], lines)


def means_over_sets(scores: ScoresByWay) -> str:
    """Recall and the CPU time of a query, over all sets."""
    recall, times = list[str](), list[str]()
    for way, by_set in scores.items():
        mean = means(x.figures for x in by_set.values())["recall@10"]
        target = way.target("recall@10")
        recall.append(f"{way.name} {mean:.3f}{f' (at least {target})' if target else ''}")
        milliseconds = statistics.mean(x.milliseconds for x in by_set.values())
        times.append(f"{way.name} {milliseconds:.1f} ms")
    return (
        f"Means over the sets: recall@10 {', '.join(recall)}; "
        f"CPU time of a query {', '.join(times)}."
    )


def _score_ours(of: ToolSet, scorer: Path, embed: CachedVectors | None) -> Scores:
    index = _index_with_vectors(of, embed) if embed else ToolIndex(of.tools)
    index.search(of.queries[0])
    start = time.process_time()
    ranked = [[x.tool["id"] for x in index.search(query, RESULTS)] for query in of.queries]
    seconds = time.process_time() - start
    return Scores(_score(scorer, of, ranked), seconds / len(of.queries) * 1000)


def _index_with_vectors(of: ToolSet, embed: CachedVectors) -> ToolIndex[Json]:
    """Return an index with all vectors: a search does not wait long for them."""
    dense = DenseIndex[str](Embedder(embed, "", "the model"))
    index = ToolIndex(of.tools, dense)
    while dense.fill():
        pass
    if (count := dense.count_ready([x["id"] for x in of.tools])) < len(of.tools):
        raise TimeoutError(f"only {count:,} of {len(of.tools):,} tools of {of.name} have vectors")
    for query in of.queries:
        embed([x.strip() for x in (query, *clauses(query)) if x.strip()])
    return index


def _score_rival(of: ToolSet, scorer: Path) -> Scores:
    answer = FASTMCP.ask({"tools": tools_for_rival(of.tools), "queries": of.queries})
    ranked = [[of.tools[place]["id"] for place in places] for places in answer["ranked"]]
    return Scores(_score(scorer, of, ranked), statistics.mean(answer["seconds"]) * 1000)


def _score(scorer: Path, of: ToolSet, ranked: Sequence[Sequence[str]]) -> dict[str, float]:
    """Score the ranked ids of each query."""
    predictions = ({"query_index": n, "ranked": ids} for n, ids in enumerate(ranked))
    return run_scorer(scorer, of.labels, predictions)


def tools_for_rival(tools: Sequence[Json]) -> list[Json]:
    """Tools named as where several servers are mounted in one: that serves the rival best."""
    counts = Counter[str]()
    unique: list[Json] = []
    for tool in tools:
        name = f"{tool['server']}_{tool['name']}" if tool["server"] else tool["name"]
        fields = {x: tool[x] for x in ("description", "input_schema")}
        # A trailing space makes a name unique, and changes no word of it.
        unique.append({"name": name + " " * counts[name], **fields})
        counts[name] += 1
    return unique


def _cells(figures: Iterable[dict[str, float]]) -> list[str]:
    values = [x["ndcg@10"] for x in figures]
    return [f"**{x:.3f}**" if x == max(values) else f"{x:.3f}" for x in values]
