"""Calls of workflows: arguments, results and errors."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.sources.workflows.drawings import draw, offering
from tests.support.processes import is_running, pid_in, wait_until
from tests.support.scripts import compile_workflow
from tools.workflows import Argument
from xai_mcp_agent import Bridge, InvalidArguments, ToolResult, ToolTimeout

pytestmark = pytest.mark.anyio

ECHO = "result = value"


# What comes back


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bridge]:
    """Run a bridge with a workflow that returns its argument."""
    with offering(draw(tmp_path_factory.mktemp("echo"), ECHO)) as bridge:
        yield bridge


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bridge]:
    """Run a bridge with a workflow that runs Python code from its argument."""
    with offering(draw(tmp_path_factory.mktemp("running"), "exec(value)")) as bridge:
        yield bridge


def run(bridge: Bridge, code: str) -> ToolResult:
    return bridge.call_tool("it", "job", {"value": code})


def test_arguments_and_results_are_passed_exactly(echo: Bridge):
    """No shell is used, and printed output is not parsed."""
    texts = [
        "", "two words; $(echo no) `no` 'single' \"double\" \\ %PATH% --value=3",
        "line\nbreak\ttab\r\x00\u2028 Ünïcödé 漢字 \U0001f600", "x" * 200_000,
    ]  # fmt: skip
    data = [1, "1", None, True, 10**30, -0.1, {"a b": {"": None}, "class": [1.5], "ü": texts}]
    for value in (*texts[:2], data):
        result = echo.call_tool("it", "job", {"value": value})
        assert not result.is_error
        assert (result.text if isinstance(value, str) else result.structured) == value


def test_bytes_and_half_characters_come_back_as_text(running: Bridge):
    """Python gives half characters to names of files that are not UTF-8."""
    result = run(running, r"result = {'caf\udce9.txt': b'\xff\xfb'}")
    assert result.structured == {"caf?.txt": "//s="}
    assert "caf?" in run(running, r"raise ValueError('caf\udce9')").text


def test_several_outputs_come_back_by_the_names_of_their_ports(tmp_path: Path):
    code = "result, second = [value], 2"
    with offering(draw(tmp_path, code, outputs=("second", "result", "result"))) as bridge:
        (tool,) = bridge.list_tools("it")
        result = bridge.call_tool("it", "job", {"value": 1})
    assert result.structured == {"second": 2, "result": [1], "result_2": [1]}
    assert tool.output_schema
    assert tool.output_schema["properties"].keys() == result.structured.keys()


def test_a_compiled_script_is_a_tool_too(tmp_path: Path):
    file = draw(tmp_path, ECHO)
    script = compile_workflow(file)
    file.unlink()
    with offering(script) as bridge:
        (tool,) = bridge.list_tools("it")
        assert (tool.name, list(tool.input_schema["properties"])) == ("job", ["value"])
        assert bridge.call_tool("it", "job", {"value": ["ä"]}).structured == ["ä"]


# What it finds


@pytest.mark.own_python
def test_a_workflow_has_its_folder_and_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It has our environment and the entry's variables, the same Python, and no stdin."""
    monkeypatch.setenv("FROM_OUTSIDE", "here")
    code = (
        "import os, sys; result = [os.getcwd(), os.environ['FROM_OUTSIDE'], os.environ['ADDED'], "
        "sys.executable, sys.argv[0], sys.stdin.read(), sys.path[0]]"
    )
    with offering(draw(tmp_path, code), env={"ADDED": "${FROM_OUTSIDE} too"}) as bridge:
        result = bridge.call_tool("it", "job", {"value": 1}).structured
    here = str(tmp_path)
    assert result == [here, "here", "here too", sys.executable, f"{here}/job.py", "", here]


def test_a_file_beside_it_is_not_taken_for_a_module_of_python(tmp_path: Path):
    (tmp_path / "json.py").write_text("raise SystemError('mine')", encoding="utf-8")
    with offering(draw(tmp_path, ECHO)) as bridge:
        assert bridge.call_tool("it", "job", {"value": 5}).structured == 5


# What goes wrong


def test_an_exception_is_reported_with_its_node_its_line_and_the_last_output(tmp_path: Path):
    with offering(draw(tmp_path, "print('so far')\nraise ValueError('too odd')")) as bridge:
        result = bridge.call_tool("it", "job", {"value": 1})
    assert result.is_error
    text = result.text
    assert text.startswith("job failed at the node Do: ValueError: too odd (odd_nodes.py, line ")
    assert text.endswith("\n  Its last output:\n    so far")


