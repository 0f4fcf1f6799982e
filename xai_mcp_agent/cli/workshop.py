"""`xai-mcp-agent workshop check`, `reset` and `solution`: for learners and teachers."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import sleep, strftime
from typing import Annotated, NamedTuple

import typer
from typer import Argument, Option

from ..canvas.workshop.check import (
    BACKUP_MARK,
    DEFAULT_SECONDS,
    LessonCheck,
    check_lesson,
    find_workflow,
    why_unusable,
)
from ..canvas.workshop.lessons import LESSONS, WORKSHOP, Lesson, UnknownLesson, find_lesson
from ..console.text import count, cut, one_line
from ..core.errors import XaiMcpError
from ..core.shell import shell_command
from ..core.util import COMPONENTS
from .frame import Report, ReportFrame
from .output import say

_WIDTH = 80
_MAX_WORKERS = 4  # each takes a process or two
_NAME_WIDTH = 36  # width of a folder's name in the table
_WATCH_SECONDS = 3.0

LessonName = Annotated[str, Argument(help="The lesson's number or name.")]
Folder = Annotated[Path, Argument(help="The learner's folder.")]


class LessonFileError(XaiMcpError):
    """A lesson's file cannot be written or renamed; the message names it."""


class _ChosenNames(NamedTuple):
    """Folders, lessons (all by default) and unknown words of a command line."""

    homes: list[Path]
    lessons: list[Lesson]
    unknown: list[str]


def check(
    frame: ReportFrame,
    folders: Annotated[
        list[str],
        Argument(
            metavar="FOLDER... [LESSON...]",
            help="Learners' folders; the numbers or names of lessons for those only.",
        ),
    ],
    seconds: Annotated[float, Option(help="The time limit for one workflow.")] = DEFAULT_SECONDS,
    watch: Annotated[
        bool, Option(help="Look again every few seconds, and print the table when it changed.")
    ] = False,
) -> Report:
    """Run the workflows of the lessons, and show which goals are met and what to do next.

    A lesson that was not started is shown as -.

    The exit status is 0 when all goals are met, and 1 otherwise.
    """
    names = _read_names(folders)
    for name in names.unknown:
        say(f"note: skipped {name!r}, which is neither a folder nor a lesson.", to_stderr=True)
    if watch:
        _watch(names, seconds)
    checked: list[LessonCheck] = []
    for one in _check_all(names, seconds):
        checked.append(one)
        frame.print_lines(_lines(one, names))
    done_count = sum(x.is_done for x in checked)
    text = f"{done_count} of {count(len(checked), 'lesson')} done."
    if len(names.homes) > 1:
        advice = "For what is missing and what to do: xai-mcp-agent workshop check FOLDER"
        text = "\n".join(["", *_table(checked, names), advice])
    json = {"checked": [{**asdict(x), "is_done": x.is_done} for x in checked]}
    return Report(json, text, status=int(bool(names.unknown) or done_count < len(checked)))


def reset(frame: ReportFrame, lesson: LessonName, folder: Folder = Path()) -> Report:
    """Restore a lesson. Your changed workflow stays beside it; nothing else changes."""
    result = restore(_learners_folder(folder), find_lesson(lesson))
    lines = [f"restored  {path}" for path in result.restored]
    lines += [f"kept      {path}  (yours, under a new name)" for path in result.kept]
    last = "In the lab, close the workflow's tab and open the file again."
    lines.append(last if result.restored else f"{result.lesson} is as it was.")
    return Report(result, "\n".join(lines))


def solution(frame: ReportFrame, lesson: LessonName, folder: Folder = Path()) -> Report:
    """Put a solution beside a lesson's workflow, so that you can open and compare it."""
    entry = find_lesson(lesson)
    target = _learners_folder(folder) / WORKSHOP / entry.folder / entry.solution
    _place(entry.solution_file, target)
    return Report({"solution": target}, f"{target}: one of many. Open it in the lab.")


# Names


