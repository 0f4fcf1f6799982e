"""A call written down in a few lines: a tool, and where each of its arguments comes from.

    library/lend
    book_id = results[0].books[0].id
    borrower = "Ada"

The first line is the tool: its source, a slash, its name. Then each parameter once: a value as JSON
has it, or a part of an earlier result. `+` joins texts, `number(...)` reads a number in one,
`after "until "` and `before "."` take out of a text what stands there. `#` begins a remark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias, cast

from .errors import XaiMcpError

RESULTS = "results"
"""What a step calls the earlier results, by the places of their wires."""


class First(Enum):
    """A step of a path to the first there is, whatever its place or key."""

    ITEM = "[]"
    VALUE = "{key}"


PathStep: TypeAlias = str | int | First


@dataclass(frozen=True, slots=True)
class Reference:
    """A part of an earlier result, the so-manyth that is wired.

    With `after` or `before`, what stands between the two in its text, or up to the next space.
    """

    result: int
    path: tuple[PathStep, ...] = ()
    after: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """A text of several parts, each a `Reference` or a text."""

    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """The number that a part of a result is, also where it is a text."""

    of: Reference


@dataclass(frozen=True, slots=True)
class Step:
    """One call. An argument is JSON that may hold `Reference`, `Joined` and `Number` anywhere."""

    source: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        """The tool as the first line has it."""
        source = self.source if _BARE_SOURCE.fullmatch(self.source) else _json(self.source)
        tool = self.tool if _BARE_TOOL.fullmatch(self.tool) else _json(self.tool)
        return f"{source}/{tool}"


@dataclass(frozen=True, slots=True)
class Given:
    """An earlier result: its value, and of which step, as errors name it."""

    value: Any
    name: str


class BadStep(XaiMcpError):
    """What was written is no step; the message says which line, and what belongs there."""


class NotInResult(XaiMcpError):
    """An earlier result has not what a step takes of it; the message says what it has."""


def read_step(text: str) -> Step:
    """The step that is written there.

    Raises:
        BadStep: it is none.
    """
    return _Reader(text).step()


def step_text(step: Step) -> str:
    """The step as it is written; `read_step` reads it back."""
    lines = [f"{_parameter(name)} = {_written(x)}" for name, x in step.arguments.items()]
    return "\n".join([step.name, *lines])


def filled(value: Any, results: Sequence[Given]) -> Any:
    """An argument with what it takes of the results in its place.

    Raises:
        NotInResult: a result is not wired, or has no such part.
    """
    match value:
        case Reference():
            return _found(value, results)
        case Joined(parts):
            return "".join(_as_text(filled(x, results)) for x in parts)
        case Number(of):
            return _number(_found(of, results), of, results)
        case dict():
            items = cast(dict[str, Any], value).items()
            return {name: filled(x, results) for name, x in items}
        case list():
            return [filled(x, results) for x in cast(list[Any], value)]
        case _:
            return value


def references_in(value: Any) -> list[Reference]:
    """All that an argument takes of earlier results, in its order."""
    match value:
        case Reference():
            return [value]
        case Number(of):
            return [of]
        case Joined(parts):
            return [x for part in parts for x in references_in(part)]
        case dict():
            return [x for part in cast(dict[str, Any], value).values() for x in references_in(part)]
        case list():
            return [x for part in cast(list[Any], value) for x in references_in(part)]
        case _:
            return []


def reference_text(reference: Reference) -> str:
    """A reference as it is written."""
    written = f"{RESULTS}[{reference.result}]{path_text(reference.path)}"
    for word in ("after", "before"):
        if said := getattr(reference, word):
            written += f" {word} {_json(said)}"
    return written


def path_text(path: Sequence[PathStep]) -> str:
    """A path as it is written behind the result."""
    return "".join(_path_step(x) for x in path)


def read_path(text: str) -> tuple[PathStep, ...]:
    """The path that is written there, with or without its first dot.

    Raises:
        BadStep: it is none.
    """
    if text and text[0] not in ".[":
        text = f".{text}"
    reader = _Reader(text)
    path = reader.path()
    reader.end()
    return path


# What is written

_BARE = re.compile(r"[A-Za-z_][\w-]*")
_BARE_SOURCE = re.compile(r"\w(?:[\w .:@-]*\w)?")
_BARE_TOOL = re.compile(r"\w(?:[^\"\n\r]*[^\s\"])?")
# As the compiler and the canvas would take them out of a text.
_SIGNS = {"\u2605": "\\u2605", "\u25b6": "\\u25b6"}


def _parameter(name: str) -> str:
    return name if _BARE.fullmatch(name) else _json(name)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    for sign, escaped in _SIGNS.items():
        text = text.replace(sign, escaped)
    return text


def _written(value: Any) -> str:
    match value:
        case Reference():
            return reference_text(value)
        case Joined(parts):
            # A text first: what is joined is a text, also where all else is taken from results.
            shown = parts if parts and isinstance(parts[0], str) else ("", *parts)
            return " + ".join(_written(x) for x in shown)
        case Number(of):
            return f"number({reference_text(of)})"
        case dict():
            items = cast(dict[str, Any], value).items()
            return "{" + ", ".join(f"{_json(k)}: {_written(x)}" for k, x in items) + "}"
        case list():
            return "[" + ", ".join(_written(x) for x in cast(list[Any], value)) + "]"
        case _:
            return _json(value)


def _path_step(step: PathStep) -> str:
    match step:
        case First.ITEM:
            return "[]"
        case First.VALUE:
            return ".{key}"
        case int():
            return f"[{step}]"
        case _:
            return f".{step}" if _BARE.fullmatch(step) else f"[{_json(step)}]"


# What is read

_DECODER = json.JSONDecoder(strict=False)
_REFERENCE = re.compile(rf"{RESULTS}\b(?:\[(\d+)\])?")
_BARE_PATH = re.compile(r"\.([^\W\d][\w-]*|\{key\})|\[(-?\d+)\]|\[\]|\[(?=\")")
_SPACE, _BLANK = re.compile(r"[ \t]*"), re.compile(r"(?:\s|#[^\n]*)*")
_TAKEN_OUT = re.compile(r"[ \t]+(after|before)[ \t]+(?=\")")
_FORM = 'Write a line for each argument: `parameter = "text"` or `parameter = results[0].path`.'
_DEEPEST = 60


class _Reader:
    """Reads a text from its beginning; `_at` is how far it is."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._depth = 0

    def step(self) -> Step:
        self._skip(_BLANK)
        source, tool = self._tool()
        arguments: dict[str, Any] = {}
        while self._skip(_BLANK) and self._at < len(self._text):
            name = self._name()
            if name in arguments:
                raise self._bad(f"`{name}` is given twice. Leave one of them.")
            arguments[name] = self._joined()
            self.end(line=True)
        return Step(source, tool, arguments)

    def path(self) -> tuple[PathStep, ...]:
        path: list[PathStep] = []
        while found := _BARE_PATH.match(self._text, self._at):
            self._at = found.end()
            if found[0] == "[":
                path.append(self._json())
                self._expect("]")
            elif found[2] is not None:
                path.append(int(found[2]))
            else:
                name = found[1]
                path.append({None: First.ITEM, "{key}": First.VALUE}.get(name) or name)
        return tuple(path)

    def end(self, line: bool = False) -> None:
        """Nothing more may follow; of a `line`, in it."""
        self._skip(_SPACE)
        rest = self._text[self._at :]
        if rest and not (line and rest[0] in "\n#"):
            raise self._bad(f"{_shown(rest)} does not belong there. {_FORM}")

    def _tool(self) -> tuple[str, str]:
        end = self._text.find("\n", self._at)
        line = self._text[self._at : end if end >= 0 else None].rstrip()
        if self._text[self._at : self._at + 1] == '"':
            source = str(self._json())
            self._expect("/")
        elif "/" in line and " = " not in line.partition("/")[0]:
            source = line.partition("/")[0]
            self._at += len(source) + 1
        else:
            raise self._bad(
                "The first line must be the tool: its source, a slash and its name, such as "
                f"`library/search_books`, not {_shown(line)}."
            )
        if self._text[self._at : self._at + 1] == '"':
            return source, str(self._json())
        tool = self._text[self._at : end if end >= 0 else None].strip()
        self._at = end if end >= 0 else len(self._text)
        if not (source and tool):
            raise self._bad("A tool is a source, a slash and a name: `library/search_books`.")
        return source, tool

    def _name(self) -> str:
        if self._text[self._at] == '"':
            name = str(self._json())
        elif found := _BARE.match(self._text, self._at):
            name, self._at = found[0], found.end()
        else:
            raise self._bad(f"{_shown(self._text[self._at :])} is no parameter. {_FORM}")
        self._expect("=")
        return name

    def _joined(self) -> Any:
        parts = [self._value()]
        while self._comes("+"):
            parts.append(self._value())
        if len(parts) == 1:
            return parts[0]
        # The empty text at the beginning only says that it is one.
        return Joined(tuple(parts[1:] if parts[0] == "" and len(parts) == 2 else parts))

    def _value(self) -> Any:
        self._skip(_BLANK)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._bad(f"A value is nested more than {_DEEPEST} deep.")
        try:
            if self._comes("{"):
                return self._object()
            if self._comes("["):
                return self._items("]", self._joined)
            if self._text.startswith("number(", self._at):
                self._at += len("number(")
                of = self._reference()
                self._expect(")")
                return Number(of)
            if _REFERENCE.match(self._text, self._at):
                return self._reference()
            return self._json()
        finally:
            self._depth -= 1

    def _object(self) -> dict[str, Any]:
        def item() -> tuple[str, Any]:
            self._skip(_BLANK)
            name = str(self._json())
            self._expect(":")
            return name, self._joined()

        return dict(self._items("}", item))

    def _items(self, end: str, read: Any) -> list[Any]:
        found: list[Any] = []
        while not self._comes(end):
            if found:
                self._expect(",")
            found.append(read())
        return found

    def _reference(self) -> Reference:
        self._skip(_SPACE)
        found = _REFERENCE.match(self._text, self._at)
        if found is None:
            raise self._bad(f"{_shown(self._text[self._at :])} is no part of a result. {_FORM}")
        self._at = found.end()
        path, said = self.path(), dict[str, str]()
        while word := _TAKEN_OUT.match(self._text, self._at):
            self._at = word.end()
            said[word[1]] = str(self._json())
        return Reference(int(found[1] or 0), path, **said)

    def _json(self) -> Any:
        try:
            value, self._at = _DECODER.raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            rest = self._text[self._at :]
            raise self._bad(
                f'{_shown(rest)} is no value. A text stands in quotation marks: "Ada". {_FORM}'
            ) from None
        return value

    def _comes(self, sign: str) -> bool:
        begun = self._at
        # A value may go on in the next line only inside of brackets, or behind a plus.
        self._skip(_BLANK if self._depth or sign in "]}" else _SPACE)
        if self._text.startswith(sign, self._at):
            self._at += len(sign)
            return True
        self._at = begun
        return False

    def _expect(self, sign: str) -> None:
        if not self._comes(sign):
            rest = self._text[self._at :].lstrip(" \t")
            raise self._bad(f"`{sign}` is missing before {_shown(rest)}. {_FORM}")

    def _skip(self, what: re.Pattern[str]) -> bool:
        found = what.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return True

    def _bad(self, problem: str) -> BadStep:
        line = self._text.count("\n", 0, self._at) + 1
        return BadStep(f"Line {line}: {problem}")


