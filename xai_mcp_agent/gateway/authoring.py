"""Tools for an assistant to draw, check and run workflows below one folder.

They use the same code as the commands. Drawing and running are marked as destructive, so that they
ask for approval.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import BaseModel, Field

from ..agent.meta_tools import AskAvailable
from ..agent.toolsets import Available, FixedToolset
from ..bridge.operations import Operations
from ..bridge.operations.search import UsableTools
from ..core.calls import ToolInvocation
from ..core.errors import InvalidArguments, SourceFailed, XaiMcpError
from ..core.names import did_you_mean
from ..core.results import TextPart, ToolResult
from ..core.schema_check import SchemaCheck
from ..core.schemas import signature
from ..core.tools import STATIC, Tool, ToolAnnotations, ToolKey
from ..drawing.components import ComponentClass, our_components, read_component_file
from ..drawing.document import Document, nodes_of, read_document
from ..drawing.flow import CallToDraw, draw
from ..drawing.plans import calls_of_plan
from ..drawing.reading import calls_in
from ..drawing.rules import code_in, problems
from ..drawing.workflow import WorkflowError
from ..planning.answers import CallToCheck
from ..settings.load import ENVIRONMENT_VARIABLE
from ..settings.sources import WORKFLOW_TIMEOUT_SECONDS, WorkflowSettings
from ..sources.builtin.source import started_files
from ..sources.builtin.workspace import Workspace
from ..sources.functions.function import ToolSchema
from ..sources.workflows.source import WorkflowSource, tool_name
from ..steps.reading import BadStep, read_value
from ..steps.references import Step, step_text
from ..views.fitting import checked_text

_SUFFIX = ".xircuits"
_INNER = "xircuits_workflow"  # the node type of a nested workflow
_LONGEST_SECONDS = 3600.0
_MOST_CALLS = 50
_NO_PLAN = "No tool fits {!r}. Say it in other words, or give the `calls`."
_FILE = Field(
    description=f"The workflow, below the working folder, such as `drawn/orders{_SUFFIX}`. Its "
    "name has letters, digits and underscores."
)


class CallToWire(BaseModel):
    """Step of the workflow to draw: one call of a tool."""

    tool: str = Field(description="The name of a tool, or its id, `server/tool`.")
    arguments: dict[str, Any] = Field({}, description="Arguments that are known, by parameter.")
    references: dict[str, str] = Field(
        {},
        alias="from",
        description="Arguments that are taken from results of earlier calls, by parameter, such as "
        "`results[0].books[0].id`, where `results[0]` is the result of the first call; or a text "
        'with a part of one in it, such as `"Dear " + results[1].name`.',
    )


class _Make(BaseModel):
    file: str = _FILE
    calls: list[CallToWire] = Field(
        [], max_length=_MOST_CALLS, description="The calls, in their order. Or give a `goal`."
    )
    goal: str = Field("", description="The task; the calls are planned from it.")
    overwrite: bool = Field(False, description="Replace an existing workflow.")


class _Check(BaseModel):
    file: str = _FILE


class _RunRequest(BaseModel):
    file: str = _FILE
    arguments: dict[str, Any] = Field({}, description="Values of its Argument nodes, by name.")
    timeout_seconds: float = Field(WORKFLOW_TIMEOUT_SECONDS, gt=0, le=_LONGEST_SECONDS)


def _tool(
    name: str, description: str, arguments: type[BaseModel], annotations: ToolAnnotations
) -> Tool:
    schema = arguments.model_json_schema(schema_generator=ToolSchema)
    del schema["title"]  # class name of the workflow
    return Tool(ToolKey(STATIC.name, "", name), description, schema, annotations=annotations)


_MAKE = _tool(
    "make_workflow",
    "Draws a workflow that a person can open in Xircuits: a node for each call of a tool, and a "
    "wire wherever a result is used. Give the calls, or a goal from which they are planned. It "
    "writes the file, and calls none of the tools.",
    _Make, ToolAnnotations(read_only=False, destructive=True, idempotent=True, open_world=False),
)  # fmt: skip
_CHECK = _tool(
    "check_workflow",
    "Lists the problems of a workflow: whether Xircuits compiles it, whether its nodes and tools "
    "exist, and whether each call gets what it needs. It runs nothing.",
    _Check, ToolAnnotations(read_only=True, open_world=False),
)  # fmt: skip
_RUN = _tool(
    "run_workflow",
    "Runs a workflow in a process of its own, and returns its outputs.",
    _RunRequest, ToolAnnotations(read_only=False, destructive=True, open_world=True),
)  # fmt: skip
_TOOLS = (_MAKE, _CHECK, _RUN)


class AuthoringToolset(FixedToolset):
    """`make_workflow`, `check_workflow` and `run_workflow`, on files below `folder`.

    A workflow may call the `available` tools. Files that the settings start are not overwritten.
    """

    _tools = _TOOLS

    def __init__(self, operations: Operations, folder: Path, available: AskAvailable) -> None:
        self._operations = operations
        self._available = available
        self._folder = folder.resolve()
        protected_files = started_files(operations.settings.sources.values())
        self._workspace = Workspace(str(self._folder), protected_files)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one of the tools. A problem of a workflow is a result with `is_error`."""
        arguments, key = invocation.arguments, invocation.tool.key
        operations = self._operations.for_caller(invocation.caller)
        try:
            if key == _MAKE.key:
                return await self._make(operations, _Make.model_validate(arguments))
            if key == _CHECK.key:
                return await self._check(
                    operations, self._path(_Check.model_validate(arguments).file)
                )
            return await self._run(operations, _RunRequest.model_validate(arguments), invocation)
        except (XaiMcpError, WorkflowError, ValueError) as problem:
            return ToolResult.of_text(str(problem), is_error=True)

    async def _usable(self, operations: Operations) -> UsableTools:
        tools = [x.tool for x in (await self._available()).definitions]
        return await operations.usable_among([x for x in tools if x.source])

    async def _make(self, operations: Operations, request: _Make) -> ToolResult:
        path = self._path(request.file)
        if bool(request.calls) == bool(request.goal.strip()):
            raise ValueError("Give either `calls` or a `goal`.")
        if request.goal:
            usable = await self._usable(operations)
            calls = calls_of_plan(await operations.plan_among(usable, request.goal))
        else:
            tools = await self._available()
            calls = [_draw_call(number, x, tools) for number, x in enumerate(request.calls, 1)]
        if not calls:
            raise ValueError(_NO_PLAN.format(request.goal))
        text = draw(Path(path).stem, calls, our_components()).text()
        write = partial(self._workspace.write, path, text, overwrite=request.overwrite)
        message = await anyio.to_thread.run_sync(write)
        steps = [step_text(Step(x.source, x.tool, x.arguments)) for x in calls]
        open_ports = [
            f"Set {name} of {call.name} in the lab. {why}"
            for call in calls
            for name, why in call.missing.items()
        ]
        report = await self._check(operations, path)
        numbered = (f"{number}. {x}" for number, x in enumerate(steps, 1))
        lines = [message, *numbered, *open_ports, report.text]
        return replace(report, parts=(TextPart("\n".join(lines)),))

    async def _check(self, operations: Operations, path: str) -> ToolResult:
        place = self._place(path)
        calls, problems, may_compile = await anyio.to_thread.run_sync(self._examine, place)
        arguments = ""
        if may_compile:
            try:
                workflow = await self._source(operations, place).read()
                arguments = f" It takes: {signature(workflow.tool.input_schema)}."
            except SourceFailed as reason:
                problems.append(f"{reason.problem} {reason.next_step}".strip())
        check = await operations.check_among(await self._usable(operations), calls)
        compiles = f"Xircuits compiles it.{arguments}" if arguments else "It was not compiled."
        lines = [*problems, compiles, checked_text(check, calls)]
        report = {
            "file": path,
            "compiles": bool(arguments),
            "is_right": bool(arguments) and not problems and not check.problems,
        }
        return ToolResult((TextPart("\n".join(lines)),), structured=report)

    def _examine(self, place: Path) -> tuple[list[CallToCheck], list[str], bool]:
        """Return the calls and the problems of a workflow, and whether it may be compiled.

        A check runs nothing, but the compiler evaluates literals, also in nested workflows.
        """
        document = read_document(place)
        classes, lines = self._classes(document)
        code = code_in(document)
        nodes = nodes_of(document).values()
        inner = [x["name"] for x in nodes if x["extras"].get("type") == _INNER]
        lines += [*problems(document, place.stem, classes), *code]
        lines += [f"{x}: check this workflow by itself; `run_workflow` compiles it" for x in inner]
        return calls_in(document), [f"{x}." for x in lines], not (code or inner)

    def _classes(self, document: Document) -> tuple[Mapping[str, ComponentClass], list[str]]:
        """Return our components and those of the working folder, and problems of their files."""
        classes, unreadable = dict(our_components()), list[str]()
        ours = {x.path for x in classes.values()}
        paths = {str(x["extras"].get("path") or "") for x in nodes_of(document).values()} - ours
        for path in sorted(paths):
            file = self._folder / path
            if path.endswith(".py") and file.is_file():
                try:
                    file_classes = read_component_file(file, file.parent.name)
                except (OSError, ValueError, SyntaxError) as cause:
                    unreadable.append(f"{path} cannot be read: {cause}")
                else:
                    classes |= {x.name: replace(x, path=path) for x in file_classes}
        return classes, unreadable

    async def _run(
        self, operations: Operations, request: _RunRequest, invocation: ToolInvocation
    ) -> ToolResult:
        source = self._source(operations, self._place(self._path(request.file)))
        workflow = await source.read()
        schema = workflow.tool.input_schema
        if problems := SchemaCheck(schema).problems(request.arguments):
            raise InvalidArguments(workflow.tool.name, problems, signature(schema))
        call = replace(invocation, tool=workflow.tool, arguments=request.arguments)
        return await source.run(workflow, call, request.timeout_seconds)

    def _source(self, operations: Operations, place: Path) -> WorkflowSource:
        file = str(place)
        settings_file = operations.settings.file  # or a description, if the settings have no file
        env = {ENVIRONMENT_VARIABLE: settings_file} if os.path.isfile(settings_file) else {}
        settings = WorkflowSettings(name=tool_name(file), file=file, env=env)
        return WorkflowSource(settings, operations.mask)

    def _path(self, file: str) -> str:
        """Return the path of a workflow in the working folder, given with or without the folder.

        Raises:
            ValueError: it is elsewhere, or not a workflow.
        """
        if os.path.isabs(file):
            if not Path(file).is_relative_to(self._folder):
                raise ValueError(f"{file} is not below the working folder, {self._folder}.")
            file = Path(file).relative_to(self._folder).as_posix()
        if not file.endswith(_SUFFIX):
            raise ValueError(f"{file} is no workflow: its name must end in {_SUFFIX}.")
        return file

    def _place(self, path: str) -> Path:
        """Return an existing workflow, or raise a ValueError that names the nearest."""
        folder = (self._folder / path).parent
        files = folder.glob(f"?*{_SUFFIX}")
        names = [x.relative_to(self._folder).as_posix() for x in files]
        if ".." not in path and path not in names:
            raise ValueError(f"There is no {path}. {did_you_mean(path, names)}".rstrip())
        return self._workspace.place(path)


def _draw_call(number: int, call: CallToWire, tools: Available) -> CallToDraw:
    entry = tools.find(call.tool)
    if entry is None or not entry.tool.source:
        raise ValueError(f"Call {number}: {tools.unknown(call.tool)}")
    arguments = dict(call.arguments)
    for name, reference in call.references.items():
        try:
            arguments[name] = read_value(reference)
        except BadStep as cause:
            raise ValueError(f"Call {number}, {call.tool}, `from` of {name!r}: {cause}") from cause
    return CallToDraw(entry.tool.source, entry.tool.name, arguments)
