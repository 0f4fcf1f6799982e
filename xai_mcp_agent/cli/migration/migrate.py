"""Rewrites the nodes of an xai-agent workflow as nodes of this library."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from ...core.json import JsonObject
from ...core.util import COMPONENTS
from ...drawing.components import ComponentClass, PortSpec
from .document import (
    COMPULSORY_MARK,
    DYNAMIC,
    VALUE_PORT,
    extras_of,
    links_of,
    nodes_of,
    port_type,
    ports_of,
    text_of,
    with_nodes,
)

_UPSTREAM = "xai_agent"  # the folder of xai-agent; some people renamed it, xai_agent_old say
_FILE = "agent_components.py"  # all its classes are there
AUTHORIZE = "authori"  # in the names of nodes that unlock a service
_OPENAI = "openai"
_INDEX = re.compile(r"\[\d+\]$")  # of the further parts of a port that takes several values


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know about a node. `to_do`: without it the workflow does not run as before."""

    node: str
    node_id: str
    text: str
    to_do: bool = True
    port: str = ""


@dataclass(frozen=True, slots=True)
class ChangedPort:
    """A port whose type is another one in our class."""

    name: str
    old_type: str
    new_type: str


@dataclass(frozen=True, slots=True)
class AdoptedNode:
    """A node that has a class of ours now."""

    node: str
    node_id: str
    old_path: str
    new_path: str
    changed_ports: tuple[ChangedPort, ...]

    @property
    def is_taken(self) -> bool:
        """Whether it was xai-agent's or another library's; else it was ours, of another version."""
        return self.old_path != self.new_path or bool(self.changed_ports)


@dataclass(frozen=True, slots=True)
class Migration:
    """The rewritten document, and everything that was done and could not be done."""

    document: JsonObject
    adopted: tuple[AdoptedNode, ...]
    remarks: tuple[Remark, ...]

    @property
    def taken(self) -> tuple[AdoptedNode, ...]:
        """The adopted nodes that were not ours."""
        return tuple(x for x in self.adopted if x.is_taken)


@dataclass
class _Ports:
    """What becomes of the ports of one node."""

    ports: list[JsonObject] = field(default_factory=list[JsonObject])
    changed: list[ChangedPort] = field(default_factory=list[ChangedPort])
    unknown: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])  # and if wired
    missing: list[str] = field(default_factory=list[str])

    @property
    def is_safe(self) -> bool:
        """Whether everything that is wired has its place in our class."""
        return not any(wired for _, wired in self.unknown)


def migrate(
    document: JsonObject,
    classes: Mapping[str, ComponentClass],
    changed: Collection[str] = (),
) -> Migration:
    """Rewrite the nodes of a workflow to `classes`, ours by name. `document` stays as it is.

    Nodes that were `changed` already count as adopted, also where they are ours.

    A node of xai-agent is always taken; one of another library that happens to have the name
    of a class of ours only if everything that is wired to it has a port there.
    """
    wired = _wired_ports(document)
    nodes: dict[str, JsonObject] = {}
    adopted: list[AdoptedNode] = []
    remarks: list[Remark] = []
    for node_id, node in nodes_of(document).items():
        nodes[node_id] = node
        cls = classes.get(text_of(node, "name"))
        path = path_of(node)
        if not path:
            continue
        if cls is None:
            remarks += _unknown_node(node_id, node)
            continue
        ports = _fitted_ports(node, cls, wired)
        if path == cls.path and ports.ports == ports_of(node) and node_id not in changed:
            remarks += (x for x in _port_remarks(node_id, cls, ports) if x.to_do)
            continue
        if path != cls.path and not is_upstream(path) and not ports.is_safe:
            remarks.append(_left(node_id, node, ports))
            continue
        nodes[node_id] = _rewritten(node, cls, ports)
        adopted.append(AdoptedNode(cls.name, node_id, path, cls.path, tuple(ports.changed)))
        remarks += _port_remarks(node_id, cls, ports)
    return Migration(with_nodes(document, nodes), tuple(adopted), tuple(remarks))


def path_of(node: JsonObject) -> str:
    """Return where a component's class is, as the canvas writes it; empty for other nodes."""
    return text_of(extras_of(node), "path").strip().replace("\\", "/")


def is_upstream(path: str) -> bool:
    """Whether a class's path is in xai-agent's folder."""
    return any(_UPSTREAM in folder for folder in path.split("/")[:-1])


def is_authorizing(node: JsonObject) -> bool:
    """Whether it is a component that unlocks OpenAI for all others, such as OpenAIAuthorize."""
    name = text_of(node, "name").lower()
    return AUTHORIZE in name and _OPENAI in f"{name} {path_of(node).lower()}"


