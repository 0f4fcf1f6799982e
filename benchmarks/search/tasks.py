"""Tasks of people for agents whose server has a thousand tools: how many call the right one?

Everything is real except the people: the tools of public sets behind an MCP server over stdio, the
loop, a model on the wire. Tools and tasks are chosen by rule and seed, not by hand. A task is a
query for which a set names one tool; another tool that would do as well counts as wrong. There are
also plain requests, which name the values that a tool takes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.bridges import wait_until_listed
from tests.support.fault_server import catalog_entry, tool
from tests.support.model_endpoint import model_endpoint
from tests.support.searching_model import SearchingModel
from tests.support.task_runs import OnEvent, Task, TaskRun, ignore_event, run_tasks
from xai_mcp_agent import Bridge
from xai_mcp_agent.agent.events import ModelAsked, RunEvent
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.names import ShownNames
from xai_mcp_agent.core.tools import ToolKey

from .. import page
from .sets import Json, ToolSet, json_lines

TOOLS, TASKS, LATE_TOOLS = 1_000, 40, 50
_LATE_TASKS = 5  # each needs its own server
SEED = 13
_MIN_SUCCESS = 0.9
_BUDGET_TOKENS = 3_800
_SERVER = "catalog"
# The sets whose queries are most like the requests of people, with the kinds of queries that need
# a single tool; further tools come from a set without queries.
_KINDS = {"livemcp": ("step", "agent"), "bfcl_live": ("simple", "multiple")}
_MORE_SETS = ("registry",)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")
PROTOCOLS = ("native", "text")
# Lines with a tool of the sets and a request, written before any of them was tried.
_PLAIN = Path(__file__).with_name("plain_requests.txt")


@dataclass(frozen=True)
class Work:
    """Tools as a server offers them, and tasks for them."""

    tools: list[Json]
    tasks: list[Task]

    def names_by_request(self) -> dict[str, frozenset[str]]:
        """Return the shown names of the tools that each task needs, by its request."""
        names = ShownNames()
        shown_names = {
            x["name"]: names.show(ToolKey("mcp", _SERVER, x["name"])) for x in self.tools
        }
        return {x.request: frozenset(shown_names[y] for y in x.needed) for x in self.tasks}


@dataclass(frozen=True)
class Way:
    """An agent that does the tasks. `knows` and `takes` are scripts of `searching_model`."""

    name: str
    script: Callable[[Work], SearchingModel] | None
    has_target: bool = True


WAYS = (
    Way(
        "a model that knows the right tool when it sees it",
        lambda x: SearchingModel(x.names_by_request()),
    ),
    Way("a model that takes the first of what is found", lambda _: SearchingModel({}), False),
    Way("the offline model", None, False),
)
# Many requests of the sets say too little for a model that follows rules.
PLAIN_WAYS = (Way("the offline model, asked plainly", None),)


@dataclass(frozen=True)
class Result:
    """Runs of the tasks in one way. `late`: their tools arrived during the run."""

    way: Way
    protocol: str
    runs: list[TaskRun]
    late: bool = False

    @property
    def name(self) -> str:
        """Name of the way, and whether the tools arrived late."""
        return f"{self.way.name}{', of tools that come in mid run' if self.late else ''}"

    @property
    def successes(self) -> int:
        """The number of tasks in which the needed tool was called."""
        return sum(x.is_done for x in self.runs)

    @property
    def max_tokens(self) -> int:
        """Estimated tokens of the tools in the largest request."""
        return max((tokens for x in self.runs for tokens in x.tokens), default=0)

    @property
    def cell(self) -> str:
        """The successes, and the tasks in which the model asked for arguments of the right tool."""
        questions = sum(not x.is_done and _would_use(x) for x in self.runs)
        note = f", asked back in {questions}" if questions else ""
        return f"{self.successes} of {len(self.runs)}{note}"


def choose(sets: Sequence[ToolSet], seed: int = SEED, tasks: int = TASKS) -> Work:
    """Choose tasks from all sets alike, and tools with the needed ones among them.

    Raises:
        LookupError: one of the sets that tasks come from is not there.
    """
    generator, by_name = random.Random(seed), {x.name: x for x in sets}
    tools, requests = _tools_of(by_name), list[tuple[str, list[str]]]()
    for name, sets_left in zip(_KINDS, range(len(_KINDS), 0, -1), strict=True):
        queries = list(_queries_for_one_tool(by_name[name], _KINDS[name]))
        requests += generator.sample(
            queries, min((tasks - len(requests)) // sets_left, len(queries))
        )
    return _work(tools, requests, generator)


def plain(sets: Sequence[ToolSet], seed: int = SEED) -> Work:
    """Return plain requests for tools of the sets, and tools with the needed ones among them.

    Raises:
        LookupError: one of the sets that tools come from is not there.
    """
    tools = _tools_of({x.name: x for x in sets})
    ids = {x["name"]: key for key, x in tools.items()}
    lines = (x.split("|", 1) for x in _PLAIN.read_text(encoding="utf-8").splitlines())
    requests = [(request, [ids[name]]) for name, request in lines if name in ids]
    return _work(tools, requests, random.Random(seed))


def _tools_of(sets: Mapping[str, ToolSet]) -> dict[str, Json]:
    """Return the tools as the server lists them, by set and id."""
    if missing := sorted(_KINDS.keys() - sets.keys()):
        raise LookupError(f"there is no set {missing[0]}")
    names = (*_KINDS, *(x for x in _MORE_SETS if x in sets))
    return {f"{name}:{x['id']}": _entry(x) for name in names for x in sets[name].tools}


def _work(
    tools: Mapping[str, Json], requests: Sequence[tuple[str, list[str]]], generator: random.Random
) -> Work:
    needed = {x for _, ids in requests for x in ids}
    others = [x for x in tools if x not in needed]
    others = generator.sample(others, min(TOOLS - len(needed), len(others)))
    selection = [tools[x] for x in (*sorted(needed), *others)]
    selection.sort(key=lambda x: x["name"])
    tasks = [Task(x, frozenset(tools[y]["name"] for y in ids)) for x, ids in requests]
    return Work(selection, tasks)


def measure(work: Work, folder: Path, ways: Iterable[Way] = WAYS) -> list[Result]:
    """Measure each way in each protocol; with a target also with tools that arrive in mid run."""
    results: list[Result] = []
    with _bridge(work.tools, folder) as bridge:
        for way in ways:
            results += [Result(way, x, _run(way, x, work, bridge)) for x in PROTOCOLS]
    return [*results, *(_repeat_late(x, work, folder) for x in results if x.way.has_target)]


def misses(results: Sequence[Result]) -> list[str]:
    """Return ways that call too few of the needed tools, and requests over the budget."""
    missed: list[str] = []
    for x in results:
        name = f"{x.name}, {x.protocol}"
        if x.way.has_target and x.successes < _MIN_SUCCESS * len(x.runs):
            missed.append(f"{name}: called in {x.cell} tasks, not {_MIN_SUCCESS:g}")
        if x.max_tokens > _BUDGET_TOKENS:
            missed.append(f"{name}: a request's tools take {x.max_tokens:,} tokens")
    return missed


def markdown(results: Sequence[Result]) -> str:
    """Return a table with a line for each way and a column for each protocol."""
    ways: dict[str, list[Result]] = {}
    for result in results:
        ways.setdefault(result.name, []).append(result)
    head = ["needed tool called by", *PROTOCOLS, "largest request, tokens of tools"]
    rows = (
        [name, *(x.cell for x in of_way), f"{max(x.max_tokens for x in of_way):,}"]
        for name, of_way in ways.items()
    )
    return page.table(head, rows)


def _run(
    way: Way, protocol: Any, work: Work, bridge: Bridge, on_event: OnEvent = ignore_event
) -> list[TaskRun]:
    run = partial(run_tasks, bridge, [_SERVER], work.tasks, protocol=protocol, on_event=on_event)
    if way.script is None:
        return run()
    with model_endpoint(way.script(work)) as endpoint:
        return run(base_url=endpoint.base_url)


def _repeat_late(result: Result, work: Work, folder: Path) -> Result:
    """Run a few tasks that succeeded once more; now the tool arrives while the model thinks."""
    tasks = [x.task for x in result.runs if x.is_done][:_LATE_TASKS]
    runs = [_run_late(result.way, result.protocol, x, work, folder) for x in tasks]
    return Result(result.way, result.protocol, runs, late=True)


def _run_late(way: Way, protocol: Any, task: Task, work: Work, folder: Path) -> TaskRun:
    """Add fifty tools, the needed one among them, to the server after the first request."""
    late = [x for x in work.tools if x["name"] in task.needed]
    others = [x for x in work.tools if x["name"] not in task.needed]
    late += others[: LATE_TOOLS - len(late)]
    names = {x["name"] for x in late}
    new = [
        tool(x["name"], description=x["description"], inputSchema=x["input_schema"]) for x in late
    ]

    async def install(operations: Operations, event: RunEvent) -> None:
        if isinstance(event, ModelAsked) and event.step == 1:
            await operations.call_tool(_SERVER, "set_tools", {"tools": new, "add": True})
            await wait_until_listed(operations, _SERVER, next(iter(task.needed)))

    with _bridge([x for x in work.tools if x["name"] not in names], folder) as bridge:
        return _run(way, protocol, Work(work.tools, [task]), bridge, install)[0]


def _would_use(run: TaskRun) -> bool:
    """Return whether the model chose the right tool, and asked for missing arguments."""
    return any(f"I would use {_SERVER}_{x}," in run.answer for x in run.task.needed)


def _queries_for_one_tool(of: ToolSet, kinds: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield queries that need one tool, with the ids of the tools that would do."""
    for x in json_lines(of.labels):
        if x["kind"] in kinds and len(x["relevant"]) == 1:
            (one,) = x["relevant"]
            ids = one if isinstance(one, list) else [one]
            yield x["query"], [f"{of.name}:{y}" for y in ids]


def _entry(tool: Json) -> Json:
    """Return the tool as one server lists it for several: its own server's name comes first."""
    name = f"{tool['server']}_{tool['name']}" if tool["server"] else tool["name"]
    fields = {x: tool[x] for x in ("description", "input_schema")}
    return {"name": _NOT_IN_NAMES.sub("_", name), **fields}


@contextmanager
def _bridge(tools: Sequence[Json], folder: Path) -> Iterator[Bridge]:
    server = catalog_entry(folder / "tools.json", tools)
    # One way must not learn from another what the tasks need.
    with Bridge({"mcpServers": {_SERVER: server}, "toolSearch": {"learn": False}}) as bridge:
        yield bridge
