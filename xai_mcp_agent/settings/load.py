"""Finding the settings file and reading it, so that one wrong entry disables one source only."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ..core.errors import SettingsError
from ..core.tools import SourceKind
from ..secrets.redactor import Redactor
from ..secrets.secrets import Secrets
from .approval import HOW_TO_WRITE, ApprovalWords, read_words
from .approval import WORDS as _APPROVAL_WORDS
from .document import ParsedObject, Place, read_document, repeated_in, without_frames
from .entry import SourceSettings
from .guards import guards_beside, guards_of_entries, widening
from .interpolation import Variables
from .layout import Layout, layout_of
from .models import Settings
from .parts import parts_of
from .rules import read_rules
from .sections import (
    RECORD_VARIABLE,
    PlanningSettings,
    Retention,
    read_groups,
    read_registries,
    read_tool_search,
    recorded,
    store_of,
    wait_of,
    with_learning,
)
from .validation import ValidationContext, read_lenient

FILE_NAME = "mcp_settings.json"
OTHER_FILE_NAME = "mcp.json"
"""What other MCP clients call theirs; it counts where there is no file of our own."""
LOCK_NAME = "mcp_tools.lock.json"
"""What people decided, beside the settings."""
SCHEMA_FILE = Path(__file__).with_name("mcp_settings.schema.json")
"""The JSON Schema of the settings, for editors."""
ENVIRONMENT_VARIABLE = "XAI_MCP_SETTINGS"


def user_settings_path() -> Path:
    """Where the settings of this user are looked for last; the file need not exist."""
    # Here, because it is only needed when no project has settings.
    from platformdirs import user_config_path

    return user_config_path("xai-mcp-agent", appauthor=False) / FILE_NAME


def user_token_folder() -> Path:
    """Where tokens of this user are kept, beside those settings; it need not exist."""
    return user_settings_path().parent / "tokens"


def find_settings(
    start: Path | None = None, environ: Mapping[str, str] | None = None
) -> Path | None:
    """The settings file that counts for the folder `start` (default: the current one), or None.

    `XAI_MCP_SETTINGS` decides when it is set, even if there is no such file. Then the folder
    and its parents, up to the home folder or the root, then the user's configuration folder, and
    last `mcp.json` in the folder and its parents.
    A parent everybody can write to, such as `/tmp`, is passed over: its file may be a stranger's,
    and settings name programs to start. On Windows modes do not tell that.
    """
    named = _named_by_environment(os.environ if environ is None else environ)
    if named is not None:
        return named
    return next((x for x in _candidates(start) if os.path.isfile(x)), None)


def load_settings(
    path: str | Path | None = None,
    *,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read the settings from `path`, or from where `find_settings` finds them.

    An entry that is wrong is in `problems`, the others work. Without any file the settings are
    empty and `searched` tells where it was looked for.

    Raises:
        SettingsError: the file named by `path` or `XAI_MCP_SETTINGS` does not exist, or the
            file that was found cannot be read as settings at all.
    """
    environ = os.environ if environ is None else environ
    named = _absolute(path) if path else _named_by_environment(environ)
    if named is not None:
        file, searched = named, (str(named),)
    else:
        candidates = list(_candidates(start))
        searched = tuple(str(x) for x in candidates)
        file = next((x for x in candidates if os.path.isfile(x)), None)
    if file is None:
        variables = Variables(environ, "", Secrets())
        empty = _settings({}, Place(""), variables, searched)
        return replace(empty, parts=(), guards=())
    document = _document(file, by_environment=named is not None and not path)
    variables = Variables(environ, str(file.parent), Secrets())
    return _settings(document, Place(str(file)), variables, searched)


