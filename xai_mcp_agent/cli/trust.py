"""`xai-mcp-agent trust`: agree to what a settings file starts and reaches, or withdraw that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..canvas.person import shown_text
from ..core.errors import SettingsError, XaiMcpError
from ..policy.approval_trust import approvals_in
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.trust import TrustStore
from .frame import Frame, Report
from .options import AsJson, SettingsFile
from .output import say, says_yes

_READ_IT = "Say --yes once you have read the file."


def trust(
    file: Annotated[
        Path | None, typer.Argument(help="The settings file. Default: the one the nodes would use.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Agree without being asked: you have read it.")
    ] = False,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Trust nothing in the file any more.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="Print the files you trust.")] = False,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Read what a settings file starts and reaches, and agree to it.

    Until then none of its servers is started, because the file may come from somebody else. You are
    asked again about later changes. With --json nobody is asked: it agrees only with --yes.
    """
    frame, store = Frame(as_json=as_json), TrustStore()
    if show:
        files = store.files()
        frame.show(Report({"files": files}, "\n".join(files) or "You trust no settings file yet."))
        return
    loaded = load_settings(file or settings)
    if not loaded.file:
        raise XaiMcpError("No mcp_settings.json was found. Name yours.")
    if withdraw:
        had = store.withdraw(loaded.file)
        text = f"{loaded.file}: {'not trusted any more' if had else 'was not trusted'}."
        json = {"file": loaded.file, "trusted": False, "withdrawn": had}
        frame.show(Report(json, text))
    else:
        frame.show(_agree(frame, store, loaded, yes=yes))


def _agree(frame: Frame, store: TrustStore, loaded: Settings, *, yes: bool) -> Report:
    """Ask for agreement to what waits, and store it. A program that reads JSON is not asked."""
    approved = approvals_in(loaded)
    parts = store.untrusted_parts(loaded, approved)
    if parts and not frame.as_json:
        say(f"{loaded.file} starts, reaches or lets through:\n{shown_text(loaded, parts)}")
    is_agreed = yes or not parts or (not frame.as_json and says_yes("Trust it?", _READ_IT))
    if parts and is_agreed:
        store.agree(loaded, approved)
    if not is_agreed and not frame.as_json:
        raise SettingsError(loaded.file, "", "it is not trusted.", "Nothing was changed.")
    text = "Trusted. What changes in it will be asked about."
    if not parts:
        text = f"{loaded.file}: nothing in it waits for your agreement."
    shown = [{"key_path": x.key_path, "facts": x.facts} for x in parts]
    key = "agreed" if is_agreed else "waiting"
    json = {"file": loaded.file, "trusted": is_agreed, key: shown}
    return Report(json, text, status=0 if is_agreed else 1)
