"""Tokens of tools in a request: our estimate against a tokenizer, and kinds of requests."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xai_mcp_agent.agent.text_protocol import describe_tools
from xai_mcp_agent.catalog.definitions import ToolDefinition
from xai_mcp_agent.core.names import ShownNames
from xai_mcp_agent.core.provider_schema import FunctionSpec, function_spec
from xai_mcp_agent.core.tools import Tool, ToolKey
from xai_mcp_agent.search import ToolIndex
from xai_mcp_agent.search.meta_tools import DEFAULT_RESULTS, META_TOOLS, search_answer
from xai_mcp_agent.search.selector import BudgetSelector

from .. import page
from .helpers import FASTMCP, TOKENIZER
from .quality import tools_for_rival
from .sets import Json, ToolSet, catalog

BUDGET_TOKENS = 3_800
SIZES = (50, 500, 5_000)
_BUNDLE, _BUNDLES = 20, 3_000
_MAX_MEAN = 1.25
_QUERIES = 40
_SEED = 21


@dataclass(frozen=True)
class Bundles:
    """Our estimate over a tokenizer's count, for bundles of twenty tools of one set."""

    name: str
    least: float
    mean: float
    least_in_text: float  # the same for the text protocol
    least_in_request: float  # and with the JSON around each in a request


@dataclass(frozen=True)
class Turn:
    """The tokens of one request, by a tokenizer."""

    tools: int
    everything: int
    ours: int
    ours_after: float  # with the answer to a search, and the tools in it
    theirs: int
    theirs_after: float


def measure_estimate(sets: Sequence[ToolSet], bundles: int = _BUNDLES) -> list[Bundles]:
    """Measure bundles of each set, and of all together; they are the same in every run.

    Raises:
        OSError, subprocess.SubprocessError: there is no tokenizer.
    """
    groups = {x.name: definitions(x.tools) for x in sets}
    counts = {name: _count(x) for name, x in groups.items()}
    groups["all together"] = [x for group in groups.values() for x in group]
    counts["all together"] = [x for group in counts.values() for x in group]
    generator = random.Random(_SEED)
    return [_bundles(x, groups[x], counts[x], bundles, generator) for x in groups]


def measure_turns(sets: Sequence[ToolSet], sizes: Sequence[int] = SIZES) -> list[Turn]:
    """Measure with real tools in random order, and requests of people.

    Raises as `measure_estimate`.
    """
    queries = [query for x in sets for query in x.queries]
    queries = random.Random(_SEED).choices(queries, k=_QUERIES)
    return [_turn(list(catalog(sets, size)), queries) for size in sizes]


def misses(groups: Sequence[Bundles]) -> list[str]:
    """Return where the estimate is too low for some bundle, or too high for most."""
    low = [
        f"tokens of {_BUNDLE} tools of {x.name} are estimated at {least:.2f} of what they are"
        for x in groups
        for least in (x.least, x.least_in_text, x.least_in_request)
        if least < 1
    ]
    high = [
        f"tokens of {x.name} are estimated at {x.mean:.2f} of what they are on average"
        for x in groups
        if x.mean > _MAX_MEAN
    ]
    return low + high


def estimate_markdown(groups: Sequence[Bundles]) -> str:
    """Return the last group, which is all sets together, in a sentence."""
    together = groups[-1]
    least = min(together.least, together.least_in_request, together.least_in_text)
    return (
        f"The estimate, over what is counted of bundles of {_BUNDLE} tools: {together.mean:.2f} on "
        f"average, {least:.2f} at least."
    )


def turns_markdown(turns: Sequence[Turn]) -> str:
    """Return a table with a line for each kind of request."""
    kinds: dict[str, Callable[[Turn], float]] = {
        "all definitions": lambda x: x.everything,
        "ours, before a search": lambda x: x.ours,
        "ours, after a search: its answer, and the definitions": lambda x: x.ours_after,
        "FastMCP, before a search": lambda x: x.theirs,
        "FastMCP, after a search: its answer": lambda x: x.theirs_after,
    }
    head = ["tokens of tools in a request", *(f"{x.tools:,} tools" for x in turns)]
    rows = ([kind, *(f"{of(x):,.0f}" for x in turns)] for kind, of in kinds.items())
    return page.table(head, rows)


