"""A workflow as a source with one tool: compiled on first use, and again when it changes."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.to_thread

from ...core.calls import ToolInvocation, remaining_seconds
from ...core.errors import SourceFailed, ToolTimeout, UnknownTool
from ...core.events import Inventory
from ...core.json import JsonObject, as_list
from ...core.names import did_you_mean
from ...core.patterns import guard
from ...core.results import ToolResult
from ...core.tools import WORKFLOW, Tool, ToolKey
from ...secrets.search import looks_secret
from ...settings.sources import WorkflowSettings
from ..progress import ProgressListener
from ..reading import ReadSource, file_stamp
from ..results import result_of_json
from .process import ChildAnswer, ChildOutput, ask_child

# Each is a Python process; further calls wait for their turn.
_MAX_AT_ONCE = 4
_MISSING = "there is no file {}."
_MORE_TIME = "Give it more time with `timeout`, or have it do less."
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_UNDESCRIBED = (
    "it has no description: add a comment titled Description to it, or `description` to its entry."
)
_PRINTED = "The workflow returned nothing. It printed:"

CHAIN_VARIABLE = "XAI_WORKFLOW_CHAIN"
DEPTH_VARIABLE = "XAI_MAX_WORKFLOW_DEPTH"

_DEFAULT_DEPTH = 3  # levels of nesting: each may call the next many times
_CYCLE_FIX = "Break the cycle: take AgentUseWorkflow, or the entry, out of the inner one."


@dataclass(frozen=True)
class WorkflowTool:
    """A workflow from a child process: the tool, and the request that runs it."""

    tool: Tool
    request: JsonObject
    defaults: JsonObject
    outputs: tuple[str, ...]  # their names
    drawings: tuple[str, ...]  # the files that were read
    notes: tuple[str, ...]

    @classmethod
    def of(cls, settings: WorkflowSettings, script: JsonObject) -> WorkflowTool:
        """Combine the answer of the child process with the settings.

        Raises:
            SourceFailed: it needs a secret that the settings do not have.
        """
        parameters = [x for x in script["parameters"] if x["name"] not in settings.arguments]
        _refuse_secrets(settings, parameters, has_drawing=bool(script["drawings"]))
        names = tuple(x["name"] for x in script["outputs"])
        description = settings.description or script["description"]
        tool = Tool(
            ToolKey(WORKFLOW.name, settings.name, tool_name(settings.file)),
            description or f"Runs the workflow {os.path.basename(settings.file)}.",
            _input_schema(parameters),
            _output_schema(names),
        )
        request = {"do": "run", **{x: script[x] for x in ("modules", "files", "class")}}
        request["outputs"] = [x["attribute"] for x in script["outputs"]]
        defaults = {x["name"]: x["default"] for x in script["parameters"]}
        notes = (*_unknown_arguments(settings, defaults), *([] if description else [_UNDESCRIBED]))
        return cls(tool, request, defaults, names, tuple(script["drawings"]), notes)

    def run_request(self, settings: WorkflowSettings, arguments: JsonObject) -> JsonObject:
        """Return the request for one call; every parameter has a value, possibly None."""
        fixed = {x: value for x, value in settings.arguments.items() if x in self.defaults}
        values = {**self.defaults, **arguments, **fixed}
        return {**self.request, "module": module_name(settings.file), "arguments": values}

    def result(self, values: list[Any], lines: tuple[str, ...]) -> ToolResult:
        """Return one output unchanged, several as a dict, or the printed lines if there is none."""
        if len(values) == 1:
            return result_of_json(values[0])
        if values:
            return result_of_json(dict(zip(self.outputs, values, strict=True)))
        return ToolResult.of_text("\n".join((_PRINTED, *lines))) if lines else result_of_json(None)


def tool_name(file: str) -> str:
    """Return the name of the tool for the workflow in a file."""
    stem = os.path.splitext(os.path.basename(file))[0]
    return re.sub(r"\W+", "_", stem).strip("_") or "workflow"


def module_name(file: str) -> str:
    """Return the module name of a workflow. Its own may be a component's, or not valid."""
    return f"workflow_{tool_name(file)}"


