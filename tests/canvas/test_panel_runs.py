"""Questions from the lab's panel, in a kernel as the lab starts it for the panel."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import SERVERS, write_settings
from tests.support.fault_server import entry
from tests.support.kernels import CellResult, Kernel, kernel
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.scripts import compile_workflow
from tests.support.shredder_server import shredder_entry
from tests.support.small_workflows import agent_workflow, calling_workflow
from tests.support.warm_python import python_entry
from tools.workflows import Workflow
from xai_mcp_agent.cli.init import init_folder

IMPORT = "from xai_mcp_agent.canvas.panel.runs import ask, begin_anew"
NODE = """
from xai_components.base import Component, InArg, xai_component

@xai_component
class Node(Component):
    msg: InArg[any]

    def execute(self, ctx) -> None:
        print("{text}")
"""

SPIN = """
from xai_components.base import Component, InArg, SubGraphExecutor, xai_component

@xai_component
class Node(Component):
    msg: InArg[any]

    def execute(self, ctx) -> None:
        for number in range(3_000):
            SubGraphExecutor(Tick(number)).do(ctx)

class Tick(Component):
    def __init__(self, number) -> None:
        super().__init__()
        self.number, self.__id__, self.next = number, "tick", None

    def execute(self, ctx) -> None:
        print(self.number)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with the examples and two servers."""
    home = init_folder(tmp_path_factory.mktemp("panel") / "my lab").folder
    library = python_entry(SERVERS / "library.py")
    servers = {"library": library, "it": entry(), "shredder": shredder_entry()}
    write_settings(home, servers)
    return home


@pytest.fixture(scope="module")
def shell(folder: Path) -> Iterator[Kernel]:
    """The panel's kernel."""
    with kernel(folder, JPY_SESSION_NAME="chat", XAI_MCP_TRUST="1") as running:
        yield running


def ask(shell: Kernel, path: str, question: str = "") -> CellResult:
    return shell.run(f"{IMPORT}; ask({path!r}, {question!r})")


def events(ran: CellResult, event: str) -> list[dict[str, Any]]:
    return [x for x in ran.events if x["event"] == event]


def node_states(ran: CellResult) -> list[dict[str, Any]]:
    """The states of nodes, in order."""
    return [node for x in events(ran, "Nodes") for node in x["nodes"]]


def answer(ran: CellResult, number: int = -1) -> str:
    """An answer of an agent, the last one, without its marks."""
    return events(ran, "RunFinished")[number]["answer"]


def test_a_run_of_xircuits_is_reported_as_well_and_a_notebook_tells_nothing(
    shell: Kernel, folder: Path
) -> None:
    """The panel connects to a kernel that has just started and has imported nothing yet."""
    path = echoing(folder)
    script = compile_workflow(folder / path).name
    shell.run("import xai_mcp_agent.canvas")
    ran = shell.run(f"%run {script}")
    assert [x["state"] for x in node_states(ran)].count("done") == 2
    assert events(ran, "Began")[0]["path"] == path
    assert events(ran, "NodeFinished")[0]["text"] == "42"
    assert events(ran, "Ended")[0]["state"] == "done"
    shell.run("import os; os.environ['JPY_SESSION_NAME'] = 'a.ipynb'")
    assert shell.run(f"%run {script}").events == ()
    shell.run("os.environ['JPY_SESSION_NAME'] = 'chat'")


def test_a_conversation_goes_on_until_a_new_one_begins(shell: Kernel, folder: Path) -> None:
    steps = [says("Hello Ada."), says("You are Ada."), says("I do not know.")]
    with model_endpoint(steps) as endpoint:
        path = talking(folder, "talk", endpoint.base_url)
        assert answer(ask(shell, path, "I am Ada.")) == "Hello Ada."
        ask(shell, path, "Who am I?")
        shell.run(f"begin_anew({path!r})")
        ask(shell, path, "Who am I?")
        _, second, third = ([x["content"] for x in y.body["messages"]] for y in endpoint.requests)
    assert second[-3:] == ["I am Ada.", "Hello Ada.", "Who am I?"]
    assert "I am Ada." not in third


def with_node(folder: Path, name: str, code: str) -> str:
    """A workflow of one node of another library, which has this code; its path."""
    library = Path(f"xai_components/xai_{name}/{name}_components.py")
    (folder / library).parent.mkdir(parents=True, exist_ok=True)
    (folder / library).with_name("__init__.py").touch()
    (folder / library).write_text(code, encoding="utf-8")
    flow = Workflow(name)
    flow.main(flow.node("Print", msg="x"))
    text = flow.text().replace('"Print"', '"Node"')
    text = text.replace("xai_components/xai_utils/utils.py", str(library))
    (folder / f"{name}.xircuits").write_text(text, encoding="utf-8")
    return f"{name}.xircuits"


