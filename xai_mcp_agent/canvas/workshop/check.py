"""Check of a lesson: finds a learner's workflow, runs it in its own process, and judges the run."""

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

from ...bridge.transcript import ENVIRONMENT_VARIABLE, read_transcript
from ...core.json import JsonObject
from ...core.shell import shell_command
from ...core.util import COMPONENTS, LIBRARY
from ...secrets.private_files import make_private_folder, replace_private
from ...settings.load import FILE_NAME
from ...settings.trust import TRUST_VARIABLE
from .child import NOT_COMPILED
from .goals import GoalResult, judge_run
from .lessons import WORKSHOP, Lesson
from .problems import last_lines, why_not_compiled, why_stopped

BACKUP_MARK = "before_reset"
"""Part of the name of a file that was put aside."""

DEFAULT_SECONDS = 60  # a lesson takes two or three; thirty of them share a teacher's machine
_CHECK_FOLDER = "checked"
_LOOK_SECONDS = 0.1
_MOST_BYTES = 2_000_000  # of a run's output; a workflow in a circle prints without end
# Environment variables that programs need to run at all; passed on, and not read here.
_VARIABLES = (
    "PATH LANG LANGUAGE TZ TMPDIR TEMP TMP VIRTUAL_ENV LD_LIBRARY_PATH DYLD_LIBRARY_PATH COMSPEC "
    "PATHEXT SYSTEMDRIVE SYSTEMROOT WINDIR"
)
_HOMES = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
_NODE_LINE = re.compile(r"^Executing: (\w+)$", re.MULTILINE)
_LAST_LINE = "Finished Executing"


@dataclass(frozen=True)
class UnfinishedRun:
    """Why a run did not finish: a sentence for a learner, and the original last lines."""

    sentence: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class LessonCheck:
    """The check of a lesson. `notes` name the file that was checked; `output` is the file with its
    output.

    A lesson that the learner has not changed (`is_untouched`) is not run.
    """

    folder: str
    lesson: str
    workflow: str | None
    goals: tuple[GoalResult, ...] = ()
    problem: UnfinishedRun | None = None
    notes: tuple[str, ...] = ()
    output: str | None = None
    seconds: float = 0.0
    is_untouched: bool = False

    @property
    def met_count(self) -> int:
        """Number of goals that are met."""
        return sum(x.is_met for x in self.goals)

    @property
    def is_done(self) -> bool:
        """Whether all goals are met."""
        return self.met_count == len(self.goals)


@dataclass(frozen=True)
class _Outcome:
    """A process that ended; `cut_short` says why it was stopped."""

    status: int
    output: str
    errors: str
    cut_short: str


def check_lesson(
    folder: Path,
    lesson: Lesson,
    *,
    seconds: float = DEFAULT_SECONDS,
    stop: threading.Event | None = None,
) -> LessonCheck:
    """Run the learner's workflow of this lesson and judge its goals.

    Never raises for a learner's mistake. The output stays in `workshop/checked`. Setting
    `stop` ends the process soon. A workflow that is still as shipped is not run.
    """
    start = time.monotonic()
    workflow, notes = find_workflow(folder, lesson)
    check = LessonCheck(str(folder), lesson.folder, workflow and str(workflow), notes=tuple(notes))
    if problem := why_unusable(folder) or _why_not_run(folder, lesson, workflow):
        goals = judge_run(lesson.goals, [], problem.sentence)
        return replace(check, goals=tuple(goals), problem=problem)
    assert workflow is not None
    if _is_untouched(workflow, lesson):
        where = workflow.relative_to(folder).as_posix()
        step = f"Nothing is changed yet. Open {where} in the lab, take its steps, and save."
        first, *others = (GoalResult(x.sentence, False) for x in lesson.all_goals)
        goals = (replace(first, missing=step), *others)
        return replace(check, goals=goals, is_untouched=True)
    with tempfile.TemporaryDirectory(prefix="xai-lesson-") as scratch:
        outcome = _run(folder, lesson, workflow, Path(scratch), seconds, stop or threading.Event())
        events = read_transcript(Path(scratch) / "transcript.jsonl")
        output = _store(folder, lesson, outcome)
    problem = _problem_of(outcome, events)
    events += _node_events(outcome.output)
    goals = judge_run(lesson.goals, events, problem and problem.sentence)
    return replace(
        check,
        goals=tuple(goals),
        problem=problem,
        output=output,
        seconds=round(time.monotonic() - start, 1),
    )


def why_unusable(folder: Path) -> UnfinishedRun | None:
    """Return why no lesson of this folder can run, or None if lessons can."""
    if (folder / COMPONENTS / LIBRARY).is_dir():
        return None
    command = shell_command("xai-mcp-agent", "init", "--workshop", str(folder))
    return UnfinishedRun(f"This is not a working folder with our nodes. Run: {command}")


# The learner's workflow


def find_workflow(folder: Path, lesson: Lesson) -> tuple[Path | None, list[str]]:
    """Return the learner's workflow, and notes if it has another place or name.

    A newer file beside an untouched lesson is the learner's: it was saved under another name.
    """
    home = folder / WORKSHOP / lesson.folder
    own_file = home / lesson.workflow
    others = _others(folder, home, lesson)
    if own_file.is_file() and not (others and _is_untouched(own_file, lesson)):
        return own_file, []
    if not others:
        return None, []
    other = max(others, key=lambda file: file.stat().st_mtime)
    where = other.relative_to(folder).as_posix()
    is_there = "is as it was" if own_file.is_file() else "is not there"
    note = f"{lesson.workflow} {is_there}; {where} was checked, under another name."
    return other, [note]


