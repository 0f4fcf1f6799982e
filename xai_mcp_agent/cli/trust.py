"""`xai-mcp-agent trust`: agree to what a settings file starts and reaches, or not any more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..canvas.trust import shown_text
from ..core.errors import SettingsError, XaiMcpError
from ..policy.approval_trust import approvals_in
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.trust import TrustStore
from .output import AsJson, echo_json, say, says_yes

_READ_IT = "Say --yes once you have read the file."


def trust(
    settings: Annotated[
        Path | None, typer.Argument(help="The settings file. Default: the one the nodes would use.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Agree without being asked: you have read it.")
    ] = False,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Trust nothing in the file any more.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="Print the files you trust.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read what a settings file starts and reaches, and agree to it.

    Until then none of its servers is started, because the file may come from somebody else. You are
    asked again about later changes.
    """
    store = TrustStore()
    if show:
        _show(store.files(), as_json=as_json)
        return
    loaded = load_settings(settings)
    if not loaded.file:
        raise XaiMcpError("No mcp_settings.json was found. Name yours.")
    if withdraw:
        _withdraw(store, loaded.file, as_json=as_json)
    else:
        _agree(store, loaded, yes=yes, as_json=as_json)


def _withdraw(store: TrustStore, file: str, *, as_json: bool) -> None:
    had = store.withdraw(file)
    if as_json:
        echo_json({"file": file, "trusted": False, "withdrawn": had})
    else:
        say(f"{file}: {'not trusted any more' if had else 'was not trusted'}.")


def _agree(store: TrustStore, loaded: Settings, *, yes: bool, as_json: bool) -> None:
    """Agree to what waits, after a yes. A program that reads JSON cannot be asked."""
    approved = approvals_in(loaded)
    parts = store.not_agreed(loaded, approved)
    if parts and not as_json:
        say(f"{loaded.file} starts, reaches or lets through:\n{shown_text(loaded, parts)}")
    is_agreed = yes or not parts or (not as_json and says_yes("Trust it?", _READ_IT))
    if parts and is_agreed:
        store.agree(loaded, approved)
    if as_json:
        shown = [{"key_path": x.key_path, "facts": x.facts} for x in parts]
        key = "agreed" if is_agreed else "waiting"
        echo_json({"file": loaded.file, "trusted": is_agreed, key: shown})
        raise typer.Exit(0 if is_agreed else 1)
    if not is_agreed:
        raise SettingsError(loaded.file, "", "it is not trusted.", "Nothing was changed.")
    if parts:
        say("Trusted. What changes in it will be asked about.")
    else:
        say(f"{loaded.file}: nothing in it waits for your agreement.")


def _show(files: list[str], *, as_json: bool) -> None:
    if as_json:
        echo_json({"files": files})
    else:
        say("\n".join(files) or "You trust no settings file yet.")
