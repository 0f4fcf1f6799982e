"""What a step takes of earlier results: a part by its path, a word of a text."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..core.errors import XaiMcpError
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

_MOST_NAMES = 12  # of what a result has, in an error
_MOST_LOOKED_AT = 10_000  # values of a result, for a name that may stand anywhere


@dataclass(frozen=True, slots=True)
class StepResult:
    """An earlier result: its value, and of which step, as errors name it."""

    value: Any
    name: str


class NotInResult(XaiMcpError):
    """An earlier result has not what a step takes of it; the message says what it has."""


def fill(value: Any, results: Sequence[StepResult]) -> Any:
    """An argument with what it takes of the results in its place.

    Raises:
        NotInResult: a result is not wired, or has no such part.
    """
    match value:
        case Reference():
            return _found(value, results)
        case Joined(parts):
            return "".join(_as_text(fill(x, results)) for x in parts)
        case Number(of):
            return _number(_found(of, results), of, results)
        case dict():
            items = cast(dict[str, Any], value).items()
            return {name: fill(x, results) for name, x in items}
        case list():
            return [fill(x, results) for x in cast(list[Any], value)]
        case _:
            return value


def _found(reference: Reference, results: Sequence[StepResult]) -> Any:
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


def value_of(result: ToolResult) -> Any:
    """A result as data: what the tool gave as such, what its text holds as JSON, or the text."""
    return parsed(result.text) if result.structured is None else result.structured


def _only_result(value: Any) -> Any:
    known: Any = parsed(value)
    if isinstance(known, dict) and list(cast(dict[str, Any], known)) == ["result"]:
        return cast(dict[str, Any], known)["result"]
    return None


def _walked(value: Any, path: Sequence[PathStep], name: str) -> Any:
    for number, step in enumerate(path):
        value = parsed(value)
        where = path_text(path[:number]).lstrip(".")
        match step, value:
            case Somewhere(wanted), _:
                value = _somewhere(value, wanted)
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


def _somewhere(value: Any, name: str) -> Any:
    """What is called so, the nearest to the top; of `book_id` else an `id`; else all of it."""
    wanted, ids = _plain(name), list[Any]()
    for key, inner in _named_in(value):
        if (plain := _plain(key)) == wanted:
            return inner
        if plain == "id" and name.endswith(("_id", "-id", "Id", "ID")):
            ids.append(inner)
    if ids:
        return ids[0]
    inner = _only_result(value)
    return value if inner is None else inner


def _named_in(value: Any) -> Iterator[tuple[str, Any]]:
    """All that has a name in a value, level by level; of a list what its first item has."""
    left = deque([value])
    for _ in range(_MOST_LOOKED_AT):
        if not left:
            return
        match value := left.popleft():
            case dict():
                items = cast(dict[str, Any], value)
                yield from items.items()
                left.extend(items.values())
            case [first, *_]:
                left.append(first)
            case _:
                pass


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def parsed(value: Any) -> Any:
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


def _number(value: Any, reference: Reference, results: Sequence[StepResult]) -> Any:
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
