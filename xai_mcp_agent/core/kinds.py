"""The kinds of sources, and what each calls the things it has: one shape for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source, known by its name. `noun` is what one of it is called, such as server.

    A source that `connects` is an anchor in the event graph, on which its tools hang. The tools
    of a kind that does not are there from the start, and hang on the project itself. One that is
    `one_tool` has no other, so the two may have one name.
    """

    name: str
    noun: str = field(default="source", compare=False)
    connects: bool = field(default=True, compare=False)
    one_tool: bool = field(default=False, compare=False)


MCP = SourceKind("mcp", "server")
FUNCTIONS = SourceKind("functions", "file")
BUILTIN = SourceKind("builtin", "set")
"""Tools of ours that somebody has switched on, in sets."""
OPENAPI = SourceKind("openapi", "service")
ACP = SourceKind("acp", "agent")
"""Agents of others: over A2A, into which the protocol of this name was merged, or over that."""
WORKFLOW = SourceKind("workflow", "workflow", one_tool=True)
STATIC = SourceKind("tools", "tool", connects=False)
"""Tools drawn on the canvas: part of the workflow, so never found out while it runs."""
META = SourceKind("meta", "tool", connects=False)
"""Our own tools for the model: to search, to explain, to remember."""

_KNOWN = {
    kind.name: kind for kind in (MCP, FUNCTIONS, BUILTIN, OPENAPI, ACP, WORKFLOW, STATIC, META)
}
KIND_NAMES = tuple(_KNOWN)


def kind_named(name: str) -> SourceKind:
    """The kind of this name, as a history tells it. One that is not known here has the usual shape.

    Every kind belongs in this file: what is read of it must come out as it was written.
    """
    return _KNOWN.get(name) or SourceKind(name)
