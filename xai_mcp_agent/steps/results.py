"""Values of arguments that refer to earlier results: a part by its path, a word of a text."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..core.errors import XaiMcpError
from ..core.json import as_object, is_list, is_object, json_type
from ..core.names import join_names
from ..core.results import ToolResult
from .references import (
    RESULTS,
    First,
    Joined,
    Number,
    PathStep,
    Reference,
    Somewhere,
    path_text,
    reference_text,
)

_MOST_NAMES = 12  # properties of a result, in an error
_MOST_VALUES = 10_000  # values searched for a name at any depth


@dataclass(frozen=True, slots=True)
class StepResult:
    """Value of an earlier result, and the name of its step, for errors."""

    value: Any
    name: str


class NotInResult(XaiMcpError):
    """An earlier result lacks the part that a step refers to; the message lists its parts."""


def fill(value: Any, results: Sequence[StepResult]) -> Any:
    """Return an argument with each reference replaced by its part of the results.

    Raises:
        NotInResult: a result is not wired, or has no such part.
    """
    match value:
        case Reference():
            return _resolve(value, results)
        case Joined(parts):
            return "".join(_as_text(fill(x, results)) for x in parts)
        case Number(of):
            return _number(_resolve(of, results), of, results)
        case dict():
            return {name: fill(x, results) for name, x in as_object(value).items()}
        case _:
            return [fill(x, results) for x in value] if is_list(value) else value


def at_path(value: Any, path: Sequence[PathStep], name: str) -> Any:
    """Return the part at a path of the result of the step `name`.

    A text that contains JSON is parsed. Servers wrap anything but an object in `{"result": ...}`:
    the inner value is used if only it has the path.

    Raises:
        NotInResult: there is nothing at the path.
    """
    try:
        return _follow(value, path, name)
    except NotInResult:
        inner = _only_result(value)
        if inner is None or not path:
            raise
        return _follow(inner, path, name)


def value_of(result: ToolResult) -> Any:
    """Return a result as data: its structured value, the JSON in its text, or the text."""
    return parse_json_text(result.text) if result.structured is None else result.structured


def parse_json_text(value: Any) -> Any:
    """Return the object or list in a JSON text; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _resolve(reference: Reference, results: Sequence[StepResult]) -> Any:
    if reference.result >= len(results):
        raise NotInResult(
            f"`{RESULTS}[{reference.result}]` is not wired; {len(results)} wires lead to "
            f"`{RESULTS}`. Wire the result of an earlier step there."
        )
    result = results[reference.result]
    value = at_path(result.value, reference.path, result.name)
    if not (reference.after or reference.before):
        return value
    return _between(_as_text(value), reference, result.name)


def _only_result(value: Any) -> Any:
    wrapper = as_object(parse_json_text(value))
    return wrapper["result"] if list(wrapper) == ["result"] else None


def _follow(value: Any, path: Sequence[PathStep], name: str) -> Any:
    for number, step in enumerate(path):
        value = parse_json_text(value)
        match step:
            case Somewhere(inner_name):
                value = _find(value, inner_name)
            case First.ITEM if is_list(value) and value:
                value = value[0]
            case First.VALUE if is_object(value) and value:
                value = next(iter(value.values()))
            case str() if is_object(value) and step in value:
                value = value[step]
            case int() if is_list(value) and -len(value) <= step < len(value):
                value = value[step]
            case _:
                raise _not_in_result(value, step, path_text(path[:number]).lstrip("."), name)
    return value


def _find(value: Any, name: str) -> Any:
    """Return the topmost value with this name; else an `id` for `book_id`; else all of it."""
    ids: list[Any] = []
    for key, inner in _properties_in(value):
        if (plain := _plain(key)) == _plain(name):
            return inner
        if plain == "id" and name.endswith(("_id", "-id", "Id", "ID")):
            ids.append(inner)
    if ids:
        return ids[0]
    inner = _only_result(value)
    return value if inner is None else inner


def _properties_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every property in a value, level by level; in a list, only in its first item."""
    queue = deque([value])
    for _ in range(_MOST_VALUES):
        if not queue:
            return
        part = queue.popleft()
        if is_object(part):
            yield from part.items()
            queue.extend(part.values())
        elif is_list(part):
            queue.extend(part[:1])


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _not_in_result(value: Any, step: PathStep, path: str, name: str) -> NotInResult:
    missing = path_text([step]).lstrip(".")
    place = f"`{path}` in the result of {name}" if path else f"The result of {name}"
    return NotInResult(f"{place} has no `{missing}`; {_describe(value)}.")


def _describe(value: Any) -> str:
    if value is None or value == {}:
        return "it is empty"
    if is_object(value):
        return f"it has {join_names([f'`{x}`' for x in value], _MOST_NAMES)}"
    if is_list(value):
        return f"it is a list of {len(value)}" if value else "it is an empty list"
    if isinstance(value, str):
        return f"it is the text {value[:60]!r}" if value else "it is an empty text"
    return f"it is {value!r}"


def _between(text: str, reference: Reference, name: str) -> str:
    """Return the part of a text after and before some words, or up to the next space."""
    rest = _split(text, reference.after, name)[1] if reference.after else text
    if reference.before:
        return _split(rest, reference.before, name)[0]
    return " ".join(rest.split(maxsplit=1)[:1])


def _split(text: str, words: str, name: str) -> tuple[str, str]:
    before, separator, after = text.partition(words)
    if not separator:
        problem = f"The result of {name} does not contain the words {words!r}"
        raise NotInResult(f"{problem}; {_describe(text)}.")
    return before, after


def _number(value: Any, reference: Reference, results: Sequence[StepResult]) -> Any:
    number = value
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            number = json.loads(value.strip())
    if json_type(number) in ("integer", "number"):
        return number
    name = results[reference.result].name
    raise NotInResult(
        f"{reference_text(reference)} of {name} is not a number: {str(value)[:60]!r}."
    )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
