"""`xai-mcp-agent learned`: what runs taught for plans, and forgetting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..views.learned import learned_json, learned_text
from .bridges import name_in_history
from .history import opened
from .output import (
    AsJson,
    Forget,
    OnlyToolbelt,
    SettingsFile,
    StoreOption,
    echo_json,
    say,
    text_width,
)
from .usage import check_names, forget_in

if TYPE_CHECKING:
    from ..history.history import History
    from ..planning.learned_runs import Learnings

_NOTHING = "Nothing is remembered of runs."


def learned(
    server: Annotated[
        str | None, typer.Argument(help="Only runs with its tools; `canvas` has those you drew.")
    ] = None,
    tool: Annotated[str | None, typer.Argument(help="Only runs with this tool.")] = None,
    toolbelt: OnlyToolbelt = None,
    forget: Forget = False,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what plans learned from runs: the tools, and where each value came from. Starts no
    server.

    It keeps names, paths and types, and no values. --forget removes them, also for agents that are
    running.
    """
    server = name_in_history(server, settings)
    with opened(store, settings) as history:
        found = _taken(history, (server, tool, toolbelt), forget=forget)
    if as_json:
        echo_json({"is_forgotten": forget, **learned_json(found)} if found else {})
    elif found is None or not (found.runs or found.shapes):
        say(_NOTHING)
    else:
        say(learned_text(found, text_width(), is_forgotten=forget))


def _taken(
    history: History | None, wanted: tuple[str | None, str | None, str | None], *, forget: bool
) -> Learnings | None:
    server, tool, toolbelt = wanted
    if history is None:
        return None
    from ..history.learned_rows import LearnedFilter  # loads SQLAlchemy, as opening it did
    from ..planning.learned_runs import forget_runs, learnings_in

    which = LearnedFilter(toolbelt, server, tool)
    found = learnings_in(history, which)
    if not (found.runs or found.shapes):
        known = learnings_in(history, LearnedFilter(toolbelt))
        seen = [y for x in known.runs for y in x.tools] + [x.tool for x in known.shapes]
        check_names(seen, server, tool)
        return found
    return forget_in(history, lambda x: forget_runs(x, which)) if forget else found
