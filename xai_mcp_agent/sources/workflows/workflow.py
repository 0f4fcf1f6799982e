"""A workflow that was read: the tool that it makes, and its outputs as a result."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from ...core.errors import SourceFailed
from ...core.json import JsonObject
from ...core.names import did_you_mean
from ...core.results import ToolResult
from ...core.tools import WORKFLOW, Tool, ToolKey
from ...secrets.redactor import looks_secret
from ...settings.sources import WorkflowSettings
from ..canvas import result_of

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_UNDESCRIBED = "it has no description: add a comment titled Description to it, or `description`."
_PRINTED = "The workflow gave back nothing. It printed:"


@dataclass(frozen=True)
class Workflow:
    """One workflow as a child process has read it: what it is asked to run, and the tool."""

    tool: Tool
    request: JsonObject
    defaults: JsonObject
    outputs: tuple[str, ...]  # what they are called
    drawn: tuple[str, ...]  # the files it was read from
    notes: tuple[str, ...]

    @classmethod
    def of(cls, settings: WorkflowSettings, found: JsonObject) -> Workflow:
        """What was read, as the settings want it.

        Raises:
            SourceFailed: it needs a secret that nobody has given.
        """
        asked = [x for x in found["parameters"] if x["name"] not in settings.arguments]
        _refuse_secrets(settings, asked, is_drawn=bool(found["drawn"]))
        names = tuple(x["name"] for x in found["outputs"])
        said = settings.description or found["description"]
        tool = Tool(
            ToolKey(WORKFLOW.name, settings.name, tool_name(settings.file)),
            said or f"Runs the workflow {os.path.basename(settings.file)}.",
            _input_schema(asked),
            _output_schema(names),
        )
        request = {"do": "run", **{x: found[x] for x in ("modules", "files", "class")}}
        request["outputs"] = [x["attribute"] for x in found["outputs"]]
        defaults = {x["name"]: x["default"] for x in found["parameters"]}
        notes = (*_unknown(settings, defaults), *([] if said else [_UNDESCRIBED]))
        return cls(tool, request, defaults, names, tuple(found["drawn"]), notes)

    def run_request(self, settings: WorkflowSettings, arguments: JsonObject) -> JsonObject:
        """What a child is asked for one call: every parameter has a value, at least none."""
        fixed = {x: value for x, value in settings.arguments.items() if x in self.defaults}
        values = {**self.defaults, **arguments, **fixed}
        return {**self.request, "module": module_name(settings.file), "arguments": values}

    def result(self, values: list[Any], printed: tuple[str, ...]) -> ToolResult:
        """One output is the result, several are a dict; without any it is what was printed."""
        if len(values) == 1:
            return result_of(values[0])
        if values:
            return result_of(dict(zip(self.outputs, values, strict=True)))
        return ToolResult.of_text("\n".join((_PRINTED, *printed))) if printed else result_of(None)


def tool_name(file: str) -> str:
    """What the workflow in this file is called."""
    stem = os.path.splitext(os.path.basename(file))[0]
    return re.sub(r"\W+", "_", stem).strip("_") or "workflow"


def module_name(file: str) -> str:
    """As what it is imported. Not its own name, which may be that of a component, or no name."""
    return f"workflow_{tool_name(file)}"


def _refuse_secrets(settings: WorkflowSettings, asked: list[JsonObject], is_drawn: bool) -> None:
    for name, kind in ((x["name"], x["type"]) for x in asked):
        give = f'Give it under `arguments`, such as "{name}": "${{{name.upper()}}}"'
        if kind == "secret":
            problem = f"its Argument node {name!r} is a secret, which no model is asked for."
            raise SourceFailed(settings.name, problem, f"{give}.")
        if not is_drawn and kind == "str" and looks_secret(name):
            problem = f"its argument {name!r} is called like a secret, and a script does not tell."
            fix = f"{give}, or name the .xircuits file, which tells whether it is one."
            raise SourceFailed(settings.name, problem, fix)


def _input_schema(asked: list[JsonObject]) -> JsonObject:
    return {
        "type": "object",
        "properties": {x["name"]: _parameter(x) for x in asked},
        "required": [x["name"] for x in asked if x["required"]],
        "additionalProperties": False,
    }


def _parameter(found: JsonObject) -> JsonObject:
    schema = {"type": _TYPES[found["type"]]} if found["type"] in _TYPES else {}
    if found["description"]:
        schema["description"] = found["description"]
    return schema if found["default"] is None else {**schema, "default": found["default"]}


def _output_schema(names: tuple[str, ...]) -> JsonObject | None:
    """Nobody knows of what type an output is until it is there."""
    if len(names) < 2:
        return None
    return {"type": "object", "properties": {x: {} for x in names}, "required": list(names)}


def _unknown(settings: WorkflowSettings, known: JsonObject) -> list[str]:
    wrong = [x for x in settings.arguments if x not in known]
    return [f"`arguments` names {x!r}, which the workflow does not have. {did_you_mean(x, known)}"
            .rstrip() for x in wrong]  # fmt: skip