def _shown(rest: str) -> str:
    line = rest.partition("\n")[0].strip()
    return f"`{line[:40]}`" if line else "the end of the line"


# What is found in a result


_MOST_NAMES = 12  # of what a result has, in an error


def _found(reference: Reference, results: Sequence[Given]) -> Any:
    if reference.result >= len(results):
        raise NotInResult(
            f"`{RESULTS}[{reference.result}]` is not wired; {len(results)} wires lead to "
            f"`{RESULTS}`. Wire the result of an earlier step there."
        )
    given = results[reference.result]
    value = at_path(given.value, reference.path, given.name)
    if not (reference.after or reference.before):
        return value
    return _taken_out(_as_text(value), reference, given.name)


def at_path(value: Any, path: Sequence[PathStep], name: str) -> Any:
    """What stands at a path of a result of the step `name`.

    A text that holds JSON is read as that. Of `{"result": ...}`, in which servers wrap what is no
    object, the inner value is meant where only that has the path.

    Raises:
        NotInResult: nothing stands there.
    """
    try:
        return _walked(value, path, name)
    except NotInResult:
        inner = _only_result(value)
        if inner is None or not path:
            raise
        return _walked(inner, path, name)


def _only_result(value: Any) -> Any:
    known: Any = json_in(value)
    if isinstance(known, dict) and list(cast(dict[str, Any], known)) == ["result"]:
        return cast(dict[str, Any], known)["result"]
    return None


