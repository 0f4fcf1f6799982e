"""Running, interrupting and running again in the lab; more of it in `test_kernel.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lab import interrupt_kernels
from tests.support.lab_canvas import Canvas
from tests.support.processes import wait_until
from tests.support.scripts import compile_workflow
from tools.workflows import Workflow

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def scripts(folder: Path) -> Path:
    """The working folder, with a script that ends at once and one that never does."""
    for name, tool, arguments in (
        ("adding", "add", {"a": 20, "b": 22}),
        ("waiting", "wait", {"seconds": 600.0}),
    ):
        flow = Workflow(name)
        node = flow.node("MCPCallTool", server_name="workshop", tool_name=tool, arguments=arguments)
        flow.main(node, flow.node("Print", msg=node["text"]))
        compile_workflow(flow.write(folder))
    return folder


def test_an_interrupted_workflow_ends_and_the_next_run_works(
    canvas: Canvas, scripts: Path, address: str
) -> None:
    """From without: by the REST interface, as any program that watches a lab does it."""
    began = scripts / "workshop.pid.waiting"
    began.unlink(missing_ok=True)  # of a run in the panel, whose kernel keeps its server
    canvas.start_script("waiting.py")
    wait_until(began.exists, "the workflow waits for its tool")
    interrupt_kernels(address)
    assert "Stopped by you." in canvas.wait_for_output("Finished Executing")
    assert "42" in canvas.run_script("adding.py").split("Executing: Print")[1]