def _refuse_secrets(
    settings: WorkflowSettings, parameters: list[JsonObject], has_drawing: bool
) -> None:
    for name, kind in ((x["name"], x["type"]) for x in parameters):
        give = f'Give it under `arguments`, such as "{name}": "${{{name.upper()}}}"'
        if kind == "secret":
            problem = (
                f"its Argument node {name!r} is a secret, and models are not asked for secrets."
            )
            raise SourceFailed(settings.name, problem, f"{give}.")
        if not has_drawing and kind == "str" and looks_secret(name):
            problem = (
                f"its argument {name!r} looks like a secret, but a compiled script does not say so."
            )
            fix = f"{give}, or use the .xircuits file, which says whether it is one."
            raise SourceFailed(settings.name, problem, fix)


def _input_schema(parameters: list[JsonObject]) -> JsonObject:
    return {
        "type": "object",
        "properties": {x["name"]: _parameter(x) for x in parameters},
        "required": [x["name"] for x in parameters if x["required"]],
        "additionalProperties": False,
    }


def _parameter(parameter: JsonObject) -> JsonObject:
    schema = {"type": _TYPES[parameter["type"]]} if parameter["type"] in _TYPES else {}
    if parameter["description"]:
        schema["description"] = parameter["description"]
    return schema if parameter["default"] is None else {**schema, "default": parameter["default"]}


def _output_schema(names: tuple[str, ...]) -> JsonObject | None:
    """Return the schema of several outputs; their types are unknown before a run."""
    if len(names) < 2:
        return None
    return {"type": "object", "properties": {x: {} for x in names}, "required": list(names)}


def _unknown_arguments(settings: WorkflowSettings, parameters: JsonObject) -> list[str]:
    wrong = [x for x in settings.arguments if x not in parameters]
    problem = "`arguments` names {!r}, which the workflow does not have. {}"
    return [problem.format(x, did_you_mean(x, parameters)).rstrip() for x in wrong]


