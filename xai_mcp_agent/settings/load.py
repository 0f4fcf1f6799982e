"""The settings file: where to find it, and its reader. A wrong entry disables one source only.

Servers are under `mcpServers`, under `servers` as in VS Code, or the whole file is a map of
servers. In such a map a server may have the name of a section: a `command` or a URL shows that it
is a server.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from ..core.errors import SettingsError
from ..core.json import as_object
from ..core.names import did_you_mean
from ..secrets.search import secrets_in_env
from ..secrets.secrets import Secrets
from .document import (
    KeyPlace,
    ParsedObject,
    kind_of,
    read_document,
    repeated_keys,
    too_deep,
    without_frames,
)
from .entry import SourceSettings
from .interpolation import Variables, read_env_file
from .models import SECTIONS, Settings, SourceSection
from .parts import with_parts
from .rules import holds_rules, read_rules
from .sections import (
    OtherSections,
    read_other_sections,
)
from .server import URL_KEYS, ServerSettings
from .validation import ValidationContext, valid_keys

FILE_NAME = "mcp_settings.json"
OTHER_FILE_NAME = "mcp.json"
"""The name that other MCP clients use; it is read if there is no `mcp_settings.json`."""
LOCK_NAME = "mcp_tools.lock.json"
"""The file of accepted tools and approvals, beside the settings."""
SCHEMA_FILE = Path(__file__).with_name("mcp_settings.schema.json")
"""The JSON Schema of the settings, for editors."""
ENVIRONMENT_VARIABLE = "XAI_MCP_SETTINGS"


def user_settings_path() -> Path:
    """Return the path of the settings file in the user's configuration folder; it may not exist."""
    # Imported here, because only a project without settings needs it.
    from platformdirs import user_config_path

    return user_config_path("xai-mcp-agent", appauthor=False) / FILE_NAME


def user_token_folder() -> Path:
    """Return the folder of the user's tokens, beside the user's settings; it may not exist."""
    return user_settings_path().parent / "tokens"


def find_settings(
    start: Path | None = None, environ: Mapping[str, str] | None = None
) -> Path | None:
    """Return the settings file for the folder `start` (default: the current folder), or None.

    The first match counts: the file that `XAI_MCP_SETTINGS` names, even if it does not exist;
    `mcp_settings.json` in the folder and its parents, up to the home folder or the root, then in
    the user's configuration folder; `mcp.json` in the folder and its parents.

    A parent that everybody can write to, such as `/tmp`, is skipped: its file may be a stranger's,
    and settings start programs.
    """
    return _search(None, start, os.environ if environ is None else environ)[0]


