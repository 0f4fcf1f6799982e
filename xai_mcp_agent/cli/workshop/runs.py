"""Finds a learner's workflow of a lesson, runs it in a process of its own, and judges the run."""

from __future__ import annotations

import math
import os
import re
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...bridge.transcript import ENVIRONMENT_VARIABLE
from ...canvas.lessons.goals import Judged, judge
from ...canvas.lessons.lessons import WORKSHOP, Lesson
from ...canvas.lessons.problems import last_lines, why_not_compiled, why_stopped
from ...canvas.transcript import read_transcript
from ...core.json import JsonObject
from ...core.shell import shown_command
from ...core.util import COMPONENTS, LIBRARY
from ...secrets.private_files import make_private_folder, replace_private
from ...settings.trust import TRUST_VARIABLE
from ..init import SETTINGS_FILE, SOLUTIONS, starter_folder
from .checked import Checked, Problem
from .child import NOT_COMPILED
from .kept import KeptChecks

KEPT = "before_reset"
"""What a file that was put aside has in its name."""

DEFAULT_SECONDS = 60.0  # a lesson takes two or three; thirty of them share a teacher's machine
_CHECKED = "checked"
_LOOK_SECONDS = 0.1
_END_SECONDS = 5.0  # for a process that was told to end
_MOST_BYTES = 2_000_000  # of what a run prints; a workflow in a circle prints for ever
# What programs need of the environment to run at all; passed on, and not read here.
_NEEDED = (
    "PATH LANG LANGUAGE TZ TMPDIR TEMP TMP VIRTUAL_ENV LD_LIBRARY_PATH DYLD_LIBRARY_PATH COMSPEC "
    "PATHEXT SYSTEMDRIVE SYSTEMROOT WINDIR"
)
_HOMES = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
_EXECUTED = re.compile(r"^Executing: (\w+)$", re.MULTILINE)
_FINISHED = "Finished Executing"


@dataclass(frozen=True)
class _Ended:
    """A process that came to its end; `cut_short` says why it was stopped."""

    status: int
    output: str
    errors: str
    cut_short: str = ""


def check_lesson(
    folder: Path,
    lesson: Lesson,
    *,
    seconds: float = DEFAULT_SECONDS,
    stop: threading.Event | None = None,
    kept: KeptChecks | None = None,
    also_untouched: bool = False,
) -> Checked:
    """Run the learner's workflow of this lesson and say which goals are met.

    Never raises for what a learner did. What was printed and what happened are kept in
    `workshop/checked`. Setting `stop` ends the process soon. What is `kept` is not run again,
    what is as it was shipped only with `also_untouched`.
    """
    workflow, _ = find_workflow(folder, lesson)
    is_begun = also_untouched or not (workflow and _is_untouched(workflow, lesson))
    if workflow and not is_begun and not is_lost(folder):
        return _not_begun(folder, lesson, workflow)
    key = kept.key(folder, lesson, seconds, workflow) if kept else ""
    if kept and (before := kept.find(key, folder)):
        return before
    checked = _check(folder, lesson, seconds, stop)
    if kept:
        kept.keep(key, checked)
    return checked


def is_lost(folder: Path) -> Problem | None:
    """Why no lesson of this folder can be run; None where they can."""
    if (folder / COMPONENTS / LIBRARY).is_dir():
        return None
    command = shown_command("xai-mcp-agent", "init", "--workshop", str(folder))
    return Problem(f"This is no working folder with our nodes. Run: {command}")


def _not_begun(folder: Path, lesson: Lesson, workflow: Path) -> Checked:
    """A lesson in which nothing was changed yet; its workflow runs, and lacks something."""
    goals = [Judged(x.sentence, False) for x in lesson.all_goals]
    where = workflow.relative_to(folder).as_posix()
    say = f"Nothing is changed yet. Open {where} in the lab, take its steps, and save."
    goals[0] = replace(goals[0], missing=say)
    return Checked(str(folder), lesson.folder, str(workflow), tuple(goals), is_untouched=True)


