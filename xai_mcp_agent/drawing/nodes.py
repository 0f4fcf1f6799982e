"""Nodes, ports and links of a workflow, before they have positions."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

FLOW, VALUE = "triangle-link", "parameter-link"
DYNAMIC = ("dynalist", "dynatuple")
FLOW_LABEL = "\u25b6"
COMPULSORY_MARK = "\u2605"
# an arbitrary constant that makes our ids unique
_IDS = uuid.UUID("c1d0a7de-4a2f-5b7e-9c64-6f1f0c9d2a11")


def stable_id(key: str) -> str:
    """Return the id of a name: the same description gives the same file."""
    return str(uuid.uuid5(_IDS, key))


@dataclass(eq=False)
class Port:
    """Port of a node. `name` is the file's, `variable` the one in Python; `links` are ids."""

    id: str
    name: str
    label: str
    is_in: bool
    type: str = ""
    variable: str = ""
    order: int | None = None  # index in a dynamic port; None for other ports
    before: str | None = None
    after: str | None = None
    literal: str | None = None  # text of a literal inside it
    links: list[str] = field(default_factory=list[str])


@dataclass(eq=False)
class Node:
    """Node of a workflow; `Workflow.node` makes it. `node["port"]` is an output to wire."""

    key: str
    name: str
    color: str
    extras: dict[str, Any]
    ports: list[Port] = field(default_factory=list[Port])
    literals: list[Node] = field(default_factory=list["Node"])  # literals drawn as nodes, by port
    room_before: float = 0.0  # free space left of it, for nodes that a person adds
    begins_row: bool = False  # where its flow takes several rows
    stands_above: bool = False  # a literal above the previous node, where no panel below covers it

    @property
    def id(self) -> str:
        """Return its id in the file."""
        return stable_id(self.key)

    @property
    def is_note(self) -> bool:
        """Return whether it is a comment."""
        return self.extras["type"] == "comment"

    def __getitem__(self, port: str) -> OutPort:
        return OutPort(self, port)

    def add(
        self, name: str, label: str, *, is_in: bool, type: str = "", variable: str = "",
        order: int | None = None, after: Port | None = None,
    ) -> Port:  # fmt: skip
        """Add a port at the end, or right after another one."""
        port_id = stable_id(f"{self.key}/{name}")
        port = Port(port_id, name, label, is_in, type, variable, order)
        self.ports.insert(self.ports.index(after) + 1 if after else len(self.ports), port)
        return port

    def port(self, name: str) -> Port:
        """Return the port with this name in the file."""
        return next(port for port in self.ports if port.name == name)

    def side(self, port: Port) -> Iterator[Port]:
        """Return the ports on the same side as `port`, from the top."""
        return (other for other in self.ports if other.is_in == port.is_in)


@dataclass(frozen=True)
class OutPort:
    """Out-port of a node, to wire to a port."""

    node: Node
    port: str


@dataclass(frozen=True)
class Link:
    """Link between two ports; `kind` is `FLOW` or `VALUE`."""

    id: str
    kind: str
    source: Node
    source_port: Port
    target: Node
    target_port: Port


@dataclass(frozen=True)
class Comment:
    """Comment, and the node it stands above or below."""

    node: Node
    owner: Node
    is_below: bool = False
