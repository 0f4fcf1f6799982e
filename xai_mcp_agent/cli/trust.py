"""`xai-mcp-agent trust`: agree to what a settings file starts and reaches, or not any more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..canvas.trust import parts_text
from ..core.errors import SettingsError, XaiMcpError
from ..policy.approval_trust import approvals_in
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.trust import TrustStore
from .output import AsJson, echo_json, say, says_yes


def trust(
    settings: Annotated[
        Path | None, typer.Argument(help="The settings file. Default: looked for as the nodes do.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: you have read it.")] = False,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Trust nothing in the file any more.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="Print the files you trust.")] = False,
    as_json: AsJson = False,
) -> None:
    """Agree to what a settings file starts and reaches, after reading it here.

    Until then none of its servers is started: the file may have come with somebody else's folder.
    What changes in it later is asked about again.
    """
    store = TrustStore()
    if show:
        _show(store.files(), as_json=as_json)
        return
    loaded = load_settings(settings)
    if not loaded.file:
        raise XaiMcpError("No mcp_settings.json was found. Name yours.")
    if withdraw:
        had = store.withdraw(loaded.file)
        say(f"{loaded.file}: {'not trusted any more' if had else 'was not trusted'}.")
        return
    _agree(store, loaded, is_asked=not yes and not as_json)


def _agree(store: TrustStore, loaded: Settings, *, is_asked: bool) -> None:
    approved = approvals_in(loaded)
    if not (parts := store.not_agreed(loaded, approved)):
        say(f"{loaded.file}: nothing in it waits for your agreement.")
        return
    say(f"{loaded.file} starts, reaches or lets through:\n{parts_text(parts)}")
    if is_asked and not says_yes("Trust it?", "Say --yes once you have read the file."):
        raise SettingsError(loaded.file, "", "it is not trusted.", "Nothing was changed.")
    store.agree(loaded, approved)
    say("Trusted. What changes in it will be asked about.")


def _show(files: list[str], *, as_json: bool) -> None:
    if as_json:
        echo_json({"files": files})
    else:
        say("\n".join(files) or "You trust no settings file yet.")