def library_of(path: str) -> str:
    """Return the library folder of a class's path; empty if it is in none."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == COMPONENTS else ""


def _wired_ports(document: JsonObject) -> set[str]:
    links = links_of(document).values()
    return {text_of(link, end) for link in links for end in ("sourcePort", "targetPort")}


# Nodes


def _rewritten(node: JsonObject, cls: ComponentClass, ports: _Ports) -> JsonObject:
    first, last = cls.lines
    extras = {
        **extras_of(node), "type": cls.type, "path": cls.path, "description": cls.description,
        "lineNo": [{"lineno": first, "end_lineno": last}],
    }  # fmt: skip
    changed = {**node, "extras": extras, "color": cls.color}
    return changed | {"ports": ports.ports} if "ports" in node else changed


def _unknown_node(node_id: str, node: JsonObject) -> Iterator[Remark]:
    if is_upstream(path_of(node)):
        text = (
            "there is no such node here. It stays as it is, needs xai-agent to be installed, "
            "and knows nothing of the agents of these nodes: find another way to do its work."
        )
        if not path_of(node).endswith(f"/{_FILE}"):
            text += " If its class is your own, move its file before you remove xai-agent."
        yield Remark(text_of(node, "name"), node_id, text)


def _left(node_id: str, node: JsonObject, ports: _Ports) -> Remark:
    wired = ", ".join(f"`{name}`" for name, is_wired in ports.unknown if is_wired)
    library = library_of(path_of(node)) or path_of(node)
    text = f"it is of {library} and has other ports ({wired}) than ours of that name. It stays."
    return Remark(text_of(node, "name"), node_id, text, to_do=False)


def _port_remarks(node_id: str, cls: ComponentClass, ports: _Ports) -> Iterator[Remark]:
    for name, wired in ports.unknown:
        text = f"ours has no port `{name}` that fits. "
        text += "Remove its link: the run would stop there." if wired else "Nothing is wired to it."
        yield Remark(cls.name, node_id, text, to_do=wired, port=name)
    for name in ports.missing:
        text = f"it needs a value that it did not need before: wire its new port `{name}`."
        yield Remark(cls.name, node_id, text, port=name)


# Ports


def _fitted_ports(node: JsonObject, cls: ComponentClass, wired: set[str]) -> _Ports:
    ours = _ports_of_class(cls)
    names = {text_of(port, "name") for port in ports_of(node)}
    result, found = _Ports(), set[tuple[bool, str]]()
    for port in ports_of(node):
        key = port_key(port)
        fitted = _fitted(port, ours[key]) if key in ours else None
        again = key in found and port_type(port) not in DYNAMIC
        renamed = fitted is not None and text_of(fitted, "name") != text_of(port, "name")
        # The canvas shows an empty page when two ports of a node have the same name.
        if fitted is None or again or (renamed and text_of(fitted, "name") in names):
            result.unknown.append((key[1], text_of(port, "id") in wired))
            result.ports.append(port)
            continue
        found.add(key)
        result.ports.append(fitted)
        if port_type(fitted) != port_type(port):
            result.changed.append(ChangedPort(key[1], port_type(port), port_type(fitted)))
    empty = {
        port_key(x) for x in ports_of(node) if text_of(x, "id") not in wired and not _is_marked(x)
    }
    compulsory = [(True, x.name) for x in cls.ports if x.kind == "compulsory"]
    result.missing += [name for key in compulsory for name in key[1:] if key not in found - empty]
    return result


def _is_marked(port: JsonObject) -> bool:
    return text_of(port, "label").startswith(COMPULSORY_MARK)


def _ports_of_class(cls: ComponentClass) -> dict[tuple[bool, str], PortSpec | None]:
    """Our ports by direction and name; those of the flow have no more to say than that."""
    flow: list[tuple[bool, str]] = [] if cls.type == "Start" else [(True, "in-0")]
    flow += [(False, "out-0")]
    flow += [(False, f"out-flow-{x.name}") for x in cls.ports if x.kind == "branch"]
    values = {(x.is_in, x.name): x for x in cls.ports if x.kind != "branch"}
    return {**dict.fromkeys(flow), **values}


def port_key(port: JsonObject) -> tuple[bool, str]:
    """Return the direction and the name of a port, as its class has them."""
    is_in, name = port.get("in") is True, text_of(port, "name")
    if not name.startswith(VALUE_PORT):
        return is_in, name
    written = text_of(port, "varName") or text_of(port, "label")
    return is_in, _INDEX.sub("", written).removeprefix(COMPULSORY_MARK)


def _fitted(port: JsonObject, ours: PortSpec | None) -> JsonObject | None:
    """The port as our class has it; None if one value cannot become several, or the reverse."""
    if ours is None:
        return port
    old = port_type(port)
    if old in DYNAMIC or ours.type in DYNAMIC:
        return port if old == ours.type else None
    prefix = VALUE_PORT if ours.is_in else f"{VALUE_PORT}out-"
    shown = f"{COMPULSORY_MARK if ours.kind == 'compulsory' else ''}{ours.name}"
    return {
        **port, "name": f"{prefix}{ours.type}-{ours.name}", "label": shown, "varName": shown,
        "dataType": ours.type,
    }  # fmt: skip