def _walked(value: Any, path: Sequence[PathStep], name: str) -> Any:
    for number, step in enumerate(path):
        value = json_in(value)
        where = path_text(path[:number]).lstrip(".")
        match step, value:
            case First.ITEM, [first, *_]:
                value = first
            case First.VALUE, dict() if value:
                value = next(iter(cast(dict[str, Any], value).values()))
            case str(), dict() if step in value:
                value = cast(dict[str, Any], value)[step]
            case int(), list() if -len(items := cast(list[Any], value)) <= step < len(items):
                value = items[step]
            case _:
                raise _not_there(value, step, where, name)
    return value


def json_in(value: Any) -> Any:
    """The value; of a text that is JSON of an object or a list, that."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _not_there(value: Any, step: PathStep, where: str, name: str) -> NotInResult:
    wanted = path_text([step]).lstrip(".")
    place = f"`{where}` in the result of {name}" if where else f"the result of {name}"
    return NotInResult(f"{place[:1].upper()}{place[1:]} has no `{wanted}`; {_has(value)}.")


def _has(value: Any) -> str:
    match value:
        case dict():
            names = list(cast(dict[str, Any], value))
            shown = ", ".join(f"`{x}`" for x in names[:_MOST_NAMES])
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            return f"it has {shown}{more}" if names else "it is empty"
        case list():
            count = len(cast(list[Any], value))
            return f"it is a list of {count}" if count else "it is an empty list"
        case None:
            return "it is empty"
        case str():
            return f"it is the text {value[:60]!r}" if value else "it is an empty text"
        case _:
            return f"it is {value!r}"


def _taken_out(text: str, reference: Reference, name: str) -> str:
    begin = text.find(reference.after) if reference.after else 0
    rest = text[begin + len(reference.after) :] if begin >= 0 else ""
    if reference.before:
        end = rest.find(reference.before)
    else:
        rest = rest.lstrip()
        end = next((n for n, char in enumerate(rest) if char.isspace()), len(rest))
    if begin < 0 or end < 0:
        missing = reference.after if begin < 0 else reference.before
        raise NotInResult(f"The result of {name} has nowhere the words {missing!r}; {_has(text)}.")
    return rest[:end]


def _number(value: Any, reference: Reference, results: Sequence[Given]) -> Any:
    if isinstance(value, int | float):
        return value
    try:
        found = json.loads(str(value).strip())
    except ValueError:
        found = None
    if isinstance(found, int | float) and not isinstance(found, bool):
        return found
    name = results[reference.result].name
    raise NotInResult(f"{reference_text(reference)} of {name} is no number: {str(value)[:60]!r}.")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
