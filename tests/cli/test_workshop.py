"""Checking, resetting and solving lessons, whatever a learner did to the workflow."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.canvas_file import Document, lead_back, links_of, nodes_of
from tests.support.commands import Cli
from tests.support.processes import is_running, wait_until
from tests.support.scripts import child_environment
from tests.support.warm_python import warm_python
from tools.build_lessons import start_of
from tools.workflows import LiteralNode, Workflow
from xai_mcp_agent.canvas.workshop.check import LessonCheck, check_lesson, find_workflow
from xai_mcp_agent.canvas.workshop.lessons import LESSONS
from xai_mcp_agent.canvas.workshop.problems import why_not_compiled, why_stopped
from xai_mcp_agent.cli.init import init_folder

FIRST = LESSONS[0]
HOME = f"workshop/{FIRST.folder}"
WIDTH = 80
CIRCLE_SECONDS = 3.0  # long enough to start on a busy machine, and what this test costs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder, prepared by `init --workshop`."""
    monkeypatch.setattr(os, "environ", child_environment(tmp_path))
    return init_folder(tmp_path / "lab", workshop=True).folder


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Only the files of the lessons, for checks that run no process."""
    home = tmp_path / HOME
    home.mkdir(parents=True)
    start_of(FIRST).write(home)
    return tmp_path


def save(folder: Path, document: Document | Workflow) -> None:
    text = document.text() if isinstance(document, Workflow) else json.dumps(document)
    (folder / HOME / FIRST.workflow).write_text(text, encoding="utf-8")


def problem_of(checked: LessonCheck) -> str:
    assert checked.problem is not None
    assert not checked.is_done
    assert checked.goals[0].missing == checked.problem.sentence
    assert not any(x.missing for x in checked.goals[1:]), "first things first"
    return checked.problem.sentence


def calling(**inputs: object) -> Workflow:
    """Return the first lesson's workflow with other values."""
    flow = Workflow(FIRST.name)
    values = {"server_name": "units", "tool_name": "convert_units", **inputs}
    call = flow.node("MCPCallTool", **values)
    flow.main(call, flow.node("Print", msg=call["text"]))
    return flow


# Workflows that do not finish; each runs in a process


def test_a_workflow_that_does_not_compile_says_where_to_look(folder: Path):
    document = start_of(FIRST).document()
    finish = next(x for x in nodes_of(document) if x["name"] == "Finish")
    (link,) = [x["id"] for x in links_of(document) if x["target"] == finish["id"]]
    del document["layers"][0]["models"][link]
    for port in (port for node in nodes_of(document) for port in node["ports"]):
        port["links"] = [x for x in port["links"] if x != link]
    save(folder, document)
    checked = check_lesson(folder, FIRST)
    assert "do not lead from Start to Finish" in problem_of(checked)
    assert checked.problem
    assert checked.problem.lines[-1] == "IndexError: list index out of range"


def test_a_workflow_that_fails_with_our_error_shows_our_message(folder: Path):
    """A folder without settings does not use those of its parents."""
    save(folder, calling(server_name="unit"))
    assert problem_of(check_lesson(folder, FIRST)).startswith("No source 'unit' in ")
    settings = folder / "mcp_settings.json"
    settings.rename(folder.parent / settings.name)
    assert str(settings) in problem_of(check_lesson(folder, FIRST))


def test_a_workflow_in_a_loop_is_stopped_and_the_loop_reported(folder: Path):
    """A dashed line back to an earlier node."""
    flow = Workflow(FIRST.name)
    flow.main(flow.node("Print", msg="round"), flow.node("SleepComponent", sleep_timer=0.2))
    document = flow.document()
    lead_back(document, "SleepComponent", "Print")
    save(folder, document)
    checked = check_lesson(folder, FIRST, seconds=CIRCLE_SECONDS)
    assert "it was not finished after 3 s" in problem_of(checked)
    assert "dashed line that leads back" in problem_of(checked)


# Programs of learners; Python runs `sitecustomize` before anything else.


