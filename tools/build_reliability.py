"""The table in docs/reliability.md: `python -m tools.build_reliability` writes it.

It provokes every fault of the catalogue (tests/faults) and writes down what came of each step and
how long it took. Takes a minute. The rest of the page is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.catalogue import GROUPS
from tests.faults.driver import Report, Run, Step, run_faults
from xai_mcp_agent import SourceError

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
BEGIN = "<!-- Written by `python -m tools.build_reliability`: begin -->"
END = "<!-- end of the faults -->"

_HEAD = """\
| fault | what the server does | what comes of it | seconds |
| --- | --- | --- | --- |
"""
_SHOWN = 200  # characters of an error or a note
_SEVERAL = re.compile(r"\s+")
_FOLDER = re.compile(r"/\S+/")


def table() -> str:
    """The faults, run now, each with what came of it."""
    runs = list(_runs())
    rows = [_row(report) for run in runs for report in run.reports.values()]
    stall = max(run.longest_stall_seconds for run in runs)
    calls = sum(run.healthy_calls for run in runs)
    said = (
        f"\n{len(rows)} faults. The healthy server answered {calls:,} calls meanwhile; no step of "
        f"the bridge's loop computed for longer than {stall:.2f} s.\n"
    )
    return "".join([_HEAD, *rows, said])


def _runs() -> Iterator[Run]:
    for faults in GROUPS.values():
        with TemporaryDirectory() as folder:
            yield run_faults(faults, Path(folder))


def _row(report: Report) -> str:
    steps = report.steps
    said = [*_said("it", "connects", steps["connect"])]
    if "call" in steps:
        said += _said("the call", "works", steps["call"])
    said += _said("the next call", "works", steps["again"])
    if "last" in steps:
        said += _said("the one after", "works", steps["last"])
    said += [f"note: {_short(note)}" for note in report.status_notes[:1]]
    took = " · ".join(f"{name} {step.seconds:.2f}" for name, step in steps.items())
    cells = (f"`{report.fault.name}`", report.fault.does, "; ".join(said), took)
    return "| " + " | ".join(x.replace("|", "\\|") for x in cells) + " |\n"


def _said(what: str, good: str, step: Step) -> Iterator[str]:
    if step.error is None:
        yield f"{what} {good}"
        yield from (f"note: {_short(note)}" for note in step.notes)
        return
    problem = step.error.problem if isinstance(step.error, SourceError) else str(step.error)
    yield f"{what} fails: *{_short(problem)}*"


def _short(text: str) -> str:
    """In one line of plain signs, without the folders of this machine."""
    line = _FOLDER.sub("", _SEVERAL.sub(" ", text)).replace("*", "\\*").replace("<", "&lt;")
    line = "".join(x if x.isprintable() else "?" for x in line).rstrip(".")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def page_with(page: str, faults: str) -> str:
    """The page with this table in it."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    assert begin, f"{PAGE.name} has lost its mark {BEGIN}"
    assert end, f"{PAGE.name} has lost its mark {END}"
    return f"{head}{BEGIN}\n{faults}{END}{tail}"


def main() -> None:
    """Write the table."""
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), table()), encoding="utf-8")


if __name__ == "__main__":
    main()
