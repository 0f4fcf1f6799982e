"""Outcomes of shapes: adopted, checked by the rules of the canvas, compiled and run.

The script runs with stand-ins for the libraries that it still needs, and asks a scripted model,
which calls each tool once that the workflow draws, and then answers.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.canvas_file import Document, load, nodes_of, problems
from tests.support.model_endpoint import Step, calls, model_endpoint, says
from tests.support.scripts import compile_workflow, run_script
from tests.support.xai_agent_workflow import OTHER_LIBRARIES
from tools.components import all_components
from xai_mcp_agent.cli.adopt.command import FileReport, adopt_file
from xai_mcp_agent.drawing.components import ComponentClass, read_component_file

from .shapes import Shape

ANSWER = "That is all I know."
KEY = "not-a-key-0815"
_IN_CLEAR = "Literal Secret: a secret, in plain text for everyone who has the file"
_ADDRESS = "http://127.0.0.1:9/v1"


@dataclass(frozen=True)
class Outcome:
    """Outcome of one shape; `wrong` are problems for the canvas or the compiler."""

    shape: Shape
    report: FileReport
    nodes: int
    wrong: tuple[str, ...]
    ran: str

    def row(self) -> str:
        """Return its line in the table."""
        to_do, ours = sum(x.to_do for x in self.report.remarks), len(self.report.adopted)
        return (
            f"| {self.shape.does} | {self.nodes} | {ours} | {to_do or '-'} "
            f"| compiles; {self.ran} |\n"
        )


def outcome(shape: Shape, folder: Path) -> Outcome:
    """Adopt a shape in a working folder, and run the result."""
    file = folder / f"{shape.name}.xircuits"
    file.write_text(shape.text(), encoding="utf-8")
    report, nodes = adopt_file(file), len(_components(load(file)))
    assert report.written is not None
    document = load(report.written)
    classes = _bring(document, folder)
    wrong = [x for x in problems(document, report.written.stem, classes) if x != _IN_CLEAR]
    return Outcome(shape, report, nodes, tuple(wrong), _run(report.written, document))


def _components(document: Document) -> list[dict[str, Any]]:
    return [x for x in nodes_of(document) if x["extras"].get("path")]


def _bring(document: Document, folder: Path) -> dict[str, ComponentClass]:
    """Put stand-ins into the folder for the files that the nodes name, and return all classes."""
    classes = all_components()
    for path in {x["extras"]["path"] for x in _components(document)}:
        _, library, name = path.split("/")
        if not (OTHER_LIBRARIES / library / name).exists():
            continue
        place = folder / path
        place.parent.mkdir(exist_ok=True)
        for file in ("__init__.py", name):
            shutil.copyfile(OTHER_LIBRARIES / library / file, place.parent / file)
        classes = classes | {x.name: x for x in read_component_file(place, library)}
    return classes


def _run(file: Path, document: Document) -> str:
    names = {x["name"] for x in nodes_of(document)}
    if "AgentVectoMemory" in names:
        compile_workflow(file)
        return "needs Vecto's service to run"
    tools = _tool_names(document)
    with model_endpoint(lambda body: _reply(body, tools)) as endpoint:
        text = file.read_text(encoding="utf-8").replace(_ADDRESS, endpoint.base_url)
        file.write_text(text, encoding="utf-8")
        script = compile_workflow(file)
        result = run_script(
            script, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=endpoint.base_url, XAI_MCP_TRUST="1"
        )
    if result.returncode:
        return f"fails: {result.stderr.strip().splitlines()[-1]}"
    last = endpoint.requests[-1].body["messages"] if endpoint.requests else []
    call_count = sum(x["role"] == "tool" for x in last)
    end = "answers" if ANSWER in result.stdout else "runs to its end"
    return f"{end}, {call_count} of {len(tools)} tools called" if tools else end


def _tool_names(document: Document) -> list[str]:
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


def _reply(body: dict[str, Any], tools: list[str]) -> Step:
    parameters = {x["function"]["name"]: x["function"]["parameters"] for x in body.get("tools", ())}
    if any(x["role"] == "tool" for x in body["messages"]):
        return says(ANSWER)
    if tools := [x for x in tools if x in parameters]:
        return calls(
            *((x, dict.fromkeys(parameters[x].get("properties", ()), "UTC")) for x in tools)
        )
    routes = re.search(r'"route": .*"enum": \["(\w+)"', body["messages"][0]["content"])
    return says(f'{{"route": "{routes[1]}"}}' if routes else ANSWER)
