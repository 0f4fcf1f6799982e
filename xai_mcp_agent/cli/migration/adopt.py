"""`xai-mcp-agent adopt`: workflows made with XpressAI's xai-agent get the nodes of this library.

Exit status: 0 every file is in order, 1 of at least one nothing could be adopted, 2 wrong usage.
"""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from ...console.text import clean, cut
from ...core.errors import XaiMcpError
from ...core.json import JsonObject
from ...core.shell import shown_command
from ...core.util import LIBRARY
from ...drawing.components import ComponentClass, homes_of_components, our_components
from ..component_files import Clash, clash_lines, find_clashes
from ..output import echo_json, folded, replace_text, say
from .address import with_addresses
from .advice import advice
from .choices import with_choices
from .document import WorkflowFileError, nodes_of, read_workflow, text_of, workflow_text
from .mending import mended
from .migrate import AdoptedNode, Migration, Remark, migrate, path_of
from .models import with_models
from .parameters import with_parameters
from .reaching import reaching
from .refreshing import refreshed

_SUFFIX = ".xircuits"
_NAME_COLUMNS = 200  # of nodes: all those of a library, and no megabyte of a broken file

Status = Literal["adopted", "nothing to do", "failed"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where adopted workflows go: beside the original by default."""

    in_place: bool = False
    folder: Path | None = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file. `remarks` that are `to_do` come first."""

    file: Path
    status: Status
    written: Path | None = None
    backup: Path | None = None
    adopted: tuple[AdoptedNode, ...] = ()
    remarks: tuple[Remark, ...] = ()
    error: str = ""


def adopt_file(file: Path, target: Target | None = None) -> FileReport:
    """Rewrite one workflow for the nodes of this library, and say what was done.

    A file that has nothing of xai-agent is left alone. A file that is in the way is replaced
    only if `target` says so, and kept beside it as a backup.

    Raises:
        WorkflowFileError: it cannot be read, is no workflow, or its place is taken.
    """
    document, mending = mended(read_workflow(file))
    classes = _as_named(document)
    chosen = with_choices(document, classes)
    split = with_models(chosen.document, classes)
    migrated = migrate(split.document, classes, chosen.changed | split.changed)
    given = with_parameters(_with_models(with_addresses(migrated), classes))
    migration = refreshed(given, classes)
    known = {(x.node_id, x.port) for x in chosen.remarks}
    found = (x for x in migration.remarks if (x.node_id, x.port) not in known)
    told = (*chosen.remarks, *split.remarks, *found, *advice(migration, classes))
    if migration.taken:
        told = (*told, *reaching(document, Path()))
    if migration.adopted:
        told = (*told, *mending)
    remarks = tuple(sorted(told, key=lambda x: not x.to_do))
    if not migration.adopted:
        return FileReport(file, _status(document, remarks, classes), remarks=remarks)
    place = _place(file, document, target or Target())
    backup = _write(place, migration, may_replace=_may_replace(target))
    return FileReport(file, "adopted", place, backup, migration.adopted, remarks)


def _as_named(document: JsonObject) -> dict[str, ComponentClass]:
    """Our classes, each at the file that the workflow names where that has it.

    In an installed package all classes stand in one file, and those that they are written in
    import them: a node that names one of these is up to date.
    """
    named = {text_of(x, "name"): path_of(x) for x in nodes_of(document).values()}
    homes = homes_of_components()
    return {
        name: replace(cls, path=named[name]) if named.get(name) in homes[name] else cls
        for name, cls in our_components().items()
    }


def _with_models(migration: Migration, classes: Mapping[str, ComponentClass]) -> Migration:
    """The migration with the addresses that agents were given on the nodes of their models."""
    split = with_models(migration.document, classes)
    return replace(migration, document=split.document)


def _status(
    document: JsonObject, remarks: Sequence[Remark], classes: Mapping[str, ComponentClass]
) -> Status:
    """Of a file of which nothing was adopted: maybe it was before, as far as it goes."""
    paths = {cls.path for cls in classes.values()}
    was_adopted = any(path_of(node) in paths for node in nodes_of(document).values())
    left = {x.node for x in remarks if x.to_do}
    is_done = not left or (was_adopted and left.isdisjoint(classes))
    return "nothing to do" if is_done else "failed"


# Where it goes


def _may_replace(target: Target | None) -> bool:
    return target is not None and (target.in_place or target.overwrite)


def _place(file: Path, document: JsonObject, target: Target) -> Path:
    if target.in_place:
        return file
    names = {text_of(node, "name") for node in nodes_of(document).values()}
    if target.folder is None:
        return file.with_name(f"{_compilable(f'{file.stem}_adopted', names)}{_SUFFIX}")
    return target.folder / f"{_compilable(file.stem, names)}{_SUFFIX}"


def _compilable(stem: str, used: set[str]) -> str:
    """A file name that Xircuits can compile and run: it becomes the name of a class."""
    plain = "".join(x if x == "-" or f"_{x}".isidentifier() else "_" for x in stem)
    name = re.sub(r"\W", "_", plain)
    fits = name.isidentifier() and not keyword.iskeyword(name) and name not in {*used, "args"}
    return plain if fits else f"workflow_{plain}"


def _write(place: Path, migration: Migration, *, may_replace: bool) -> Path | None:
    try:
        text = workflow_text(migration.document)
        if os.path.lexists(place) and not may_replace:
            if place.exists() and place.read_bytes() == text.encode():
                return None
            raise WorkflowFileError(
                f"{place} exists already and differs. Name another folder with --output, or "
                "replace it with --overwrite; the old one is then kept as a backup."
            )
        if place.is_symlink() and not place.exists():
            raise WorkflowFileError(
                f"{place} is a link that leads nowhere. Remove it, or name another folder with "
                "--output."
            )
        place.parent.mkdir(parents=True, exist_ok=True)
        return replace_text(place, text)
    except OSError as cause:
        raise WorkflowFileError(
            f"{place} cannot be written: {cause.strerror or cause}. "
            "Name a folder that you may write to with --output."
        ) from cause
    except RecursionError as cause:
        raise WorkflowFileError(f"{place} cannot be written: it is nested too deeply.") from cause


# The command


def adopt(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Workflows made with xai-agent.")
    ],
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Replace each file; the old one is kept as .bak.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="Write into this folder, under the same names.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is there; it is kept as .bak.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Convert workflows made with xai-agent to our nodes.

    FILE.xircuits stays; FILE_adopted.xircuits is written beside it, with the same positions, links
    and values. It lists what could not be converted and what is left to do.
    """
    if in_place and output:
        raise typer.BadParameter("--in-place and --output exclude each other")
    target = Target(in_place, output, overwrite)
    reports: list[FileReport] = []
    for file in files:
        reports.append(_attempt(file, target))
        if not as_json:
            _show(reports[-1])
    clashes = find_clashes(Path())
    if as_json:
        echo_json({"files": reports, "clashes": clashes})
    else:
        for line in _next_steps(reports, clashes):
            say(line)
    if any(x.status == "failed" for x in reports):
        raise typer.Exit(1)


def _attempt(file: Path, target: Target) -> FileReport:
    try:
        return adopt_file(file, target)
    except XaiMcpError as error:
        return FileReport(file, "failed", error=str(error))


def _show(report: FileReport) -> None:
    if report.error:
        say(f"error: {report.error}", to_stderr=True)
    else:
        say("\n".join(_lines(report)))


def _lines(report: FileReport) -> Iterator[str]:
    yield str(report.file)
    if not report.adopted:
        yield f"  {_nothing(report)}"
    else:
        taken = [x.node for x in report.adopted if x.is_taken]
        yield from _named(taken, f"now comes from {LIBRARY}", f"now come from {LIBRARY}")
        ours = [x.node for x in report.adopted if not x.is_taken]
        yield from _named(ours, "was brought up to date", "were brought up to date")
        yield from _changed_ports(report.adopted)
        yield f"  Written: {report.written}"
    if report.backup:
        yield f"  The old file is kept: {report.backup}"
    for title, wanted in (("To do:", True), ("To know:", False)):
        remarks = [x for x in report.remarks if x.to_do is wanted]
        if remarks:
            yield f"  {title}"
        for remark in _distinct(remarks):
            name = cut(clean(remark.node), _NAME_COLUMNS)
            yield from _wrapped(f"{name}: {remark.text}", mark="- ")


def _named(nodes: Sequence[str], one: str, several: str) -> Iterator[str]:
    if nodes:
        said = f"1 node {one}" if len(nodes) == 1 else f"{len(nodes)} nodes {several}"
        yield from _wrapped(f"{said}: {', '.join(_counted(nodes))}.")


def _nothing(report: FileReport) -> str:
    if report.status == "failed":
        return "Nothing could be adopted."
    if report.remarks:
        return "Nothing more could be adopted."
    return "Nothing to do: it has no node of xai-agent."


def _changed_ports(adopted: Sequence[AdoptedNode]) -> Iterator[str]:
    changed = [
        f"{port.name} of {node.node} ({port.old_type or 'none'}, now {port.new_type})"
        for node in adopted
        for port in node.changed_ports
    ]
    if changed:
        yield from _wrapped(f"Other types of ports: {', '.join(dict.fromkeys(changed))}.")


def _distinct(remarks: Iterable[Remark]) -> list[Remark]:
    """The same is said once, however many nodes of a class there are."""
    return list({(x.node, x.text): x for x in remarks}.values())


def _counted(names: Iterable[str]) -> list[str]:
    listed = sorted(names)
    return [
        name if listed.count(name) == 1 else f"{name} ({listed.count(name)})"
        for name in dict.fromkeys(listed)
    ]


def _wrapped(text: str, mark: str = "") -> list[str]:
    first = " " * (2 + len(mark)) + mark
    return folded(text, first, " " * len(first))


def _next_steps(reports: Sequence[FileReport], clashes: Sequence[Clash]) -> Iterator[str]:
    written = [x.written for x in reports if x.written]
    if not written:
        return
    script = written[0].with_suffix(".py")
    yield ""
    yield "Next: open it in the lab and press Run, or compile it again:"
    yield f"  {shown_command('xircuits', 'compile', str(written[0]), str(script))}"
    if clashes:
        yield ""
        yield from clash_lines(clashes)
