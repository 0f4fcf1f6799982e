"""`xai-mcp-agent adopt`: convert workflows made with XpressAI's xai-agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from ...console.text import clean, count, cut, one_line
from ...core.errors import XaiMcpError
from ...core.shell import shell_command
from ...core.util import LIBRARY
from ...drawing.components import our_components
from ...drawing.document import document_text
from ..component_files import Clash, clash_lines, find_clashes
from ..frame import Report, ReportFrame
from ..output import compilable, write_file
from .address import carry_addresses
from .advice import advice
from .cleanup import clean_up
from .nodes import convert_nodes
from .parameters import add_parameters
from .workflow import AdoptedNode, AdoptedWorkflow, Remark, library_of, path_of, read_workflow

_SUFFIX = ".xircuits"
_NAME_COLUMNS = 200  # enough for all nodes of a library, and a limit for a broken file

Status = Literal["adopted", "nothing to do", "failed"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where to write adopted workflows; beside the original by default."""

    in_place: bool = False
    folder: Path | None = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class FileReport:
    """Outcome for one file. `remarks` that are `to_do` come first."""

    file: Path
    status: Status
    written: Path | None = None
    backup: Path | None = None
    adopted: tuple[AdoptedNode, ...] = ()
    remarks: tuple[Remark, ...] = ()
    error: str = ""


def adopt_file(file: Path, target: Target | None = None) -> FileReport:
    """Convert one workflow for the nodes of this library.

    A file without xai-agent's nodes stays as it is. An existing target is replaced only if `target`
    allows it, and kept as a backup.

    Raises:
        NoWorkflow: the file cannot be read, or is not a workflow.
        WriteFailed: the target exists, or cannot be written.
    """
    workflow, classes = read_workflow(file), our_components()
    repairs = clean_up(workflow)
    adopted, remarks = convert_nodes(workflow, classes)
    if not adopted:
        is_ours = any(library_of(path_of(x)) == LIBRARY for _, x in workflow.components())
        status = "failed" if remarks and not is_ours else "nothing to do"
        return FileReport(file, status, remarks=tuple(remarks))
    remarks = [
        *carry_addresses(workflow, adopted, classes),
        *remarks,
        *add_parameters(workflow, adopted),
        *advice(workflow, adopted),
        *repairs,
    ]
    place, may_replace = _place(file, workflow, target or Target())
    text = document_text(workflow.document)
    backup = write_file(place, text, "--output", may_replace=may_replace)
    remarks.sort(key=lambda x: not x.to_do)
    return FileReport(file, "adopted", place, backup, tuple(adopted), tuple(remarks))


# Target


def _place(file: Path, workflow: AdoptedWorkflow, target: Target) -> tuple[Path, bool]:
    """Return the file to write, and whether it may replace another."""
    if target.in_place:
        return file, True
    names = {node["name"] for node in workflow.nodes.values()}
    folder = target.folder or file.parent
    stem = file.stem if target.folder else f"{file.stem}_adopted"
    return folder / f"{compilable(stem, names)}{_SUFFIX}", target.overwrite


# The command


def adopt(
    frame: ReportFrame,
    files: Annotated[list[Path], Argument(metavar="FILE", help="Workflows made with xai-agent.")],
    in_place: Annotated[
        bool, Option(help="Replace each file; the old one is kept as .bak.")
    ] = False,
    output: Annotated[
        Path | None, Option(metavar="FOLDER", help="Write into this folder, under the same names.")
    ] = None,
    overwrite: Annotated[bool, Option(help="Replace what is there; it is kept as .bak.")] = False,
) -> Report:
    """Convert workflows made with xai-agent to our nodes.

    FILE.xircuits stays; FILE_adopted.xircuits is written beside it, with the same positions, links
    and values. It lists what could not be converted and what is left to do. The exit status is 1 if
    nothing could be adopted from a file.
    """
    if in_place and output:
        raise typer.BadParameter("--in-place and --output exclude each other")
    target = Target(in_place, output, overwrite)
    reports = [_attempt(x, target) for x in files]
    clashes = find_clashes(Path())
    lines = [y for x in reports if not x.error for y in _lines(x)]
    return Report(
        {"files": reports, "clashes": clashes},
        "\n".join([*lines, *_next_steps(reports, clashes)]),
        [x.error for x in reports if x.error],
        status=int(any(x.status == "failed" for x in reports)),
    )


def _attempt(file: Path, target: Target) -> FileReport:
    try:
        return adopt_file(file, target)
    except XaiMcpError as error:
        return FileReport(file, "failed", error=str(error))


def _lines(report: FileReport) -> Iterator[str]:
    yield str(report.file)
    if report.adopted:
        counts = Counter(sorted(x.node for x in report.adopted))
        nodes = [name if n == 1 else f"{name} ({n})" for name, n in counts.items()]
        come = "comes" if len(report.adopted) == 1 else "come"
        number = count(len(report.adopted), "node")
        yield one_line(f"{number} now {come} from {LIBRARY}: {', '.join(nodes)}.", "  ")
        yield f"  Written: {report.written}"
    else:
        yield f"  {_empty_text(report)}"
    if report.backup:
        yield f"  The old file is kept: {report.backup}"
    for title, to_do in (("To do:", True), ("To know:", False)):
        remarks = [x for x in report.remarks if x.to_do is to_do]
        if remarks:
            yield f"  {title}"
        texts = (f"{cut(clean(x.node), _NAME_COLUMNS)}: {x.text}" for x in remarks)
        # Once, however many nodes of a class there are.
        yield from (one_line(x, "    - ") for x in dict.fromkeys(texts))


def _empty_text(report: FileReport) -> str:
    if report.status == "failed":
        return "Nothing could be adopted."
    if report.remarks:
        return "Nothing more could be adopted."
    return "Nothing to do: it has no node of xai-agent."


def _next_steps(reports: Sequence[FileReport], clashes: Sequence[Clash]) -> Iterator[str]:
    targets = [x.written for x in reports if x.written]
    if not targets:
        return
    script = targets[0].with_suffix(".py")
    yield ""
    yield "Next: open it in the lab and press Run, or compile it again:"
    yield f"  {shell_command('xircuits', 'compile', str(targets[0]), str(script))}"
    if clashes:
        yield ""
        yield from clash_lines(clashes)
