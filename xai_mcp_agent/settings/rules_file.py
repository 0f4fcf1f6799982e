"""A file of rules, in YAML or JSON, beside the settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

from ..core.errors import SettingsError
from .document import Place, kind_of

MOST_BYTES = 1_000_000
"""Of a file of rules."""


def read_rules_file(name: str, place: Place, folder: str) -> tuple[list[Any], Place]:
    """The rules of a file, which is named in `place`, and their place in it.

    Raises:
        SettingsError: it cannot be read, or holds something else.
    """
    file = Path(os.path.join(folder, os.path.expanduser(name)))
    return parsed_rules(_content(file, place), Place(str(file)))


def parsed_rules(content: bytes, there: Place) -> tuple[list[Any], Place]:
    """The rules in the content of a file, and their place in it.

    Raises:
        SettingsError: it holds something else.
    """
    if len(content) > MOST_BYTES:
        raise there.error(f"it is larger than {MOST_BYTES:,} bytes.", "Is it the right one?")
    found = _parsed(content, there)
    if isinstance(found, dict) and [*cast(dict[Any, Any], found)] == ["rules"]:
        found, there = cast(dict[Any, Any], found)["rules"], there.at("rules")
    if not isinstance(found, list):
        fix = "Begin each rule with a dash, as in: - {when: {server: mail}, then: ask}"
        raise there.error(f"it must hold a list of rules, but holds {kind_of(found)}.", fix)
    return cast(list[Any], found), there


def _content(file: Path, place: Place) -> bytes:
    try:
        if not file.is_file():
            raise place.error(f"there is no file {file}.", "Correct the name, or write it.")
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or str(cause)
        raise place.error(f"{file} cannot be read: {reason}.", "Mend that.") from cause
    return content


def _parsed(content: bytes, place: Place) -> Any:
    # Here, because few settings name such a file.
    import yaml

    try:
        return yaml.load(content, Loader=_loader())
    except _Repeated as found:
        mark = Place(place.file, f"line {found.line}")
        raise mark.error("a key is written more than once.", "Join them.") from None
    except _Merged as found:
        mark = Place(place.file, f"line {found.line}")
        raise mark.error("`<<` is not understood.", "Write out what it stands for.") from None
    except (yaml.YAMLError, ValueError) as cause:
        mark = getattr(cause, "problem_mark", None)
        where = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        raise _not_yaml(Place(place.file, where)) from None
    except RecursionError:
        raise place.error("it is nested too deeply.", "Is it the right file?") from None


def _not_yaml(place: Place) -> SettingsError:
    return place.error("this is not YAML.", "Correct it there or just before.")


class _Marked(Exception):
    """Something in a line."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


class _Repeated(_Marked):
    """A key twice in one object: of two conditions only one would count."""


class _Merged(_Marked):
    """Another object in one: a key there may be written here too, and a few are millions."""


def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """As usual, but a key that is written twice is refused."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            keys = [x.value for x, _ in node.value if isinstance(x.value, str)]
            if len(keys) > len(set(keys)):
                raise _Repeated(node.start_mark.line + 1)
            if any(x.tag == "tag:yaml.org,2002:merge" for x, _ in node.value):
                raise _Merged(node.start_mark.line + 1)
            return super().construct_mapping(node, deep)

    return Loader
