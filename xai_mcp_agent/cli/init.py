"""`xai-mcp-agent init`: makes any folder a ready Xircuits working folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from ..canvas.workshop.lessons import SOLUTIONS, WORKSHOP
from ..core.errors import SettingsError, XaiMcpError
from ..core.shell import shell_command
from ..core.util import (
    COMPONENT_FILES,
    COMPONENTS,
    INSTALL_LAB,
    LIBRARY,
    installed_components_folder,
    starter_folder,
)
from ..secrets.private_files import close_to_others, replace_private
from ..settings.interpolation import ENV_FILE
from ..settings.load import SCHEMA_FILE, load_settings
from ..settings.trust import TrustStore
from .component_files import Clash, clash_lines, find_clashes
from .frame import Report, ReportFrame
from .output import free_backup_name

Action = Literal[
    "created", "linked", "copied", "replaced", "extended", "kept", "up to date", "trusted",
    "missing",
]  # fmt: skip

SETTINGS_FILE = "mcp_settings.json"
TEMPLATES = "templates"
"""Folder of the example workflows; each is a card in the lab's launcher."""

FIRST_EXAMPLE = "examples/ex01_quickstart.xircuits"

_XIRCUITS = ".xircuits"
_INIT_PY = '"""The component files of xai_mcp_agent, copied by `xai-mcp-agent init`."""\n'
_METADATA_FILES = ("pyproject.toml", "README.md")  # read by the menu of our category in the palette
_OTHERS_OF_OURS = {"__init__.py", "__pycache__"}
_ENV_FILE_TEXT = """\
# Keys, one a line, without spaces around the equals sign:
# OPENAI_API_KEY=...
# They fill ${NAME} in mcp_settings.json, too. Only you can read this file, and git ignores it.
"""
_ACTION_WIDTH = len("up to date")


class InitError(XaiMcpError):
    """The folder cannot become a working folder: it is a file, or cannot be written."""


