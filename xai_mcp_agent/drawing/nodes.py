"""The nodes, ports and links of a workflow, before they have their places."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

FLOW, VALUE = "triangle-link", "parameter-link"
DYNAMIC = ("dynalist", "dynatuple")
FLOW_LABEL = "\u25b6"
COMPULSORY_MARK = "\u2605"
_IDS = uuid.UUID("c1d0a7de-4a2f-5b7e-9c64-6f1f0c9d2a11")  # any constant; it makes our ids ours


def stable_id(key: str) -> str:
    """Return the id of a thing by its name: the same description gives the same file."""
    return str(uuid.uuid5(_IDS, key))


@dataclass(eq=False)
class Port:
    """A port of a node. `name` is the file's, `variable` the one in Python; `links` holds ids."""

    id: str
    name: str
    label: str
    is_in: bool
    type: str = ""
    variable: str = ""
    order: int | None = None  # the place in a dynamic port; None of all others
    before: str | None = None
    after: str | None = None
    held: str | None = None  # the text of a literal that sits in it
    links: list[str] = field(default_factory=list[str])


@dataclass(eq=False)
class Node:
    """A node of one workflow; `Workflow.node` makes them. `node["port"]` is an output to wire."""

    key: str
    name: str
    color: str
    extras: dict[str, Any]
    ports: list[Port] = field(default_factory=list[Port])
    literals: list[Node] = field(default_factory=list["Node"])  # those drawn as nodes, by port
    room_before: float = 0.0  # left free to its left, for nodes that a person puts there
    begins_row: bool = False  # where its flow stands in several rows
    stands_above: bool = False  # a literal over the node before: no panel below covers it there

    @property
    def id(self) -> str:
        """Its id in the file."""
        return stable_id(self.key)

    @property
    def is_drawn(self) -> bool:
        """False for a literal that sits in the port it is for."""
        return not self.extras.get("attached")

    @property
    def is_note(self) -> bool:
        """True for a comment."""
        return self.extras["type"] == "comment"

    def __getitem__(self, port: str) -> Output:
        return Output(self, port)

    def add(self, name: str, label: str, *, is_in: bool, type: str = "", **more: Any) -> Port:
        """Add a port at the end, or at the place `at`."""
        at = more.pop("at", len(self.ports))
        port = Port(stable_id(f"{self.key}/{name}"), name, label, is_in, type, **more)
        self.ports.insert(at, port)
        return port

    def port(self, name: str) -> Port:
        """Return the port that has this name in the file."""
        return next(port for port in self.ports if port.name == name)

    def side(self, port: Port) -> Iterator[Port]:
        """Give the ports on the same side as `port`, from the top."""
        return (other for other in self.ports if other.is_in == port.is_in)


@dataclass(frozen=True)
class Output:
    """An out-port of a node, to be wired to something."""

    node: Node
    port: str


@dataclass(frozen=True)
class Link:
    """A link between two ports; `kind` is `FLOW` or `VALUE`."""

    id: str
    kind: str
    source: Node
    source_port: Port
    target: Node
    target_port: Port

    @property
    def is_drawn(self) -> bool:
        """False where it comes from a literal that sits in its port."""
        return self.source.is_drawn


@dataclass(frozen=True)
class Note:
    """A comment and the node it stands over, or under."""

    node: Node
    owner: Node
    is_below: bool = False
