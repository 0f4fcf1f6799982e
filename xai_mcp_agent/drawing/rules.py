"""What the canvas and the compiler of Xircuits demand of a `.xircuits` file.

Each rule was found by breaking it, in Xircuits 1.19.2: the canvas then shows an empty page or
drops a link, the compiler fails, or, worst, values are silently missing when the script runs.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from .components import ComponentClass
from .nodes import COMPULSORY_MARK, DYNAMIC, FLOW, FLOW_LABEL, VALUE

Document: TypeAlias = dict[str, Any]
Item: TypeAlias = dict[str, Any]
Classes: TypeAlias = Mapping[str, ComponentClass]

_PORT_KEYS = ("id", "name", "label", "varName", "dataType", "in", "links", "parentNode")
_LINK_KEYS = ("id", "type", "source", "sourcePort", "target", "targetPort", "points", "color")
_NODE_KEYS = ("id", "type", "extras", "x", "y", "name", "color", "ports")
# Which other types an in-port takes, besides its own and `any`.
_ALSO_TAKES = {
    "string": {"secret"}, "int": {"secret"}, "float": {"secret"},
    "secret": {"string", "int", "float"}, "list": {"chat"}, "chat": {"list"},
}  # fmt: skip
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


def fits(source: str, target: str) -> bool:
    """Whether the canvas lets a value of type `source` be wired to a port of type `target`."""
    return (
        source == target
        or "any" in (source, target)
        or target in DYNAMIC
        or source in _ALSO_TAKES.get(target, set())
    )


def problems(
    document: Document, name: str, classes: Classes, left_open: Collection[str] = ()
) -> list[str]:
    """Return what is wrong with a file called `<name>.xircuits`, as sentences.

    `classes` are those that are installed, by name. `left_open` are the ids of compulsory ports
    that somebody has to wire still.
    """
    kinds = [layer["type"] for layer in document["layers"]]
    if kinds != ["diagram-links", "diagram-nodes"]:
        return [f"the layers are {kinds}: the canvas wants links, then nodes"]
    rules: list[Callable[[Document], Iterator[str]]] = [
        _keys, _identities, partial(_nodes, classes),
        partial(_ports, classes, left_open), _links, _values, _flow,
    ]  # fmt: skip
    found = [*_file_name(document, name), *_keys(document)]
    return found or [text for rule in rules for text in rule(document)]


def _file_name(document: Document, name: str) -> Iterator[str]:
    used = {node["name"] for node in nodes_of(document)}
    if not name.isidentifier() or keyword.iskeyword(name):
        yield f"the file name {name!r} cannot be a Python class"
    if name in used | {"args"}:
        yield f"the file name {name!r} is also the name of something in the script"


def _keys(document: Document) -> Iterator[str]:
    for node in nodes_of(document):
        yield from _missing(node, _NODE_KEYS)
        for port in node["ports"]:
            yield from _missing(port, _PORT_KEYS)
    for link in links_of(document):
        yield from _missing(link, _LINK_KEYS)


def _missing(item: Item, keys: tuple[str, ...]) -> Iterator[str]:
    called = item.get("name") or item.get("id")
    yield from (f"{called}: no {key!r}" for key in keys if key not in item)


def _identities(document: Document) -> Iterator[str]:
    nodes, links = nodes_of(document), links_of(document)
    ports = [port for node in nodes for port in node["ports"]]
    for what, items in {"node": nodes, "port": ports, "link": links}.items():
        counts = Counter(item["id"] for item in items)
        yield from (f"two {what}s have the id {x}" for x, count in counts.items() if count > 1)


def _nodes(classes: Classes, document: Document) -> Iterator[str]:
    for node in nodes_of(document):
        path = node["extras"].get("path")
        known = classes.get(node["name"])
        if path and (known is None or known.path != path):
            yield f"{node['name']}: no such component in {path}"


def _ports(classes: Classes, left_open: Collection[str], document: Document) -> Iterator[str]:
    for node in nodes_of(document):
        names = Counter(port["name"] for port in node["ports"])
        yield from (f"{node['name']}: two ports {x}" for x, n in names.items() if n > 1)
        for key, is_in in (("portsInOrder", True), ("portsOutOrder", False)):
            if node.get(key) != [port["id"] for port in node["ports"] if port["in"] is is_in]:
                yield f"{node['name']}: {key} is not the order of its ports"
        for port in node["ports"]:
            where = f"{node['name']}.{port['label']}"
            if port["parentNode"] != node["id"]:
                yield f"{where}: belongs to another node"
            is_open = port["label"].startswith(COMPULSORY_MARK) and not port["links"]
            if is_open and port["id"] not in left_open:
                yield f"{where}: compulsory and not wired"
            if port["in"] and len(port["links"]) > 1 and port["dataType"]:
                yield f"{where}: more than one value"
            yield from _port_of_class(classes, node, port)


def _port_of_class(classes: Classes, node: Item, port: Item) -> Iterator[str]:
    if "path" not in node["extras"] or not port["dataType"]:
        return
    written = port["varName"].removeprefix(COMPULSORY_MARK)
    known = classes.get(node["name"])
    specs = {(x.name, x.type, x.is_in) for x in (known.ports if known else ())}
    if (written, port["dataType"], port["in"]) not in specs:
        yield f"{node['name']}: its class has no port {written} of type {port['dataType']}"


def _links(document: Document) -> Iterator[str]:
    ports = {port["id"]: port for node in nodes_of(document) for port in node["ports"]}
    owners = {port["id"]: node for node in nodes_of(document) for port in node["ports"]}
    listed = {(port["id"], link) for port in ports.values() for link in port["links"]}
    for link in links_of(document):
        ends = [(link["sourcePort"], link["source"]), (link["targetPort"], link["target"])]
        if any(port not in ports or owners[port]["id"] != node for port, node in ends):
            yield f"link {link['id']}: leads to a port that is not there"
            continue
        listed -= {(port, link["id"]) for port, _ in ends}
        source, target = ports[link["sourcePort"]], ports[link["targetPort"]]
        yield from _link(link, source, target, owners[source["id"]])
    yield from (f"{ports[port]['name']}: lists a link that is not its own" for port, _ in listed)


def _link(link: Item, source: Item, target: Item, owner: Item) -> Iterator[str]:
    where = f"link from {owner['name']}.{source['label']} to {target['label']}"
    is_flow = FLOW_LABEL in source["label"]
    if link["type"] != (FLOW if is_flow else VALUE):
        yield f"{where}: is a {link['type']}; the compiler would not see it"
    if len(link["points"]) < 2:
        yield f"{where}: has no points; the canvas would be blank"
    if any(link["id"] not in port["links"] for port in (source, target)):
        yield f"{where}: is not listed by both ports; it would not be compiled"
    if source["in"] or not target["in"]:
        yield f"{where}: runs backwards"
    # Older canvases saved a literal's port without a type.
    if not is_flow and source["dataType"] and not fits(source["dataType"], target["dataType"]):
        yield f"{where}: {source['dataType']} does not fit {target['dataType']}"


def _values(document: Document) -> Iterator[str]:
    for node in nodes_of(document):
        if not node["name"].startswith("Literal "):
            continue
        text, kind = node["ports"][0]["label"], node["extras"]["type"]
        brackets = {"dict": "{}", "list": "[]"}.get(kind, "")
        if kind == "secret":
            yield f"{node['name']}: a secret, in clear for everybody who has the file"
        if COMPULSORY_MARK in text or FLOW_LABEL in text:
            yield f"{node['name']}: {text!r} has a sign that the compiler takes out"
        if kind in ("dict", "list", "chat") and not _is_json(f"{brackets[:1]}{text}{brackets[1:]}"):
            yield f"{node['name']}: {text!r} is not JSON"
        if kind in ("int", "float") and not re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text):
            yield f"{node['name']}: {text!r} is not a number"


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


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _flow(document: Document) -> Iterator[str]:
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
        is_component = "path" in node["extras"] or node["name"] == "Finish"
        if is_component and node["id"] not in reached:
            yield f"{node['name']}: no flow leads to it"
    names = {nodes[x]["name"] for x in _reachable(starts[0], following) if x in nodes}
    if "Finish" not in names:
        yield "Finish is not reached from Start: it would not compile"


def _reachable(start: str, following: dict[str, set[str]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = following.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return seen
