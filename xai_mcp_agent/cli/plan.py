"""`xai-mcp-agent plan make`: the calls that a request asks for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import BadSetting
from ..planning.plan import plan_as_json
from ..views.plans import plan_text
from .bridges import open_bridge, require_settings, servers_named
from .given import MODEL_OPTION, MODEL_WORDS, reworded
from .output import (
    AsJson,
    OnlyServers,
    SettingsFile,
    StoreOption,
    echo_json,
    replace_text,
    say,
    text_width,
)


def plan(
    request: Annotated[str, typer.Argument(help="What you want done, in your words.")],
    server: OnlyServers = None,
    model: Annotated[str | None, MODEL_OPTION] = None,
    base_url: Annotated[
        str,
        typer.Option("--base-url", help="The address of the model's service, as for AgentModel."),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the plan to this file, as JSON."),
    ] = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Plan the calls that answer a request, and say what is missing; nothing is called.

    It uses the tools that agents may use now. Without --model the plan is rough: it is made from
    words and schemas alone. A model is asked once; if it fails, the rough plan stands. An existing
    file is kept as a backup. The exit status is 1 if nothing can be planned or a server cannot be
    used; such a server is reported, and the plan is made without it.
    """
    if not request.strip():
        raise typer.BadParameter("Say what is to be done, such as 'lend a book about the sea'.")
    with open_bridge(settings, store=store, as_json=as_json, servers=server or ()) as bridge:
        names = servers_named(bridge, server or ())
        require_settings(bridge)
        made = bridge.plan_tools(request, *names, model=model or "", base_url=base_url)
    made = replace(made, reasons=tuple(reworded(x, MODEL_WORDS) for x in made.reasons))
    written = plan_as_json(made)
    if out is not None:
        _write(out, written)
    if as_json:
        echo_json({**written, "failed": made.failed})
    else:
        say(plan_text(made, text_width()))
        for reason in made.failed.values():
            say(f"error: {reason}", to_stderr=True)
    if made.failed or not made.calls:
        raise typer.Exit(1)


def _write(file: Path, written: object) -> None:
    text = json.dumps(written, indent=2, ensure_ascii=False)
    try:
        kept = replace_text(file, f"{text}\n")
    except OSError as cause:
        why = cause.strerror or cause
        raise BadSetting(
            f"{file} cannot be written: {why}. Name another one with --out."
        ) from cause
    also = f" The file that was there is kept as {kept}." if kept else ""
    say(f"Written to {file}.{also}", to_stderr=True)