def definitions(tools: Sequence[Json]) -> list[ToolDefinition]:
    """Return the definitions as an agent has them, under their shown names."""
    names = ShownNames()
    keys: set[ToolKey] = set()
    result: list[ToolDefinition] = []
    for x in tools:
        key = ToolKey("mcp", x["server"], x["name"])
        if key in keys:  # two tools of a server with one name
            key = ToolKey("mcp", x["server"], x["id"])
        keys.add(key)
        tool = Tool(key, x["description"], x["input_schema"])
        result.append(ToolDefinition(tool, function_spec(names.show(key), tool)))
    return result


def _count(tools: Sequence[ToolDefinition]) -> list[tuple[int, int, int]]:
    """Return the tokens of each tool alone, in the text protocol, and in a request."""
    ways = (
        lambda x: _compact(_fields(x)),
        lambda x: describe_tools([x]),
        lambda x: _compact({"type": "function", "function": _fields(x)}),
    )
    texts = [way(x.function) for x in tools for way in ways]
    counts: list[int] = TOKENIZER.ask(texts)
    return list(zip(counts[::3], counts[1::3], counts[2::3], strict=True))


def _bundles(
    name: str,
    tools: Sequence[ToolDefinition],
    counts: Sequence[tuple[int, int, int]],
    bundles: int,
    generator: random.Random,
) -> Bundles:
    numbers = range(len(tools))
    ratios: list[tuple[float, float, float]] = []
    for _ in range(bundles):
        bundle = generator.sample(numbers, min(_BUNDLE, len(tools)))
        estimate = sum(tools[x].tokens for x in bundle)
        alone, in_text, in_request = (sum(counts[x][way] for x in bundle) for way in range(3))
        ratios.append((estimate / alone, estimate / in_text, estimate / in_request))
    alone, in_text, in_request = zip(*ratios, strict=True)
    return Bundles(name, min(alone), statistics.mean(alone), min(in_text), min(in_request))


def _turn(tools: list[Json], queries: Sequence[str]) -> Turn:
    job = {"tools": tools_for_rival(tools), "queries": list(queries), "shows": True}
    theirs = FASTMCP.ask(job)
    before = [_compact(x) for x in theirs["definitions"]]
    ours = _OurRequests(tools)
    after = [ours.after(x) for x in queries]
    texts = [_compact(ours.everything), ours.before, "".join(before), *after, *theirs["answers"]]
    everything, first, rival, *rest = TOKENIZER.ask(texts)
    ours_after, answers = rest[: len(after)], rest[len(after) :]
    mean = statistics.mean
    return Turn(len(tools), everything, first, mean(ours_after), rival, rival + mean(answers))


class _OurRequests:
    """Our agents' requests with these tools."""

    def __init__(self, tools: Sequence[Json]) -> None:
        own = definitions(tools)
        self._index = ToolIndex([x.tool for x in own])
        meta_tools = (ToolDefinition(x, function_spec(x.name, x)) for x in META_TOOLS)
        self._available = (*meta_tools, *own)
        self._by_key = {x.tool.key: x for x in own}
        self.everything = [_fields(x.function) for x in own]
        self.before = self._show([])

    def after(self, query: str) -> str:
        """Return the request after a search: its answer, and the tools that it then shows."""
        results = self._index.search(query, DEFAULT_RESULTS)
        hits = [(self._by_key[x.tool.key], x.score) for x in results]
        answer = search_answer(hits, ())
        return self._show([x.tool.key for x, _ in hits]) + answer.text

    def _show(self, hits: Sequence[ToolKey]) -> str:
        selector = BudgetSelector(BUDGET_TOKENS, lambda _: False)
        selection = selector.select(self._available, hits)
        return _compact([_fields(x.definition.function) for x in selection.shown])


def _fields(function: FunctionSpec) -> Json:
    return {x: getattr(function, x) for x in ("name", "description", "parameters")}


_compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