class WorkflowSource(ReadSource[WorkflowTool]):
    """A `Source` over one workflow. Child processes compile and run it."""

    kind = WORKFLOW

    def __init__(self, settings: WorkflowSettings, mask: Callable[[str], str]) -> None:
        super().__init__(settings, mask)
        self._settings = settings
        self._folder = os.path.dirname(settings.file)
        self._turns = anyio.Semaphore(_MAX_AT_ONCE)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Run the workflow once, in a process of its own; see `Source.call`.

        An error in it, or an early end, is a result with its last output.
        """
        started, name = anyio.current_time(), invocation.tool.name
        limit = invocation.timeout_seconds or self._settings.call_timeout_seconds
        workflow = await self._ready_within(limit)
        if name != workflow.tool.name:
            raise UnknownTool(f"{self.name} has no tool {name!r} any more.")
        return await self.run(workflow, invocation, limit, anyio.current_time() - started)

    async def run(
        self,
        workflow: WorkflowTool,
        invocation: ToolInvocation,
        limit: float,
        spent_seconds: float = 0,
    ) -> ToolResult:
        """Run a workflow that `read` returned; see `call`. Some of the limit is spent already."""
        output, notes = ChildOutput(self._mask), list[str]()
        try:
            with anyio.fail_after(remaining_seconds(limit, spent_seconds)):
                async with self._turns:
                    if invocation.check is not None:
                        invocation.check()
                    answer = await self._run(workflow, invocation, output, notes)
        except TimeoutError as cause:
            at = f" It was at the node {output.node}." if output.node else ""
            problem = f"the workflow did not end within {limit:g} s, and was stopped.{at}"
            raise ToolTimeout(self.name, problem, _MORE_TIME, output.tail()) from cause
        result = await self._result(workflow, answer, output)
        return replace(result, notes=(*result.notes, *notes))

    async def _run(
        self,
        workflow: WorkflowTool,
        invocation: ToolInvocation,
        output: ChildOutput,
        notes: list[str],
    ) -> ChildAnswer:
        request = workflow.run_request(self._settings, invocation.arguments)
        answers: list[ChildAnswer] = []
        async with anyio.create_task_group() as tasks:
            if invocation.on_progress is not None:
                listener = ProgressListener(invocation.on_progress, notes)
                tasks.start_soon(output.follow, listener.report)
            answers.append(await self._ask(request, output))
            tasks.cancel_scope.cancel()
        return answers[0]

    async def _result(
        self, workflow: WorkflowTool, answer: ChildAnswer, output: ChildOutput
    ) -> ToolResult:
        value = answer.value or {"failed": {"text": f"its process {answer.ending}"}}
        if "failed" not in value:
            # Not masked, because it is for the model; in a thread, because it may be megabytes.
            return await anyio.to_thread.run_sync(workflow.result, value["outputs"], output.lines)
        failure = value["failed"]
        node = failure.get("node") or ("" if answer.value else output.node)
        at = f" at the node {node}" if node else ""
        where = f" ({failure['where']})" if failure.get("where") else ""
        text = self._mask(f"{workflow.tool.name} failed{at}: {failure['text']}{where}")
        lines = [f"    {x}" for x in output.tail()]
        output_text = "\n".join(["", "  Its last output:", *lines]) if lines else ""
        return ToolResult.of_text(f"{text}{output_text}", is_error=True)

    def _title(self) -> str:
        return os.path.basename(self._settings.file)

    def _inventory_of(self, value: WorkflowTool) -> Inventory:
        is_off = guard(*self._settings.disabled_tools)(value.tool.name)
        disabled, tools = ((value.tool.name,), ()) if is_off else ((), (value.tool,))
        return Inventory(self.name, tools, notes=value.notes, disabled=disabled)

    async def _stamp(self) -> object:
        """Return the stamps of all files."""
        inner = self._last.value.drawings if self._last else ()
        files = dict.fromkeys((self._settings.file, *inner))
        return await self._stamp_in_time(
            lambda: tuple(map(file_stamp, files)), self._settings.start_timeout_seconds
        )

    async def _read(self) -> WorkflowTool:
        return await self.read()

    async def read(self) -> WorkflowTool:
        """Compile and read the workflow, also if no task owns the source.

        Raises:
            SourceFailed: it cannot be used.
        """
        problem, fix = why_not_nested(self._settings.file)
        if problem:
            raise SourceFailed(self.name, problem, fix)
        if not await anyio.Path(self._settings.file).is_file():
            fix = "Correct the path, or put the workflow there."
            raise SourceFailed(self.name, _MISSING.format(self._settings.file), fix)
        script = await self._read_in_child()
        if "unusable" in script:
            problem, fix = script["unusable"]
            raise SourceFailed(self.name, problem, fix)
        return WorkflowTool.of(self._settings, script)

    async def _read_in_child(self) -> JsonObject:
        limit, output = self._settings.start_timeout_seconds, ChildOutput(self._mask)
        file = self._settings.file
        try:
            # Never beside the workflow: that folder is the user's.
            with tempfile.TemporaryDirectory(prefix="xai-", ignore_cleanup_errors=True) as scratch:
                request = {"do": "read", "file": file, "scratch": scratch,
                           "module": module_name(file)}  # fmt: skip
                with anyio.fail_after(limit):
                    answer = await self._ask(request, output)
        except TimeoutError as cause:
            problem = f"compiling {file} did not end within {limit:g} s."
            fix = "Check its literals for one that takes long, or raise `startTimeout`."
            raise SourceFailed(self.name, problem, fix, output.tail()) from cause
        if answer.value is None or "failed" in answer.value:
            problem = f"it could not be read: the process for that {answer.ending}."
            fix = "Check its last output, and that this machine has memory and disk left."
            raise SourceFailed(self.name, problem, fix, output.tail())
        return answer.value

    async def _ask(self, request: JsonObject, output: ChildOutput) -> ChildAnswer:
        env = {**self._settings.env, CHAIN_VARIABLE: chain_with(self._settings.file)}
        return await ask_child(request, self._folder, env, output)


def chain_with(file: str) -> str:
    """Return the value of the chain variable for a process that runs this workflow."""
    return json.dumps([*_chain(), os.path.realpath(file)])


def why_not_nested(file: str) -> tuple[str, str]:
    """Return why this workflow must not run inside the ones that run here, and what to do."""
    chain, setting = _chain(), os.environ.get(DEPTH_VARIABLE, "").strip()
    deepest = int(setting) if setting.isdecimal() else _DEFAULT_DEPTH
    names = " > ".join(os.path.basename(x) for x in (*chain, file))
    if os.path.realpath(file) in chain:
        return f"the workflow would run inside itself: {names}.", _CYCLE_FIX
    if len(chain) >= deepest:
        problem = f"workflows may be nested {deepest} deep, and this is deeper: {names}."
        return problem, f"Take one out, or set {DEPTH_VARIABLE} to a larger number."
    return "", ""


def _chain() -> list[str]:
    try:
        chain = json.loads(os.environ.get(CHAIN_VARIABLE, "[]"))
    except ValueError:
        return []
    return [*map(str, as_list(chain))]