def _check(folder: Path, lesson: Lesson, seconds: float, stop: threading.Event | None) -> Checked:
    started = time.monotonic()
    workflow, notes = find_workflow(folder, lesson)
    problem = _not_to_be_run(folder, lesson, workflow)
    events: list[JsonObject] = []
    output, is_passing = None, False
    if workflow and not problem:
        with tempfile.TemporaryDirectory(prefix="xai-lesson-") as scratch:
            ended = _run(folder, lesson, workflow, Path(scratch), seconds, stop)
            events = read_transcript(Path(scratch) / "transcript.jsonl")
            problem = _problem_of(ended, events, seconds)
            is_passing = _is_passing(ended, events)
            output, complaint = _keep(folder, lesson, ended, Path(scratch))
            notes = [*notes, *complaint]
        events += _executed(ended.output)
    events.append(
        {"event": "WorkflowFailed", "problem": problem.sentence}
        if problem
        else {"event": "WorkflowFinished"}
    )
    goals = judge(lesson.all_goals, events)
    if problem:  # first things first: what else is missing shows when it runs
        goals = [goals[0], *(replace(x, missing="") for x in goals[1:])]
    return Checked(
        str(folder), lesson.folder, str(workflow) if workflow else None, tuple(goals), problem,
        tuple(notes), output, round(time.monotonic() - started, 1), is_passing=is_passing,
    )  # fmt: skip


def find_workflow(folder: Path, lesson: Lesson) -> tuple[Path | None, list[str]]:
    """The learner's workflow, and notes when it is not where it was.

    A newer one beside an untouched lesson is taken for theirs: it was saved under another name.
    """
    home = folder / WORKSHOP / lesson.folder
    expected = home / lesson.workflow
    others = _others(folder, home, lesson)
    if expected.is_file() and not (others and _is_untouched(expected, lesson)):
        return expected, []
    if not others:
        return None, []
    other = max(others, key=lambda file: file.stat().st_mtime)
    where = other.relative_to(folder).as_posix()
    is_there = "is as it was" if expected.is_file() else "is not there"
    note = f"{lesson.workflow} {is_there}; {where} was checked, under another name."
    return other, [note]


def _others(folder: Path, home: Path, lesson: Lesson) -> list[Path]:
    """Workflows in the lesson's folder, and those with its name in the folders above."""
    found = list(home.glob("*.xircuits"))
    for place in (folder / WORKSHOP, folder):
        found += place.glob(f"{lesson.name}*.xircuits")
    ours = (lesson.workflow, lesson.solution)
    mine = [x for x in found if x.is_file() and not (x.parent == home and x.name in ours)]
    return [x for x in mine if x.name != lesson.solution and KEPT not in x.name]


def shipped_lesson(lesson: Lesson) -> Path:
    """The folder with the lesson as it is shipped."""
    return starter_folder() / "examples" / WORKSHOP / lesson.folder


def shipped_solution(lesson: Lesson) -> Path:
    """The file with its solution."""
    return starter_folder() / "examples" / WORKSHOP / SOLUTIONS / lesson.solution


def _is_untouched(file: Path, lesson: Lesson) -> bool:
    shipped = shipped_lesson(lesson) / lesson.workflow
    # By size first: what a learner saved may be larger than the memory.
    return (
        shipped.is_file()
        and shipped.stat().st_size == file.stat().st_size
        and shipped.read_bytes() == file.read_bytes()
    )


def _not_to_be_run(folder: Path, lesson: Lesson, workflow: Path | None) -> Problem | None:
    if lost := is_lost(folder):
        return lost
    if workflow is None:
        command = shown_command(
            "xai-mcp-agent", "workshop", "reset", str(lesson.number), str(folder)
        )
        return Problem(
            f"There is no {WORKSHOP}/{lesson.folder}/{lesson.workflow}. To get it back, run: "
            f"{command}"
        )
    if workflow.stat().st_size == 0:
        return Problem(f"{workflow.name} is empty. Save it again from the canvas, or reset it.")
    return None


def _run(
    folder: Path,
    lesson: Lesson,
    workflow: Path,
    scratch: Path,
    seconds: float,
    stop: threading.Event | None,
) -> _Ended:
    # By the lesson's own name: the compiler makes a class of it, and not every name can be one.
    script = scratch / f"{lesson.name}.py"
    command = [
        sys.executable,
        "-m",
        f"{__package__}.child",
        str(workflow.absolute()),
        str(script),
        str(math.ceil(seconds) + 1),
    ]
    out, err = scratch / "out.txt", scratch / "err.txt"
    with out.open("wb") as output, err.open("wb") as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(folder, scratch), stdin=subprocess.DEVNULL,
            stdout=output, stderr=errors,
            # An interrupt of the teacher's terminal is for the check, which ends its children.
            start_new_session=True,
        )  # fmt: skip
        try:
            cut_short = _watch(process, (out, err), seconds, stop)
        finally:
            _end_what_it_left(process)
    return _Ended(process.returncode, _text(out), _text(err), cut_short)


