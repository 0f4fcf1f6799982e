"""Workflows of our own, by a short description; see `xai_mcp_agent.drawing.workflow`."""

from __future__ import annotations

from collections.abc import Mapping

from xai_mcp_agent.drawing import workflow
from xai_mcp_agent.drawing.components import ComponentClass
from xai_mcp_agent.drawing.workflow import Argument, Shown, WorkflowError

from .components import all_components

__all__ = ["Argument", "Shown", "Workflow", "WorkflowError"]


class Workflow(workflow.Workflow):
    """The same, with our components and those of Xircuits by default."""

    def __init__(self, name: str, classes: Mapping[str, ComponentClass] | None = None) -> None:
        super().__init__(name, all_components() if classes is None else classes)
