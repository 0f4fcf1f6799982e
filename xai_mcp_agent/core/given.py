"""What a program gives, checked: who gives another kind of value is told so, and what to give."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


def of_type(value: T, what: str, types: type | tuple[type, ...], wanted: str) -> T:
    """A value of one of these types, which are called what is `wanted`.

    Raises:
        BadSetting: it is of none of them.
    """
    return value if isinstance(value, types) else wrong(what, value, wanted)


def text(value: Any, what: str) -> str:
    """A text.

    Raises:
        BadSetting: it is none.
    """
    return value if isinstance(value, str) else wrong(what, value, "a text")


def several(value: Iterable[T], what: str) -> Iterable[T]:
    """Several things, and neither a text nor names with values.

    Raises:
        BadSetting: it is none.
    """
    given: Any = value
    is_it = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    return value if is_it else wrong(what, value, "a list")


def key(value: T, what: str) -> T:
    """What something can be known by.

    Raises:
        BadSetting: it is none.
    """
    return value if isinstance(value, Hashable) else wrong(what, value, "a key, such as a name")


def whole(value: Any, what: str, least: int) -> int:
    """A whole number, at least so large.

    Raises:
        BadSetting: it is none.
    """
    is_it = isinstance(value, int) and not isinstance(value, bool) and value >= least
    return value if is_it else wrong(what, value, f"a whole number from {least} on")


def wrong(what: str, value: object, wanted: str) -> NoReturn:
    """Say that it is something else than what is `wanted`.

    Raises:
        BadSetting: always.
    """
    from .errors import BadSetting  # here, as planners are to be imported in no time

    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    said = f"{value:.6g}" if is_number else f"of the type {type(value).__name__}"
    raise BadSetting(f"{what} is {said}. Give {wanted}.")
