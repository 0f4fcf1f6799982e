"""A workflow of xai-agent's shape, adopted: compiled by Xircuits' compiler, and run.

reference: Xircuits, section 7. The browser part is in in_lab/test_lab_drawn.py.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.support.canvas_file import links_of, load, nodes_of
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.scripts import compile_workflow, run_script
from tests.support.xai_agent_workflow import install, xai_agent_workflow
from xai_mcp_agent.cli.adopt.command import adopt_file

KEY = "sk-dummy-0123456789"
TEMPLATE = Path(str(distribution("xircuits").locate_file("examples/AgentTemplate.xircuits")))


@pytest.fixture(scope="module")
def adopted(working_folder: Path) -> Iterator[Path]:
    """The adopted workflow, where xai-openai is installed and xai-agent is not."""
    library = install("xai_openai", working_folder)
    file = adopt_file(xai_agent_workflow().write(working_folder)).written
    assert file is not None
    yield file
    shutil.rmtree(library)


def test_the_adopted_workflow_runs_to_its_answer_with_tool_memory_and_prompt(
    adopted: Path,
) -> None:
    """With the model that the workflow names, played by a scripted one."""
    script = [calls(("get_current_time", {})), says("It is late.")]
    with model_endpoint(script) as endpoint:
        script = compile_workflow(adopted)
        result = run_script(script, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=endpoint.base_url)
    assert "xai_components.xai_agent" not in script.read_text(encoding="utf-8")
    assert (result.returncode, result.stderr) == (0, "")
    assert "It is late." in result.stdout.split("Executing: Print")[-1]
    first, second = endpoint.requests
    assert first.body["model"] == "gpt-5-mini"
    assert {"get_current_time", "lookup_memory", "create_memory"} <= {*first.tool_names}
    system, question = first.body["messages"]
    assert question == {"role": "user", "content": "What time is it?"}
    assert system["content"].startswith("You are a clock. ")
    assert "{tool" not in system["content"]
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d", second.results[-1])


@pytest.mark.skipif(not TEMPLATE.is_file(), reason="this Xircuits ships no such template")
def test_the_agent_template_of_xircuits_is_adopted_whole(working_folder: Path) -> None:
    """The card Agent of the lab's launcher opens this real workflow of xai-agent."""
    file = working_folder / TEMPLATE.name
    shutil.copyfile(TEMPLATE, file)
    report = adopt_file(file)
    assert report.written is not None
    assert len(report.adopted) == 6
    assert [x.node for x in report.remarks if x.to_do] == ["OpenAIAuthorize"]
    before, after = load(file), load(report.written)
    (added,) = [x for x in links_of(after) if x not in links_of(before)]
    (tool,) = [x for x in nodes_of(after) if x["name"] == "AgentDefineTool"]
    ports = [x["id"] for x in tool["ports"] if x["label"] == "parameters"]
    assert added["targetPort"] in ports
    assert [x for x in links_of(after) if x != added] == links_of(before)
    script = compile_workflow(report.written).read_text(encoding="utf-8")
    assert "xai_components.xai_agent" not in script
    assert ".agent_memory.connect(" in script