def run_program(folder: Path, text: str) -> LessonCheck:
    (folder / "sitecustomize.py").write_text(textwrap.dedent(text), encoding="utf-8")
    flow = Workflow(FIRST.name)  # without a server, which would be one more process
    flow.main(flow.node("Print", msg="Hello!"))
    save(folder, flow)
    return check_lesson(folder, FIRST)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups")
def test_a_learners_program_gets_no_keys_or_home_of_the_teacher_and_leaves_no_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("OPENAI_API_KEY", "MY_PASSWORD", "XDG_CONFIG_HOME", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "of the teacher")
    program = """
        import json, os, pathlib, subprocess, sys
        if "workshop.child" in " ".join(sys.orig_argv):
            child = subprocess.Popen([sys.executable, "-S", "-E", "-c", "while True: pass"])
            home = pathlib.Path.home()
            facts = {"all": dict(os.environ), "home": str(home), "files": os.listdir(home)}
            with open("facts.json", "x") as file:
                json.dump({**facts, "child": child.pid}, file)
    """
    run_program(folder, program)
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    assert "of the teacher" not in facts["all"].values()
    assert not Path(facts["home"]).exists(), "it was for this run alone"
    assert (facts["home"] == os.environ["HOME"], facts["files"]) == (False, [])
    assert facts["all"]["PATH"] == os.environ["PATH"]
    wait_until(lambda: not is_running(facts["child"]), "it has ended")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other limits")
def test_a_program_that_takes_all_memory_or_fills_the_disk_is_stopped(folder: Path):
    program = """
        import sys

        class Learner:
            def find_spec(self, name, path=None, target=None):
                if name == "xircuits.compiler":
                    {}

        sys.meta_path.insert(0, Learner())
    """
    for code, error in (
        ("bytearray(3 * 1024**3)", "MemoryError"),
        ("open('big', 'wb').write(b'x' * 2**27)", "File too large"),
    ):
        checked = run_program(folder, program.replace("{}", code))
        assert checked.problem
        assert error in checked.problem.lines[-1]
    assert (folder / "big").stat().st_size <= 2**26


# Checks that run nothing


def test_a_missing_lesson_or_workflow_is_reported_with_the_command_that_restores_it(
    folder: Path, bare: Path
):
    sentence = problem_of(check_lesson(bare, FIRST))
    assert f"xai-mcp-agent init --workshop {bare}" in sentence
    workflow = folder / HOME / FIRST.workflow
    workflow.write_bytes(b"")
    assert "call_a_tool.xircuits is empty" in problem_of(check_lesson(folder, FIRST))
    workflow.unlink()
    sentence = problem_of(check_lesson(folder, FIRST))
    assert f"There is no {HOME}/call_a_tool.xircuits" in sentence
    assert f"xai-mcp-agent workshop reset 1 {folder}" in sentence


def test_a_workflow_saved_under_another_name_is_found_and_reported(bare: Path):
    copy = bare / "call_a_tool-Copy1.xircuits"
    copy.write_text(calling().text(), encoding="utf-8")
    assert find_workflow(bare, FIRST)[0] == copy, "also in the top folder"
    copy.unlink()
    other = bare / HOME / "mine.xircuits"
    other.write_text(calling().text(), encoding="utf-8")
    for end in ("before_reset", "solution"):
        (bare / HOME / f"call_a_tool_{end}.xircuits").write_text("{}", encoding="utf-8")
    assert find_workflow(bare, FIRST) == (other, [
        f"call_a_tool.xircuits is as it was; {HOME}/mine.xircuits was checked, under another name."
    ])  # fmt: skip
    (bare / HOME / FIRST.workflow).unlink()
    workflow, (note,) = find_workflow(bare, FIRST)
    assert (workflow, "is not there" in note) == (other, True)
    save(bare, calling())
    assert find_workflow(bare, FIRST) == (bare / HOME / FIRST.workflow, [])


