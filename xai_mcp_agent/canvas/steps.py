"""A call that MCPToolStep makes from the results of earlier ones."""

from __future__ import annotations

from typing import Any, cast

from ..bridge.transcript import new_run_id
from ..core.errors import BadSetting, UnknownTool, XaiMcpError
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.results import ToolResult
from ..steps.reading import BadStep, read_step
from ..steps.references import CANVAS_SOURCE, VALUE_PLACEHOLDER, Step
from ..steps.results import NotInResult, StepResult, fill, value_of
from .at_node import AtNode, at_node
from .drawn_tools import collect_drawn_tools

_NODE = "MCPToolStep"
_RESULTS = "tool_steps"  # key of `ctx`: the results of the steps so far, each with its name


class StepFailed(XaiMcpError):
    """A tool reported an error, so the next steps have nothing to use."""


def call_step(ctx: Any, call: str, results: Any) -> dict[str, Any]:
    """Make the call that `call` describes; return its result as data, if it has any, and as text.

    Raises:
        BadSetting: `call` is not a step, or uses something that the results do not have.
        StepFailed: the tool reported an error.
        XaiMcpError: see `Bridge.call_tool`.
    """
    try:
        step = read_step(call)
    except BadStep as reason:
        raise BadSetting(f"`call` of {_NODE} cannot be read. {reason}") from reason
    earlier = [_wired_result(ctx, number, x) for number, x in enumerate(results or [])]
    try:
        arguments = {name: fill(x, earlier) for name, x in step.arguments.items()}
    except NotInResult as reason:
        raise BadSetting(f"{step.name} cannot be called: {reason}") from reason
    fields = {"server": step.source, "tool": step.tool, "arguments": arguments}
    with at_node(ctx, _NODE, step.source, new_run_id(), **fields) as work:
        result = _result_of(ctx, work, step, arguments)
        work.note(result)
    if result.is_error:
        raise StepFailed(f"{step.name} failed: {result.text} Correct its `call`, or what is wired.")
    value = value_of(result)
    _steps_of(ctx).append(StepResult(value, step.name))
    return {"result": value, "text": result.text}


def _wired_result(ctx: Any, number: int, value: Any) -> StepResult:
    if value is None:
        raise BadSetting(
            f"`results[{number}]` of {_NODE} is wired to a node that has not run yet. Put that "
            "node before this one in the flow."
        )
    if value == VALUE_PLACEHOLDER:
        raise BadSetting(
            f"`results[{number}]` of {_NODE} has no value: it was unknown when the "
            "workflow was drawn. Write it into the literal that is wired there; the note above the "
            "node says what it is for."
        )
    name = next((x.name for x in reversed(_steps_of(ctx)) if x.value is value), "")
    return StepResult(value, name or f"the node at results[{number}]")


def _steps_of(ctx: Any) -> list[StepResult]:
    return cast(list[StepResult], ctx.setdefault(_RESULTS, []))


def _result_of(ctx: Any, work: AtNode, step: Step, arguments: JsonObject) -> ToolResult:
    if step.source != CANVAS_SOURCE or step.source in work.bridge.settings.sources:
        return work.call(step.source, step.tool, arguments, None)
    tools = collect_drawn_tools(ctx)
    if step.tool not in tools:
        raise UnknownTool(
            f"No tool {step.tool!r} is drawn in this workflow. {did_you_mean(step.tool, tools)} "
            "Copy its nodes, from AgentDefineTool on, out of the workflow that has it."
        )
    return tools[step.tool].call(ctx, arguments)