def settings_from(
    value: Mapping[str, Any],
    *,
    file: str = "settings given in Python",
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read settings from a value of the shape of the file. `file` names them in messages.

    `folder` (default: the current one) is what relative folders start from. Texts may also be
    `Secret`s and paths.

    Raises:
        SettingsError: the value as a whole does not have the shape of settings.
    """
    base = _absolute(folder) if folder is not None else _current_folder()
    variables = Variables(os.environ if environ is None else environ, str(base), Secrets())
    return replace(_settings(value, Place(file), variables, searched=()), is_from_python=True)


def _document(file: Path, *, by_environment: bool) -> ParsedObject:
    try:
        return read_document(file)
    except SettingsError as cause:
        if not by_environment:
            raise
        # Nobody looks for the mistake there without a hint.
        fix = f"{cause.fix} {ENVIRONMENT_VARIABLE} names this file."
        raise SettingsError(cause.file, cause.key_path, cause.problem, fix) from cause


def _settings(
    document: Any, place: Place, variables: Variables, searched: tuple[str, ...]
) -> Settings:
    layout, context = layout_of(document, place), ValidationContext(variables)
    reader = _Reader(variables, [*layout.notes])
    for section in layout.sources:
        reader.read_section(*section)
    notes, environ = reader.notes, variables.environ

    def at(key: str) -> tuple[Any, Place]:
        return layout.sections.get(key), place.at(key)

    planning = with_learning(layout.sections.get("planning"), environ, notes)
    names = {*reader.sources, *reader.problems}
    rules, stored_rules = read_rules(*at("rules"), context)
    settings = Settings(
        place.file, reader.sources, reader.problems, variables.secrets, searched,
        problem_kinds=reader.problem_kinds, required=frozenset(reader.required),
        store=store_of(*at("store"), context, notes),
        record=recorded(*at("record"), environ, notes),
        wait_seconds=wait_of(*at("wait"), notes),
        retention=read_lenient(Retention, *at("history"), context, notes),
        search=read_tool_search(*at("toolSearch"), context, notes),
        planning=read_lenient(PlanningSettings, planning, place.at("planning"), context, notes),
        approval=_approval(*at("approval")),
        groups=read_groups(*at("groups"), context, names, notes),
        registries=read_registries(*at("registries"), context, notes),
        rules=rules, stored_rules=stored_rules,
    )  # fmt: skip
    return _with_trust(replace(settings, notes=tuple(notes)), layout, variables)


def _with_trust(settings: Settings, layout: Layout, variables: Variables) -> Settings:
    """The settings with what of them starts, reaches, holds back or widens something."""
    guards = [*guards_beside(settings)]
    words = (settings.approval, *(x.approval for x in settings.sources.values()))
    ranks = (_APPROVAL_WORDS.index(word) for x in words for word in x.values())
    is_recorded_here = not variables.environ.get(RECORD_VARIABLE, "").strip()
    wider = [*widening(settings, max(ranks, default=0), is_recorded_here=is_recorded_here)]
    if guards or wider:  # a variable may stand in them; a secret of the file hides nothing
        hide = Redactor((), environ=variables.environ)
        guards = [replace(x, shown=hide(x.shown), lost=hide(x.lost)) for x in guards]
        wider = [replace(x, facts=tuple(map(hide, x.facts))) for x in wider]
    entries = [(x, place) for _, x, place in layout.sources]
    parts = (*parts_of(entries, _beside_sources(layout.sections)), *wider)
    return replace(settings, parts=parts, guards=(*guards_of_entries(entries), *guards))


def _beside_sources(sections: Mapping[str, Any]) -> Iterator[tuple[Any, Place]]:
    """What else names an address or a file."""
    place, search = Place(""), sections.get("toolSearch")
    yield sections.get("store"), place.at("store")
    yield sections.get("registries"), place.at("registries")
    keys = cast(Mapping[Any, Any], search if isinstance(search, Mapping) else {})
    yield keys.get("embeddings"), place.at("toolSearch", "embeddings")


@dataclass
class _Reader:
    """Reads the entries of all sections, and keeps what came of each."""

    variables: Variables
    notes: list[str]
    sources: dict[str, SourceSettings] = field(default_factory=dict[str, SourceSettings])
    problems: dict[str, SettingsError] = field(default_factory=dict[str, SettingsError])
    problem_kinds: dict[str, SourceKind] = field(default_factory=dict[str, SourceKind])
    required: set[str] = field(default_factory=set[str])

    def read_section(
        self, cls: type[SourceSettings], entries: Mapping[Any, Any], place: Place
    ) -> None:
        """Read the entries of one section. A name that is taken is a problem of the later one."""
        taken = {*self.sources, *self.problems}
        for key, entry in entries.items():
            name, there = str(key), place.at(str(key))
            if isinstance(entry, Mapping) and cast(Any, entry).get("required") is True:
                self.required.add(name)
            try:
                _check_name(key, cls, repeated_in(entries), taken, there)
                source = cls.read(name, entry, there, self.variables, self.notes)
                self.sources[name] = source
            except SettingsError as raised:
                self.problems.setdefault(name, without_frames(raised))
                self.problem_kinds.setdefault(name, cls.kind)


def _check_name(
    key: Any,
    cls: type[SourceSettings],
    repeated: Container[str],
    taken: Container[str],
    there: Place,
) -> None:
    if not isinstance(key, str):
        raise there.error(f"the name of a {cls.kind.noun} must be a text.", "Put it in quotes.")
    if key in repeated:
        problem = "this name is written more than once."
        raise there.error(problem, "Rename or remove all but one.")
    if not key:
        raise there.error(f"a {cls.kind.noun} needs a name.", "Put one before the colon.")
    if key in taken:
        raise there.error("another section of this file has this name too.", "Rename one of them.")


def _approval(written: Any, place: Place) -> ApprovalWords:
    """The words by patterns of tools. A slip in them must not open a door."""
    for key in repeated_in(written):
        raise place.at(key).error("this key is written more than once.", "Remove all but one.")
    try:
        return {} if written is None else read_words(written)
    except ValueError as why:
        raise place.error(str(why), HOW_TO_WRITE) from None


def _candidates(start: Path | None) -> Iterator[Path]:
    folder = _absolute(start) if start is not None else _current_folder()
    home = Path(os.path.expanduser("~"))
    places: list[Path] = []
    for place in (folder, *folder.parents):
        if place == folder or not _is_shared(place):
            places.append(place)
        if place == home:
            break
    yield from (x / FILE_NAME for x in places)
    yield user_settings_path()
    yield from (x / OTHER_FILE_NAME for x in places)


def _is_shared(folder: Path) -> bool:
    """Whether everybody can put files there, as in `/tmp`. On Windows no mode tells that."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        # Then no file in it can be read either.
        return False
    return os.name != "nt" and bool(mode & stat.S_IWOTH)


def _named_by_environment(environ: Mapping[str, str]) -> Path | None:
    named = environ.get(ENVIRONMENT_VARIABLE, "").strip()
    return _absolute(named) if named else None


def _absolute(path: str | Path) -> Path:
    # Not resolved: a link to a settings file is meant for the folder it is in.
    return Path(os.path.abspath(os.path.expanduser(path)))


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as cause:
        fix = "Change to a folder that exists."
        raise SettingsError("the current folder", "", "it no longer exists.", fix) from cause
