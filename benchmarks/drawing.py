"""Draws plans, compiles and runs them against a server that only answers: `--data FOLDER`.

FOLDER has a folder for each set, with `plans.jsonl` as the planning data has it; those without
arguments are left out. The table says how many plans make exactly the calls that they should, how
many nodes a call takes (its node, its text, what must be given; Start and Finish in brackets), and
how many drawings have anything that covers something else.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.layout_faults import faults
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.drawing.components import our_components
from xai_mcp_agent.drawing.flow import DrawnCall, draw
from xai_mcp_agent.drawing.plans import calls_of_plan
from xai_mcp_agent.drawing.rules import nodes_of
from xai_mcp_agent.planning import plan_from_json
from xai_mcp_agent.steps.references import Reference, Somewhere, path_text, references_in

SOURCE = "planned"
_SERVER = Path(__file__).with_name("planned_server.py")
_ENDS = ("Start", "Finish")
_RUN_SECONDS = 1800
_MOST_PROBLEMS = 5  # of a set, that are shown


@dataclass(frozen=True)
class Planned:
    """A plan, what the server answers to its calls, and the calls that must be made."""

    plan: dict[str, Any]
    answers: list[Any]
    wanted: list[dict[str, Any]]


@dataclass
class Figures:
    """Results of one set."""

    name: str
    plans: int = 0
    calls: int = 0
    same: int = 0
    nodes: int = 0
    faults: int = 0
    problems: list[str] = field(default_factory=list[str])

    @property
    def line(self) -> str:
        """A row of the table."""
        each, whole = self.nodes / self.calls, (self.nodes + 2 * self.plans) / self.calls
        return (
            f"| {self.name} | {self.plans} | {self.calls} | {self.same} | {each:.2f} ({whole:.2f}) "
            f"| {self.faults} |"
        )


def main() -> int:
    """Print the table; 1 if a plan makes other calls, or takes too many nodes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with sets of plans")
    folder: Path = parser.parse_args().data
    print("| set | plans | calls | same calls | nodes a call (with Start, Finish) | covered |")
    print("| --- | --- | --- | --- | --- | --- |")
    found = [measure(x.parent.name, read(x)) for x in sorted(folder.glob("*/plans.jsonl"))]
    whole = [x for x in found if x.plans]
    for figures in whole:
        print(figures.line, flush=True)
        for problem in figures.problems[:_MOST_PROBLEMS]:
            print(f"    {problem[:500]}")
    return int(any(x.same < x.plans or x.nodes > 2.2 * x.calls for x in whole))


def read(file: Path) -> list[dict[str, Any]]:
    """The plans of a file whose arguments are known."""
    plans = [json.loads(x) for x in file.read_text(encoding="utf-8").split("\n") if x.strip()]
    return [x for x in plans if all(y["args"] is not None for y in x["calls"])]


def measure(name: str, plans: Sequence[dict[str, Any]]) -> Figures:
    """Draw, compile and run these plans."""
    figures = Figures(name, len(plans), sum(len(x["calls"]) for x in plans))
    if not plans:
        return figures
    with tempfile.TemporaryDirectory() as temporary:
        folder = init_folder(Path(temporary) / "lab").folder
        planned = [expected(x) for x in plans]
        for number, one in enumerate(planned):
            figures.nodes += _draw(one, folder, number, figures)
        for number, (one, made) in enumerate(zip(planned, run(folder, planned), strict=True)):
            if made.get("calls") == one.wanted:
                figures.same += 1
            else:
                figures.problems.append(f"plan {number}: {made} and not {one.wanted}")
    return figures


def _draw(one: Planned, folder: Path, number: int, figures: Figures) -> int:
    """Write and compile the workflow of a plan; how many nodes it has besides its ends."""
    from xircuits.compiler import compile as compile_file  # brings half of Jupyter

    flow = draw(f"plan_{number}", drawn_calls(one.plan), our_components())
    if covered := faults(flow):
        figures.faults += 1
        figures.problems.append(f"plan {number}: {covered[0]}")
    file = flow.write(folder)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        out, sys.stdout = sys.stdout, nowhere
        try:
            compile_file(str(file), str(file.with_suffix(".py")))
        finally:
            sys.stdout = out
    return sum(x["name"] not in _ENDS for x in nodes_of(flow.document()))


# What must come of a plan


def drawn_calls(plan: dict[str, Any]) -> list[DrawnCall]:
    """The calls of a plan."""
    return calls_of_plan(plan_from_json(plan), SOURCE)


