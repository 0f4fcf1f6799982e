"""Draws plans, compiles and runs them against a server that only answers: `--data FOLDER`.

FOLDER has a folder for each set, with `plans.jsonl` as in the planning data; plans without
arguments are left out. The table says how many plans make exactly the calls that they should, how
many nodes a call takes (with Start and Finish in brackets), and in how many drawings something
covers something else.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.layout_faults import faults
from tests.support.scripts import compile_workflow
from tests.support.warm_python import python_entry, warm_python
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.drawing.components import our_components
from xai_mcp_agent.drawing.document import nodes_of
from xai_mcp_agent.drawing.flow import CallToDraw, draw
from xai_mcp_agent.drawing.plans import calls_of_plan
from xai_mcp_agent.planning import plan_from_json
from xai_mcp_agent.steps.references import Reference, Somewhere, path_text, references_in

from .search.sets import json_lines

SOURCE = "planned"
_SERVER = Path(__file__).with_name("planned_server.py")
_ENDS = ("Start", "Finish")
_RUN_SECONDS = 1800
_MAX_PROBLEMS = 5  # of a set


@dataclass(frozen=True)
class Case:
    """A plan, the server's answers to its calls, and the calls that are expected."""

    plan: dict[str, Any]
    answers: list[Any]
    expected_calls: list[dict[str, Any]]


@dataclass
class Figures:
    """Results of one set."""

    name: str
    plans: int = 0
    calls: int = 0
    correct: int = 0
    nodes: int = 0
    faults: int = 0
    problems: list[str] = field(default_factory=list[str])

    @property
    def line(self) -> str:
        """A row of the table."""
        each, whole = self.nodes / self.calls, (self.nodes + 2 * self.plans) / self.calls
        nodes = f"{each:.2f} ({whole:.2f})"
        cells = self.name, self.plans, self.calls, self.correct, nodes, self.faults
        return f"| {' | '.join(map(str, cells))} |"


def main() -> int:
    """Print the table; 1 if a plan makes other calls, or takes too many nodes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with sets of plans")
    folder: Path = parser.parse_args().data
    print("| set | plans | calls | same calls | nodes a call (with Start, Finish) | covered |")
    print("| --- | --- | --- | --- | --- | --- |")
    status = 0
    for file in sorted(folder.glob("*/plans.jsonl")):
        figures = measure(file.parent.name, read(file))
        if not figures.plans:
            continue
        print(figures.line, flush=True)
        for problem in figures.problems[:_MAX_PROBLEMS]:
            print(f"    {problem[:500]}")
        if figures.correct < figures.plans or figures.nodes > 2.2 * figures.calls:
            status = 1
    return status


def read(file: Path) -> list[dict[str, Any]]:
    """Return the plans of a file whose arguments are known."""
    return [x for x in json_lines(file) if all(y["args"] is not None for y in x["calls"])]


def measure(name: str, plans: Sequence[dict[str, Any]]) -> Figures:
    """Draw, compile and run these plans."""
    figures = Figures(name, len(plans), sum(len(x["calls"]) for x in plans))
    if not plans:
        return figures
    with tempfile.TemporaryDirectory() as temporary:
        folder = init_folder(Path(temporary) / "lab").folder
        cases = [_case_of(x) for x in plans]
        for number, case in enumerate(cases):
            figures.nodes += _draw(case, folder, number, figures)
        for number, (case, result) in enumerate(zip(cases, _run(folder, cases), strict=True)):
            if result.get("calls") == case.expected_calls:
                figures.correct += 1
            else:
                figures.problems.append(f"plan {number}: {result} and not {case.expected_calls}")
    return figures


def _draw(case: Case, folder: Path, number: int, figures: Figures) -> int:
    """Write and compile the workflow of a plan; return the number of its nodes without its ends."""
    flow = draw(f"plan_{number}", _calls_to_draw(case.plan), our_components())
    if overlaps := faults(flow):
        figures.faults += 1
        figures.problems.append(f"plan {number}: {overlaps[0]}")
    with redirect_stdout(io.StringIO()):
        compile_workflow(flow.write(folder))
    return sum(x["name"] not in _ENDS for x in nodes_of(flow.document()).values())


def _calls_to_draw(plan: dict[str, Any]) -> list[CallToDraw]:
    return calls_of_plan(plan_from_json(plan), SOURCE)


def _case_of(plan: dict[str, Any]) -> Case:
    """Return the plan with answers that have every part to which a later call refers."""
    calls = _calls_to_draw(plan)
    references = [y for x in calls for value in x.arguments.values() for y in references_in(value)]
    paths = [[_certain(x.path) for x in references if x.result == n] for n in range(len(calls))]
    answers = [_answer(n, x) for n, x in enumerate(paths)]
    expected_calls = [
        {"tool": x.tool, "args": {name: _resolve(y, answers) for name, y in x.arguments.items()}}
        for x in calls
    ]
    return Case(plan, answers, expected_calls)


def _answer(number: int, paths: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """Return an object with a different value at each of these paths; a list has one item."""
    answer: Any = {"said": f"answer {number}"} if not any(map(_begins_with_item, paths)) else []
    for path in sorted(paths, key=len):
        answer = _with(answer, path, f"part {path_text(path)} of answer {number}")
    return {"result": answer} if isinstance(answer, list) else answer


def _certain(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the path, empty for one by a parameter's name: no answer has a part of that name."""
    return () if any(isinstance(x, Somewhere) for x in path) else path


