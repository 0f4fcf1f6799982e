"""Sources and tools of a history, by the names that people use."""

from __future__ import annotations

from ..core.errors import UnknownAgent, UnknownServer, UnknownTool
from ..core.names import did_you_mean, nearest
from .event import Subject
from .records import Fold, Records, is_offered

_MOST_NAMES = 10  # names in an error about an unknown one


def offered_tools(records: Records) -> dict[Subject, str]:
    """Return the existing tools, and the digests of their definitions."""
    return {
        tool: record.definition
        for tool, record in records.items.items()
        if is_offered(record, records.sources.get(tool.anchor))
    }


def subjects_named(fold: Fold, source: str | None, tool: str | None) -> list[Subject]:
    """Return the sources of this name, or the tools; without a source, those of every source.

    Raises:
        UnknownServer, UnknownTool: there never was one.
    """
    tools = [x.subject for x in fold.plain_tools()]
    anchors = {*fold.sources, *(x.anchor for x in tools)}
    sources = {x for x in anchors if source in (None, x.shown_source)}
    if source is not None and not sources:
        names = sorted({x.shown_source for x in anchors})
        text = f"The history knows no server {source!r}. {_offer(source, names)}"
        raise UnknownServer(text, source, nearest(source, names))
    if tool is None:
        return sorted(sources, key=lambda x: x.context_id)
    of_them = [x for x in tools if x.anchor in sources]
    matches = [x for x in of_them if x.tool == tool]
    matches.sort(key=lambda x: not x.is_tool)  # a prompt may have the name of a tool
    if not matches:
        names = sorted({x.tool or "" for x in of_them})
        of = f" of {source!r}" if source else ""
        raise UnknownTool(f"The history knows no tool {tool!r}{of}. {_offer(tool, names)}")
    return matches


def require_agent(agent: str, agents: list[str]) -> None:
    """Refuse the name of an agent that never called a tool.

    Raises:
        UnknownAgent: it is none of these.
    """
    if agent not in agents:
        raise UnknownAgent(f"The history knows no agent {agent!r}. {_offer(agent, agents)}")


def _offer(name: str, names: list[str]) -> str:
    listed = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return did_you_mean(name, names) or (f"It knows: {listed}." if names else "It is empty.")
