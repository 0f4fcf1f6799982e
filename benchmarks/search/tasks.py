"""Tasks of people, done by agents whose server has a thousand tools: which call the right one?

All is real but the people: the tools of public sets behind an MCP server over stdio, the loop, a
model on the wire. Tools and tasks are chosen by rule and seed, not by hand. A task is a query for
which a set names one tool; another that would do as well counts as a wrong one. Beside them stand
plain requests, which say what a tool needs to be given.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.support import catalog_server
from tests.support.bridges import listed_tool
from tests.support.model_endpoint import model_endpoint
from tests.support.searching_model import SearchingModel
from tests.support.task_runs import OnEvent, Task, Told, nothing, run_tasks
from xai_mcp_agent import Bridge
from xai_mcp_agent.agent.events import ModelAsked, RunEvent
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.names import ShownNames
from xai_mcp_agent.core.tools import ToolKey

from .quality import table_of
from .sets import Json, ToolSet, json_lines

TOOLS, TASKS, LATE_TOOLS = 1_000, 40, 50
_LATE_TASKS = 5  # each has a server of its own
SEED = 13
_LEAST_DONE = 0.9
_BUDGET_TOKENS = 3_800
_SERVER = "catalog"
# The sets whose queries are nearest to what people ask an agent for, and which of their kinds
# want a single tool; a set without queries gives further tools.
_KINDS = {"livemcp": ("step", "agent"), "bfcl_live": ("simple", "multiple")}
_ALSO = ("registry",)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")
PROTOCOLS = ("native", "text")
# A tool of the sets and a request in each line, written before anything was tried with them.
_PLAIN = Path(__file__).with_name("plain_requests.txt")


@dataclass(frozen=True)
class Work:
    """Tools as a server offers them, and tasks for them."""

    tools: list[Json]
    tasks: list[Task]

    def shown(self) -> dict[str, frozenset[str]]:
        """The names of what each task needs, as a model reads them, by the task's words."""
        names = ShownNames()
        shown = {x["name"]: names.show(ToolKey("mcp", _SERVER, x["name"])) for x in self.tools}
        return {x.asked: frozenset(shown[y] for y in x.needed) for x in self.tasks}


@dataclass(frozen=True)
class Way:
    """An agent that does the tasks. `knows` and `takes` are scripts of `searching_model`."""

    name: str
    script: Callable[[Work], SearchingModel] | None
    has_target: bool = True


WAYS = (
    Way("a model that knows the right tool when it sees it", lambda x: SearchingModel(x.shown())),
    Way("a model that takes the first of what is found", lambda _: SearchingModel({}), False),
    Way("the offline model", None, False),
)
# What rules can do: with the labels of the sets, many requests say too little for them.
PLAIN_WAYS = (Way("the offline model, asked plainly", None),)


@dataclass(frozen=True)
class Done:
    """Results of the tasks in one way. `late`: of tools that arrived during the run."""

    way: Way
    protocol: str
    told: list[Told]
    late: bool = False

    @property
    def count(self) -> int:
        """The tasks of which the needed tool was called."""
        return sum(x.is_done for x in self.told)

    @property
    def tokens(self) -> list[int]:
        """Estimated tokens of the tools in each request."""
        return [x for one in self.told for x in one.tokens]

    def asked_back(self) -> int:
        """Tasks in which the right tool was chosen, and the person asked for what it lacks."""
        return sum(not x.is_done and _would_use(x) for x in self.told)