def test_a_file_of_nodes_that_was_written_anew_is_used(shell: Kernel, folder: Path) -> None:
    for text in ("one", "another"):
        ran = ask(shell, with_node(folder, "says", NODE.format(text=text)))
        assert [x["text"] for x in events(ran, "Printed") if x["text"]] == [text]


def test_a_loop_of_thousands_of_nodes_sends_few_messages(shell: Kernel, folder: Path) -> None:
    """The server of the lab drops what comes faster than a thousand in a second."""
    path = with_node(folder, "spin", SPIN)
    ran = ask(shell, path)
    assert events(ran, "Ended")[0]["state"] == "done"
    assert len(ran.events) < 300
    lines = "\n".join(x["text"] for x in events(ran, "Printed")).split()
    assert lines == [str(x) for x in range(3_000)]
    states = {x["node"]: x["state"] for x in node_states(ran)}
    (spin,) = (x for x in states if x != "tick")
    assert spin in (folder / path).read_text(encoding="utf-8"), "its id on the canvas"
    assert set(states.values()) == {"done"}


def test_an_error_names_the_node_and_marks_it(shell: Kernel, folder: Path) -> None:
    flow = Workflow("wrong")
    flow.main(flow.node("MCPListTools", server_name="libary"))
    ran = ask(shell, flow.write(folder).name)
    (end,) = events(ran, "Ended")
    assert end["state"] == "failed"
    assert "Did you mean 'library'" in end["error"]
    assert node_states(ran)[-1]["state"] == "failed"
    (folder / "broken.xircuits").write_text("{", encoding="utf-8")
    (end,) = events(ask(shell, "broken.xircuits", "Hello?"), "Ended")
    assert "broken.xircuits cannot be compiled" in end["error"]
    (end,) = events(ask(shell, echoing(folder), "Hello?"), "Ended")
    assert end["error"].startswith("No agent of this workflow took the question")


def test_a_memory_of_the_process_lives_as_long_as_the_conversation(
    shell: Kernel, folder: Path
) -> None:
    path = "examples/ex06_memory_of_an_agent.xircuits"
    ask(shell, path, "Remember that my cat is called Tom.")
    assert "Tom" in answer(ask(shell, path, "What is my cat called?"), 0)
    shell.run(f"begin_anew({path!r})")
    assert "Tom" not in answer(ask(shell, path, "What is my cat called?"), 0)


def test_a_route_without_an_agent_answers_too(shell: Kernel) -> None:
    path = "examples/ex11_router_with_two_routes.xircuits"
    ask(shell, path, "What are the rules?")
    chat = f"__import__('xai_mcp_agent.canvas.panel.chat', fromlist=['x']).chats[{path!r}]"
    assert "A loan lasts 21 days." in shell.value(f"{chat}.conversation[-1]['content']")


def test_secrets_are_masked_in_all_events(shell: Kernel, folder: Path) -> None:
    secret = "sk-" + "a1b2c3d4" * 4
    request = calls(("it_rpc_error", {"code": 1, "message": f"the key {secret} is wrong"}))
    with model_endpoint([request, says(f"It is {secret} indeed.")]) as endpoint:
        path = talking(folder, "secretive", endpoint.base_url, "it")
        ran = ask(shell, path, "What is the key?")
    assert events(ran, "Text")
    assert "sk-a1" not in json.dumps(ran.events)


def test_where_no_panel_attends_a_question_is_asked_on_a_page_that_the_chat_leads_to(
    shell: Kernel, folder: Path
) -> None:
    """Kernels before ipykernel 7 take no answer while they run."""

    def approve(event: dict[str, Any]) -> None:
        if event["event"] == "Page":
            assert event["title"] == "agent wants to call shred of shredder"
            with urllib.request.urlopen(event["url"], b"action=once", timeout=30) as page:
                assert "Approved" in page.read().decode()

    shred = calls(("shredder_shred", {"paper": "will"}))
    with model_endpoint([shred, says("It is shredded.")]) as endpoint:
        path = talking(folder, "shredding", endpoint.base_url, "shredder")
        ran = shell.run(f"{IMPORT}; ask({path!r}, 'Shred the will.')", approve)
    assert answer(ran) == "It is shredded."


def echoing(folder: Path) -> str:
    """A workflow that calls a tool and prints; its path."""
    return calling_workflow("echoing", "it", "echo", text="42").write(folder).name


def talking(folder: Path, name: str, base_url: str, *servers: str) -> str:
    """A workflow whose agent has the tools of these servers; its path."""
    return agent_workflow(name, base_url, *servers).write(folder).name
