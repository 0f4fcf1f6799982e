"""Workflows as tools of an agent: entries of the settings, and files that a node names itself."""

from __future__ import annotations

from typing import Any

from ..core.errors import BadSetting, UnknownServer
from ..settings.sources import WORKFLOW_SUFFIXES, WorkflowSettings
from ..sources.workflows.source import tool_name
from .lease import bridge_of
from .ports import file_on, mapping, optional, positive, required
from .toolbelts import WORKFLOWS, add_source, use_source

_NODE, _PORT = WORKFLOWS.node, WORKFLOWS.port


def use_workflow(
    ctx: Any,
    workflow: str,
    toolbelt: str | None,
    description: str | None = None,
    arguments: Any = None,
    timeout_seconds: Any = None,
    is_required: Any = False,
) -> None:
    """Add a workflow to a toolbelt, and begin to compile it in the background.

    `workflow` is the name of an entry, or a file. No model is asked for `arguments`.

    Raises:
        UnknownServer: it is neither; says which entries there are.
        BadSetting: there is no such file, an entry is to be another than the settings have, or
            something in `arguments` cannot be given, such as a variable that is not set.
    """
    named = required(workflow, _PORT, _NODE).strip()
    given = {
        "description": optional(description, "description", _NODE),
        "arguments": mapping(arguments, "arguments", _NODE),
        "timeout": positive(timeout_seconds, "timeout_seconds", _NODE),
    }
    settings = bridge_of(ctx).settings
    if named.lower().endswith(WORKFLOW_SUFFIXES) and named not in settings.of_file:
        entry = {"file": file_on(named, _PORT, _NODE, settings.file), **given}
        name = tool_name(named)
        add_source(ctx, WORKFLOWS, WorkflowSettings, name, entry, toolbelt, is_required=is_required)
    else:
        _use_entry(ctx, named, [x for x in given if given[x]], toolbelt, is_required)


def _use_entry(
    ctx: Any, name: str, given: list[str], toolbelt: str | None, is_required: Any
) -> None:
    if given:
        raise BadSetting(
            f"{_NODE} has {' and '.join(given)} for {name!r}, which is the name of an entry in "
            "the settings. Set that there, or name the file itself."
        )
    try:
        use_source(ctx, WORKFLOWS, name, toolbelt, is_required=is_required)
    except UnknownServer as reason:
        text = f"{reason} Or set `{_PORT}` to a file that ends in .xircuits."
        raise UnknownServer(text, reason.server, reason.known) from None
