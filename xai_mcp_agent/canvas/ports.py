"""A node's ports: what is read from them, checked by their types, and what is set on them.

A value of the wrong kind is an error that names the port, its node, and what belongs there.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from ..core.errors import BadSetting
from ..secrets.secrets import Secret

DEFAULT_TOOLBELT = "default"

# As in the settings of servers.
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)\}|env:([A-Za-z_]\w*)")


# Texts that name tools: with commas, or a list from another node.
_NAMES = {"tools", "except_tools", "always_shown", "trusted", "blocked"}
_BELT = "the toolbelt_spec of AgentMakeToolbelt"
_WIRES = {
    "toolbelt_spec": _BELT,
    "new_toolbelt_spec": _BELT,
    "parameters": 'names and types, `"city": "string"`,',
}


def inputs(node: Any, *may_be_empty: str) -> dict[str, Any]:
    """The values on the in-ports of a node, checked by the types that its class declares.

    A text that was left alone is empty, a number None, a dict empty, names None. Compulsory texts
    must have something in them, but for those that `may_be_empty`.

    Raises:
        BadSetting: a value of the wrong kind.
    """
    name, values = type(node).__name__, raw_inputs(node)
    for port, kind, is_compulsory in _in_ports(node):
        read = required if is_compulsory and port not in may_be_empty else optional
        match kind:
            case "str" if port in _NAMES:
                values[port] = _names_or_none(values[port], port, name)
            case "str":
                values[port] = read(values[port], port, name)
            case "dict":
                wire = _WIRES.get(port, "a dict")
                values[port] = mapping(values[port], port, name, wire=wire)
            case _ if kind in _READERS:
                values[port] = _READERS[kind](values[port], port, name)
            case _:
                pass  # whoever takes it knows what it may be
    return values


def raw_inputs(node: Any) -> dict[str, Any]:
    """The values on the in-ports of a node, as they are."""
    return {port: getattr(node, port).value for port, _, _ in _in_ports(node)}


def outputs(node: Any, values: Mapping[str, Any]) -> None:
    """Set these out-ports of a node."""
    for port, value in values.items():
        getattr(node, port).value = value


def _in_ports(node: Any) -> Iterator[tuple[str, str, bool]]:
    """Name, type and whether it is compulsory, of each."""
    for port, hint in type(node).__annotations__.items():
        origin = getattr(getattr(hint, "__origin__", None), "__name__", "")
        if origin in ("InArg", "InCompArg"):
            yield port, hint.__args__[0].__name__, origin == "InCompArg"


def _names_or_none(value: Any, port: str, node: str) -> list[str] | None:
    """An empty list is one: a node before may have looked for tools, and there were none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return names(value, port, node)


def _flag(value: Any, _port: str, _node: str) -> bool:
    return bool(value)


def required(value: Any, port: str, node: str) -> str:
    """The text on a port that must have one.

    Raises:
        BadSetting: it has none, or something else.
    """
    text = optional(value, port, node)
    if not text:
        raise BadSetting(f"{node} has nothing to work with: set `{port}` to a text.")
    return text


def optional(value: Any, port: str, node: str) -> str:
    """The text on a port that may be left alone; empty then.

    Raises:
        BadSetting: it has something that is no text.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadSetting(f"`{port}` of {node} is {_kind(value)}. Wire a text to it.")
    return value


def mapping(value: Any, port: str, node: str, *, wire: str = "a dict") -> dict[str, Any]:
    """The dict on a port, as a copy; empty when it was left alone. `wire` says what belongs there.

    Raises:
        BadSetting: it has something that is no dict.
    """
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        raise BadSetting(f"`{port}` of {node} is {_kind(value)}. Wire {wire} to it.")
    return dict(cast(Mapping[str, Any], value))


def names(value: Any, port: str, node: str) -> list[str]:
    """The names on a port: a list of texts, or one text with commas; none when it was left alone.

    A text may also be what belongs into the box of a list: `"one", "two"`.

    Raises:
        BadSetting: it has something else.
    """
    items: Any = _parted(value) if isinstance(value, str) else value or []
    if not isinstance(items, list | tuple):
        raise BadSetting(f"`{port}` of {node} is {_kind(value)}. Wire a list or a text to it.")
    texts = [x for x in cast(list[Any], items) if isinstance(x, str)]
    if len(texts) < len(cast(list[Any], items)):
        raise BadSetting(
            f"`{port}` of {node} has something in it that is no text. Wire names to it."
        )
    return [x.strip() for x in texts if x.strip()]


def _parted(text: str) -> list[Any]:
    """The names in a text."""
    bare = text.strip().removeprefix("[").removesuffix("]")
    if bare.startswith('"'):
        with suppress(ValueError):
            return json.loads(f"[{bare}]")
    return text.split(",")


def positive(value: Any, port: str, node: str) -> float | None:
    """The number on a port; None for 0 too, which an argument node gives that was left alone.

    Raises:
        BadSetting: it is negative, or no number.
    """
    if not value:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < math.inf:
        raise BadSetting(f"`{port}` of {node} is {value!r}. Set a number above 0.")
    return number


def whole(value: Any, port: str, node: str) -> int | None:
    """As `positive`, for a port that counts: at least 1."""
    number = positive(value, port, node)
    return None if number is None else max(1, int(number))


def secret_on(
    value: Any, port: str, node: str, env: Callable[[], Mapping[str, str]] = dict
) -> Secret | None:
    """The secret on a port; `${NAME}` stands for the environment variable of that name.

    `env` gives the values of the `.env` beside the settings, for what the environment lacks.

    Raises:
        BadSetting: there is no such variable, or it has something that is no text.
    """
    text = value.reveal() if isinstance(value, Secret) else optional(value or None, port, node)
    named = _VARIABLE.fullmatch(text.strip())
    if not named:
        return Secret(text) if text else None
    name = named[1] or named[2]
    if secret := (os.environ.get(name, "").strip() or env().get(name, "").strip()):
        return Secret(secret)
    raise BadSetting(
        f"`{port}` of {node} names the environment variable {name}, which is not set. Set it "
        "before you start the lab or the script, or write it into `.env` beside mcp_settings.json."
    )


def file_on(named: str, port: str, node: str, settings_file: str) -> str:
    """Where a file is: beside the workflow that runs, in the working folder, beside the settings.

    Raises:
        BadSetting: nowhere.
    """
    folders = (os.path.dirname(sys.argv[0]), os.curdir, os.path.dirname(settings_file))
    places = [os.path.abspath(os.path.join(x, os.path.expanduser(named))) for x in folders]
    path = next((x for x in places if os.path.isfile(x)), None)
    if path is None:
        looked = ", ".join(dict.fromkeys(places))
        raise BadSetting(f"{node} finds no file {named!r}. Looked for {looked}. Correct `{port}`.")
    return path


def as_text(value: Any) -> str:
    """A value where a text belongs: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


_READERS: dict[str, Callable[[Any, str, str], Any]] = {
    "int": whole,
    "float": positive,
    "bool": _flag,
}
