"""Gives the drawn tools of an adopted workflow the parameters that the drawing reads.

xai-agent's tools say nowhere what they take; the nodes behind one do, by what they look up in its
`tool_args`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...console.text import cut
from ...core.json import JsonObject
from ...secrets.redactor import tokens_in_text
from .added import Drawing, Source, in_port
from .document import COMPULSORY_MARK, links_of, nodes_of, ports_of, text_of, texts_by_port
from .migrate import AdoptedNode, Migration, Remark

_TOOL, _READ, _WRITTEN = "AgentDefineTool", "tool_args", "parameters"
# The port of a node that looks something up in a dict, and the one that says what.
_LOOKUPS = {"DictGetItem": ("the_dict", "key"), "GetDictValue": ("obj", "name")}
_TYPES = {
    "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object",
}  # fmt: skip
_UNSAID = "string"
_IN_CODE = re.compile(r"""\btool_args\s*(?:\[|\.get\()\s*(['"])(\w{1,80})\1""")
_MOST_NODES = 2_000  # behind one tool
_LONGEST_SAID = 40  # of a parameter's name

Links = list[JsonObject]


class _Wires:
    """A drawing to go along: its nodes, the links that leave each, the texts that ports have.

    `read` is what texts in each node look up in a tool's arguments.
    """

    def __init__(self, document: JsonObject) -> None:
        self.nodes, self.texts = nodes_of(document), texts_by_port(document)
        self.read = {x: _in_texts(node, self.texts) for x, node in self.nodes.items()}
        self.leaving: dict[str, Links] = {x: [] for x in self.nodes}
        for link in links_of(document).values():
            self.leaving.setdefault(text_of(link, "source"), []).append(link)


def with_parameters(migration: Migration) -> Migration:
    """The migration with what its drawn tools take, and a remark about each."""
    wires = _Wires(migration.document)
    drawing, remarks = Drawing(migration.document), list[Remark]()
    for node in migration.taken:
        if node.node == _TOOL and _lacks_parameters(wires.nodes[node.node_id]):
            found = {**_looked_up(wires, node.node_id), **_in_code(wires, node.node_id)}
            if found:
                drawing.wire(node.node_id, _WRITTEN, Source(_literal(found), type="dict"))
            remarks += _remarks(wires.nodes[node.node_id], node, found)
    return replace(migration, document=drawing.done(), remarks=(*migration.remarks, *remarks))


def _lacks_parameters(node: JsonObject) -> bool:
    port = in_port(node, _WRITTEN)
    return not (port and port.get("links"))


def _looked_up(wires: _Wires, tool: str) -> dict[str, str]:
    """The names that the nodes behind a tool look up in its arguments, with their types."""
    found: dict[str, str] = {}
    for link in _from_port(wires.nodes[tool], _READ, wires.leaving[tool]):
        reader = wires.nodes.get(text_of(link, "target"), {})
        given, said = _LOOKUPS.get(text_of(reader, "name"), ("", ""))
        asked, key = in_port(reader, given) or {}, in_port(reader, said) or {}
        name = wires.texts.get(text_of(key, "id"), "").strip().strip("'\"")
        if text_of(asked, "id") == text_of(link, "targetPort") and name:
            found[name] = _type(wires, wires.leaving.get(text_of(reader, "id"), []))
    return found


def _in_code(wires: _Wires, tool: str) -> dict[str, str]:
    """What is read in texts of the nodes that the tool runs, such as `tool_args["city"]`."""
    names = (x for node_id in _behind(tool, wires.leaving) for x in wires.read.get(node_id, ()))
    return dict.fromkeys(names, _UNSAID)


def _in_texts(node: JsonObject, texts: Mapping[str, str]) -> list[str]:
    written = (texts.get(text_of(port, "id"), "") for port in ports_of(node))
    return [x[2] for text in written for x in _IN_CODE.finditer(text)]


def _behind(tool: str, leaving: Mapping[str, Links]) -> Iterator[str]:
    """The nodes that something leads to from the tool."""
    seen, waiting = {tool}, [tool]
    while waiting and len(seen) < _MOST_NODES:
        for link in leaving.get(waiting.pop(), []):
            target = text_of(link, "target")
            if target not in seen:
                seen.add(target)
                waiting.append(target)
                yield target


def _from_port(node: JsonObject, name: str, leaving: Links) -> Iterator[JsonObject]:
    named = {text_of(x, "id") for x in ports_of(node) if text_of(x, "label") == name}
    return (x for x in leaving if text_of(x, "sourcePort") in named)


def _type(wires: _Wires, leaving: Links) -> str:
    """What the ports want to which a value goes; a text where they say nothing."""
    for link in leaving:
        for port in ports_of(wires.nodes.get(text_of(link, "target"), {})):
            is_it = text_of(port, "id") == text_of(link, "targetPort")
            if is_it and (told := _TYPES.get(text_of(port, "dataType"))):
                return told
    return _UNSAID


def _literal(found: Mapping[str, str]) -> str:
    """As the canvas writes a dict: without its braces."""
    return json.dumps(found, ensure_ascii=False)[1:-1]


def _said(name: str) -> str:
    """A name as a person may read it: what stands in the wrong port may be a key."""
    return "***" if tokens_in_text(name) else cut(name, _LONGEST_SAID)


def _remarks(drawn: JsonObject, node: AdoptedNode, found: dict[str, str]) -> Iterator[Remark]:
    if found:
        names = ", ".join(f"`{_said(x)}` ({kind})" for x, kind in found.items())
        text = (
            f"its new port `{_WRITTEN}` has what the nodes behind it read: {names}. Look whether "
            "the types are right, so that the model knows what to fill in."
        )
    elif any(
        text_of(x, "label").removeprefix(COMPULSORY_MARK) == _READ and x.get("links")
        for x in ports_of(drawn)
    ):
        text = (
            "its `tool_args` is used, and what is read of it could not be told. So that the model "
            "knows what to fill in, give its new port "
            f'`{_WRITTEN}` names and types, such as `"city": "string"`.'
        )
    else:
        return
    yield Remark(node.node, node.node_id, text, to_do=False, port=_WRITTEN)