def load_settings(
    path: str | Path | None = None,
    *,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read the settings from `path`, or from the file that `find_settings` returns.

    A wrong entry is in `problems`, and the others work. Without a file the settings are empty, and
    `searched` has the paths that were tried.

    Raises:
        SettingsError: the file named by `path` or `XAI_MCP_SETTINGS` does not exist, or the file
            cannot be read as settings at all.
    """
    environ = os.environ if environ is None else environ
    file, searched = _search(path, start, environ)
    if file is None:
        variables = Variables(environ, "", Secrets())
        empty = _settings({}, KeyPlace(""), variables, searched)
        return replace(empty, parts=(), guards=())
    try:
        document = read_document(file)
    except SettingsError as cause:
        if path or file != _path_from_environment(environ):
            raise
        # Users forget that the variable is set.
        fix = f"{cause.fix} {ENVIRONMENT_VARIABLE} names this file."
        raise SettingsError(cause.file, cause.key_path, cause.problem, fix) from cause
    env, notes = read_env_file(file.parent, environ)
    variables = Variables(environ, str(file.parent), Secrets(), env)
    settings = _settings(document, KeyPlace(str(file)), variables, searched)
    return replace(settings, notes=(*settings.notes, *notes), env_notes=tuple(notes))


def settings_from(
    value: Mapping[str, Any],
    *,
    file: str = "settings given in Python",
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read settings from a value that is structured like the file; messages call it `file`.

    Relative paths start at `folder` (default: the current folder). Texts may also be `Secret`s and
    paths.

    Raises:
        SettingsError: the value as a whole is not structured like settings.
    """
    base = _absolute(folder) if folder is not None else _current_folder()
    variables = Variables(os.environ if environ is None else environ, str(base), Secrets())
    return replace(_settings(value, KeyPlace(file), variables, searched=()), is_from_python=True)


def _settings(
    document: Any, place: KeyPlace, variables: Variables, searched: tuple[str, ...]
) -> Settings:
    try:
        layout = layout_of(document, place)
        settings = _read_sections(layout, place, ValidationContext(variables))
        variables.secrets.update(secrets_in_env(env := variables.env or {}))
        settings = replace(settings, env=env, searched=searched)
        return with_parts(settings, layout.sources, layout.others, variables.environ)
    except RecursionError:
        raise too_deep(place) from None


def _read_sections(layout: FileLayout, place: KeyPlace, context: ValidationContext) -> Settings:
    """Read all sections; a wrong entry becomes a problem."""
    settings, notes = Settings(place.file, secrets=context.variables.secrets), [*layout.notes]
    for cls, entries, section in layout.sources:
        for key, value in entries.items():
            name, there = str(key), section.at(str(key))
            is_duplicate = settings.kind_of(name) is not None
            try:
                if reason := _name_problem(key, cls.kind.noun, entries, is_duplicate):
                    raise there.error(*reason)
                settings.sources[name] = cls.read(name, value, there, context.variables, notes)
            except SettingsError as problem:  # of two entries with one name, the later is wrong
                settings.problems.setdefault(name, without_frames(problem))
                settings.problem_kinds.setdefault(name, cls.kind)
    rules, revision = read_rules(layout.rules, place.at("rules"), context)
    others = read_other_sections(layout.others, place, context, notes, settings.names)
    return replace(
        settings, rules=rules, stored_rules=revision, required=layout.required,
        notes=tuple(notes), **others,
    )  # fmt: skip


def _name_problem(
    key: Any, noun: str, entries: Mapping[Any, Any], is_duplicate: bool
) -> tuple[str, str] | None:
    if not isinstance(key, str):
        return f"the name of a {noun} must be a text.", "Put it in quotes."
    if key in repeated_keys(entries):
        return "this name is written more than once.", "Rename or remove all but one."
    if not key.strip():
        return f"the name of a {noun} must not be empty.", "Write one before the colon."
    if is_duplicate:
        return "another section of this file uses this name too.", "Rename one of them."
    return None


def _search(
    path: str | Path | None, start: Path | None, environ: Mapping[str, str]
) -> tuple[Path | None, tuple[str, ...]]:
    """Return the settings file, or None, and the paths that were tried."""
    explicit = _absolute(path) if path else _path_from_environment(environ)
    candidates = [explicit] if explicit else [*_candidates(start)]
    file = explicit or next((x for x in candidates if os.path.isfile(x)), None)
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
    """Return whether everybody can write to a folder, as to `/tmp`; on Windows, False."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        # No file in it can be read either.
        return False
    return os.name != "nt" and bool(mode & stat.S_IWOTH)


def _path_from_environment(environ: Mapping[str, str]) -> Path | None:
    path = environ.get(ENVIRONMENT_VARIABLE, "").strip()
    return _absolute(path) if path else None


def _absolute(path: str | Path) -> Path:
    # Not resolved: a link to a settings file belongs to the folder of the link.
    return Path(os.path.abspath(os.path.expanduser(path)))


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as cause:
        fix = "Change to a folder that exists."
        raise SettingsError("the current folder", "", "it no longer exists.", fix) from cause


_SERVERS, _VSCODE = _MAPS = "mcpServers", "servers"
_OTHERS = valid_keys(OtherSections)
_KEYS = (*SECTIONS, *_OTHERS, "rules")
# Keys beside VS Code's servers, and in a bare map, that name no server.
_NOT_SERVERS = ("inputs", "$schema")


@dataclass(frozen=True)
class FileLayout:
    """The sections of a file: sources with their kinds, rules, others by key, and notes.

    The notes name ignored keys.
    """

    sources: tuple[SourceSection, ...]
    rules: Any
    others: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def required(self) -> frozenset[str]:
        """The names of the required entries, including wrong ones."""
        entries = (item for _, entries, _ in self.sources for item in entries.items())
        return frozenset(str(x) for x, y in entries if as_object(y).get("required") is True)


def layout_of(document: Any, place: KeyPlace) -> FileLayout:
    """Return the layout of a whole file.

    Raises:
        SettingsError: the file or a section is not an object, a section is repeated, or a misspelt
            key would hold nothing back or be read as a server.
    """
    top = _object(document, place)
    key = next((x for x in _MAPS if x in top), "")
    keys = [x for x in (*_MAPS, *_KEYS) if x in top and (key or not _is_server(top[x]))]
    for repeated in (x for x in dict.fromkeys(keys) if x in repeated_keys(top)):
        raise place.at(repeated).error("this key is written more than once.", "Merge them.")
    below, servers = (place.at(key), top.get(key)) if key else (place, _bare(top, keys))
    kinds = [(SECTIONS[_SERVERS], servers, below)]
    kinds += [(SECTIONS[x], top[x], place.at(x)) for x in SECTIONS if x in keys and x != _SERVERS]
    sources = tuple((cls, _object(entries, there, cls), there) for cls, entries, there in kinds)
    for expected in ("toolSearch", "approval", "rules", *(() if key else (_SERVERS,))):
        _refuse_misspelled(top, place, expected)
    for name in (x for x in top if x != "rules" and isinstance(x, str) and holds_rules(top[x])):
        raise place.at(name).error("this list has rules.", "Rename it to 'rules'.")
    notes = tuple(_notes(top, place)) if key else ()
    others = {x: top[x] for x in keys if x in _OTHERS}
    return FileLayout(sources, top["rules"] if "rules" in keys else None, others, notes)


def _bare(top: Mapping[Any, Any], sections: list[str]) -> ParsedObject:
    """Return the servers of a file that is itself a map of servers."""
    others = {*sections, *_NOT_SERVERS}
    bare = ParsedObject({name: x for name, x in top.items() if name not in others})
    bare.repeated = repeated_keys(top)
    return bare


def _is_server(value: Any) -> bool:
    entry = cast(Mapping[Any, Any], value if isinstance(value, Mapping) else {})
    return any(isinstance(entry.get(key), str) for key in ("command", *URL_KEYS))


def _object(
    value: Any, place: KeyPlace, cls: type[SourceSettings] = ServerSettings
) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return cast(Mapping[Any, Any], value)
    problem = f"must be an object of {cls.kind.noun}s, but is {kind_of(value)}."
    raise place.error(problem, f'Write {{"name": {cls.example.partition(" or ")[0]}}}.')


def _refuse_misspelled(top: Mapping[Any, Any], place: KeyPlace, name: str) -> None:
    """Refuse keys such as `mcp_servers`, which would be read as the name of a server."""
    for key, value in top.items():
        if key == name or not isinstance(key, str) or _is_server(value):
            continue
        if key.lower().replace("_", "").replace("-", "").rstrip("s") == name.lower().rstrip("s"):
            raise place.at(key).error("unknown key.", f"Rename it to {name!r}.")


def _notes(top: Mapping[Any, Any], place: KeyPlace) -> Iterator[str]:
    """Yield notes on ignored keys that resemble ours; other programs may have their own keys."""
    if _SERVERS in top and _VSCODE in top:
        text = f"ignored, because the file has `{_SERVERS}` too."
        yield place.at(_VSCODE).note(text)
    for key in (str(x) for x in top if x not in (*_MAPS, *_KEYS, *_NOT_SERVERS)):
        if hint := did_you_mean(key, (*_MAPS, *_KEYS)):
            yield place.at(key).note(f"unknown key, ignored. {hint}")