def test_the_model_reads_how_a_workflow_ended_and_why_its_result_cannot_be_used(running: Bridge):
    for code, words in (
        ("import sys; sys.exit(3)", "at the node Do: it ended itself with exit code 3"),
        ("import os; os._exit(3)", "at the node Do: its process ended itself with exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "at the node Do: its process was ended by the sig"),
        ("raise KeyboardInterrupt", "at the node Do: KeyboardInterrupt"),
        ("import os; os.close(1); os.close(2); 1/0", "at the node Do: ZeroDivisionError"),
        ("class A:\n  def __str__(self): raise ValueError\nresult = A()", "turned into JSON"),
        ("result = []\nfor _ in range(100000): result = [result]", "turned into JSON"),
        ("result = 'x' * 9 * 1024**2", "9 MB, and at most 8"),
    ):
        result = run(running, code)
        assert result.is_error
        assert words in result.text


def test_secrets_are_masked_in_errors_and_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_API_KEY", "hidden-4711-hidden")
    file = draw(tmp_path, "print(value)\nraise ValueError(value)", value=Argument("key", "secret"))
    with offering(file, arguments={"key": "${MY_API_KEY}"}) as bridge:
        (tool,) = bridge.list_tools("it")
        result = bridge.call_tool("it", "job")
        with pytest.raises(InvalidArguments):
            bridge.call_tool("it", "job", {"key": "other"})
    assert tool.input_schema["properties"] == {}
    assert result.is_error
    assert "hidden" not in result.text
    assert result.text.count("***") == 2


def test_a_workflow_that_prints_megabytes_keeps_its_result(running: Bridge):
    code = "import sys\nfor i in range(20): sys.stdout.write('y' * 10**6)\nprint()\nresult = 1"
    assert run(running, code).structured == 1


SPAWN = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],\n"
    "                         start_new_session=True)\n"
    "open('pid', 'w').write(str(child.pid))\n"
)


@pytest.mark.own_python
def test_a_workflow_that_never_ends_is_ended_with_all_that_it_started(tmp_path: Path):
    file = draw(tmp_path, f"{SPAWN}print('waiting', flush=True)\ntime.sleep(600)")
    with offering(file) as bridge:
        bridge.list_tools("it")
        with pytest.raises(ToolTimeout) as caught:
            bridge.call_tool("it", "job", {"value": 1}, timeout_seconds=2)
        assert "within 2 s" in str(caught.value)
        assert "at the node Do" in str(caught.value)
        assert "waiting" in caught.value.stderr_tail
        wait_until(lambda: not is_running(pid_in(tmp_path / "pid")), "its child is ended")


@pytest.mark.own_python
def test_a_process_left_behind_is_ended_after_the_answer(tmp_path: Path):
    with offering(draw(tmp_path, f"{SPAWN}result = 1")) as bridge:
        assert bridge.call_tool("it", "job", {"value": 1}).structured == 1
        # It is killed by then; that takes a moment where the machine is busy.
        wait_until(lambda: not is_running(pid_in(tmp_path / "pid")), "its child is ended")


@pytest.mark.own_python
async def test_a_call_that_is_cancelled_ends_it_at_once(tmp_path: Path):
    """An interrupt of the run does the same."""
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    pid = tmp_path / "pid"
    with offering(draw(tmp_path, code)) as bridge:
        call = asyncio.ensure_future(bridge.aio.call_tool("it", "job", {"value": 1}))
        await asyncio.to_thread(wait_until, lambda: pid.exists() and pid.read_text() != "", "begun")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        ended = lambda: not is_running(pid_in(pid))  # noqa: E731
        await asyncio.to_thread(wait_until, ended, "it is ended")


# Several


async def test_two_calls_run_at_the_same_time(tmp_path: Path):
    """Each waits for a file of the other."""
    code = (
        "import os, time\nopen(value, 'w').close()\n"
        "for _ in range(1500):\n  if os.path.exists(more): break\n  time.sleep(0.01)\n"
        "else: raise TimeoutError\nresult = value"
    )
    inputs = {"value": Argument("value", "any"), "more": Argument("more", "any")}
    with offering(draw(tmp_path, code, **inputs)) as bridge:
        orders = [{"value": "a", "more": "b"}, {"value": "b", "more": "a"}]
        both = [bridge.aio.call_tool("it", "job", x) for x in orders]
        assert [x.text for x in await asyncio.gather(*both)] == ["a", "b"]


async def test_progress_names_the_node_and_what_it_prints(tmp_path: Path):
    steps: list[tuple[float, str]] = []
    code = "import os, time\nprint('at work')\nwhile not os.path.exists('go'): time.sleep(0.01)"
    with offering(draw(tmp_path, code)) as bridge:

        def note(done: float, _total: float | None, message: str) -> None:
            steps.append((done, message))
            (tmp_path / "go").touch()

        await bridge.aio.call_tool("it", "job", {"value": 1}, on_progress=note)
    assert steps[-1] == (2, "Do: at work")
