"""A node's ports: reads their values, checks them by their types, and sets them.

A value of the wrong type is an error that names the port, its node, and what belongs there.
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
_SETTINGS = "the model_settings of AgentModel"
# What belongs on a port that takes a dict.
_WIRES = {
    "toolbelt_spec": "the toolbelt_spec of AgentMakeToolbelt",
    "model_settings": _SETTINGS,
    "from_model": _SETTINGS,
    "parameters": 'names and types, `"city": "string"`,',
}


def inputs(node: Any, *may_be_empty: str) -> dict[str, Any]:
    """Return the values on a node's in-ports, checked by the types that its class declares.

    An empty port gives an empty text, None for a number, an empty dict, or None for names.
    Compulsory texts must not be empty, except on the ports in `may_be_empty`.

    Raises:
        BadSetting: a value has the wrong type.
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
                values[port] = mapping(values[port], port, name)
            case _ if kind in _READERS:
                values[port] = _READERS[kind](values[port], port, name)
            case _:
                pass  # the caller checks it
    return values


def raw_inputs(node: Any) -> dict[str, Any]:
    """Return the values on a node's in-ports, unchecked."""
    return {port: getattr(node, port).value for port, _, _ in _in_ports(node)}


def outputs(node: Any, values: Mapping[str, Any]) -> None:
    """Set these out-ports of a node."""
    for port, value in values.items():
        getattr(node, port).value = value


def _in_ports(node: Any) -> Iterator[tuple[str, str, bool]]:
    """Yield the name and type of each in-port, and whether it is compulsory."""
    for port, hint in type(node).__annotations__.items():
        origin = getattr(getattr(hint, "__origin__", None), "__name__", "")
        if origin in ("InArg", "InCompArg"):
            yield port, hint.__args__[0].__name__, origin == "InCompArg"


def _names_or_none(value: Any, port: str, node: str) -> list[str] | None:
    """Return the names, or None for an empty port.

    An empty list stays one: an earlier node may have looked for tools and found none.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return names(value, port, node)


def flag(value: Any, _port: str, _node: str) -> bool:
    """Return whether the value on a port is true."""
    return bool(value)


def required(value: Any, port: str, node: str) -> str:
    """Return the text on a port that needs one.

    Raises:
        BadSetting: the port is empty, or has a value that is not text.
    """
    text = optional(value, port, node)
    if not text:
        raise BadSetting(f"{node} has nothing to work with: set `{port}` to a text.")
    return text


def optional(value: Any, port: str, node: str) -> str:
    """Return the text on a port, or an empty text.

    Raises:
        BadSetting: the port has a value that is not text.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadSetting(f"`{port}` of {node} is {_kind(value)}. Wire a text to it.")
    return value


def mapping(value: Any, port: str, node: str) -> dict[str, Any]:
    """Return a copy of the dict on a port, or an empty dict; the port `a.b` is `b` in the dict `a`.

    Raises:
        BadSetting: the port has a value that is not a dict.
    """
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        wire = _WIRES.get(port.partition(".")[0].removeprefix("new_"), "a dict")
        raise BadSetting(f"`{port}` of {node} is {_kind(value)}. Wire {wire} to it.")
    return dict(cast(Mapping[str, Any], value))


def names(value: Any, port: str, node: str) -> list[str]:
    """Return the names on a port: from a list of texts, or from one text with commas.

    The text may also be the content of a list: `"one", "two"`.

    Raises:
        BadSetting: the port has another value.
    """
    items: Any = _split_names(value) if isinstance(value, str) else value or []
    if not isinstance(items, list | tuple):
        raise BadSetting(f"`{port}` of {node} is {_kind(value)}. Wire a list or a text to it.")
    texts = [x for x in cast(list[Any], items) if isinstance(x, str)]
    if len(texts) < len(cast(list[Any], items)):
        raise BadSetting(
            f"`{port}` of {node} contains something that is not text. Wire names to it."
        )
    return [x.strip() for x in texts if x.strip()]


def _split_names(text: str) -> list[Any]:
    """Return the names in a text."""
    bare = text.strip().removeprefix("[").removesuffix("]")
    if bare.startswith('"'):
        with suppress(ValueError):
            return json.loads(f"[{bare}]")
    return text.split(",")


def positive(value: Any, port: str, node: str) -> float | None:
    """Return the number on a port; None also for 0, which an empty argument node gives.

    Raises:
        BadSetting: the value is negative, or not a number.
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
    """Return a count of at least 1, or None as `positive` does."""
    number = positive(value, port, node)
    return None if number is None else max(1, int(number))


def secret_on(
    value: Any, port: str, node: str, env: Callable[[], Mapping[str, str]] = dict
) -> Secret | None:
    """Return the secret on a port; `${NAME}` stands for the environment variable of that name.

    `env` returns the values of the `.env` beside the settings, for variables that are not in the
    environment.

    Raises:
        BadSetting: there is no such variable, or the value is not text.
    """
    text = value.reveal() if isinstance(value, Secret) else optional(value or None, port, node)
    variable = _VARIABLE.fullmatch(text.strip())
    if not variable:
        return Secret(text) if text else None
    name = variable[1] or variable[2]
    if secret := (os.environ.get(name, "").strip() or env().get(name, "").strip()):
        return Secret(secret)
    raise BadSetting(
        f"`{port}` of {node} names the environment variable {name}, which is not set. Set it "
        "before you start the lab or the script, or write it into `.env` beside mcp_settings.json."
    )


def file_on(name: str, port: str, node: str, settings_file: str) -> str:
    """Find a file beside the running workflow, in the working folder, or beside the settings.

    Raises:
        BadSetting: it is in none of these places.
    """
    folders = (os.path.dirname(sys.argv[0]), os.curdir, os.path.dirname(settings_file))
    places = [os.path.abspath(os.path.join(x, os.path.expanduser(name))) for x in folders]
    path = next((x for x in places if os.path.isfile(x)), None)
    if path is None:
        searched = ", ".join(dict.fromkeys(places))
        raise BadSetting(f"{node} finds no file {name!r}. Looked for {searched}. Correct `{port}`.")
    return path


def as_text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


_READERS: dict[str, Callable[[Any, str, str], Any]] = {
    "int": whole,
    "float": positive,
    "bool": flag,
}