def _others(folder: Path, home: Path, lesson: Lesson) -> list[Path]:
    """Return workflows in the lesson's folder, and any with its name in the folders above."""
    files = list(home.glob("*.xircuits"))
    for place in (folder / WORKSHOP, folder):
        files += place.glob(f"{lesson.name}*.xircuits")
    ours = {home / lesson.workflow, *(x for x in files if x.name == lesson.solution)}
    return [x for x in files if x.is_file() and x not in ours and BACKUP_MARK not in x.name]


def _is_untouched(file: Path, lesson: Lesson) -> bool:
    return file.read_bytes() == (lesson.original_folder / lesson.workflow).read_bytes()


def _why_not_run(folder: Path, lesson: Lesson, workflow: Path | None) -> UnfinishedRun | None:
    if workflow is None:
        command = shell_command(
            "xai-mcp-agent", "workshop", "reset", str(lesson.number), str(folder)
        )
        return UnfinishedRun(
            f"There is no {WORKSHOP}/{lesson.folder}/{lesson.workflow}. To get it back, run: "
            f"{command}"
        )
    if workflow.stat().st_size == 0:
        return UnfinishedRun(
            f"{workflow.name} is empty. Save it again from the canvas, or reset it."
        )
    return None


# Its run


def _run(
    folder: Path,
    lesson: Lesson,
    workflow: Path,
    scratch: Path,
    seconds: float,
    stop: threading.Event,
) -> _Outcome:
    # Use the lesson's name: the compiler makes a class of it, and not every file name can be one.
    script = scratch / f"{lesson.name}.py"
    module, limit = f"{__package__}.child", str(math.ceil(seconds) + 1)
    command = [sys.executable, "-m", module, str(workflow.absolute()), str(script), limit]
    out, err = scratch / "out.txt", scratch / "err.txt"
    with out.open("wb") as output, err.open("wb") as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(folder, scratch), stdin=subprocess.DEVNULL,
            stdout=output, stderr=errors,
            # An interrupt of the teacher's terminal is for the check, which ends its children.
            start_new_session=True,
        )  # fmt: skip
        try:
            cut_short = _wait(process, (out, err), seconds, stop)
        finally:
            _end(process)
    return _Outcome(process.returncode, _text(out), _text(err), cut_short)


def _environment(folder: Path, scratch: Path) -> dict[str, str]:
    """Return the variables that Python and programs need, without the teacher's keys and home."""
    home = scratch / "home"
    home.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _VARIABLES.split() or name.upper().startswith("LC_")
    }
    if not (folder / FILE_NAME).is_file():  # else a settings file in a folder above would count
        environment["XAI_MCP_SETTINGS"] = str(folder.absolute() / FILE_NAME)
    paths = [str(folder.absolute()), os.environ.get("PYTHONPATH", "")]
    return environment | {
        **dict.fromkeys(_HOMES, str(home)),
        # Libraries may be installed for the teacher alone.
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONPATH": os.pathsep.join(x for x in paths if x),
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8",
        ENVIRONMENT_VARIABLE: str(scratch / "transcript.jsonl"),
        TRUST_VARIABLE: "1",  # checking a folder means running its workflows, which may do anything
    }


def _wait(
    process: subprocess.Popen[bytes],
    files: tuple[Path, Path],
    seconds: float,
    stop: threading.Event,
) -> str:
    """Wait for the end; return why the process must be stopped, or an empty text."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_SECONDS)
            return ""
        if time.monotonic() > deadline:
            return f"it was not finished after {seconds:g} s"
        if any(x.stat().st_size > _MOST_BYTES for x in files):
            return "it printed without an end"
        if stop.is_set():
            return "the check was stopped"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it started: its session is its own."""
    process.kill()
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(file: Path) -> str:
    with file.open("rb") as data:
        return data.read(_MOST_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")


# Its outcome


def _problem_of(outcome: _Outcome, events: list[JsonObject]) -> UnfinishedRun | None:
    lines = last_lines(outcome.errors)
    if outcome.cut_short:
        return UnfinishedRun(
            f"The workflow was stopped: {outcome.cut_short}.{_where(events)}", lines
        )
    if outcome.status == NOT_COMPILED:
        return UnfinishedRun(why_not_compiled(outcome.errors), lines)
    if outcome.status:
        return UnfinishedRun(why_stopped(outcome.errors, outcome.output), lines)
    return None


def _where(events: list[JsonObject]) -> str:
    """Describe the last activity of a run that did not end by itself."""
    last = events[-1] if events else {}
    match last.get("event"):
        case "NodeStarted":
            text = f" {last['node']} was still waiting for its server."
            return f"{text} See what that says: xai-mcp-agent servers check"
        case "ToolStarted":
            return f" The tool {last['tool']} was still running."
        case _:
            return (
                " Is there a dashed line that leads back to an earlier node? If not, and this "
                "machine is slow, give it more time: --seconds 120."
            )


def _node_events(output: str) -> Iterator[JsonObject]:
    """Yield an event for every node that ran, with the output that follows."""
    pieces = _NODE_LINE.split(output)[1:]
    for node, text in zip(pieces[::2], pieces[1::2], strict=True):
        output = text.partition(f"\n{_LAST_LINE}")[0].strip()
        yield {"event": "Executed", "node": node, "text": output}


def _store(folder: Path, lesson: Lesson, outcome: _Outcome) -> str | None:
    """Write the output into the folder, and return the file; None if it cannot be written."""
    file = folder / WORKSHOP / _CHECK_FOLDER / f"{lesson.folder}.txt"
    text = f"{outcome.output}\n{outcome.errors}".strip() + "\n"
    try:
        make_private_folder(file.parent)
        replace_private(file, text.encode("utf-8", "backslashreplace"))
    except OSError:
        return None
    return str(file)
