"""`xai-mcp-agent workshop check`, `reset` and `solution`: for learners and teachers."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...canvas.lessons.lessons import LESSONS, WORKSHOP, Lesson, UnknownLesson, lesson_called
from ...core.errors import XaiMcpError
from ...core.shell import shown_command
from ...core.util import COMPONENTS
from ..output import AsJson, echo_json, folded, say
from .checked import Checked
from .kept import KeptChecks
from .runs import (
    DEFAULT_SECONDS,
    KEPT,
    check_lesson,
    is_lost,
    shipped_lesson,
    shipped_solution,
)

_WIDTH = 80
_AT_ONCE = 4  # each is a process or two; more only wait for each other
_NAME_WIDTH = 36  # of a folder in the table

LessonName = Annotated[str, typer.Argument(help="The lesson's number or name.")]
Folder = Annotated[Path, typer.Argument(help="The learner's folder.")]


class LessonFileError(XaiMcpError):
    """A file of a lesson cannot be written or put aside; the message says which."""


@dataclass(frozen=True)
class Reset:
    """What `reset_lesson` did. `kept` are the learner's files under their new names."""

    lesson: str
    restored: tuple[str, ...]
    kept: tuple[str, ...]


def check_lessons(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER... [LESSON]",
            help="Learners' folders; at the end a lesson's number or name for that one only.",
        ),
    ],
    seconds: Annotated[
        float, typer.Option(help="The longest time for one workflow.")
    ] = DEFAULT_SECONDS,
    again: Annotated[
        bool, typer.Option("--again", help="Also run what is unchanged since it was checked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the workflows of the lessons, and show which goals are met and what to do next.

    A lesson that was not started is shown as -. A lesson that has not changed since the last check
    is not run again.

    The exit status is 0 when all goals are met, and 1 otherwise.
    """
    homes, lessons = _read_names(folders)
    wanted = [(home, lesson) for home in homes for lesson in lessons]
    found: list[Checked] = []
    for checked in _check_all(wanted, seconds, again=again):
        found.append(checked)
        if not as_json:
            say("\n".join(_told(checked, homes, lessons)))
    if as_json:
        echo_json({"checked": [_for_programs(x) for x in found]})
    else:
        say("\n".join(_summary(found, homes, lessons)))
    if not all(x.is_done for x in found):
        raise typer.Exit(1)


def reset_lesson(lesson: LessonName, folder: Folder = Path(), as_json: AsJson = False) -> None:
    """Restore a lesson. Your changed workflow is kept beside it; nothing else changes."""
    wanted = lesson_called(lesson)
    done = restore(_learners_folder(folder), wanted)
    if as_json:
        echo_json(done)
        return
    for path in done.restored:
        say(f"restored  {path}")
    for path in done.kept:
        say(f"kept      {path}  (yours, under a new name)")
    if not done.restored:
        say(f"{done.lesson} is as it was.")
    else:
        say("In the lab, close the workflow's tab and open the file again.")


def lesson_solution(lesson: LessonName, folder: Folder = Path(), as_json: AsJson = False) -> None:
    """Put a solution beside a lesson's workflow, so that you can open and compare it."""
    wanted = lesson_called(lesson)
    target = _learners_folder(folder) / WORKSHOP / wanted.folder / wanted.solution
    with _explained():
        target.parent.mkdir(parents=True, exist_ok=True)
        is_same = target.is_file() and target.read_bytes() == shipped_solution(wanted).read_bytes()
        if os.path.lexists(target) and (target.is_symlink() or not is_same):
            target.rename(_free_name(target, KEPT))
        shutil.copyfile(shipped_solution(wanted), target)
    if as_json:
        echo_json({"solution": target})
    else:
        say(f"{target}: one of many. Open it in the lab.")


def restore(folder: Path, lesson: Lesson) -> Reset:
    """Put the shipped files of a lesson in place; what differs is renamed, never overwritten.

    Raises:
        LessonFileError: a file cannot be renamed or written.
    """
    restored: list[str] = []
    kept: list[str] = []
    with _explained():
        for source in sorted(shipped_lesson(lesson).iterdir()):
            target = folder / WORKSHOP / lesson.folder / source.name
            if target.is_file() and target.read_bytes() == source.read_bytes():
                continue
            if os.path.lexists(target):
                aside = _free_name(target, KEPT)
                target.rename(aside)
                kept.append(str(aside))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            restored.append(str(target))
    return Reset(lesson.folder, tuple(restored), tuple(kept))


def _free_name(file: Path, word: str) -> Path:
    """A name beside the file that nothing has; still one that Xircuits can compile."""
    number, free = 2, file.with_stem(f"{file.stem}_{word}")
    while os.path.lexists(free):
        free = file.with_stem(f"{file.stem}_{word}_{number}")
        number += 1
    return free


@contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except OSError as cause:
        raise LessonFileError(
            f"Cannot write {cause.filename}: {cause.strerror or cause}. Mend that and try again."
        ) from cause


def _read_names(names: Sequence[str]) -> tuple[list[Path], Sequence[Lesson]]:
    """The folders, and the lessons: all, unless the last name is one of a lesson."""
    homes, lessons = list(names), LESSONS
    if not Path(homes[-1]).is_dir():
        with suppress(UnknownLesson):
            lessons = (lesson_called(homes[-1]),)
            homes = homes[:-1] or ["."]
    for home in homes:
        if not Path(home).is_dir():
            known = ", ".join(x.folder for x in LESSONS)
            raise UnknownLesson(f"{home!r} is neither a folder nor a lesson. Lessons: {known}.")
    return [_working_folder(Path(x)) for x in homes], lessons


def _working_folder(folder: Path) -> Path:
    """The folder itself, or the one above when somebody named its `workshop` or a lesson in it."""
    if _is_learners(folder):
        return folder
    if folder.name == WORKSHOP:  # the shortest way to say it
        return folder.parent
    here = folder.resolve()  # a terminal of the lab opens where the file browser is
    workshop = next((x for x in (here, here.parent) if x.name == WORKSHOP), None)
    return workshop.parent if workshop else folder


def _learners_folder(folder: Path) -> Path:
    """The learner's folder, where files may be written; a wrong name makes no new folder."""
    found = _working_folder(folder)
    if not _is_learners(found):
        command = shown_command("xai-mcp-agent", "init", "--workshop", str(folder))
        raise LessonFileError(
            f"{folder} is no folder with the lessons. Name a learner's folder, or make this "
            f"one: {command}"
        )
    return found


def _is_learners(folder: Path) -> bool:
    return any((folder / name).is_dir() for name in (WORKSHOP, COMPONENTS))


def _check_all(
    wanted: Sequence[tuple[Path, Lesson]], seconds: float, *, again: bool
) -> Iterator[Checked]:
    """Check several at once; each is given in its turn, as soon as it is there."""
    stop, kept = threading.Event(), KeptChecks(reads=not again)

    def check(item: tuple[Path, Lesson]) -> Checked:
        return check_lesson(*item, seconds=seconds, stop=stop, kept=kept)

    with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as pool:
        try:
            yield from pool.map(check, wanted)
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


# What is printed


def _told(checked: Checked, homes: Sequence[Path], lessons: Sequence[Lesson]) -> Iterator[str]:
    """What is said of a lesson; of a folder without lessons once."""
    if lost := is_lost(Path(checked.folder)):
        if checked.lesson == lessons[0].folder:
            yield from _indented(f"{checked.folder}: {lost.sentence}", 0)
    elif len(homes) > 1:
        yield from _brief(checked)
    else:
        yield from _lines(checked)


def _brief(checked: Checked) -> Iterator[str]:
    """A lesson of one of many folders: what is missing, with what to do."""
    name = _short(Path(checked.folder).name or checked.folder)
    score = "-" if checked.is_untouched else f"{checked.met_count} of {len(checked.goals)}"
    yield f"{name:{_NAME_WIDTH}} {checked.lesson:20} {score}"
    if checked.problem:
        yield from _indented(f"not yet: {checked.problem.sentence}", 2)
    elif not checked.is_untouched:
        for goal in (x for x in checked.goals if not x.is_met):
            yield from _indented(f"not yet: {goal.sentence}", 2)
            yield from _indented(goal.missing, 6) if goal.missing else ()
    yield from (line for note in checked.notes for line in _indented(f"Note: {note}", 2))


def _lines(checked: Checked) -> Iterator[str]:
    score = f"{checked.met_count} of {len(checked.goals)} goals"
    lesson = lesson_called(checked.lesson)
    how = "unchanged since the last check" if checked.is_from_before else f"{checked.seconds:.1f} s"
    how = "not begun" if checked.is_untouched else f"{score}, {how}"
    yield f"{checked.lesson}: {lesson.title} ({how})"
    for goal in checked.goals:
        yield from _indented(f"{'[x]' if goal.is_met else '[ ]'} {goal.sentence}", 2)
        yield from _indented(goal.missing, 6) if goal.missing else ()
    if checked.problem and checked.problem.lines:
        yield "      The last lines of the error:"
        yield from (_cut(f"      | {x}") for x in checked.problem.lines)
    for note in checked.notes:
        yield from _indented(f"Note: {note}", 2)
    if checked.output and not checked.is_done:
        yield f"  What it printed: {checked.output}"
    if not checked.is_done:
        yield f"  Stuck? A solution: {_command('solution', lesson, checked)}"
    yield ""


def _command(name: str, lesson: Lesson, checked: Checked) -> str:
    where = [] if Path(checked.folder) == Path() else [checked.folder]
    return shown_command("xai-mcp-agent", "workshop", name, str(lesson.number), *where)


def _summary(
    found: Sequence[Checked], homes: Sequence[Path], lessons: Sequence[Lesson]
) -> Iterator[str]:
    if len(homes) == 1:
        count = sum(x.is_done for x in found)
        yield f"{count} of {len(found)} lesson{'' if len(found) == 1 else 's'} done."
        return
    yield ""
    yield f"{'folder':{_NAME_WIDTH}} " + " ".join(f"{x.number:>6}" for x in lessons)
    for home, number in zip(homes, range(0, len(found), len(lessons)), strict=True):
        row = found[number : number + len(lessons)]
        yield f"{_short(str(home)):{_NAME_WIDTH}} " + " ".join(f"{_cell(x):>6}" for x in row)
    yield "For what is missing and what to do: xai-mcp-agent workshop check FOLDER"


def _cell(checked: Checked) -> str:
    if checked.is_untouched:
        return "-"
    if is_lost(Path(checked.folder)):
        return "?"
    return "done" if checked.is_done else f"{checked.met_count}/{len(checked.goals)}"


def _for_programs(checked: Checked) -> dict[str, object]:
    return {**asdict(checked), "is_done": checked.is_done}


def _short(name: str) -> str:
    """A name that fits into its column; its end tells more than its beginning."""
    name = " ".join(name.split())  # a row is one line, whatever the folder is called
    return name if len(name) <= _NAME_WIDTH else f"...{name[3 - _NAME_WIDTH :]}"


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


def _indented(text: str, by: int) -> list[str]:
    after = by + 4 if text.startswith("[") else by
    return folded(text, " " * by, " " * after)