COMPILER_SAYS = {
    "in _get_value_from_literal_port\njson.decoder.JSONDecodeError: x": "value box",
    "self.graph[0].ports[0].target.id\nKeyError: 'x'": "straight to Finish",
    "KeyError: 'layers'": "not a workflow",
    "OSError: x": "could not compile",
}


PYTHON_SAYS = {
    "ModuleNotFoundError: No module named 'xai_components.xai_mcp_agent'": "xai-mcp-agent init",
    "ModuleNotFoundError: No module named 'pytz'": "Python package 'pytz'",
    "KeyError: 'name'": "FormatString looked for 'name'",
    "TypeError: unsupported operand: 'NoneType' and 'str'": "FormatString got nothing",
    "ZeroDivisionError: x": "FormatString stopped with an error",
}


def test_errors_of_the_compiler_and_of_python_become_a_sentence():
    for errors, says in COMPILER_SAYS.items():
        assert says in why_not_compiled(errors)
    for errors, says in PYTHON_SAYS.items():
        output = "Executing: Print\nExecuting: FormatString\n"
        assert says in why_stopped(f"Traceback\n{errors}\n", output)


# The commands


def test_a_check_shows_goals_and_the_next_steps(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "executable", warm_python())
    cli("workshop check . 1").shows(
        "1_call_a_tool: Call a tool (not begun)",
        f"Nothing is changed yet. Open {HOME}/{FIRST.workflow}", status=1,
    )  # fmt: skip
    marathon = {"value": 26.2, "from_unit": "mile", "to_unit": "km"}
    save(folder, calling(arguments=LiteralNode(marathon)))
    cli("workshop check . 1").shows(
        "1_call_a_tool: Call a tool (4 of 4 goals, ", "1 of 1 lesson done.",
        " ".join(f"[x] {x.sentence}" for x in FIRST.all_goals),
    )  # fmt: skip
    (folder / HOME / FIRST.workflow).unlink()
    cli("workshop check call_a_tool").shows(  # in the current folder
        "[ ] The workflow ran to its end.",
        "Stuck? A solution: xai-mcp-agent workshop solution 1", status=1,
    )  # fmt: skip