def _read_names(words: Sequence[str]) -> _ChosenNames:
    names = _ChosenNames([], [], [])
    for word in words:
        if Path(word).is_dir():
            names.homes.append(_working_folder(Path(word)))
            continue
        try:
            names.lessons.append(find_lesson(word))
        except UnknownLesson:
            names.unknown.append(word)
    if names.unknown and not names.homes:
        lessons = ", ".join(x.folder for x in LESSONS)
        raise UnknownLesson(
            f"{names.unknown[0]!r} is neither a folder nor a lesson. Lessons: {lessons}."
        )
    return _ChosenNames(names.homes or [Path()], names.lessons or [*LESSONS], names.unknown)


def _working_folder(folder: Path) -> Path:
    """Return the learner's folder, also for its `workshop` folder or a lesson in it."""
    if _is_learners(folder):
        return folder
    if folder.name == WORKSHOP:  # the shortest way to name it
        return folder.parent
    here = folder.resolve()  # the lab opens a terminal where its file browser is
    workshop = next((x for x in (here, here.parent) if x.name == WORKSHOP), None)
    return workshop.parent if workshop else folder


def _learners_folder(folder: Path) -> Path:
    """Return the learner's folder; a misspelt name creates no folder."""
    home = _working_folder(folder)
    if not _is_learners(home):
        command = shell_command("xai-mcp-agent", "init", "--workshop", str(folder))
        raise LessonFileError(
            f"{folder} is not a folder with the lessons. Name a learner's folder, or make this "
            f"one: {command}"
        )
    return home


def _is_learners(folder: Path) -> bool:
    return any((folder / name).is_dir() for name in (WORKSHOP, COMPONENTS))


# Checking


def _check_all(names: _ChosenNames, seconds: float) -> Iterator[LessonCheck]:
    """Check several lessons in parallel, and yield the results in order."""
    stop = threading.Event()
    pairs = [(home, lesson) for home in names.homes for lesson in names.lessons]

    def check_pair(pair: tuple[Path, Lesson]) -> LessonCheck:
        return check_lesson(*pair, seconds=seconds, stop=stop)

    with ThreadPoolExecutor(min(_MAX_WORKERS, os.cpu_count() or 1)) as pool:
        try:
            yield from pool.map(check_pair, pairs)
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _watch(names: _ChosenNames, seconds: float) -> None:
    """Print the table, and again whenever it changes, until Ctrl-C."""
    saved, table = "", list[str]()
    with suppress(KeyboardInterrupt):
        while True:
            if (now := repr([*_saved(names)])) != saved:
                saved, before = now, table
                table = [*_table([*_check_all(names, seconds)], names)]
                if table != before:
                    say("\n".join([strftime("%H:%M:%S"), *table, ""]))
            sleep(_WATCH_SECONDS)
    raise typer.Exit


def _saved(names: _ChosenNames) -> Iterator[tuple[Path | None, int]]:
    """Yield each learner's workflow and its modification time."""
    for home in names.homes:
        for lesson in names.lessons:
            workflow, _ = find_workflow(home, lesson)
            yield workflow, workflow.stat().st_mtime_ns if workflow else 0


# Files of a lesson


@dataclass(frozen=True)
class Reset:
    """Result of `restore`. `kept` are the learner's renamed files."""

    lesson: str
    restored: tuple[str, ...]
    kept: tuple[str, ...]


def restore(folder: Path, lesson: Lesson) -> Reset:
    """Restore the shipped files of a lesson; files that differ are renamed, never overwritten.

    Raises:
        LessonFileError: a file cannot be renamed or written.
    """
    restored: list[str] = []
    renamed: list[str] = []
    for source in sorted(lesson.original_folder.iterdir()):
        target = folder / WORKSHOP / lesson.folder / source.name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        if aside := _place(source, target):
            renamed.append(str(aside))
        restored.append(str(target))
    return Reset(lesson.folder, tuple(restored), tuple(renamed))


def _place(source: Path, target: Path) -> Path | None:
    """Copy a shipped file; return the new name of the file it replaces, if any.

    A link is renamed and not followed, so that nothing is written elsewhere.
    """
    aside = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        is_same = not target.is_symlink() and target.is_file()
        if is_same and target.read_bytes() == source.read_bytes():
            return None
        if os.path.lexists(target):
            aside = _free_name(target)
            target.rename(aside)
        shutil.copyfile(source, target)
    except OSError as cause:
        raise LessonFileError(
            f"Cannot write {cause.filename}: {cause.strerror or cause}. Fix that and try again."
        ) from cause
    return aside


