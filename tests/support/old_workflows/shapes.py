"""The shapes of old workflows: a name, a drawing, and traces of age and editing in the file.

The shapes are those of workflows that people published; nothing of them is copied.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.canvas_file import Document
from tests.support.xai_agent_workflow import upstream_components
from tools.workflows import LiteralNode, Workflow

from .wear import Wear

CALLS = 'Write a line to use a tool:\nTOOL: name {"a": 1}\nThe tools:\n{tools}'
SHORT = "You help. {tool_instruction}\n{tools}"
QUESTION = [{"role": "user", "content": "What is new?"}]


@dataclass(frozen=True)
class Shape:
    """A workflow to draw; `does` is what it is, in a few words."""

    name: str
    does: str
    draw: Callable[[Workflow], None]
    wears: tuple[Wear, ...]

    def document(self) -> Document:
        """Return the content of its file."""
        flow = Workflow(self.name, upstream_components())
        self.draw(flow)
        document = json.loads(flow.text())
        for wear in self.wears:
            wear(document)
        return document

    def text(self) -> str:
        """Return the text of its file."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False)


SHAPES: dict[str, Shape] = {}
"""All shapes, by name."""


def shape(
    does: str, *wears: Wear
) -> Callable[[Callable[[Workflow], None]], Callable[[Workflow], None]]:
    """Keep a function as the shape of its name."""

    def keep(draw: Callable[[Workflow], None]) -> Callable[[Workflow], None]:
        SHAPES[draw.__name__] = Shape(draw.__name__, does, draw, wears)
        return draw

    return keep


# What many of them have


def crew(flow: Workflow, prompt: str = SHORT, **key: Any) -> tuple[Any, Any, Any, Any]:
    """Draw key, memory, toolbelt and agent; `key` is wired to what unlocks the service."""
    access = flow.node("OpenAIAuthorize", **(key or {"from_env": True}))
    memory = flow.node("AgentNumpyMemory")
    belt = flow.node("AgentMakeToolbelt", name=LiteralNode("default"))
    agent = flow.node(
        "AgentInit", agent_name=LiteralNode("helper"), agent_provider="openai",
        agent_model="gpt-5-mini", agent_memory=memory["memory"], system_prompt=prompt,
        max_thoughts=6, toolbelt_spec=belt["toolbelt_spec"],
    )  # fmt: skip
    return access, memory, belt, agent


def run(flow: Workflow, conversation: Any = None) -> Any:
    """Draw the node that runs the agent."""
    messages = LiteralNode(QUESTION) if conversation is None else conversation
    return flow.node("AgentRun", agent_name=LiteralNode("helper"), conversation=messages)


def tool(flow: Workflow, name: str, says: str, **more: Any) -> Any:
    """Draw the beginning of a tool."""
    return flow.node("AgentDefineTool", tool_name=name, description=f"{name}: {says}", **more)


def output(flow: Workflow, *results: Any) -> Any:
    """Draw the end of a tool."""
    return flow.node("AgentToolOutput", results=list(results))


def clock_tool(flow: Workflow, **more: Any) -> None:
    """Draw a tool that takes nothing."""
    begin, time = tool(flow, "tell_time", "the time now.", **more), flow.node("GetCurrentTime")
    flow.side(begin, time, output(flow, time["time_str"]))


def chat_event(flow: Workflow) -> None:
    """Draw the branch of a chat server for a message."""
    event = flow.node("ConverseDefineAgent", name=LiteralNode("desk"))
    turn = run(flow, event["conversation"])
    flow.side(event, turn, flow.node("ConverseEmitResponse", value=turn["last_response"]))
    flow.branch(turn, "on_thought", flow.node("Print", msg=turn["last_response"]))