def expected(plan: dict[str, Any]) -> Planned:
    """The plan with answers that have every part that is used of them."""
    calls = drawn_calls(plan)
    used = [y for x in calls for value in x.arguments.values() for y in references_in(value)]
    paths = [[_known(x.path) for x in used if x.result == n] for n in range(len(calls))]
    answers = [_answer(n, x) for n, x in enumerate(paths)]
    wanted = [
        {"tool": x.tool, "args": {name: _resolved(y, answers) for name, y in x.arguments.items()}}
        for x in calls
    ]
    return Planned(plan, answers, wanted)


def _answer(number: int, paths: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """An object that has something of its own at each of these paths; below a list, one item."""
    answer: Any = {"said": f"answer {number}"} if not any(map(_begins_with_item, paths)) else []
    for path in sorted(paths, key=len):
        answer = _with(answer, path, f"part {path_text(path)} of answer {number}")
    return {"result": answer} if isinstance(answer, list) else answer


def _known(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """No answer has anything that is called as a parameter is: that is all of it."""
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
    known = value if isinstance(value, dict) else {}
    key = step if isinstance(step, str) else next(iter(known), "any")
    return {**known, key: _with(known.get(key), tuple(rest), leaf)}


def _resolved(value: Any, answers: Sequence[Any]) -> Any:
    if isinstance(value, Reference):
        return _at(answers[value.result], _known(value.path))
    if isinstance(value, list):
        return [_resolved(x, answers) for x in value]
    if isinstance(value, dict):
        return {name: _resolved(x, answers) for name, x in value.items()}
    return value


def _at(answer: Any, path: tuple[Any, ...]) -> Any:
    """Follow a path, without the package's own code, which this checks."""
    if _begins_with_item(path):
        answer = answer["result"] if isinstance(answer, dict) else answer
        return _at(answer[0], path[1:])
    if not path:
        return answer
    step = path[0]
    return _at(answer[step] if isinstance(step, str) else next(iter(answer.values())), path[1:])


# Running


def run(folder: Path, planned: Sequence[Planned]) -> list[dict[str, Any]]:
    """Run the scripts one after another in a process of their own; the calls that each made."""
    names = sorted({y["tool"] for x in planned for y in x.wanted})
    (folder / "tools.json").write_text(json.dumps(names), encoding="utf-8")
    answers = [x.answers for x in planned]
    (folder / "all_answers.json").write_text(json.dumps(answers), encoding="utf-8")
    entry = {"command": warm_python(), "args": [str(_SERVER), str(folder)]}
    settings = json.dumps({"mcpServers": {SOURCE: entry}, "store": "memory"})
    (folder / "mcp_settings.json").write_text(settings, encoding="utf-8")
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root), "XAI_MCP_TRUST": "1"}
    done = subprocess.run(
        [warm_python(), "-m", "benchmarks.drawing", "--run"],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=_RUN_SECONDS,
    )  # fmt: skip
    made = folder / "made.jsonl"
    if not made.exists():
        raise RuntimeError(done.stderr[-2000:])
    return [json.loads(x) for x in made.read_text(encoding="utf-8").split("\n") if x.strip()]


def _run_all() -> None:
    """Run all scripts in this process and folder, with one `ctx` and so one server."""
    ctx: dict[str, Any] = {"args": Namespace()}
    all_answers = json.loads(Path("all_answers.json").read_text(encoding="utf-8"))
    for number, answers in enumerate(all_answers):
        Path("answers.json").write_text(json.dumps(answers), encoding="utf-8")
        Path("calls.jsonl").write_text("", encoding="utf-8")
        error = _run_one(f"plan_{number}", ctx)
        line = {"calls": list(_calls())} | ({"error": error} if error else {})
        with Path("made.jsonl").open("a", encoding="utf-8") as made:
            made.write(json.dumps(line) + "\n")


def _run_one(name: str, ctx: dict[str, Any]) -> str:
    """Run a script like its own `main`, but with this `ctx`."""
    flow = runpy.run_path(f"{name}.py")[name]()
    flow.next = None
    try:
        flow.do(ctx)
    except Exception as reason:  # noqa: BLE001 - whatever it is, it is shown beside the plan
        return f"{type(reason).__name__}: {reason}"
    return ""


def _calls() -> Iterator[dict[str, Any]]:
    for line in Path("calls.jsonl").read_text(encoding="utf-8").split("\n"):
        if line.strip():
            yield json.loads(line)


if __name__ == "__main__":
    if sys.argv[1:] == ["--run"]:
        _run_all()
    else:
        sys.exit(main())