def _free_name(file: Path) -> Path:
    """Return a free name beside the file that Xircuits can still compile."""
    number, free = 2, file.with_stem(f"{file.stem}_{BACKUP_MARK}")
    while os.path.lexists(free):
        free = file.with_stem(f"{file.stem}_{BACKUP_MARK}_{number}")
        number += 1
    return free


# Output


def _lines(checked: LessonCheck, names: _ChosenNames) -> Iterator[str]:
    """Yield the lines about a lesson; a folder without lessons is reported once."""
    if lost := why_unusable(Path(checked.folder)):
        if checked.lesson == names.lessons[0].folder:
            yield one_line(f"{checked.folder}: {lost.sentence}")
    elif len(names.homes) > 1:
        yield from _brief(checked)
    else:
        yield from _full(checked)


def _brief(checked: LessonCheck) -> Iterator[str]:
    """Yield the lines about a lesson of one of many folders: what is missing, and what to do."""
    name = _short(Path(checked.folder).name or checked.folder)
    score = "-" if checked.is_untouched else f"{checked.met_count} of {len(checked.goals)}"
    yield f"{name:{_NAME_WIDTH}} {checked.lesson:20} {score}"
    if checked.problem:
        yield one_line(f"not yet: {checked.problem.sentence}", "  ")
    elif not checked.is_untouched:
        for goal in (x for x in checked.goals if not x.is_met):
            yield one_line(f"not yet: {goal.sentence}", "  ")
            if goal.missing:
                yield one_line(goal.missing, " " * 6)
    yield from (one_line(f"Note: {note}", "  ") for note in checked.notes)


def _full(checked: LessonCheck) -> Iterator[str]:
    lesson = find_lesson(checked.lesson)
    how = f"{checked.met_count} of {len(checked.goals)} goals, {checked.seconds:.1f} s"
    how = "not begun" if checked.is_untouched else how
    yield f"{checked.lesson}: {lesson.title} ({how})"
    for goal in checked.goals:
        yield one_line(goal.sentence, f"  {'[x]' if goal.is_met else '[ ]'} ")
        if goal.missing:
            yield one_line(goal.missing, " " * 6)
    if checked.problem and checked.problem.lines:
        yield "      The last lines of the error:"
        yield from (cut(f"      | {x}", _WIDTH) for x in checked.problem.lines)
    yield from (one_line(f"Note: {note}", "  ") for note in checked.notes)
    if checked.output and not checked.is_done:
        yield f"  What it printed: {checked.output}"
    if not checked.is_done:
        where = [] if Path(checked.folder) == Path() else [checked.folder]
        words = ("xai-mcp-agent", "workshop", "solution", str(lesson.number), *where)
        yield f"  Stuck? A solution: {shell_command(*words)}"
    yield ""


def _table(checked: Sequence[LessonCheck], names: _ChosenNames) -> Iterator[str]:
    """Yield the table: a row for each folder, a column for each lesson."""
    width = len(names.lessons)
    yield f"{'folder':{_NAME_WIDTH}} " + " ".join(f"{x.number:>6}" for x in names.lessons)
    for number, home in enumerate(names.homes):
        row = checked[number * width : (number + 1) * width]
        yield f"{_short(str(home)):{_NAME_WIDTH}} " + " ".join(f"{_cell(x):>6}" for x in row)


def _cell(checked: LessonCheck) -> str:
    if checked.is_untouched:
        return "-"
    if why_unusable(Path(checked.folder)):
        return "?"
    return "done" if checked.is_done else f"{checked.met_count}/{len(checked.goals)}"


def _short(name: str) -> str:
    """Shorten a name to its column from the left: its end says more than its beginning."""
    name = " ".join(name.split())  # a folder's name may contain line breaks
    return name if len(name) <= _NAME_WIDTH else f"...{name[3 - _NAME_WIDTH :]}"
