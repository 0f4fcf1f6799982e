"""Finding the settings file and reading it, so that one wrong entry disables one source only."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from ..core.errors import SettingsError
from ..secrets.redactor import Redactor
from ..secrets.secrets import Secrets
from .approval import WORDS as _APPROVAL_WORDS
from .document import Place, kind_of, read_document, repeated_in, without_frames
from .entry import SourceSettings
from .guards import guards_beside, guards_of_entries, widening
from .interpolation import Variables
from .layout import Layout, layout_of
from .models import Settings
from .parts import parts_of
from .rules import read_rules
from .sections import (
    RECORD_VARIABLE,
    USUAL_REGISTRIES,
    GroupSettings,
    GroupsSettings,
    RegistrySettings,
    read_other_sections,
)
from .validation import ValidationContext, read

T = TypeVar("T")

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
    return _search(None, start, os.environ if environ is None else environ)[0]


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
    file, searched = _search(path, start, environ)
    if file is None:
        variables = Variables(environ, "", Secrets())
        empty = _settings({}, Place(""), variables, searched)
        return replace(empty, parts=(), guards=())
    try:
        document = read_document(file)
    except SettingsError as cause:
        if path or file != _named_by_environment(environ):
            raise
        # Nobody looks for the mistake there without a hint.
        fix = f"{cause.fix} {ENVIRONMENT_VARIABLE} names this file."
        raise SettingsError(cause.file, cause.key_path, cause.problem, fix) from cause
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


def _settings(
    document: Any, place: Place, variables: Variables, searched: tuple[str, ...]
) -> Settings:
    layout, context = layout_of(document, place), ValidationContext(variables)
    notes, settings = [*layout.notes], Settings(place.file, searched=searched)
    for cls, entries, there in layout.sources:
        _read_sources(settings, cls, entries, there, variables, notes)
    rules, stored_rules = read_rules(layout.sections.get("rules"), place.at("rules"), context)
    others = read_other_sections(layout.others, place, context, notes)
    settings = replace(
        settings, secrets=variables.secrets, required=frozenset(_required(layout)),
        rules=rules, stored_rules=stored_rules,
        groups=_read_groups(layout, place, context, settings.names, notes),
        registries=_read_registries(layout, place, context, notes),
        **{x.name: getattr(others, x.name) for x in fields(others)},
    )  # fmt: skip
    return _with_trust(replace(settings, notes=tuple(notes)), layout, variables)


def _read_sources(
    settings: Settings,
    cls: type[SourceSettings],
    entries: Mapping[Any, Any],
    place: Place,
    variables: Variables,
    notes: list[str],
) -> None:
    """Add the entries of one section. A name that is taken is a problem of the later one."""

    def read_source(name: str, value: Any, there: Place) -> SourceSettings:
        return cls.read(name, value, there, variables, notes)

    sources, problems = _read_named(entries, place, cls.kind.noun, settings.names, read_source)
    settings.sources.update(sources)
    for name, problem in problems.items():
        settings.problems.setdefault(name, problem)
        settings.problem_kinds.setdefault(name, cls.kind)


def _required(layout: Layout) -> Iterator[str]:
    for _, entries, _ in layout.sources:
        for name, entry in entries.items():
            if isinstance(entry, Mapping) and cast(Any, entry).get("required") is True:
                yield str(name)


def _read_groups(
    layout: Layout, place: Place, context: ValidationContext, sources: list[str], notes: list[str]
) -> GroupsSettings:
    """The groups. One with a mistake is unusable: without it, it would have other tools."""

    def read_group(name: str, value: Any, there: Place) -> GroupSettings:
        return replace(read(GroupSettings, value, there, context, notes), name=name)

    written = _object(layout, "groups", place, '{"name": {"selectors": [...]}}', notes)
    groups, problems = _read_named(written, place.at("groups"), "group", sources, read_group)
    notes += (f"{x} Until then the group {name!r} cannot be used." for name, x in problems.items())
    return GroupsSettings(groups, problems)


def _read_registries(
    layout: Layout, place: Place, context: ValidationContext, notes: list[str]
) -> dict[str, RegistrySettings]:
    """The usual registries and those that are written; `false` takes one away."""

    def read_registry(name: str, value: Any, there: Place) -> RegistrySettings | None:
        if value is False or value is None:
            return None
        return replace(read(RegistrySettings, value, there, context, notes), name=name)

    written = _object(layout, "registries", place, '{"name": {"url": ...}}', notes)
    registries, problems = _read_named(
        written, place.at("registries"), "registry", (), read_registry
    )
    notes += (f"{x} Until then it is ignored." for x in problems.values())
    usual = {name: x for name, x in USUAL_REGISTRIES.items() if name not in written}
    return {**usual, **{name: x for name, x in registries.items() if x}}


def _object(
    layout: Layout, key: str, place: Place, example: str, notes: list[str]
) -> Mapping[Any, Any]:
    """A section that is a map of names; another value is noted."""
    written = layout.sections.get(key)
    if isinstance(written, Mapping):
        return cast(Mapping[Any, Any], written)
    if written is not None:
        reason = place.at(key).error(
            f"must be an object, but is {kind_of(written)}.", f"Write {example}."
        )
        notes.append(f"{reason} Until then it is ignored.")
    return {}


def _read_named(
    entries: Mapping[Any, Any],
    place: Place,
    noun: str,
    taken: Collection[str],
    read_entry: Callable[[str, Any, Place], T],
) -> tuple[dict[str, T], dict[str, SettingsError]]:
    """The entries of a section by their names, and why others cannot be used."""
    values, problems = dict[str, T](), dict[str, SettingsError]()
    for key, value in entries.items():
        name, there = str(key), place.at(str(key))
        try:
            if not isinstance(key, str):
                raise there.error(f"the name of a {noun} must be a text.", "Put it in quotes.")
            if key in repeated_in(entries):
                problem = "this name is written more than once."
                raise there.error(problem, "Rename or remove all but one.")
            if not key.strip():
                raise there.error(f"a {noun} needs a name.", "Put one before the colon.")
            if key in taken:
                problem = "another section of this file has this name too."
                raise there.error(problem, "Rename one of them.")
            values[name] = read_entry(name, value, there)
        except SettingsError as raised:
            problems[name] = without_frames(raised)
    return values, problems


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


def _search(
    path: str | Path | None, start: Path | None, environ: Mapping[str, str]
) -> tuple[Path | None, tuple[str, ...]]:
    """The file that counts, and where it was looked for."""
    named = _absolute(path) if path else _named_by_environment(environ)
    candidates = [named] if named else [*_candidates(start)]
    file = named or next((x for x in candidates if os.path.isfile(x)), None)
    return file, tuple(map(str, candidates))


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