@dataclass(frozen=True, slots=True)
class InitStep:
    """One step of `init`. `path` is relative to the folder."""

    action: Action
    path: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class InitReport:
    """Steps of `init_folder` in order, and other libraries whose nodes have our names."""

    folder: Path
    steps: tuple[InitStep, ...]
    clashes: tuple[Clash, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return any(step.action not in ("kept", "up to date", "missing") for step in self.steps)


def init_folder(folder: Path, *, link: bool = True, workshop: bool = False) -> InitReport:
    """Make `folder` a ready Xircuits working folder, and report each step.

    Running it again repairs what is missing or stale and changes nothing else. With `link=False`,
    or where links are impossible, the component files are copied. With `workshop` the lessons are
    added. Without Xircuits the folder gets everything but its files and the components. The process
    changes its working directory for a moment, because Xircuits initialises the current one.

    Raises:
        InitError: `folder` is a file, or something in it cannot be written.
    """
    folder = folder.expanduser().absolute()
    try:
        return InitReport(folder, tuple(_prepare(folder, link, workshop)), find_clashes(folder))
    except OSError as error:
        where = error.filename or folder
        raise InitError(
            f"Cannot prepare {folder}: {where}: {error.strerror or error}. "
            "Fix that, then run `xai-mcp-agent init` again."
        ) from error


def _prepare(folder: Path, link: bool, workshop: bool) -> Iterator[InitStep]:
    if folder.is_file():
        raise InitError(f"{folder} is a file. Name a folder; a new one is created.")
    folder.mkdir(parents=True, exist_ok=True)
    if _has_canvas():
        steps = [*_initialise(folder), *_provide_components(folder, link)]
        if any(step.action != "up to date" for step in steps):
            _list_libraries(folder)
        yield from steps
    else:
        note = f"{INSTALL_LAB}, then run this again"
        yield InitStep("missing", "the canvas", note)
    yield from _provide_starter_files(folder)
    if workshop:
        yield from _provide_lessons(folder)


def _has_canvas() -> bool:
    return find_spec("xircuits") is not None


# Xircuits' own files


def _initialise(folder: Path) -> Iterator[InitStep]:
    """Add what `xircuits init` would make, also to a half-made folder, which Xircuits refuses."""
    xircuits, components = folder / _XIRCUITS, folder / COMPONENTS
    complete = (xircuits / "config.ini").exists(), (components / "base.py").exists()
    if not all(complete):
        with tempfile.TemporaryDirectory(dir=folder, prefix=".xai-init-") as scratch:
            _xircuits_init(Path(scratch))
            for target in (xircuits, components):
                _move_missing(Path(scratch) / target.name, target)
    for target, was_complete in zip((xircuits, components), complete, strict=True):
        yield InitStep("up to date" if was_complete else "created", target.name)


def _xircuits_init(folder: Path) -> None:
    # Xircuits imports half of Jupyter, so it is skipped if the folder is up to date.
    from xircuits.start_xircuits import init_xircuits

    with chdir(folder):
        init_xircuits()


def _move_missing(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for entry in source.iterdir():
        if entry.name != LIBRARY and not os.path.lexists(target / entry.name):
            shutil.move(entry, target / entry.name)


def _list_libraries(folder: Path) -> None:
    """Renew Xircuits' list of libraries, which the lab reads when it starts."""
    from xircuits.library import save_component_library_config  # heavy, see `_xircuits_init`

    with chdir(folder):
        save_component_library_config()


# Our component files


def _provide_components(folder: Path, link: bool) -> Iterator[InitStep]:
    library = folder / COMPONENTS / LIBRARY
    source = installed_components_folder()
    path = library.relative_to(folder).as_posix()
    if library.is_symlink():
        if link and library.exists() and library.samefile(source):
            yield InitStep("up to date", path)
            return
        library.unlink()
    metadata = [source / x for x in _METADATA_FILES if (source / x).exists()]  # not in a checkout
    ours = [*sorted(source.glob(COMPONENT_FILES)), *metadata]
    replaced = [_retire(library / x.name, folder) for x in ours if _is_stale(library / x.name, x)]
    yield from replaced
    others = {x.name for x in library.glob("*")} - {x.name for x in ours} - _OTHERS_OF_OURS
    if link and not others and _make_link(library, source):
        yield InitStep("linked", path, f"to {source}")
    elif _copy_missing(library, ours) or replaced:
        yield InitStep("copied", path)
    else:
        yield InitStep("up to date", path)
    yield from (InitStep("kept", f"{path}/{x}", "not one of ours") for x in sorted(others))


def _is_stale(copy: Path, file: Path) -> bool:
    return copy.exists() and copy.read_bytes() != file.read_bytes()


def _retire(copy: Path, folder: Path) -> InitStep:
    """Move a differing copy away: it may be old or edited by hand."""
    backup = free_backup_name(copy.parents[1], copy.name)
    copy.rename(backup)
    note = f"the old one is now {backup.relative_to(folder).as_posix()}"
    return InitStep("replaced", copy.relative_to(folder).as_posix(), note)


def _make_link(library: Path, source: Path) -> bool:
    """Replace `library` with a link; return False where links are impossible."""
    # Link the whole folder, not each file: the palette fails on a dangling file, and an upgrade may
    # add component files.
    fresh = library.with_name(f".{LIBRARY}.link")
    try:
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(source, target_is_directory=True)
    except OSError:
        return False  # Windows without the privilege, or a file system without links
    if library.exists():
        shutil.rmtree(library)
    fresh.rename(library)
    return True


def _copy_missing(library: Path, files: Sequence[Path]) -> bool:
    library.mkdir(exist_ok=True)
    init_file = library / "__init__.py"
    if not init_file.exists():  # without it the lab offers the library for installation
        init_file.write_text(_INIT_PY, encoding="ascii")
    missing = [file for file in files if not (library / file.name).exists()]
    for file in missing:
        shutil.copyfile(file, library / file.name)
    return bool(missing)


# Starter files


def _provide_starter_files(folder: Path) -> Iterator[InitStep]:
    starter = starter_folder()
    settings = starter / f"{SETTINGS_FILE}.example"
    steps = [_provide_file(settings, folder, SETTINGS_FILE), *_provide_examples(starter, folder)]
    yield from steps
    # `$schema` in the settings names it, so that editors complete them.
    yield _provide_file(SCHEMA_FILE, folder, f"{_XIRCUITS}/{SCHEMA_FILE.name}", may_replace=True)
    yield from _provide_env_file(folder)
    if all(step.action != "kept" for step in steps):
        yield from _trust_settings(folder)


def _provide_env_file(folder: Path) -> Iterator[InitStep]:
    """Write `.env` for keys, private and ignored by git."""
    env_file, git_ignore = folder / ENV_FILE, folder / ".gitignore"
    if not os.path.lexists(env_file):
        replace_private(env_file, _ENV_FILE_TEXT.encode())
        yield InitStep("created", ENV_FILE, "for your keys: only you can read it")
    elif close_to_others(env_file):
        yield InitStep("replaced", ENV_FILE, "only you can read it now")
    else:
        yield InitStep("up to date", ENV_FILE)
    if not os.path.lexists(git_ignore):
        git_ignore.write_text(f"{ENV_FILE}\n", encoding="utf-8")
        yield InitStep("created", git_ignore.name, f"so that git ignores {ENV_FILE}")
    elif ENV_FILE not in git_ignore.read_text(encoding="utf-8", errors="replace").split():
        with git_ignore.open("a", encoding="utf-8") as lines:
            lines.write(f"\n{ENV_FILE}\n")  # the last line may have no end
        yield InitStep("extended", git_ignore.name, f"so that git ignores {ENV_FILE}")
    else:
        yield InitStep("up to date", git_ignore.name)


def _provide_examples(starter: Path, folder: Path) -> Iterator[InitStep]:
    for file in sorted((starter / "examples").rglob("*")):
        path = file.relative_to(starter)
        if not _is_starter_file(file, path) or WORKSHOP in path.parts:
            continue
        if TEMPLATES in path.parts:  # the lab's launcher looks for them here
            yield _provide_file(file, folder, f"{_XIRCUITS}/{TEMPLATES}/{file.name}")
        else:
            yield _provide_file(file, folder, path.as_posix())


def _trust_settings(folder: Path) -> Iterator[InitStep]:
    """Trust the shipped settings to start shipped files; other entries may come from strangers."""
    store, settings = TrustStore(), load_settings(folder / SETTINGS_FILE)
    try:
        if store.untrusted_parts(settings):
            store.agree(settings, with_disabled=True)
            yield InitStep("trusted", SETTINGS_FILE, "it may start its servers")
    except SettingsError as reason:
        yield InitStep("kept", SETTINGS_FILE, f"not trusted yet: {reason}")


def _provide_lessons(folder: Path) -> Iterator[InitStep]:
    """Yield all files of the lessons except the solutions."""
    examples = starter_folder() / "examples"
    for file in sorted((examples / WORKSHOP).rglob("*")):
        path = file.relative_to(examples)
        if _is_starter_file(file, path) and SOLUTIONS not in path.parts:
            yield _provide_file(file, folder, path.as_posix())


def _is_starter_file(file: Path, path: Path) -> bool:
    is_hidden = any(part.startswith((".", "__pycache__")) for part in path.parts)
    is_compiled = file.suffix == ".py" and file.with_suffix(".xircuits").exists()
    return file.is_file() and not is_hidden and not is_compiled


def _provide_file(source: Path, folder: Path, path: str, *, may_replace: bool = False) -> InitStep:
    target = folder / path
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return InitStep("up to date", path)
    is_there = os.path.lexists(target)
    if is_there and not may_replace:
        return InitStep("kept", path, "yours differs from the one we ship")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return InitStep("replaced" if is_there else "created", path)


# The command


def init(
    frame: ReportFrame,
    folder: Annotated[Path, Argument(help="The folder; created if missing.")] = Path(),
    copy: Annotated[
        bool, Option(help="Copy the component files, for a folder that will be moved.")
    ] = False,
    workshop: Annotated[bool, Option(help="Add the five lessons of the workshop.")] = False,
) -> Report:
    """Make a folder ready for Xircuits with our components, settings and examples.

    You can run it again: it repairs what is missing or out of date and never overwrites your files.
    Without the extra `lab` it prepares everything but the canvas.
    """
    report = init_folder(folder, link=not copy, workshop=workshop)
    return Report(report, "\n".join(_lines(report, folder, workshop)))


def _lines(report: InitReport, folder: Path, workshop: bool) -> Iterator[str]:
    changes = [step for step in report.steps if step.action != "up to date"]
    yield f"Working folder {report.folder}"
    for step in changes:
        yield f"  {step.action:{_ACTION_WIDTH}}  {step.path}"
        if step.note:
            yield f"  {'':{_ACTION_WIDTH}}  ({step.note})"
    if not report.changed:
        rest = "Everything else" if changes else "Everything"
        yield f"  {rest} is up to date."
    if report.clashes:
        yield ""
        yield from clash_lines(report.clashes)
    yield from _next_steps(folder, workshop)


def _next_steps(folder: Path, workshop: bool) -> Iterator[str]:
    yield ""
    yield "Next:"
    if folder.absolute() != Path.cwd():
        yield f"  {shell_command('cd', str(folder))}"
    if not _has_canvas():
        yield '  xai-mcp-agent ask "Which books do you have about the sea?"'
        return
    yield "  xircuits start           (or: jupyter lab)"
    if workshop:
        yield f"      then open {WORKSHOP}/README.md: five lessons"
        yield "  xai-mcp-agent workshop check .    shows which goals are met"
        return
    yield f"      then open {FIRST_EXAMPLE}, press Alt+Q and ask"
    yield "  xai-mcp-agent servers check    shows the MCP servers this folder knows"