def choose(sets: Sequence[ToolSet], seed: int = SEED, tasks: int = TASKS) -> Work:
    """As many tasks of each set as there are, together these, and tools with theirs among them.

    Raises:
        LookupError: one of the sets that tasks come from is not there.
    """
    chooses, by_name = random.Random(seed), {x.name: x for x in sets}
    tools, asked = _tools_of(by_name), list[tuple[str, list[str]]]()
    for name, left in zip(_KINDS, range(len(_KINDS), 0, -1), strict=True):
        queries = list(_single(by_name[name], _KINDS[name]))
        asked += chooses.sample(queries, min((tasks - len(asked)) // left, len(queries)))
    return _work(tools, asked, chooses)


def plain(sets: Sequence[ToolSet], seed: int = SEED) -> Work:
    """Plain requests for tools that the sets have, and tools with these among them.

    Raises:
        LookupError: one of the sets that tools come from is not there.
    """
    tools = _tools_of({x.name: x for x in sets})
    ids = {x["name"]: key for key, x in tools.items()}
    lines = (x.split("|", 1) for x in _PLAIN.read_text(encoding="utf-8").splitlines())
    asked = [(request, [ids[name]]) for name, request in lines if name in ids]
    return _work(tools, asked, random.Random(seed))


def _tools_of(sets: Mapping[str, ToolSet]) -> dict[str, Json]:
    """Return the tools as they are offered, by set and id."""
    if gone := sorted(_KINDS.keys() - sets.keys()):
        raise LookupError(f"there is no set {gone[0]}")
    names = (*_KINDS, *(x for x in _ALSO if x in sets))
    return {f"{name}:{x['id']}": _offered(x) for name in names for x in sets[name].tools}


def _work(
    tools: Mapping[str, Json], asked: Sequence[tuple[str, list[str]]], chooses: random.Random
) -> Work:
    needed = {x for _, ids in asked for x in ids}
    others = [x for x in tools if x not in needed]
    others = chooses.sample(others, min(TOOLS - len(needed), len(others)))
    chosen = [tools[x] for x in (*sorted(needed), *others)]
    chosen.sort(key=lambda x: x["name"])
    return Work(chosen, [Task(x, frozenset(tools[y]["name"] for y in ids)) for x, ids in asked])


def measure(work: Work, folder: Path, ways: Iterable[Way] = WAYS) -> list[Done]:
    """Each way in each protocol; those with a target also with tools that come in mid run."""
    found: list[Done] = []
    with _bridge(work.tools, folder) as bridge:
        for way in ways:
            found += [Done(way, x, _runs(way, x, work, bridge)) for x in PROTOCOLS]
    return [*found, *(_done_late(x, work, folder) for x in found if x.way.has_target)]


def misses(found: Sequence[Done]) -> list[str]:
    """Ways that call too few of the needed tools, and requests over the budget."""
    said: list[str] = []
    for x in found:
        name = f"{x.way.name}, {x.protocol}{', tools that come in mid run' if x.late else ''}"
        if x.way.has_target and x.count < _LEAST_DONE * len(x.told):
            said.append(f"{name}: called in {x.count} of {len(x.told)} tasks, not {_LEAST_DONE:g}")
        if max(x.tokens) > _BUDGET_TOKENS:
            said.append(f"{name}: a request's tools take {max(x.tokens):,} tokens")
    return said


def markdown(found: Sequence[Done]) -> str:
    """A line for each way, with a column for each protocol."""
    ways: dict[str, list[Done]] = {}
    for one in found:
        who = f"{one.way.name}{', of tools that come in mid run' if one.late else ''}"
        ways.setdefault(who, []).append(one)
    largest = "largest request, tokens of tools"
    lines = [["needed tool called by", *PROTOCOLS, largest]]
    for who, of_protocols in ways.items():
        most = max(tokens for one in of_protocols for tokens in one.tokens)
        lines.append([who, *map(_called, of_protocols), f"{most:,}"])
    return table_of(lines)


def _called(of: Done) -> str:
    asked = f", asked back in {of.asked_back()}" if of.asked_back() else ""
    return f"{of.count} of {len(of.told)}{asked}"


def _runs(
    way: Way, protocol: Any, work: Work, bridge: Bridge, on_event: OnEvent = nothing
) -> list[Told]:
    run = partial(run_tasks, bridge, [_SERVER], work.tasks, protocol=protocol, on_event=on_event)
    if way.script is None:
        return run()
    with model_endpoint(way.script(work)) as endpoint:
        return run(base_url=endpoint.base_url)


def _done_late(before: Done, work: Work, folder: Path) -> Done:
    """A few tasks that were done, each with its tool coming while the model thinks."""
    done = [x.task for x in before.told if x.is_done][:_LATE_TASKS]
    told = [_run_late(before.way, before.protocol, x, work, folder) for x in done]
    return Done(before.way, before.protocol, told, late=True)


def _run_late(way: Way, protocol: Any, task: Task, work: Work, folder: Path) -> Told:
    """The server gets fifty tools, the needed one among them, as soon as the model is asked."""
    late = [x for x in work.tools if x["name"] in task.needed]
    others = [x for x in work.tools if x["name"] not in task.needed]
    late += others[: LATE_TOOLS - len(late)]
    names = {x["name"] for x in late}

    async def install(operations: Operations, event: RunEvent) -> None:
        if isinstance(event, ModelAsked) and event.step == 1:
            await operations.call_tool(_SERVER, catalog_server.INSTALL["name"])
            await listed_tool(operations, _SERVER, next(iter(task.needed)))

    with _bridge([x for x in work.tools if x["name"] not in names], folder, late) as bridge:
        return _runs(way, protocol, Work(work.tools, [task]), bridge, install)[0]


def _would_use(told: Told) -> bool:
    return any(f"I would use {_SERVER}_{x}," in told.answer for x in told.task.needed)


def _single(of: ToolSet, kinds: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Queries that need one tool, with the ids of those that are it."""
    for x in json_lines(of.labels):
        if x["kind"] in kinds and len(x["relevant"]) == 1:
            (one,) = x["relevant"]
            ids = one if isinstance(one, list) else [one]
            yield x["query"], [f"{of.name}:{y}" for y in ids]


def _offered(tool: Json) -> Json:
    """Return the tool as one server offers it for several: its own server's name comes first."""
    name = f"{tool['server']}_{tool['name']}" if tool["server"] else tool["name"]
    kept = {x: tool[x] for x in ("description", "input_schema")}
    return {"name": _NOT_IN_NAMES.sub("_", name), **kept}


@contextmanager
def _bridge(tools: Sequence[Json], folder: Path, more: Sequence[Json] = ()) -> Iterator[Bridge]:
    files = [folder / "tools.jsonl", folder / "more.jsonl"][: 2 if more else 1]
    for file, listed in zip(files, (tools, more), strict=False):
        file.write_text("\n".join(map(json.dumps, listed)), encoding="utf-8")
    args = [catalog_server.__file__, *map(str, files)]
    server = {"command": sys.executable, "args": args}
    # One way must not learn from another what the tasks need.
    with Bridge({"mcpServers": {_SERVER: server}, "toolSearch": {"learn": False}}) as bridge:
        yield bridge
