"""Results of a conversion: converted nodes, changed ports, and remarks for the person."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """Remark about a node. `to_do`: without it the workflow does not run as before."""

    node: str
    node_id: str
    text: str
    to_do: bool = True
    port: str = ""


@dataclass(frozen=True, slots=True)
class ChangedPort:
    """Port whose type differs in our class."""

    name: str
    old_type: str
    new_type: str


@dataclass(frozen=True, slots=True)
class AdoptedNode:
    """Node that has a class of ours now."""

    node: str
    node_id: str
    old_path: str
    new_path: str
    changed_ports: tuple[ChangedPort, ...]
