"""Whether the offline model answers what newcomers ask: `python -m benchmarks.questions`.

The questions are in `tests/data/questions`, one file for each bundled source; those in a file
`..._apart` are kept apart: nothing is tuned by them. Each is asked of an agent that has this source
only, and of one that has all of them. Useful is an answer that holds what was asked for; with one
source the calls must be the right ones, too. Among all of them another tool may do as well. Who
asks agrees to calls that must be approved if they are those that were asked for, else not.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.bakery import bakery
from xai_mcp_agent import Agent, ApprovalRequest, Bridge
from xai_mcp_agent.agent.events import ToolFinished
from xai_mcp_agent.bridge.agent import AgentResult
from xai_mcp_agent.settings.sources import ALL_BUILTIN_TOOLS

ROOT = Path(__file__).parents[1]
QUESTIONS = ROOT / "tests" / "data" / "questions"
PYTHON = sys.executable
"""What the servers are started with."""
SERVERS = {"library": "library", "units": "units", "calendar": "calendar_tools"}
SOURCES = ("library", "units", "calendar", "workbench", "shopping", "handy", "bakery")
FILES = {"recipe.txt": "Pancakes: flour, milk, eggs", "notes/today.txt": "Water the plants"}
_MOST_OFFERED = 3
_DAY = re.compile(r"\{(today|weekday|days until|days since|weekday of)[ ]?([-+\d]*)\}")


@dataclass(frozen=True)
class Question:
    """What somebody asks of a source. `calls` are the tools that answer it, alternatives with `|`
    between them, perhaps with arguments; `says` are patterns that the answer must hold. Where
    it `offers`, nothing can answer it, and the answer must say so and name ready questions.
    `before` is called first."""

    source: str
    ask: str
    calls: tuple[str, ...]
    says: tuple[str, ...]
    offers: bool = False
    before: tuple[str, ...] = ()


def questions(source: str, *, apart: bool = False) -> list[Question]:
    """The questions for a source: those for tuning, or those that are kept apart."""
    file = QUESTIONS / f"{source}{'_apart' if apart else ''}.jsonl"
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [_question(source, row) for row in rows]


def _question(source: str, row: Mapping[str, Any]) -> Question:
    calls, says, before = (tuple(row.get(x, ())) for x in ("calls", "says", "before"))
    return Question(source, row["ask"], calls, says, bool(row.get("offers")), before)


@dataclass
class Asker:
    """A person who asks, and approves only calls that the question is about."""

    question: Question | None = None

    def approve(self, request: ApprovalRequest) -> str:
        """The answer to a request for approval."""
        calls = self.question.calls if self.question else ()
        is_meant = any(_is(x, request.tool, request.arguments) for x in calls)
        return "once" if is_meant else "no"


@contextmanager
def belt(names: Sequence[str], asker: Asker | None = None) -> Generator[Bridge]:
    """Yield a bridge with these sources, each in its first state."""
    approve = asker.approve if asker else None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        for name, text in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        address = stack.enter_context(bakery()) if "bakery" in names else ""
        settings = _settings(names, folder, address)
        yield stack.enter_context(Bridge(settings, store="memory", approve=approve))


def _settings(names: Sequence[str], folder: Path, address: str) -> dict[str, Any]:
    servers = ((x, SERVERS.get(x, x)) for x in names if x in (*SERVERS, "workbench"))
    files = {x: str(ROOT / "examples" / "servers" / f"{file}.py") for x, file in servers}
    made: dict[str, Any] = {
        "mcpServers": {x: {"command": PYTHON, "args": [y]} for x, y in files.items()}
    }
    if "shopping" in names:
        file = str(ROOT / "examples" / "functions" / "shopping.py")
        made["functions"] = {"shopping": {"file": file}}
    if "handy" in names:
        made["builtin"] = {"handy": {"tools": list(ALL_BUILTIN_TOOLS), "workspace": str(folder)}}
    if address:
        made["openapiServices"] = {"bakery": {"spec": f"{address}/openapi.json"}}
    return made


def answered(asked: Sequence[Question], names: Sequence[str]) -> Iterator[tuple[Question, bool]]:
    """Each question with whether its answer is useful. What a question may have changed is made
    anew before the next one."""
    left, asker = list(asked), Asker()
    while left:
        with belt(names, asker) as bridge:
            while left:
                question = asker.question = left.pop(0)
                for call in question.before:
                    tool, _, arguments = call.partition(" ")
                    bridge.call_tool(question.source, tool, json.loads(arguments))
                result = Agent(bridge, list(names)).run(question.ask)
                yield question, is_useful(question, result, alone=len(names) == 1)
                if question.before or _may_have_changed(bridge, result):
                    break


def _may_have_changed(bridge: Bridge, result: AgentResult) -> bool:
    reading = {(x.key.source, x.key.name) for x in bridge.list_tools() if x.annotations.read_only}
    return any(
        x.key is not None and (x.key.source, x.key.name) not in reading for x in _made(result)
    )


def is_useful(question: Question, result: AgentResult, *, alone: bool) -> bool:
    """Return whether the run answered the question."""
    made = _made(result)
    if question.offers:
        offered = re.findall(r'"[^"\n]+"', result.answer.replace(question.ask, ""))
        return not made and len(offered) >= _MOST_OFFERED
    said = all(re.search(_dated(x), result.answer) for x in question.says)
    return said and (not alone or all(any(_made_so(x, y) for y in made) for x in question.calls))


def _made(result: AgentResult) -> list[ToolFinished]:
    return [x for x in result.calls if not x.tool.startswith("tool_")]


def _made_so(wanted: str, call: ToolFinished) -> bool:
    return _is(wanted, call.key.name if call.key else call.tool, call.arguments or {})


def _is(wanted: str, tool: str, given: Mapping[str, Any]) -> bool:
    tools, _, written = wanted.partition(" ")
    arguments: dict[str, Any] = json.loads(written) if written else {}
    return tool in tools.split("|") and all(given.get(k) == v for k, v in arguments.items())


def _dated(pattern: str) -> str:
    """The pattern with the days in it that depend on today."""
    return _DAY.sub(_day, pattern)


def _day(found: re.Match[str]) -> str:
    today, (kind, given) = date.today(), found.groups()
    if kind in ("today", "weekday"):
        day = today + timedelta(int(given or 0))
        return day.isoformat() if kind == "today" else f"{day:%A}"
    day = date.fromisoformat(given if len(given) > len("12-25") else f"{today.year}-{given}")
    if kind == "weekday of":
        return f"{day:%A}"
    return str((day - today).days if kind == "days until" else (today - day).days)


def table(source: str) -> str:
    """Return the results of a source whose questions may be used for tuning, as Markdown."""
    asked = questions(source)
    results = [[useful for _, useful in answered(asked, x)] for x in ([source], SOURCES)]
    sums = " | ".join(f"{sum(x)} of {len(asked)}" for x in results)
    lines = [
        f"## {source.capitalize()}",
        "",
        "| question | alone | among all |",
        "| --- | --- | --- |",
    ]
    for question, *useful in zip(asked, *results, strict=True):
        lines.append(f"| {question.ask} | {' | '.join('yes' if x else 'no' for x in useful)} |")
    return "\n".join([*lines, f"| useful | {sums} |", ""])


def main() -> None:
    """Print how many of the questions are answered, for each source."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", default=list(SOURCES))
    parser.add_argument("--verbose", action="store_true", help="name those that are not")
    parser.add_argument("--alone", action="store_true", help="not with all sources together")
    parser.add_argument(
        "--table", action="store_true", help="a table of each question, in Markdown"
    )
    chosen = parser.parse_args()
    if chosen.table:
        print(*(table(x) for x in chosen.sources), sep="\n")
        return
    print("source, apart or not: with it alone, with all")
    for source in chosen.sources:
        for apart in (False, True):
            asked, lines = questions(source, apart=apart), list[str]()
            for names in ([source], SOURCES)[: 1 if chosen.alone else 2]:
                found = list(answered(asked, names))
                lines.append(f"{sum(useful for _, useful in found)} of {len(found)}")
                if chosen.verbose and not apart:
                    print(
                        *(f"  {len(names)}: {x.ask}" for x, useful in found if not useful), sep="\n"
                    )
            print(f"{source}{', apart' if apart else ''}: {', '.join(lines)}", flush=True)


if __name__ == "__main__":
    main()
