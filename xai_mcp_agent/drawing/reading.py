"""Calls that a workflow makes, read from its file: the reverse of `flow`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from ..planning.answers import CallToCheck
from ..planning.plan import FromResult, Missing, Parts, Source, Value
from ..steps.reading import BadStep, read_step
from ..steps.references import VALUE_PLACEHOLDER, Reference, path_text, references_in
from .document import Document, Item, links_of, nodes_after, nodes_of, read_document, variable_of

_ELSEWHERE = -1  # the place of a value that is not the result of a call

_STEP, _CALL = "MCPToolStep", "MCPCallTool"
_WiredPort: TypeAlias = tuple[str, Item]  # the id of the node, and its port
_WIRED = CallToCheck("", "", {}, is_open=True, problem="its call is wired from another node")


def calls_in_file(file: Path) -> list[CallToCheck]:
    """Return the calls of the workflow in a file, in the order of its flow.

    Raises:
        NoWorkflow: it is not a workflow.
    """
    return calls_in(read_document(file))


def calls_in(document: Document) -> list[CallToCheck]:
    """Return the calls of nodes that make one call each, in the order of the flow."""
    return _DocumentReader(document).calls()


class _DocumentReader:
    def __init__(self, document: Document) -> None:
        self._nodes, self._links = nodes_of(document), links_of(document)
        starts = [x for x, node in self._nodes.items() if node["name"] == "Start"]
        # Nodes that the flow does not reach come last.
        order = dict.fromkeys((*nodes_after(document, starts), *self._nodes))
        callers = [x for x in order if self._nodes[x]["name"] in (_STEP, _CALL)]
        self._places = {x: n for n, x in enumerate(callers)}

    def calls(self) -> list[CallToCheck]:
        """Return the calls, in order."""
        callers = [self._nodes[x] for x in self._places]
        return [self._step(x) if x["name"] == _STEP else self._call(x) for x in callers]

    def _step(self, node: Item) -> CallToCheck:
        text = self._literal(node, "call")
        if not isinstance(text, str):
            return _WIRED
        try:
            step = read_step(text)
        except BadStep as reason:
            return CallToCheck("", "", {}, is_open=True, problem=str(reason))
        ports = [*self._wired_ports(node, "results")]
        arguments = {name: self._origin(x, ports) for name, x in step.arguments.items()}
        return CallToCheck(step.source, step.tool, arguments)

    def _call(self, node: Item) -> CallToCheck:
        source, tool = self._literal(node, "server_name"), self._literal(node, "tool_name")
        if not isinstance(source, str) or not isinstance(tool, str):
            return _WIRED
        arguments = self._literal(node, "arguments")
        if isinstance(arguments, dict):
            values = cast("dict[str, Any]", arguments).items()
            return CallToCheck(source, tool, {name: Value(x) for name, x in values})
        is_open = any(True for _ in self._wired_ports(node, "arguments"))
        return CallToCheck(source, tool, {}, is_open=is_open)

    def _origin(self, value: Any, ports: Sequence[_WiredPort]) -> Source | None:
        """Return the origin of an argument; a joined text, or a part of one, gives its parts."""
        references = references_in(value)
        if not references:
            return Value(value)
        if isinstance(value, Reference) and self._is_missing(value, ports):
            return Missing("it has no value yet")
        places = ((x, self._place(x.result, ports)) for x in references)
        origins = tuple(
            FromResult(place, path_text(x.path).removeprefix(".") or None)
            for x, place in places
            if place != _ELSEWHERE
        )
        if isinstance(value, Reference) and not (value.after or value.before):
            return origins[0] if origins else None
        return Parts(origins)

    def _literal(self, node: Item, name: str) -> Any:
        """Return the literal value at a port, or None."""
        for source, port in self._wired_ports(node, name):
            kind = self._nodes[source]["name"]
            if kind.startswith("Literal "):
                text = str(port["label"])
                return _dict(text) if kind == "Literal Dict" else text
        return None

    def _wired_ports(self, node: Item, name: str) -> Iterator[_WiredPort]:
        """Yield what is wired to a port, in order."""
        ports = [x for x in node["ports"] if x["in"] and variable_of(x) == name]
        for port in sorted(ports, key=lambda x: x.get("dynaPortOrder") or 0):
            for link in (self._links[x] for x in port.get("links", ()) if x in self._links):
                source = link["source"]
                outputs = (
                    x for x in self._nodes[source]["ports"] if x["id"] == link.get("sourcePort")
                )
                yield source, next(outputs, {"label": "", "in": False})

    def _place(self, result: int, ports: Sequence[_WiredPort]) -> int:
        if result >= len(ports):
            return _ELSEWHERE
        source, port = ports[result]
        # The structure of a text result is unknown.
        is_data = variable_of(port) in ("result", "structured")
        return self._places.get(source, _ELSEWHERE) if is_data else _ELSEWHERE

    def _is_missing(self, reference: Reference, ports: Sequence[_WiredPort]) -> bool:
        """Return whether the port is unwired, or wired to an empty literal."""
        if reference.result >= len(ports):
            return True
        return ports[reference.result][1]["label"] == VALUE_PLACEHOLDER


def _dict(text: str) -> Any:
    """Return a dict as the canvas writes it, without its braces."""
    try:
        return json.loads(text if text.lstrip().startswith("{") else f"{{{text}}}")
    except (ValueError, RecursionError):
        return None
