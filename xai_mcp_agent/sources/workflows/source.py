"""A workflow as a source with one tool: compiled when asked for, and again when it has changed."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from functools import partial

import anyio
import anyio.to_thread

from ...core.calls import ToolInvocation, left_of
from ...core.errors import SourceFailed, ToolTimeout, UnknownTool
from ...core.events import Inventory
from ...core.json import JsonObject
from ...core.patterns import guard
from ...core.results import OnProgress, ToolResult
from ...core.tools import WORKFLOW
from ...settings.sources import WorkflowSettings
from ..reading import ReadSource, file_stamp
from .nesting import CHAIN_VARIABLE, chain_with, why_not_nested
from .process import Answer, Output, ask_child
from .workflow import Workflow, module_name

logger = logging.getLogger(__name__)

# Each is a Python of its own; further calls wait for their turn.
_MAX_AT_ONCE = 4
_MISSING = "there is no file {}."
_MORE_TIME = "Give it more time with `timeout`, or have it do less."


class WorkflowSource(ReadSource[Workflow]):
    """A `Source` over one workflow. All of it runs in child processes, also its compiler."""

    kind = WORKFLOW

    def __init__(self, settings: WorkflowSettings, mask: Callable[[str], str]) -> None:
        super().__init__(settings, mask)
        self._settings = settings
        self._folder = os.path.dirname(settings.file)
        self._turns = anyio.Semaphore(_MAX_AT_ONCE)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Run the workflow once, in a process of its own; see `Source.call`.

        What it raises, and how it ended otherwise, is a result, with its last words.
        """
        started, name = anyio.current_time(), invocation.tool.name
        limit = invocation.timeout_seconds or self._settings.call_timeout_seconds
        workflow = await self._ready_within(limit)
        if name != workflow.tool.name:
            raise UnknownTool(f"{self.name} has no tool {name!r} any more.")
        output = Output(self._mask)
        try:
            with anyio.fail_after(left_of(limit, anyio.current_time() - started)):
                async with self._turns:
                    if invocation.check is not None:
                        invocation.check()
                    answer = await self._run(workflow, invocation, output)
        except TimeoutError as cause:
            at = f" It was at the node {output.node}." if output.node else ""
            problem = f"the workflow did not end within {limit:g} s, and was ended.{at}"
            raise ToolTimeout(self.name, problem, _MORE_TIME, output.tail()) from cause
        return await self._result(workflow, answer, output)

    async def _run(self, workflow: Workflow, invocation: ToolInvocation, output: Output) -> Answer:
        request = workflow.run_request(self._settings, invocation.arguments)
        answers: list[Answer] = []
        async with anyio.create_task_group() as tasks:
            if invocation.on_progress is not None:
                tasks.start_soon(_follow, output, invocation.on_progress)
            answers.append(await self._ask(request, output))
            tasks.cancel_scope.cancel()
        return answers[0]

    async def _result(self, workflow: Workflow, answer: Answer, output: Output) -> ToolResult:
        value = answer.value or {"failed": {"text": f"its process {answer.ending}"}}
        if "failed" not in value:
            # It is for the model as it is. In a thread: it may be megabytes of JSON.
            given = value["outputs"]
            return await anyio.to_thread.run_sync(workflow.result, given, output.lines)
        failed = value["failed"]
        node = failed.get("node") or ("" if answer.value else output.node)
        at = f" at the node {node}" if node else ""
        where = f" ({failed['where']})" if failed.get("where") else ""
        text = self._mask(f"{workflow.tool.name} failed{at}: {failed['text']}{where}")
        lines = [f"    {x}" for x in output.tail()]
        said = "\n".join(["", "  The last it printed:", *lines]) if lines else ""
        return ToolResult.of_text(f"{text}{said}", is_error=True)

    def _title(self) -> str:
        return os.path.basename(self._settings.file)

    def _inventory_of(self, value: Workflow) -> Inventory:
        is_off = guard(*self._settings.disabled_tools)(value.tool.name)
        disabled, tools = ((value.tool.name,), ()) if is_off else ((), (value.tool,))
        return Inventory(self.name, tools, notes=value.notes, disabled=disabled)

    async def _stamp(self) -> object:
        """In a thread: the disk may hang."""
        inner = self._last.value.drawn if self._last else ()
        files = dict.fromkeys((self._settings.file, *inner))
        limit = self._settings.start_timeout_seconds
        try:
            with anyio.fail_after(limit):
                look = partial(_stamps, tuple(files))
                return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
        except TimeoutError as cause:
            problem = f"looking whether it has changed did not end within {limit:g} s."
            raise SourceFailed(self.name, problem, "Look whether its disk answers.") from cause

    async def _read(self) -> Workflow:
        problem, fix = why_not_nested(self._settings.file)
        if problem:
            raise SourceFailed(self.name, problem, fix)
        if not await anyio.Path(self._settings.file).is_file():
            fix = "Correct the path, or put the workflow there."
            raise SourceFailed(self.name, _MISSING.format(self._settings.file), fix)
        found = await self._read_in_child()
        if "unusable" in found:
            problem, fix = found["unusable"]
            raise SourceFailed(self.name, problem, fix)
        return Workflow.of(self._settings, found)

    async def _read_in_child(self) -> JsonObject:
        limit, output = self._settings.start_timeout_seconds, Output(self._mask)
        file = self._settings.file
        try:
            # Never beside the workflow: what lies there is the user's.
            with tempfile.TemporaryDirectory(prefix="xai-", ignore_cleanup_errors=True) as scratch:
                request = {"do": "read", "file": file, "scratch": scratch,
                           "module": module_name(file)}  # fmt: skip
                with anyio.fail_after(limit):
                    answer = await self._ask(request, output)
        except TimeoutError as cause:
            problem = f"compiling {file} did not end within {limit:g} s."
            fix = "Look for a literal in it that takes so long, or raise `startTimeout`."
            raise SourceFailed(self.name, problem, fix, output.tail()) from cause
        if answer.value is None or "failed" in answer.value:
            problem = f"it could not be read: the process for that {answer.ending}."
            fix = "Look at its last words, and whether there is memory and disk left here."
            raise SourceFailed(self.name, problem, fix, output.tail())
        return answer.value

    async def _ask(self, request: JsonObject, output: Output) -> Answer:
        env = {**self._settings.env, CHAIN_VARIABLE: chain_with(self._settings.file)}
        return await ask_child(request, self._folder, env, output)


async def _follow(output: Output, on_progress: OnProgress) -> None:
    """What a listener raises does not end the call; it is not told any more."""
    try:
        await output.follow(on_progress)
    except Exception:
        logger.exception("A progress listener raised; it is not called for this call any more")


def _stamps(files: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(map(file_stamp, files))
