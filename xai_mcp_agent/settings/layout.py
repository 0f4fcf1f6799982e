"""Layout of a settings file: its servers in one of three layouts, and its other sections.

Servers are under `mcpServers`, under `servers` as in VS Code, or the file itself is a map of them.
In such a map a server may have the name of a section: it has a `command` or a URL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ..core.json import as_object
from ..core.names import did_you_mean
from .document import ParsedObject, Place, kind_of, repeated_in
from .entry import SourceSettings
from .models import SECTIONS
from .rules import holds_rules
from .sections import OtherSections
from .server import URL_KEYS, ServerSettings
from .validation import known_keys

SourceSection: TypeAlias = tuple[type[SourceSettings], Mapping[Any, Any], Place]
"""The entries of one kind, and their place in the file."""

_SERVERS, _VSCODE = _MAPS = "mcpServers", "servers"
_OTHERS = (*known_keys(OtherSections), "groups", "rules", "registries")
_KEYS = (*SECTIONS, *_OTHERS)
# Keys beside VS Code's servers, and in a bare map, that are not servers.
_NOT_SERVERS = ("inputs", "$schema")


@dataclass(frozen=True)
class Layout:
    """The entries of a file by kinds, its other sections by their keys, and what is ignored."""

    sources: tuple[SourceSection, ...]
    sections: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def others(self) -> Mapping[str, Any]:
        """The sections that `OtherSections` reads."""
        keys = known_keys(OtherSections)
        return {key: x for key, x in self.sections.items() if key in keys}

    @property
    def required(self) -> frozenset[str]:
        """The names of the required entries, also of the wrong ones."""
        entries = (item for _, entries, _ in self.sources for item in entries.items())
        return frozenset(str(x) for x, y in entries if as_object(y).get("required") is True)


def layout_of(document: Any, place: Place) -> Layout:
    """The layout of a whole file.

    Raises:
        SettingsError: it or a section is not an object, a section is written twice, or a misspelt
            key would hold nothing back or be read as a server.
    """
    top = _object(document, place)
    key = next((x for x in _MAPS if x in top), "")
    keys = [x for x in (*_MAPS, *_KEYS) if x in top and (key or not _is_server(top[x]))]
    for twice in (x for x in dict.fromkeys(keys) if x in repeated_in(top)):
        raise place.at(twice).error("this key is written more than once.", "Merge them.")
    below, servers = (place.at(key), top.get(key)) if key else (place, _bare(top, keys))
    kinds = [(SECTIONS[_SERVERS], servers, below)]
    kinds += [(SECTIONS[x], top[x], place.at(x)) for x in SECTIONS if x in keys and x != _SERVERS]
    sources = tuple((cls, _object(entries, there, cls), there) for cls, entries, there in kinds)
    for meant in ("toolSearch", "approval", "rules", *(() if key else (_SERVERS,))):
        _refuse_misspelled(top, place, meant)
    for name in (x for x in top if x != "rules" and isinstance(x, str) and holds_rules(top[x])):
        raise place.at(name).error("this list has rules.", "Rename it to 'rules'.")
    notes = tuple(_notes(top, place)) if key else ()
    return Layout(sources, {x: top[x] for x in keys if x in _OTHERS}, notes)


def _bare(top: Mapping[Any, Any], sections: list[str]) -> ParsedObject:
    """The servers of a file that is itself a map of them."""
    others = {*sections, *_NOT_SERVERS}
    bare = ParsedObject({name: x for name, x in top.items() if name not in others})
    bare.repeated = repeated_in(top)
    return bare


def _is_server(value: Any) -> bool:
    entry = cast(Mapping[Any, Any], value if isinstance(value, Mapping) else {})
    return any(isinstance(entry.get(key), str) for key in ("command", *URL_KEYS))


def _object(
    value: Any, place: Place, cls: type[SourceSettings] = ServerSettings
) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return cast(Mapping[Any, Any], value)
    problem = f"must be an object of {cls.kind.noun}s, but is {kind_of(value)}."
    raise place.error(problem, f'Write {{"name": {cls.example.partition(" or ")[0]}}}.')


def _refuse_misspelled(top: Mapping[Any, Any], place: Place, meant: str) -> None:
    """Refuse keys such as `mcp_servers`, which would be read as the name of a server."""
    for key, value in top.items():
        if key == meant or not isinstance(key, str) or _is_server(value):
            continue
        if key.lower().replace("_", "").replace("-", "").rstrip("s") == meant.lower().rstrip("s"):
            raise place.at(key).error("unknown key.", f"Rename it to {meant!r}.")


def _notes(top: Mapping[Any, Any], place: Place) -> Iterator[str]:
    """Notes on ignored keys that resemble ours; other programs may have their own keys there."""
    if _SERVERS in top and _VSCODE in top:
        text = f"ignored, because the file has `{_SERVERS}` too."
        yield place.at(_VSCODE).note(text)
    for key in (str(x) for x in top if x not in (*_MAPS, *_KEYS, *_NOT_SERVERS)):
        if hint := did_you_mean(key, (*_MAPS, *_KEYS)):
            yield place.at(key).note(f"unknown key, ignored. {hint}")
