"""Whether the offline model answers what newcomers ask: `python -m benchmarks.questions`.

The questions are in `tests/data/questions`, one file for each bundled source; the model is never
tuned by those in a file `..._apart`. An agent with the one source answers each question, and an
agent with all sources. A useful answer matches the patterns of the question; with one source the
calls must also be the right ones, while among all sources another tool may do as well. The person
who asks approves the calls that answer the question, and no others.
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

from . import page

ROOT = Path(__file__).parents[1]
QUESTIONS = ROOT / "tests" / "data" / "questions"
PYTHON = sys.executable
"""Starts the servers."""
SERVERS = {"library": "library", "units": "units", "calendar": "calendar_tools"}
SOURCES = ("library", "units", "calendar", "workbench", "shopping", "handy", "bakery")
FILES = {"recipe.txt": "Pancakes: flour, milk, eggs", "notes/today.txt": "Water the plants"}
_MIN_OFFERS = 3
_DAY = re.compile(r"\{(today|weekday|days until|days since|weekday of)[ ]?([-+\d]*)\}")


@dataclass(frozen=True)
class Question:
    """A question to a source.

    `calls` are the tools that answer it, perhaps with arguments; alternatives have `|` between
    them. `says` are patterns that the answer must match. A question that `offers` cannot be
    answered: the answer must say so and name questions that can. `before` is called first.
    """

    source: str
    ask: str
    calls: tuple[str, ...]
    says: tuple[str, ...]
    offers: bool = False
    before: tuple[str, ...] = ()


def questions(source: str, *, apart: bool = False) -> list[Question]:
    """Return the questions for a source: those for tuning, or those that are kept apart."""
    file = QUESTIONS / f"{source}{'_apart' if apart else ''}.jsonl"
    selection: list[Question] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        calls, says, before = (tuple(row.get(x, ())) for x in ("calls", "says", "before"))
        offers = bool(row.get("offers"))
        selection.append(Question(source, row["ask"], calls, says, offers, before))
    return selection


@dataclass
class Asker:
    """A person who asks, and approves only calls that the question is about."""

    question: Question | None = None

    def approve(self, request: ApprovalRequest) -> str:
        """Return the answer to a request for approval."""
        calls = self.question.calls if self.question else ()
        is_expected = any(_matches(x, request.tool, request.arguments) for x in calls)
        return "once" if is_expected else "no"


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
    settings: dict[str, Any] = {
        "mcpServers": {x: {"command": PYTHON, "args": [y]} for x, y in files.items()}
    }
    if "shopping" in names:
        file = str(ROOT / "examples" / "functions" / "shopping.py")
        settings["functions"] = {"shopping": {"file": file}}
    if "handy" in names:
        settings["builtin"] = {
            "handy": {"tools": list(ALL_BUILTIN_TOOLS), "workspace": str(folder)}
        }
    if address:
        settings["openapiServices"] = {"bakery": {"spec": f"{address}/openapi.json"}}
    return settings


def ask_all(questions: Sequence[Question], names: Sequence[str]) -> Iterator[tuple[Question, bool]]:
    """Yield each question, and whether its answer is useful.

    After a question that may have changed something, the sources are in their first state again.
    """
    remaining, asker = list(questions), Asker()
    while remaining:
        with belt(names, asker) as bridge:
            while remaining:
                question = asker.question = remaining.pop(0)
                for call in question.before:
                    tool, _, arguments = call.partition(" ")
                    bridge.call_tool(question.source, tool, json.loads(arguments))
                result = Agent(bridge, list(names)).run(question.ask)
                yield question, is_useful(question, result, alone=len(names) == 1)
                if question.before or _may_have_changed(bridge, result):
                    break


def _may_have_changed(bridge: Bridge, result: AgentResult) -> bool:
    read_only = {(x.key.source, x.key.name) for x in bridge.list_tools() if x.annotations.read_only}
    keys = (x.key for x in _calls(result) if x.key is not None)
    return any((x.source, x.name) not in read_only for x in keys)


def is_useful(question: Question, result: AgentResult, *, alone: bool) -> bool:
    """Return whether the run answered the question."""
    calls = _calls(result)
    if question.offers:
        offers = re.findall(r'"[^"\n]+"', result.answer.replace(question.ask, ""))
        return not calls and len(offers) >= _MIN_OFFERS
    if not all(re.search(_DAY.sub(_day, x), result.answer) for x in question.says):
        return False
    names = [(x.key.name if x.key else x.tool, x.arguments or {}) for x in calls]
    return not alone or all(any(_matches(x, *y) for y in names) for x in question.calls)


def _calls(result: AgentResult) -> list[ToolFinished]:
    """Return the calls, without those of the search for tools."""
    return [x for x in result.calls if not x.tool.startswith("tool_")]


def _matches(expected: str, tool: str, arguments: Mapping[str, Any]) -> bool:
    tools, _, text = expected.partition(" ")
    values: dict[str, Any] = json.loads(text) if text else {}
    return tool in tools.split("|") and all(arguments.get(k) == v for k, v in values.items())


def _day(match: re.Match[str]) -> str:
    """Return the day or the number that a pattern means today."""
    today, (kind, value) = date.today(), match.groups()
    if kind in ("today", "weekday"):
        day = today + timedelta(int(value or 0))
        return day.isoformat() if kind == "today" else f"{day:%A}"
    day = date.fromisoformat(value if len(value) > len("12-25") else f"{today.year}-{value}")
    if kind == "weekday of":
        return f"{day:%A}"
    return str((day - today).days if kind == "days until" else (today - day).days)


def table(source: str) -> str:
    """Return the results of a source whose questions may be used for tuning, as Markdown."""
    own_questions = questions(source)
    results = [[useful for _, useful in ask_all(own_questions, x)] for x in ([source], SOURCES)]
    rows = [
        [question.ask, *("yes" if x else "no" for x in useful)]
        for question, *useful in zip(own_questions, *results, strict=True)
    ]
    rows.append(["useful", *(f"{sum(x)} of {len(own_questions)}" for x in results)])
    text = page.table(["question", "alone", "among all"], rows)
    return f"## {source.capitalize()}\n\n{text}\n"


def main() -> None:
    """Print how many of the questions are answered, for each source."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", default=list(SOURCES))
    parser.add_argument("--verbose", action="store_true", help="name the other questions")
    parser.add_argument("--alone", action="store_true", help="not with all sources together")
    parser.add_argument("--table", action="store_true", help="a table of questions, in Markdown")
    options = parser.parse_args()
    if options.table:
        print(*(table(x) for x in options.sources), sep="\n")
        return
    print("source, apart or not: with it alone, with all")
    for source in options.sources:
        for apart in (False, True):
            counts: list[str] = []
            for names in ([source],) if options.alone else ([source], SOURCES):
                results = list(ask_all(questions(source, apart=apart), names))
                counts.append(f"{sum(useful for _, useful in results)} of {len(results)}")
                if options.verbose and not apart:
                    for question in (x for x, useful in results if not useful):
                        print(f"  {len(names)}: {question.ask}")
            print(f"{source}{', apart' if apart else ''}: {', '.join(counts)}", flush=True)


if __name__ == "__main__":
    main()
