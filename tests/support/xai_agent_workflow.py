"""A workflow as people made them with XpressAI's xai-agent, of the shape of its own example.

Its classes are stand-ins of our own, in `other_libraries`: the same names of classes and ports.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tools.components import all_components
from tools.workflows import Argument, LiteralNode, Workflow
from xai_mcp_agent.drawing.components import ComponentClass, read_component_file
from xai_mcp_agent.drawing.document import Document

OTHER_LIBRARIES = Path(__file__).parent / "other_libraries"
QUESTION = [{"role": "user", "content": "What time is it?"}]
PROMPT = "You are a clock. {tool_instruction}\n{tools}"


@cache
def upstream_components() -> dict[str, ComponentClass]:
    """Return the classes by name in an installation with xai-agent and without this library."""
    # Of two classes with one name that of a library, not of somebody's copy.
    files = [x for end in ("", "s") for x in sorted(OTHER_LIBRARIES.glob(f"*/*_component{end}.py"))]
    classes = [x for file in files for x in read_component_file(file, file.parent.name)]
    return all_components() | {x.name: x for x in classes}


def xai_agent_workflow(name: str = "clock", **access: Any) -> Workflow:
    """Return an agent with a key, a memory and a drawn tool: 23 nodes, 9 of them components.

    `access` is given to the node that unlocks the service, besides its key.
    """
    flow = Workflow(name, upstream_components())
    key = flow.node("OpenAIAuthorize", api_key=Argument("api_key"), **access)
    memory = flow.node("AgentNumpyMemory")
    belt = flow.node("AgentMakeToolbelt", name="default")
    agent = flow.node(
        "AgentInit",
        agent_name="clock",
        agent_provider="openai",
        agent_model="gpt-5-mini",
        agent_memory=memory["memory"],
        system_prompt=PROMPT,
        max_thoughts=5,
        toolbelt_spec=belt["toolbelt_spec"],
    )
    run = flow.node("AgentRun", agent_name="clock", conversation=LiteralNode(QUESTION))
    answer = flow.node("Print", msg=run["last_response"])
    flow.main(key, memory, belt, agent, run, answer)
    tool = flow.node(
        "AgentDefineTool",
        tool_name="get_current_time",
        description="Tells the time.",
        for_toolbelt="default",
    )
    time = flow.node("GetCurrentTime")
    flow.side(tool, time, flow.node("AgentToolOutput", results=[time["time_str"]]))
    return flow


def document_after(*edits: Callable[[Document], None]) -> Document:
    """Return the content of its file after these edits."""
    document = xai_agent_workflow().document()
    for edit in edits:
        edit(document)
    return document


def install(library: str, folder: Path) -> Path:
    """Put a stand-in library into a working folder, as `xircuits install` does."""
    place = folder / "xai_components" / library
    ignore = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(OTHER_LIBRARIES / library, place, ignore=ignore)