def _begins_with_item(path: tuple[Any, ...]) -> bool:
    return bool(path) and path_text(path).startswith("[") and not isinstance(path[0], str)


def _with(value: Any, path: tuple[Any, ...], leaf: str) -> Any:
    if not path:
        return value if isinstance(value, dict | list) else leaf
    step, *rest = path
    if _begins_with_item(path):
        items = value if isinstance(value, list) else []
        return [_with(items[0] if items else None, tuple(rest), leaf)]
    fields = value if isinstance(value, dict) else {}
    key = step if isinstance(step, str) else next(iter(fields), "any")
    return {**fields, key: _with(fields.get(key), tuple(rest), leaf)}


def _resolve(value: Any, answers: Sequence[Any]) -> Any:
    if isinstance(value, Reference):
        return _at(answers[value.result], _certain(value.path))
    if isinstance(value, list):
        return [_resolve(x, answers) for x in value]
    if isinstance(value, dict):
        return {name: _resolve(x, answers) for name, x in value.items()}
    return value


def _at(answer: Any, path: tuple[Any, ...]) -> Any:
    """Return the value at a path, without the package's own code, which this checks."""
    if _begins_with_item(path):
        answer = answer["result"] if isinstance(answer, dict) else answer
        return _at(answer[0], path[1:])
    if not path:
        return answer
    step = path[0]
    return _at(answer[step] if isinstance(step, str) else next(iter(answer.values())), path[1:])


def _run(folder: Path, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Run the scripts one after another in a new process; return the calls of each."""
    names = sorted({y["tool"] for x in cases for y in x.expected_calls})
    (folder / "tools.json").write_text(json.dumps(names), encoding="utf-8")
    answers = [x.answers for x in cases]
    (folder / "all_answers.json").write_text(json.dumps(answers), encoding="utf-8")
    entry = python_entry(_SERVER, folder)
    settings = json.dumps({"mcpServers": {SOURCE: entry}, "store": "memory"})
    (folder / "mcp_settings.json").write_text(settings, encoding="utf-8")
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root), "XAI_MCP_TRUST": "1"}
    process = subprocess.run(
        [warm_python(), "-m", "benchmarks.drawing", "--run"],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=_RUN_SECONDS,
    )  # fmt: skip
    results = folder / "results.jsonl"
    if not results.exists():
        raise RuntimeError(process.stderr[-2000:])
    return json_lines(results)


def _run_all() -> None:
    """Run all scripts in this process and folder, with one `ctx` and so one server."""
    ctx: dict[str, Any] = {"args": Namespace()}
    all_answers = json.loads(Path("all_answers.json").read_text(encoding="utf-8"))
    for number, answers in enumerate(all_answers):
        Path("answers.json").write_text(json.dumps(answers), encoding="utf-8")
        Path("calls.jsonl").write_text("", encoding="utf-8")
        error = _run_one(f"plan_{number}", ctx)
        result = {"calls": json_lines(Path("calls.jsonl"))} | ({"error": error} if error else {})
        with Path("results.jsonl").open("a", encoding="utf-8") as results:
            results.write(json.dumps(result) + "\n")


def _run_one(name: str, ctx: dict[str, Any]) -> str:
    """Run a script like its own `main`, but with this `ctx`; return its error, or ""."""
    flow = runpy.run_path(f"{name}.py")[name]()
    flow.next = None
    try:
        flow.do(ctx)
    except Exception as error:  # noqa: BLE001 - any error is shown beside the plan
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    if sys.argv[1:] == ["--run"]:
        _run_all()
    else:
        sys.exit(main())
