"""Workflows as tools of an agent: entries of the settings, and files that a node names itself."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..core.errors import BadSetting, UnknownServer
from ..settings.models import Settings
from ..settings.workflows import SUFFIXES, WorkflowSettings
from ..sources.workflows.workflow import tool_name
from .lease import bridge_of
from .ports import mapping, optional, positive, required
from .toolbelts import WORKFLOWS, add_source, use_source

_NODE, _PORT = WORKFLOWS.node, WORKFLOWS.port


def use_workflow(
    ctx: Any,
    workflow: str,
    toolbelt: str | None,
    description: str | None = None,
    arguments: Any = None,
    timeout_seconds: Any = None,
) -> None:
    """Add a workflow to a toolbelt, and begin to compile it in the background.

    `workflow` is the name of an entry, or a file. No model is asked for `arguments`.

    Raises:
        UnknownServer: it is neither; says which entries there are.
        BadSetting: there is no such file, or an entry is to be another than the settings have.
        SettingsError: something in `arguments` cannot be given, such as a variable that is not set.
    """
    named = required(workflow, _PORT, _NODE).strip()
    given = {
        "description": optional(description, "description", _NODE),
        "arguments": mapping(arguments, "arguments", _NODE),
        "timeout": positive(timeout_seconds, "timeout_seconds", _NODE),
    }
    settings = bridge_of(ctx).settings
    if named.lower().endswith(SUFFIXES) and named not in settings.of_file:
        entry = {"file": _file(named, settings), **given}
        add_source(ctx, WORKFLOWS, WorkflowSettings, tool_name(named), entry, toolbelt)
    else:
        _use_entry(ctx, named, [x for x in given if given[x]], toolbelt)


def _use_entry(ctx: Any, name: str, given: list[str], toolbelt: str | None) -> None:
    if given:
        raise BadSetting(
            f"{_NODE} has {' and '.join(given)} for {name!r}, which is the name of an entry in "
            "the settings. Set that there, or name the file itself."
        )
    try:
        use_source(ctx, WORKFLOWS, name, toolbelt)
    except UnknownServer as reason:
        text = f"{reason} Or set `{_PORT}` to a file that ends in .xircuits."
        raise UnknownServer(text, reason.server, reason.known) from None


def _file(named: str, settings: Settings) -> str:
    """Where it is: beside the workflow that runs, in the working folder, or beside the settings."""
    folders = (os.path.dirname(sys.argv[0]), os.curdir, os.path.dirname(settings.file))
    places = [os.path.abspath(os.path.join(x, os.path.expanduser(named))) for x in folders]
    found = next((x for x in places if os.path.isfile(x)), None)
    if found is None:
        looked = ", ".join(dict.fromkeys(places))
        raise BadSetting(
            f"{_NODE} finds no file {named!r}. Looked for {looked}. Correct `{_PORT}`."
        )
    return found