def _environment(folder: Path, scratch: Path) -> dict[str, str]:
    """What Python and programs need to start; no keys of the teacher's, nor their home."""
    home = scratch / "home"
    home.mkdir()
    kept = {name: x for name, x in os.environ.items() if _is_harmless(name)}
    if not (folder / SETTINGS_FILE).is_file():  # or those of a folder above would be taken
        kept["XAI_MCP_SETTINGS"] = str(folder.absolute() / SETTINGS_FILE)
    paths = [str(folder.absolute()), os.environ.get("PYTHONPATH", "")]
    return kept | {
        **dict.fromkeys(_HOMES, str(home)),
        # Libraries may be installed for the teacher alone.
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONPATH": os.pathsep.join(x for x in paths if x),
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8",
        ENVIRONMENT_VARIABLE: str(scratch / "transcript.jsonl"),
        TRUST_VARIABLE: "1",  # whoever checks a folder runs its workflows, which may do anything
    }


def _is_harmless(name: str) -> bool:
    return name.upper() in _NEEDED.split() or name.upper().startswith("LC_")


def _end_what_it_left(process: subprocess.Popen[bytes]) -> None:
    """Its session is its own; what it started in there ends with it."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _watch(
    process: subprocess.Popen[bytes],
    files: tuple[Path, Path],
    seconds: float,
    stop: threading.Event | None,
) -> str:
    """Wait for the end, or see to it; why it was stopped, if it was."""
    deadline, reason = time.monotonic() + seconds, ""
    while not reason:
        try:
            process.wait(_LOOK_SECONDS)
            return ""
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                reason = f"it was not finished after {seconds:g} s"
            elif any(x.stat().st_size > _MOST_BYTES for x in files):
                reason = "it printed without an end"
            elif stop and stop.is_set():
                reason = "the check was stopped"
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return reason


def _problem_of(ended: _Ended, events: list[JsonObject], seconds: float) -> Problem | None:
    lines = last_lines(ended.errors)
    if ended.cut_short:
        return Problem(f"The workflow was stopped: {ended.cut_short}.{_where(events)}", lines)
    if ended.status == NOT_COMPILED:
        return Problem(why_not_compiled(ended.errors), lines)
    if ended.status:
        return Problem(why_stopped(ended.errors, ended.output), lines)
    return None


def _is_passing(ended: _Ended, events: list[JsonObject]) -> bool:
    """Whether a busy machine may be the reason: the next time it may come out otherwise."""
    stopped = bool(ended.cut_short) or ended.status not in (0, NOT_COMPILED)
    return stopped or any(x.get("left_out") or x.get("is_error") for x in events)


def _where(events: list[JsonObject]) -> str:
    """What was going on last, for a run that did not end by itself."""
    last = events[-1] if events else {}
    match last.get("event"):
        case "NodeStarted":
            waited = f" {last['node']} was still waiting for its server."
            return f"{waited} See what that says: xai-mcp-agent servers check"
        case "ToolStarted":
            return f" The tool {last['tool']} was still running."
        case _:
            return (
                " Is there a dashed line that leads back to an earlier node? If not, and this "
                "machine is slow, give it more time: --seconds 120."
            )


def _executed(output: str) -> Iterator[JsonObject]:
    """An event for every node that ran, with what was printed from then on."""
    pieces = _EXECUTED.split(output)[1:]
    for node, text in zip(pieces[::2], pieces[1::2], strict=True):
        shown = text.partition(f"\n{_FINISHED}")[0].strip()
        yield {"event": "Executed", "node": node, "text": shown}


def _keep(
    folder: Path, lesson: Lesson, ended: _Ended, scratch: Path
) -> tuple[str | None, list[str]]:
    """Keep what was printed and what happened where the learner finds it; where, and complaints."""
    kept = folder / WORKSHOP / _CHECKED / f"{lesson.folder}.txt"
    try:
        make_private_folder(kept.parent)
        printed = f"{ended.output}\n{ended.errors}".strip() + "\n"
        replace_private(kept, printed.encode("utf-8", "backslashreplace"))
        transcript = scratch / "transcript.jsonl"
        if transcript.is_file():
            replace_private(kept.with_suffix(".jsonl"), transcript.read_bytes())
    except OSError as reason:
        return None, [f"What it printed could not be kept in {kept}: {reason.strerror or reason}."]
    return str(kept), []


def _text(file: Path) -> str:
    with file.open("rb") as data:
        return data.read(_MOST_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
