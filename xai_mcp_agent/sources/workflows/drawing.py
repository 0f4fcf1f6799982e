"""A workflow as it is drawn: what its comments say, and what no compiler would tell clearly."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from .script import Parameter, Unusable

Item = dict[str, Any]

_ARGUMENT = re.compile(r"Argument \((.+?)\): (.*)", re.DOTALL)
_TYPES = ("string", "int", "float", "boolean", "secret", "any")
# What every workflow's class has, or is given.
_TAKEN = re.compile(r"next|do|init|execute|debug_repr|set_execution_context|output(_\d+)?|__\w*")
_ABOUT = ("description", "about", "tool")
_NOT_ONE = "this is no workflow of Xircuits"
_OPEN = "Open it in Xircuits, and"
# A line of a comment about one argument: `city (default: Berlin): where to look`.
_LINE = re.compile(r"\s*[-*]?\s*(\w+)\s*(?:\(([^()]*)\))?\s*:\s*(.*)")
_DEFAULT = re.compile(r"default\s*[:=]?\s*(.*)", re.IGNORECASE)
_OPTIONAL = "optional"


@dataclass(frozen=True)
class Comment:
    """A note on the canvas."""

    title: str
    text: str


@dataclass(frozen=True)
class Drawing:
    """The nodes of a file, and its comments, from the top left on."""

    nodes: list[Item]
    comments: list[Comment]

    @classmethod
    def empty(cls) -> Drawing:
        """Of a script, which has none."""
        return cls([], [])

    @classmethod
    def read(cls, file: Path) -> Drawing:
        """The drawing in this file, checked as far as a compiler would not tell what is wrong.

        Raises:
            Unusable: it is none, or one of its nodes cannot be used.
        """
        nodes, links = _models(_document(file))
        arguments = [x for x in nodes if x.get("name", "").startswith("Argument ")]
        finish = {x["id"] for x in nodes if x["extras"].get("type") == "Finish"}
        for node in arguments:
            _check_argument(node, {x["id"] for x in nodes if x["id"] in finish}, links)
        noted = [x for x in nodes if x["extras"].get("type") == "comment"]
        noted.sort(key=lambda x: (x.get("y", 0), x.get("x", 0)))
        comments = [Comment(x.get("name", ""), _text(x)) for x in noted]
        return cls(nodes, comments)

    def workflows(self) -> Iterator[tuple[str, str]]:
        """The nodes that are workflows themselves, and the files that Xircuits notes for them."""
        for node in self.nodes:
            if node["extras"].get("type") == "xircuits_workflow" and node["extras"].get("path"):
                yield node["name"], node["extras"]["path"]

    def description(self, name: str) -> str:
        """What the comments say of the whole: one with a fitting title, or else the first."""
        about = [x for x in self.comments if x.title.strip().lower() in (*_ABOUT, name.lower())]
        others = [x for x in self.comments if x.title.strip() not in self._arguments()]
        chosen = (about or others)[:1]
        lines = [line for x in chosen for line in x.text.splitlines() if not self._is_about(line)]
        return "\n".join(lines).strip()

    def described(self, parameters: Sequence[Parameter]) -> list[Parameter]:
        """The parameters with what the comments say of them."""
        secrets = {name for name, kind in self._arguments().items() if kind == "secret"}
        found: list[Parameter] = []
        for one in parameters:
            kind = "secret" if one.name in secrets else one.type
            found.append(self._with_comment(replace(one, type=kind)))
        return found

    def _with_comment(self, one: Parameter) -> Parameter:
        for comment in self.comments:
            if comment.title.strip() == one.name:
                return replace(one, description=comment.text.strip())
            for line in comment.text.splitlines():
                told = _LINE.fullmatch(line)
                if told and told[1] == one.name:
                    return _told(one, (told[2] or "").strip(), told[3].strip())
        return one

    def _arguments(self) -> dict[str, str]:
        found = (_ARGUMENT.fullmatch(x.get("name", "")) for x in self.nodes)
        return {x[2]: x[1] for x in found if x}

    def _is_about(self, line: str) -> bool:
        told = _LINE.fullmatch(line)
        return told is not None and told[1] in self._arguments()


def _told(one: Parameter, says: str, description: str) -> Parameter:
    """With a default, or optional, where a comment says so in brackets."""
    default = _DEFAULT.fullmatch(says)
    if default:
        value = _value(default[1].strip(), one.type)
        return replace(one, description=description, required=False, default=value)
    is_optional = says.lower() == _OPTIONAL
    return replace(one, description=description, required=one.required and not is_optional)


def _value(text: str, kind: str) -> Any:
    """A default as it is written in a comment: as JSON where it is that, else as a text."""
    if kind == "bool":
        return text.lower() in ("true", "yes", "1")
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if kind == "str" and not isinstance(value, str) else value


def _document(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as cause:
        raise Unusable(f"{_NOT_ONE}: {cause}.", "Name another file, or save it anew.") from None


def _models(document: Any) -> tuple[list[Item], list[Item]]:
    """The nodes and the links."""
    try:
        layers = {x["type"]: list(x["models"].values()) for x in document["layers"]}
        nodes, links = layers["diagram-nodes"], layers["diagram-links"]
        for node in nodes:
            _ = node["id"], node["extras"].get("type")
    except (KeyError, TypeError, AttributeError):
        raise Unusable(f"{_NOT_ONE}: it has no nodes.", "Name another file.") from None
    return cast(list[Item], nodes), cast(list[Item], links)


def _check_argument(node: Item, finish: set[str], links: list[Item]) -> None:
    named = _ARGUMENT.fullmatch(node["name"])
    if named is None or named[1] not in _TYPES:
        problem = f"its node {node['name']!r} is of a type that no argument has."
        raise Unusable(problem, f"{_OPEN} put an argument of {', '.join(_TYPES)} there.")
    name = named[2]
    if not name.isidentifier() or keyword.iskeyword(name) or _TAKEN.fullmatch(name):
        problem = f"its Argument node {name!r} has a name that cannot be used."
        fix = "give it another one: letters, digits and underscores, and no word of Python."
        raise Unusable(problem, f"{_OPEN} {fix}")
    if any(x.get("source") == node["id"] and x.get("target") in finish for x in links):
        problem = f"its Argument node {name!r} is wired to Finish, which Xircuits cannot do."
        raise Unusable(problem, f"{_OPEN} put a node between the two.")


def _text(node: Item) -> str:
    text = node["extras"].get("commentInput", "")
    return text if isinstance(text, str) else ""
