"""Faults of a workflow that a person must correct.

It does not search for faults that the canvas never makes: the compiler and our tests find those.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from ..core.util import expression_of
from .components import ComponentClass
from .document import Document, Item, links_of, nodes_after, nodes_of, variable_of
from .nodes import COMPULSORY_MARK

Classes: TypeAlias = Mapping[str, ComponentClass]

# The compiler takes the text of these; it evaluates the text on other nodes as Python.
_NOT_EVALUATED = ("string", "secret", "list", "dict", "chat")


def problems(document: Document, name: str, classes: Classes) -> list[str]:
    """Return the problems of a file called `<name>.xircuits`, as sentences.

    `classes` are the installed ones, by name.
    """
    nodes = nodes_of(document).values()
    problem = name_problem(name, {x["name"] for x in nodes})
    node_problems = [text for node in nodes for text in _node_problems(node, classes)]
    return [*([problem] if problem else ()), *node_problems, *_flow_problems(document)]


def name_problem(name: str, node_names: Collection[str]) -> str:
    """Return why a file with these nodes cannot be called `<name>.xircuits`, or ""."""
    if not name.isidentifier() or keyword.iskeyword(name):
        return f"the file name {name!r} cannot be a Python class"
    if name in node_names or name == "args":
        return f"the file name {name!r} is also the name of something in the script"
    return ""


def _node_problems(node: Item, classes: Classes) -> Iterator[str]:
    name, extras = node["name"], node["extras"]
    if name.startswith("Literal ") and extras.get("type") == "secret":
        yield f"{name}: a secret, in plain text for everyone who has the file"
    if "path" not in extras:
        return
    cls = classes.get(name)
    if cls is None or cls.path != extras["path"]:
        yield f"{name}: no such component in {extras['path']}"
    ports = {(x.name, x.type, x.is_in) for x in (cls.ports if cls else ())}
    for port in node["ports"]:
        label, kind = port["label"], port.get("dataType")
        if label.startswith(COMPULSORY_MARK) and not port.get("links"):
            yield f"{name}.{label}: compulsory and not wired"
        variable = variable_of(port)
        if kind and (variable, kind, port["in"]) not in ports:
            yield f"{name}: its class has no port {variable} of type {kind}"


def _flow_problems(document: Document) -> Iterator[str]:
    """Check that Start reaches Finish, and that every component is reached."""
    nodes = nodes_of(document)
    starts = [x for x, node in nodes.items() if node["extras"].get("type") == "Start"]
    if not starts or nodes[starts[0]]["name"] != "Start":
        yield "the first start is not Start: the compiler would run another flow"
        return
    reached = nodes_after(document, starts)
    for key, node in nodes.items():
        if "path" in node["extras"] and key not in reached:
            yield f"{node['name']}: no flow leads to it"
    main = nodes_after(document, starts[:1])
    if not any(nodes[x]["name"] == "Finish" for x in main):
        yield "Finish is not reached from Start: it would not compile"


def code_in(document: Document) -> list[str]:
    """Return the code that the compiler would run while it compiles, with its node."""
    wired = {x.get("sourcePort") for x in links_of(document).values()}
    return [
        f"{node['name']}: {port['label']!r} is Python that runs when the workflow is compiled"
        for node in nodes_of(document).values()
        if node["extras"].get("type") not in _NOT_EVALUATED
        for port in node["ports"]
        if port["id"] in wired and _runs(port["label"].replace(COMPULSORY_MARK, "").lstrip())
    ]


def _runs(text: str) -> bool:
    try:
        expression = expression_of(text)
        if isinstance(expression, ast.Name):
            return False
        ast.literal_eval(expression)
    except SyntaxError:
        return False
    except (ValueError, TypeError, MemoryError, RecursionError):
        return True
    return False
