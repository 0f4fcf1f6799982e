"""What comes of a shape: adopted, checked by the rules of the canvas, compiled and run.

The script runs with stand-ins for the libraries that it still needs, and asks a scripted model,
which calls each tool once that the workflow draws, and then answers.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.canvas_file import Document, load, nodes_of, problems
from tests.support.model_endpoint import ModelAsked, Step, calls, model_endpoint, says
from tests.support.scripts import compile_workflow, run_script
from tests.support.xai_agent_workflow import OTHER_LIBRARIES
from tools.components import all_components
from xai_mcp_agent.cli.adopt.command import FileReport, adopt_file
from xai_mcp_agent.drawing.components import ComponentClass, read_component_file

from .shapes import Shape

ANSWER = "That is all I know."
KEY = "not-a-key-0815"
_IN_CLEAR = "Literal Secret: a secret, in plain text for everyone who has the file"
_NEEDS_A_SERVICE = {"AgentVectoMemory": "needs Vecto's service"}
_ADDRESS = "http://127.0.0.1:9/v1"


@dataclass(frozen=True)
class Outcome:
    """What came of one; `wrong` is what the canvas or the compiler would stumble over."""

    shape: Shape
    report: FileReport
    nodes: int
    wrong: tuple[str, ...] = ()
    ran: str = ""
    results: tuple[str, ...] = ()

    def row(self) -> str:
        """Its line of the table."""
        left = sum(x.to_do for x in self.report.remarks)
        cells = (
            self.shape.does, str(self.nodes), str(len(self.report.adopted)), str(left or "-"),
            self._result(),
        )  # fmt: skip
        return f"| {' | '.join(cells)} |\n"

    def _result(self) -> str:
        if self.report.status == "nothing to do":
            return "left as it is: nothing of xai-agent in it"
        return f"compiles; {self.ran}"


def outcome(shape: Shape, folder: Path) -> Outcome:
    """Adopt a shape in a working folder, and run what comes of it."""
    file = folder / f"{shape.name}.xircuits"
    file.write_text(shape.text(), encoding="utf-8")
    report, nodes = adopt_file(file), len(_components(load(file)))
    if report.written is None:
        return Outcome(shape, report, nodes)
    document = load(report.written)
    known = _bring(document, folder)
    wrong = [x for x in problems(document, report.written.stem, known) if x != _IN_CLEAR]
    ran, results = _run(report.written, document)
    return Outcome(shape, report, nodes, tuple(wrong), ran, results)


def _components(document: Document) -> list[dict[str, Any]]:
    return [x for x in nodes_of(document) if x["extras"].get("path")]


def _bring(document: Document, folder: Path) -> dict[str, ComponentClass]:
    """Put stand-ins into the folder for the files that the nodes name, and return all classes."""
    known = all_components()
    for path in {x["extras"]["path"] for x in _components(document)}:
        _, library, name = path.split("/")
        if not (OTHER_LIBRARIES / library / name).exists():
            continue
        place = folder / path
        place.parent.mkdir(exist_ok=True)
        for one in ("__init__.py", name):
            shutil.copyfile(OTHER_LIBRARIES / library / one, place.parent / one)
        known = known | {x.name: x for x in read_component_file(place, library)}
    return known


def _run(file: Path, document: Document) -> tuple[str, tuple[str, ...]]:
    for node in nodes_of(document):
        if node["name"] in _NEEDS_A_SERVICE:
            compile_workflow(file)
            return f"{_NEEDS_A_SERVICE[node['name']]} to run", ()
    drawn = _drawn_tools(document)
    with model_endpoint(lambda body: _reply(body, drawn)) as endpoint:
        text = file.read_text(encoding="utf-8").replace(_ADDRESS, endpoint.base_url)
        file.write_text(text, encoding="utf-8")
        done = run_script(
            compile_workflow(file), OPENAI_API_KEY=KEY, OPENAI_BASE_URL=endpoint.base_url
        )
        results = tuple(_results(endpoint.requests))
    if done.status:
        return f"fails: {done.errors.strip().splitlines()[-1]}", results
    said = "answers" if ANSWER in done.output else "runs to its end"
    tools = f", {len(results)} of {len(drawn)} tools called" if drawn else ""
    return f"{said}{tools}", results


def _drawn_tools(document: Document) -> list[str]:
    names = {
        port["id"]: node["ports"][0]["label"]
        for node in nodes_of(document) if node["name"] == "Literal String"
        for port in node["ports"]
    }  # fmt: skip
    links = document["layers"][0]["models"]
    return [
        names[links[key]["sourcePort"]]
        for node in _components(document) if node["name"] == "AgentDefineTool"
        for port in node["ports"] if port["varName"].endswith("tool_name")
        for key in port["links"]
    ]  # fmt: skip


def _reply(body: dict[str, Any], drawn: list[str]) -> Step:
    offered = {x["function"]["name"]: x["function"] for x in body.get("tools", ())}
    wanted = [offered[x] for x in drawn if x in offered]
    if any(x["role"] == "tool" for x in body["messages"]):
        return says(ANSWER)
    if wanted:
        return calls(*((x["name"], _arguments(x)) for x in wanted))
    routes = re.search(r'"route": .*"enum": \["(\w+)"', body["messages"][0]["content"])
    return says(f'{{"route": "{routes[1]}"}}' if routes else ANSWER)


def _arguments(function: dict[str, Any]) -> dict[str, str]:
    return dict.fromkeys(function["parameters"].get("properties", ()), "UTC")


def _results(requests: list[ModelAsked]) -> Iterator[str]:
    """What the model was told that its calls came to, in its last request."""
    messages = requests[-1].body["messages"] if requests else []
    yield from (str(x["content"]) for x in messages if x["role"] == "tool")