def test_several_folders_are_shown_in_a_table(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    """For a teacher with many learners; their names cannot move the cursor."""
    monkeypatch.chdir(tmp_path)
    names = ["anna", "an\nna", "b\x1b[2Jen\u202e", "a-learner-with-a-very-long-name-for-a-folder"]
    for name in names:
        (tmp_path / name).mkdir()
    status, out, err = cli("workshop check", *names, "nobody")
    lines = out.splitlines()
    assert status == 1
    assert err == "note: skipped 'nobody', which is neither a folder nor a lesson.\n"
    start = next(n for n, line in enumerate(lines) if line.startswith("folder "))
    assert lines[start].split() == ["folder", "1", "2", "3", "4", "5"]
    assert all(x.endswith("?") for x in lines[start + 1 : start + 5]), "a name ends no row"
    assert lines[start + 1].split() == ["anna", *"?????"]
    assert lines[start + 4].startswith("...ith-a-very-long-name-for-a-folder ")
    assert max(map(len, lines[start : start + 5])) <= WIDTH
    assert not {"\x1b", "\u202e"} & set(out)
    problem = "anna: This is not a working folder with our nodes. Run: xai-mcp-agent init"
    assert " ".join(lines[:start]).count(problem[:40]) == 1
    out = cli("workshop check anna 2 3", names[3]).out
    assert next(x for x in out.splitlines() if x.startswith("folder ")).split()[1:] == ["2", "3"]
    cli("workshop check nobody 1").fails(
        "is neither a folder nor a lesson. Lessons: 1_call_a_tool, "
    )


def test_a_program_gets_the_check_as_json(bare: Path, cli: Cli):
    ran = cli("workshop check", str(bare / "workshop"), "1", "--json")
    (checked,) = ran.json["checked"]
    assert (checked["folder"], checked["lesson"]) == (str(bare), FIRST.folder)
    assert (ran.status, checked["is_done"]) == (1, False)
    assert checked["goals"][0]["sentence"] == "The workflow ran to its end."


def test_watch_prints_the_table_again_after_a_learner_saves(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    looks = iter([lambda: None, lambda: save(folder, calling(server_name="unit")), lambda: None])

    def pause(_: float) -> None:
        try:
            next(looks)()
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("xai_mcp_agent.cli.workshop.sleep", pause)
    status, out, _ = cli("workshop check 1 --watch", str(folder))
    rows = [x.split()[-1] for x in out.splitlines() if x.endswith(("-", "/4"))]
    assert (status, rows) == (0, ["-", "0/4"])


def test_a_reset_restores_the_lesson_and_keeps_everything_of_the_learner(bare: Path, cli: Cli):
    home, start = bare / HOME, start_of(FIRST).text()
    for _ in range(2):
        report = cli("workshop reset call_a_tool", str(bare), "--json").json
    assert report == {"lesson": FIRST.folder, "restored": [], "kept": []}
    assert {x.name for x in home.iterdir()} == {FIRST.workflow, "README.md"}
    (home / "notes.txt").write_text("mine", encoding="utf-8")
    for text in ("first try", "second try"):
        (home / FIRST.workflow).write_text(text, encoding="utf-8")
        ran = cli("workshop reset 1", str(bare))
    ran.shows("before_reset_2.xircuits (yours, under a new name)")
    assert (home / FIRST.workflow).read_text(encoding="utf-8") == start
    put_aside = {x.name: x.read_text(encoding="utf-8") for x in home.glob("*before_reset*")}
    assert put_aside == {
        "call_a_tool_before_reset.xircuits": "first try",
        "call_a_tool_before_reset_2.xircuits": "second try",
    }
    assert (home / "notes.txt").read_text(encoding="utf-8") == "mine"
    cli("workshop reset 9", str(bare)).fails(
        "There is no lesson '9'. The lessons are: 1_call_a_tool"
    )


def test_a_solution_is_written_beside_the_lesson_and_follows_no_link(bare: Path, cli: Cli):
    solution, elsewhere = bare / HOME / "call_a_tool_solution.xircuits", bare / "elsewhere"
    for _ in range(2):
        cli("workshop solution 1", str(bare)).shows(str(solution))
    assert {x.name for x in (bare / HOME).iterdir()} == {FIRST.workflow, solution.name}
    for is_there in (False, True):
        if is_there:
            elsewhere.write_text("mine", encoding="utf-8")
        solution.unlink()
        solution.symlink_to(elsewhere)
        assert cli("workshop solution 1", str(bare)).status == 0
        assert (solution.is_file(), solution.is_symlink()) == (True, False)
        assert elsewhere.exists() == is_there
    assert elsewhere.read_text(encoding="utf-8") == "mine"


def test_a_command_inside_the_workshop_uses_the_folder_around_it(
    bare: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    """The lab opens a terminal where its file browser is."""
    (bare / HOME / FIRST.workflow).write_text("mine", encoding="utf-8")
    for inside in ("workshop", HOME):
        monkeypatch.chdir(bare / inside)
        for line, status in (("reset 1", 0), ("solution 1", 0), ("check . 1", 1)):
            assert cli(f"workshop {line}").status == status
    assert [x.name for x in bare.iterdir()] == ["workshop"]
    assert [x.name for x in (bare / "workshop").iterdir()] == [FIRST.folder]
    assert len(list((bare / HOME).glob("*.xircuits"))) == 3
    for name in ("reset", "solution"):
        cli(f"workshop {name} 1", str(bare / "lerner")).fails("xai-mcp-agent init --workshop")
    assert not (bare / "lerner").exists()


def test_init_shows_the_way_into_the_workshop(tmp_path: Path, cli: Cli):
    cli("init --workshop", str(tmp_path / "lab")).shows("then open workshop/README.md")
    cli("init", str(tmp_path / "plain"))
    assert not list((tmp_path / "plain").rglob("*workshop*"))
