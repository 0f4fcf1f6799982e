"""Steps of a workflow that was drawn from calls: one call each, with what earlier steps gave."""

from __future__ import annotations

from typing import Any, cast

from ..bridge.transcript import new_run_id
from ..core.errors import BadSetting, UnknownTool, XaiMcpError
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.results import ToolResult
from ..steps.reading import BadStep, read_step
from ..steps.references import CANVAS_SOURCE, TO_BE_GIVEN, Step
from ..steps.results import NotInResult, StepResult, fill, value_of
from .at_node import AtNode, at_node
from .drawn_tools import all_drawn

_NODE = "MCPToolStep"
_DONE = "tool_steps"  # in `ctx`: the results of the steps so far, each with its name


class StepFailed(XaiMcpError):
    """A tool said that it failed, so there is nothing that the next steps could use."""


def call_step(ctx: Any, call: str, results: Any) -> dict[str, Any]:
    """Make the call that is written there: its result as data where it is any, and as text.

    Raises:
        BadSetting: what is written is no step, or takes what the results do not have.
        StepFailed: the tool says that it failed.
        XaiMcpError: see `Bridge.call_tool`.
    """
    try:
        step = read_step(call)
    except BadStep as reason:
        raise BadSetting(f"`call` of {_NODE} cannot be read. {reason}") from reason
    given = [_given(ctx, number, x) for number, x in enumerate(results or [])]
    try:
        arguments = {name: fill(x, given) for name, x in step.arguments.items()}
    except NotInResult as reason:
        raise BadSetting(f"{step.name} cannot be called: {reason}") from reason
    asked = {"server": step.source, "tool": step.tool, "arguments": arguments}
    with at_node(ctx, _NODE, step.source, new_run_id(), **asked) as work:
        result = _result_of(ctx, work, step, arguments)
        work.answer.update(text=result.text, structured=result.structured, is_error=result.is_error)
    if result.is_error:
        raise StepFailed(f"{step.name} failed: {result.text} Correct its `call`, or what is wired.")
    value = value_of(result)
    _steps_of(ctx).append(StepResult(value, step.name))
    return {"result": value, "text": result.text}


def _given(ctx: Any, number: int, value: Any) -> StepResult:
    if value is None:
        raise BadSetting(
            f"`results[{number}]` of {_NODE} is wired to a node that has not run yet. Put that "
            "node before this one in the flow."
        )
    if value == TO_BE_GIVEN:
        raise BadSetting(
            f"`results[{number}]` of {_NODE} has no value: the drawing could not know it. Write it "
            "into the literal that is wired there; the note above the node says what it is for."
        )
    name = next((x.name for x in reversed(_steps_of(ctx)) if x.value is value), "")
    return StepResult(value, name or f"the node at results[{number}]")


def _steps_of(ctx: Any) -> list[StepResult]:
    return cast(list[StepResult], ctx.setdefault(_DONE, []))


def _result_of(ctx: Any, work: AtNode, step: Step, arguments: JsonObject) -> ToolResult:
    if step.source != CANVAS_SOURCE or step.source in work.bridge.settings.sources:
        return work.call(step.source, step.tool, arguments, None)
    drawn = all_drawn(ctx)
    if step.tool not in drawn:
        raise UnknownTool(
            f"No tool {step.tool!r} is drawn in this workflow. {did_you_mean(step.tool, drawn)} "
            "Copy its nodes, from AgentDefineTool on, out of the workflow that has it."
        )
    return drawn[step.tool].call(ctx, arguments)
