"""`xai-mcp-agent search`: which tool does what somebody wants to do."""

from __future__ import annotations

from typing import Annotated

import typer

from ..bridge.bridge import Bridge
from ..console.text import wrap
from ..search.tools import ToolIndex
from ..views.tools import tool_json, tool_text
from .output import AsJson, SettingsFile, StoreOption, echo_json, say, text_width
from .servers import require_settings
from .tools import listed_tools

_INDENT = " " * 6  # under the words, beside the scores
_NOTHING = "No tool has any of these words. `xai-mcp-agent tools` lists all that there are."


def search(
    query: Annotated[str, typer.Argument(help="What you want to do, in your words.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many tools.")] = 10,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Find the tools that fit what you want to do, best first, and say why they do.

    A server that cannot be used is told of, and the others are searched; the exit status is then 1.
    """
    with Bridge.open(settings, store=store) as bridge:
        require_settings(bridge)
        listed, failed = listed_tools(bridge)
    entries = {x.require().key: x for found in listed.values() for x in found}
    hits = ToolIndex(x.require() for x in entries.values()).search(query, limit)
    if as_json:
        found = [
            {"server": x.tool.source, "score": round(x.score, 3), "reasons": x.reasons}
            | tool_json(entries[x.tool.key])
            for x in hits
        ]
        echo_json({"found": found, "failed": failed})
    else:
        for hit in hits:
            tool, why = tool_text(entries[hit.tool.key]), "; ".join(hit.reasons)
            lines = wrap(f"{hit.score:.2f}  {hit.tool.source}: {tool}", text_width(), "", _INDENT)
            say("\n".join([*lines, *wrap(why, text_width(), _INDENT, _INDENT)]))
        if not hits:
            say(_NOTHING)
        for reason in failed.values():
            say(f"error: {reason}", to_stderr=True)
    if failed:
        raise typer.Exit(1)
