"""Quality of the search: labelled queries, here and with FastMCP's search transform."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xai_mcp_agent.search import ToolIndex
from xai_mcp_agent.search.embeddings import DenseIndex, Embedder
from xai_mcp_agent.search.terms import clauses

from .helpers import FASTMCP
from .sets import Json, ToolSet, means, score
from .vectors import KeptVectors

FIGURES = ("ndcg@10", "recall@10")
RESULTS = 10


@dataclass(frozen=True)
class Way:
    """A way to search, and what the mean over all sets should reach."""

    name: str
    targets: tuple[tuple[str, float], ...] = ()


LEXICAL = Way("by words", (("ndcg@10", 0.73), ("recall@10", 0.82)))
WITH_EMBEDDINGS = Way("with embeddings", (("ndcg@10", 0.76), ("recall@10", 0.86)))
RIVAL = Way("FastMCP BM25")


@dataclass(frozen=True)
class Scored:
    """Scores of one set, and the CPU milliseconds of a query."""

    figures: dict[str, float]
    milliseconds: float


Table = dict[Way, dict[str, Scored]]


def measure(sets: Sequence[ToolSet], scorer: Path, embed: KeptVectors | None) -> Table:
    """Measure each set in each way; a way that cannot be measured is reported and left out."""
    labelled = [x for x in sets if x.queries]
    table: Table = {LEXICAL: {x.name: _ours(x, scorer, None) for x in labelled}}
    if embed:
        table[WITH_EMBEDDINGS] = {x.name: _ours(x, scorer, embed) for x in labelled}
    try:
        table[RIVAL] = {x.name: _rivals(x, scorer) for x in labelled}
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{RIVAL.name} is left out: {error}", file=sys.stderr)
    return table


def misses(table: Table) -> list[str]:
    """Targets that are not reached, and sets in which the rival is before a way of ours."""
    said: list[str] = []
    for way, scored in table.items():
        over_all = means(x.figures for x in scored.values())
        for figure, least in way.targets:
            if over_all[figure] < least:
                said.append(f"{way.name}: {figure} is {over_all[figure]:.3f}, not {least:g}")
        for name, theirs in table.get(RIVAL, {}).items():
            if way is not RIVAL and scored[name].figures["ndcg@10"] <= theirs.figures["ndcg@10"]:
                said.append(f"{way.name}: {RIVAL.name} is before us in {name}")
    return said


def markdown(table: Table, sets: Iterable[ToolSet]) -> str:
    """NDCG: a line for each set and one for their means; the best of a line is bold."""
    ways = list(table)
    lines = [["NDCG@10 of", "tools", "queries", *(way.name for way in ways)]]
    for one in (x for x in sets if x.queries):
        cells = _cells([table[way][one.name].figures for way in ways])
        lines.append([one.name, f"{len(one.tools):,}", f"{len(one.queries):,}", *cells])
    over_all = [means(x.figures for x in table[way].values()) for way in ways]
    lines.append(["mean of the sets", "", "", *_cells(over_all)])
    lines.append(["at least", "", "", *(_target(way, "ndcg@10") for way in ways)])
    return table_of(lines)


def means_over_sets(table: Table) -> str:
    """Recall and the CPU time of a query, over all sets."""
    recall, taken = list[str](), list[str]()
    for way, scored in table.items():
        mean = means(x.figures for x in scored.values())["recall@10"]
        target = _target(way, "recall@10")
        recall.append(f"{way.name} {mean:.3f}{f' (at least {target})' if target else ''}")
        milliseconds = statistics.mean(x.milliseconds for x in scored.values())
        taken.append(f"{way.name} {milliseconds:.1f} ms")
    return (
        f"Means over the sets: recall@10 {', '.join(recall)}; "
        f"CPU time of a query {', '.join(taken)}."
    )


def table_of(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells, the head first, as Markdown."""
    head, *rest = lines
    return "\n".join(f"| {' | '.join(x)} |" for x in (head, ["---"] * len(head), *rest))


def _ours(of: ToolSet, scorer: Path, embed: KeptVectors | None) -> Scored:
    index = _index_with(of, embed) if embed else ToolIndex(of.tools)
    index.search(of.queries[0])
    began = time.process_time()
    ranked = [[x.tool["id"] for x in index.search(query, RESULTS)] for query in of.queries]
    taken = time.process_time() - began
    return Scored(score(scorer, of, ranked), taken / len(of.queries) * 1000)


def _index_with(of: ToolSet, embed: KeptVectors) -> ToolIndex[Json]:
    """An index with all vectors: a search does not wait long for them."""
    dense = DenseIndex[str](Embedder(embed, "", "the model"))
    index = ToolIndex(of.tools, dense)
    while dense.fill():
        pass
    if (count := dense.prepared([x["id"] for x in of.tools])) < len(of.tools):
        raise TimeoutError(f"only {count:,} of {len(of.tools):,} tools of {of.name} have vectors")
    for query in of.queries:
        embed([x.strip() for x in (query, *clauses(query)) if x.strip()])
    return index


def _rivals(of: ToolSet, scorer: Path) -> Scored:
    answer = FASTMCP.ask({"tools": named_for_rival(of.tools), "queries": of.queries})
    ranked = [[of.tools[place]["id"] for place in places] for places in answer["found"]]
    return Scored(score(scorer, of, ranked), statistics.mean(answer["seconds"]) * 1000)


def named_for_rival(tools: Sequence[Json]) -> list[Json]:
    """Tools named as where several servers are mounted in one: that serves the rival best."""
    seen: dict[str, int] = {}
    found: list[Json] = []
    for tool in tools:
        name = f"{tool['server']}_{tool['name']}" if tool["server"] else tool["name"]
        seen[name] = seen.get(name, 0) + 1
        # A space more makes no other word of it.
        name += " " * (seen[name] - 1)
        kept = {x: tool[x] for x in ("description", "input_schema")}
        found.append({"name": name, **kept})
    return found


def _cells(of_ways: Sequence[dict[str, float]]) -> list[str]:
    figures = [x["ndcg@10"] for x in of_ways]
    return [f"**{x:.3f}**" if x == max(figures) else f"{x:.3f}" for x in figures]


def _target(way: Way, figure: str) -> str:
    target = dict(way.targets).get(figure)
    return "" if target is None else f"{target:g}"
