"""Parsers of the JSON and YAML files that people write, with the place of each error.

Plain JSON takes a fast path; comments, trailing commas and the rest of JSON5 work too. Objects
remember repeated keys. Errors never quote the text: the line may contain a secret.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..core import yaml
from ..core.errors import SettingsError

# Settings are a few kilobytes. Parsing JSON5 takes seconds per megabyte.
MAX_FILE_BYTES = 1_000_000
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_JSON5_PLACE = re.compile(r":([0-9]+) .* column ([0-9]+)\Z", re.S)


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """A place in the settings: the file, and the path of keys such as `mcpServers.git.args[0]`."""

    file: str
    path: str = ""

    def at(self, *keys: str | int) -> KeyPlace:
        """Return the place below this one."""
        path = self.path
        for key in keys:
            if isinstance(key, int):
                path += f"[{key}]"
            elif _PLAIN_KEY.fullmatch(key):
                path += f".{key}" if path else key
            else:
                path += f"[{json.dumps(key)}]"
        return KeyPlace(self.file, path)

    def error(self, problem: str, fix: str) -> SettingsError:
        """Return an error at this place."""
        return SettingsError(self.file, self.path, problem, fix)

    def note(self, text: str) -> str:
        """Return a note about this place, for a person to read; it disables nothing."""
        return f"{self.file}, at {self.path}: {text}" if self.path else f"{self.file}: {text}"


class ParsedObject(dict[str, Any]):
    """A JSON object that remembers which keys were repeated; the last value counts."""

    repeated: tuple[str, ...] = ()

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, Any]]) -> ParsedObject:
        """Build the object from its pairs; the hook for a JSON parser."""
        members = list(pairs)
        parsed = cls(members)
        if len(parsed) < len(members):
            times = Counter(name for name, _ in members)
            parsed.repeated = tuple(name for name, count in times.items() if count > 1)
        return parsed


def without_frames(error: SettingsError) -> SettingsError:
    """Copy the error, because a raised one keeps its frames alive, and so a whole run."""
    return SettingsError(error.file, error.key_path, error.problem, error.fix)


def repeated_keys(value: Any) -> tuple[str, ...]:
    """Return the repeated keys of an object."""
    return value.repeated if isinstance(value, ParsedObject) else ()


def read_document(file: Path) -> ParsedObject:
    """Read a settings file as one JSON object.

    Raises:
        SettingsError: the file does not exist, or cannot be read as a JSON object.
    """
    return parse_text(text_of_file(file), KeyPlace(str(file)))


def text_of_file(file: Path, most_bytes: int = MAX_FILE_BYTES) -> str:
    """Read the text of a settings file, without a byte order mark.

    Raises:
        SettingsError: the file does not exist, is too large, or cannot be read as text.
    """
    return _text(bytes_of_file(file, most_bytes), KeyPlace(str(file)))


def bytes_of_file(file: Path, most_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Read the content of a file.

    Raises:
        SettingsError: the file does not exist, is too large, or cannot be read.
    """
    place = KeyPlace(str(file))
    try:
        if file.is_dir():
            fix = f"Give the file itself, such as {file.name}/mcp_settings.json."
            raise place.error("this is a folder, not a file.", fix)
        if file.exists() and not file.is_file():  # reading a pipe would block
            raise place.error("this is not a regular file.", "Give a JSON file.")
        with file.open("rb") as opened:
            content = opened.read(most_bytes + 1)
    except FileNotFoundError as cause:
        fix = "Correct the path, or write the file."
        raise place.error("there is no such file.", fix) from cause
    except (OSError, ValueError) as cause:
        problem = f"it cannot be read: {getattr(cause, 'strerror', None) or cause}."
        raise place.error(problem, "Correct the path or its permissions.") from cause
    if len(content) > most_bytes:
        problem = f"it is larger than {most_bytes:,} bytes."
        raise place.error(problem, "Check that this is the right file.")
    return content


def _text(content: bytes, place: KeyPlace) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as cause:  # not chained: the exception holds the whole file
        problem = f"it is not UTF-8 text (byte {cause.start})."
        raise place.error(problem, "Save it as UTF-8.") from None
    if not text.strip():
        fix = 'Write at least {"mcpServers": {}}, or delete the file.'
        raise place.error("the file is empty.", fix)
    return text


def parse_text(text: str, place: KeyPlace) -> ParsedObject:
    """Parse the text of a settings file as one JSON object.

    Raises:
        SettingsError: the text is not a JSON object.
    """
    value = _json(text, place)
    if isinstance(value, ParsedObject):
        return value
    kind = kind_of(value)
    raise place.error(f"must be an object, but is {kind}.", 'Write {"mcpServers": {...}}.')


def _json(text: str, place: KeyPlace) -> Any:
    try:
        return json.loads(text, object_pairs_hook=ParsedObject.of_pairs)
    except json.JSONDecodeError as cause:
        # Not chained below: the exception holds the whole text.
        strict = (cause.lineno, cause.colno, cause.msg.rstrip(":").removesuffix(" at"))
    except ValueError:
        raise place.error("it has a number with too many digits.", "Correct it.") from None
    except RecursionError:
        raise too_deep(place) from None
    return _json5(text, place, strict)


def _json5(text: str, place: KeyPlace, strict: tuple[int, int, str]) -> Any:
    # Imported here, because most files are plain JSON.
    import json5

    try:
        return json5.loads(text, object_pairs_hook=ParsedObject.of_pairs)
    except ValueError as cause:
        mark = _JSON5_PLACE.search(str(cause))
    except RecursionError:
        raise too_deep(place) from None
    line, column = (int(mark[1]), int(mark[2])) if mark else strict[:2]
    # Plain JSON stops at the first comment; JSON5 reaches the real mistake.
    problem = strict[2] if (line, column) <= strict[:2] else "Something unexpected"
    raise KeyPlace(place.file, f"line {line}, column {column}").error(
        f"this is not JSON: {problem}.",
        "Correct it there or just before; comments and trailing commas are fine.",
    ) from None


def too_deep(place: KeyPlace) -> SettingsError:
    """Return the error for a document that is nested too deeply for Python."""
    return place.error("it is nested too deeply.", "Check that this is the settings file.")


def parse_yaml(content: bytes | str, place: KeyPlace) -> Any:
    """Parse a YAML document, which may be JSON. Objects remember repeated keys.

    Aliases and merged objects are refused: a few of them can stand for millions of values.

    Raises:
        SettingsError: the content is not YAML.
    """
    try:
        return yaml.parse_yaml(content, strict=True, hook=ParsedObject.of_pairs)
    except yaml.YamlError as cause:  # not chained: its message may quote the text
        there = KeyPlace(place.file, f"line {cause.line}, column {cause.column}")
        there = there if cause.line else place
        if isinstance(cause, yaml.AliasError):
            fix = "Write out what it stands for."
            raise there.error("aliases and `<<` are not supported.", fix) from None
        raise there.error("this is not YAML.", "Correct it there or just before.") from None


def kind_of(value: Any) -> str:
    """Name the kind of a JSON value in a message; never the value, which may be a secret."""
    kinds = (kind for types, kind in _KINDS if isinstance(value, types))
    return next(kinds, f"a Python {type(cast(object, value)).__name__}")


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "true or false"),  # before numbers, because bool is a subclass of int
    (int, "a number"),
    (float, "a decimal number"),
    (str, "a text"),
    ((list, tuple), "a list"),
    (dict, "an object"),
)
