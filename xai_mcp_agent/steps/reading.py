"""Parser of steps, and of paths in a result, as people write them; see `references`."""

from __future__ import annotations

import json
import re
from typing import Any

from ..core.errors import XaiMcpError
from .references import BARE, RESULTS, First, Joined, Number, PathStep, Reference, Somewhere, Step

_DECODER = json.JSONDecoder(strict=False)
_REFERENCE = re.compile(rf"{RESULTS}\b(?:\[(\d+)\])?")
_BARE_PATH = re.compile(rf"\.(\.?{BARE.pattern}|\{{key\}})|\[(-?\d+)\]|\[\]|\[(?=\")")
# A name, quoted where necessary: results of real services have an `Ask Price`.
_ODD_NAME = re.compile(
    r'(?<=\[)"(?:[^"\\]|\\.)*"|'
    r"(?:^|(?<=[.\]]))([^.\[\]{}]*[^\w.\[\]{}-][^.\[\]{}]*)(?=$|[.\[])"
)
_SPACE, _BLANK = re.compile(r"[ \t]*"), re.compile(r"(?:\s|#[^\n]*)*")
_WORD = re.compile(r"[ \t]+(after|before)[ \t]+(?=\")")
_FORM = 'Write a line for each argument: `parameter = "text"` or `parameter = results[0].path`.'
_PATH_FORM = "A path looks like `books[0].title` or `books[].id`."
_DEEPEST = 60


class BadStep(XaiMcpError):
    """A text is not a step; the message names the line and its correct form."""


def read_step(text: str) -> Step:
    """Read a step.

    Raises:
        BadStep: the text is not a step.
    """
    return _Reader(text).step()


def read_path(text: str) -> tuple[PathStep, ...]:
    """Read a path, with or without its first dot; names need no quotation marks.

    Raises:
        BadStep: the text is not a path.
    """
    text = _ODD_NAME.sub(lambda match: f'["{match[1]}"]' if match[1] else match[0], text)
    text = text.replace('.["', '["')
    if text and text[0] not in ".[":
        text = f".{text}"
    reader = _Reader(text, _PATH_FORM)
    path = reader.path()
    reader.end()
    return path


def read_value(text: str) -> Any:
    """Read an argument, as after the `=` of a line.

    Raises:
        BadStep: the text is not a value.
    """
    reader = _Reader(text)
    value = reader.joined()
    reader.end()
    return value


class _Reader:
    """Recursive descent parser; `_at` is its position, and `form` the correct form, for errors."""

    def __init__(self, text: str, form: str = _FORM) -> None:
        self._text = text.replace("\r\n", "\n")
        self._form = form
        self._at = 0
        self._depth = 0

    def step(self) -> Step:
        self._match(_BLANK)
        source, tool = self._tool()
        arguments: dict[str, Any] = {}
        while self._match(_BLANK) and self._at < len(self._text):
            name = self._name()
            if name in arguments:
                raise self._bad(f"`{name}` has two values. Remove one of them.")
            arguments[name] = self.joined()
            self.end(line=True)
        return Step(source, tool, arguments)

    def path(self) -> tuple[PathStep, ...]:
        """Read the path at this position, which may be empty."""
        path: list[PathStep] = []
        while match := self._match(_BARE_PATH):
            if match[0] == "[":
                path.append(self._json())
                self._expect("]")
            elif match[2] is not None:
                path.append(int(match[2]))
            else:
                path.append(_path_step(match[1]))
        return tuple(path)

    def end(self, line: bool = False) -> None:
        """Require the end of the text, or of the line."""
        self._match(_SPACE)
        rest = self._rest()
        if rest and not (line and rest[0] in "\n#"):
            raise self._bad(f"{_quoted(rest)} does not belong there. {self._form}")

    def _tool(self) -> tuple[str, str]:
        before, slash, _ = self._line().partition("/")
        if self._is_at('"'):
            source = str(self._json())
            self._expect("/")
        elif slash and " = " not in before:
            source = before
            self._at += len(source) + 1
        else:
            raise self._bad(
                "The first line must be the tool: its source, a slash and its name, such as "
                f"`library/search_books`, not {_quoted(self._line())}."
            )
        if self._is_at('"'):
            return source, str(self._json())
        tool = self._line()
        self._at += len(tool)
        if not (source and tool.strip()):
            raise self._bad("A tool is a source, a slash and a name: `library/search_books`.")
        return source, tool.strip()

    def _name(self) -> str:
        if self._is_at('"'):
            name = str(self._json())
        elif match := self._match(BARE):
            name = match[0]
        else:
            raise self._bad(f"{_quoted(self._rest())} is not a parameter. {self._form}")
        self._expect("=")
        return name

    def joined(self) -> Any:
        """Read a value, or several joined ones."""
        parts = [self._value()]
        while self._comes("+"):
            parts.append(self._value())
        if len(parts) == 1:
            return parts[0]
        # The empty text at the start only marks it as a text.
        return Joined(tuple(parts[1:] if parts[0] == "" and len(parts) == 2 else parts))

    def _value(self) -> Any:
        self._match(_BLANK)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._bad(f"A value is nested more than {_DEEPEST} deep.")
        try:
            if self._comes("{"):
                return self._object()
            if self._comes("["):
                return self._items("]", self.joined)
            if self._comes("number("):
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
            self._match(_BLANK)
            name = str(self._json())
            self._expect(":")
            return name, self.joined()

        return dict(self._items("}", item))

    def _items(self, end: str, read: Any) -> list[Any]:
        items: list[Any] = []
        while not self._comes(end):
            if items:
                self._expect(",")
            items.append(read())
        return items

    def _reference(self) -> Reference:
        self._match(_SPACE)
        match = self._match(_REFERENCE)
        if match is None:
            raise self._bad(f"{_quoted(self._rest())} is not a part of a result. {self._form}")
        path, limits = self.path(), dict[str, str]()
        while word := self._match(_WORD):
            limits[word[1]] = str(self._json())
        return Reference(int(match[1] or 0), path, **limits)

    def _json(self) -> Any:
        try:
            value, self._at = _DECODER.raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            raise self._bad(
                f"{_quoted(self._rest())} is not a value. Put a text in quotation marks: "
                f'"Ada". {self._form}'
            ) from None
        return value

    def _comes(self, sign: str) -> bool:
        """Read this sign if it is next; return whether it was."""
        before = self._at
        # A value continues on the next line only inside brackets, or after a plus.
        self._match(_BLANK if self._depth or sign in "]}" else _SPACE)
        if self._is_at(sign):
            self._at += len(sign)
            return True
        self._at = before
        return False

    def _expect(self, sign: str) -> None:
        if not self._comes(sign):
            rest = self._rest().lstrip(" \t")
            raise self._bad(f"`{sign}` is missing before {_quoted(rest)}. {self._form}")

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return match

    def _is_at(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _rest(self) -> str:
        return self._text[self._at :]

    def _line(self) -> str:
        """Return the rest of the line."""
        return self._rest().partition("\n")[0]

    def _bad(self, problem: str) -> BadStep:
        line = self._text.count("\n", 0, self._at) + 1
        return BadStep(f"Line {line}: {problem}")


def _path_step(name: str | None) -> PathStep:
    if name is None:
        return First.ITEM
    if name.startswith("."):
        return Somewhere(name[1:])
    return First.VALUE if name == "{key}" else name


def _quoted(rest: str) -> str:
    line = rest.partition("\n")[0].strip()
    return f"`{line[:40]}`" if line else "the end of the line"
