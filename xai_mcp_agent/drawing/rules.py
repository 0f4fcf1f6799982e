"""The nodes and links of a `.xircuits` file, and what a person must mend in one before it runs.

What the canvas itself never writes is not looked for: the compiler, and our tests, find that.
"""

from __future__ import annotations

import ast
import json
import keyword
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from .components import ComponentClass
from .nodes import COMPULSORY_MARK, FLOW

Document: TypeAlias = dict[str, Any]
Item: TypeAlias = dict[str, Any]
Classes: TypeAlias = Mapping[str, ComponentClass]

# Of these the compiler takes the text; what stands on any other node it evaluates as Python.
_NOT_EVALUATED = ("string", "secret", "list", "dict", "chat")


def load(file: Path) -> Document:
    """Read a workflow file."""
    return json.loads(file.read_text(encoding="utf-8"))


def nodes_of(document: Document) -> list[Item]:
    """Return the nodes of a file."""
    return list(document["layers"][1]["models"].values())


def links_of(document: Document) -> list[Item]:
    """Return the links of a file."""
    return list(document["layers"][0]["models"].values())


def problems(document: Document, name: str, classes: Classes) -> list[str]:
    """Return what is wrong with a file called `<name>.xircuits`, as sentences.

    `classes` are those that are installed, by name.
    """
    nodes = nodes_of(document)
    problem = name_problem(name, {x["name"] for x in nodes})
    found = [text for node in nodes for text in _node_problems(node, classes)]
    return [*([problem] if problem else ()), *found, *_flow_problems(document)]


def name_problem(name: str, used: Collection[str]) -> str:
    """Why a file cannot be called `<name>.xircuits`; `used` are the names of its nodes."""
    if not name.isidentifier() or keyword.iskeyword(name):
        return f"the file name {name!r} cannot be a Python class"
    if name in used or name == "args":
        return f"the file name {name!r} is also the name of something in the script"
    return ""


def _node_problems(node: Item, classes: Classes) -> Iterator[str]:
    name, extras = node["name"], node["extras"]
    if name.startswith("Literal ") and extras["type"] == "secret":
        yield f"{name}: a secret, in clear for everybody who has the file"
    if "path" not in extras:
        return
    cls = classes.get(name)
    if cls is None or cls.path != extras["path"]:
        yield f"{name}: no such component in {extras['path']}"
    ports = {(x.name, x.type, x.is_in) for x in (cls.ports if cls else ())}
    for port in node["ports"]:
        label, variable, kind = port["label"], port["varName"], port["dataType"]
        if label.startswith(COMPULSORY_MARK) and not port["links"]:
            yield f"{name}.{label}: compulsory and not wired"
        variable = variable.removeprefix(COMPULSORY_MARK)
        if kind and (variable, kind, port["in"]) not in ports:
            yield f"{name}: its class has no port {variable} of type {kind}"


def _flow_problems(document: Document) -> Iterator[str]:
    """Finish is reached from Start, and every component from some start."""
    following: dict[str, set[str]] = {}
    for link in links_of(document):
        if link["type"] == FLOW:
            following.setdefault(link["source"], set()).add(link["target"])
    nodes = {node["id"]: node for node in nodes_of(document)}
    starts = [x for x, node in nodes.items() if node["extras"]["type"] == "Start"]
    if not starts or nodes[starts[0]]["name"] != "Start":
        yield "the first start is not Start: the compiler would run another flow"
        return
    reached = {x for start in starts for x in _reachable(start, following)}
    for node in nodes.values():
        if "path" in node["extras"] and node["id"] not in reached:
            yield f"{node['name']}: no flow leads to it"
    if not any(nodes[x]["name"] == "Finish" for x in _reachable(starts[0], following)):
        yield "Finish is not reached from Start: it would not compile"


def _reachable(start: str, following: Mapping[str, set[str]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = following.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return seen


def code_in(document: Document) -> list[str]:
    """What the compiler would run as Python while it compiles, with the node that has it."""
    used = {x["sourcePort"] for x in links_of(document)}
    return [
        f"{node['name']}: {port['label']!r} is Python that runs when the workflow is compiled"
        for node in nodes_of(document)
        if node["extras"].get("type") not in _NOT_EVALUATED
        for port in node["ports"]
        if port["id"] in used and _runs(port["label"].replace(COMPULSORY_MARK, "").lstrip())
    ]


def _runs(text: str) -> bool:
    try:
        if isinstance(ast.parse(text, mode="eval").body, ast.Name):
            return False
        ast.literal_eval(text)
    except SyntaxError:
        return False
    except (ValueError, TypeError, MemoryError, RecursionError):
        return True
    return False
