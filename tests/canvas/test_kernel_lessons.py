"""A run in a lesson's folder ends with its goals; elsewhere nothing is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kernels import CellResult, Kernel
from tests.support.scripts import compile_workflow, run_script
from tests.support.warm_python import warm_python
from tools.build_lessons import solution_of, start_of
from tools.workflows import Workflow
from xai_mcp_agent.canvas.workshop.lessons import LESSONS, lesson_of_file
from xai_mcp_agent.cli.init import init_folder

FIRST = LESSONS[0]
HOME = f"workshop/{FIRST.folder}"
HEAD = f"\n== Lesson 1, {FIRST.title}: "


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner's folder, whose name has a blank and an umlaut in it."""
    home = init_folder(tmp_path_factory.mktemp("lessons") / "Jürgens lab", workshop=True).folder
    settings = home / "mcp_settings.json"
    text = settings.read_text(encoding="utf-8").replace("${python}", warm_python())
    settings.write_text(text, encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def settings(folder: Path) -> dict[str, str]:
    """The settings of that folder, which were changed for these tests, are trusted."""
    return {"XAI_MCP_SETTINGS": str(folder / "mcp_settings.json"), "XAI_MCP_TRUST": "1"}


@pytest.fixture(scope="module")
def shell(one_kernel: Kernel, folder: Path, settings: dict[str, str]) -> Kernel:
    """A kernel in the top folder, as the lab's Output panel has it."""
    return one_kernel.move(folder, **settings)


def script_of(folder: Path, flow: Workflow, home: str = HOME) -> Path:
    (folder / home).mkdir(parents=True, exist_ok=True)
    return compile_workflow(flow.write(folder / home))


def mistaken() -> Workflow:
    """Its node names a server that there is not."""
    flow = Workflow("mistaken")
    call = flow.node("MCPCallTool", server_name="unit", tool_name="convert_units")
    flow.main(call, flow.node("Print", msg=call["text"]))
    return flow


def goals_in(output: str) -> list[str]:
    """The lines about goals, which are the last that is printed."""
    assert output.count(HEAD) == 1, output
    return output.partition(HEAD)[2].splitlines()


def goals_in_lab(run: CellResult) -> list[str]:
    """The same in a lab: a separate output at the end, to which the panel scrolls."""
    assert HEAD not in run.output
    return goals_in(run.displayed[-1]["text/plain"])


def test_a_script_in_a_lessons_folder_ends_with_the_goals_and_the_next_step(
    folder: Path, settings: dict[str, str]
) -> None:
    result = run_script(script_of(folder, start_of(FIRST)), **settings)
    assert result.returncode == 0, result.stderr
    assert result.stdout.index("Finished Executing") < result.stdout.index(HEAD)
    count, *goals = goals_in(result.stdout)
    assert count == "2 of 4 goals met"
    assert goals[0] == "[x] The workflow ran to its end."
    assert [x[:4] for x in goals if x[0] == "["] == ["[x] ", "[x] ", "[ ] ", "[ ] "]
    assert goals[3].startswith("    Print had nothing to show. Draw a line"), "under its goal"


def test_a_run_in_the_lab_ends_with_the_goals_each_time(folder: Path, shell: Kernel) -> None:
    """The Run button executes `%run` in a kernel that goes on."""
    script_of(folder, solution_of(FIRST))
    script_of(folder, mistaken())
    run = shell.run(f"%run '{HOME}/mistaken.py'")
    assert run.traceback.startswith("The workflow stopped at MCPCallTool (UnknownServer):\n")
    count, first, *goals = goals_in_lab(run)
    assert (count, first) == ("0 of 4 goals met", "[ ] The workflow ran to its end.")
    assert "No source 'unit'" in " ".join(" ".join(goals).split()), "the error is the next step"
    assert goals[-1].startswith("[ ] "), "the message is shown to its end"
    # The error of the run before is no error of the next.
    run = shell.run(f"%run '{HOME}/{FIRST.name}_solution.py'")
    assert (run.error, run.errors) == ("", "")
    count, *_, following = goals_in_lab(run)
    assert count == "4 of 4 goals met"
    assert following == "Next: lesson 2, 2_ask_an_agent/ask_an_agent.xircuits"
    another = shell.run("print('another cell')")
    assert (another.output, another.displayed) == ("another cell\n", ())


def test_outside_of_a_lessons_folder_nothing_is_printed(
    folder: Path, settings: dict[str, str]
) -> None:
    result = run_script(script_of(folder, solution_of(FIRST), "workshop/my_own"), **settings)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("Finished Executing\n")
    for file in ("mine.py", "1_call_a_tool/mine.py", "workshop/1_call_a_tool/deeper/mine.py"):
        assert lesson_of_file(Path("/home", file)) is None
    assert lesson_of_file(Path("/home/a b/workshop/1_call_a_tool/mine.py")) is FIRST
