"""`xai-mcp-agent trust`, `login` and `logout`: what a person agrees to, and signs in to."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..canvas.person import describe_parts
from ..console.terminal_questions import QuestionsEnded, open_page, read_line, why_not_here
from ..console.text import count
from ..core.errors import SettingsError, XaiMcpError
from ..core.questions import SignInRequest
from ..policy.approval_trust import approvals_in
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.trust import TrustStore
from .frame import Frame, Report
from .options import Server
from .output import say, says_yes

_READ_IT = "Add --yes once you have read the file."


def trust(
    frame: Frame,
    file: Annotated[
        Path | None, Argument(help="The settings file. Default: the one the nodes would use.")
    ] = None,
    yes: Annotated[bool, Option(help="Agree without being asked: you have read it.")] = False,
    withdraw: Annotated[bool, Option(help="Trust nothing in the file any more.")] = False,
    show: Annotated[bool, Option("--list", help="Print the files you trust.")] = False,
) -> Report:
    """Read what a settings file starts and reaches, and agree to it.

    Until then none of its servers is started, because the file may come from somebody else. You are
    asked again about later changes. With --json it asks nothing and agrees only with --yes.
    """
    store = TrustStore()
    if show:
        files = store.files()
        return Report({"files": files}, "\n".join(files) or "You trust no settings file yet.")
    loaded = load_settings(file or frame.settings)
    if not loaded.file:
        raise XaiMcpError("No mcp_settings.json was found. Name yours.")
    if withdraw:
        had = store.withdraw(loaded.file)
        text = f"{loaded.file}: {'not trusted any more' if had else 'was not trusted'}."
        return Report({"file": loaded.file, "trusted": False, "withdrawn": had}, text)
    return _agree(frame, store, loaded, yes=yes)


def _agree(frame: Frame, store: TrustStore, loaded: Settings, *, yes: bool) -> Report:
    """Ask for agreement to what waits, and store it. A program that reads JSON is not asked."""
    approved = approvals_in(loaded)
    parts = store.untrusted_parts(loaded, approved)
    if parts and not frame.as_json:
        say(f"{loaded.file} starts, reaches or lets through:\n{describe_parts(loaded, parts)}")
    is_agreed = yes or not parts or (not frame.as_json and says_yes("Trust it?", _READ_IT))
    if parts and is_agreed:
        store.agree(loaded, approved)
    if not is_agreed and not frame.as_json:
        raise SettingsError(loaded.file, "", "it is not trusted.", "Nothing was changed.")
    text = "Trusted. You will be asked again when it changes."
    if not parts:
        text = f"{loaded.file}: nothing in it waits for your agreement."
    parts_json = [{"key_path": x.key_path, "facts": x.facts} for x in parts]
    key = "agreed" if is_agreed else "waiting"
    json = {"file": loaded.file, "trusted": is_agreed, key: parts_json}
    return Report(json, text, status=0 if is_agreed else 1)


def login(
    frame: Frame,
    server: Server,
    no_browser: Annotated[bool, Option(help="Only show the link; open it where you like.")] = False,
) -> Report:
    """Sign in to a server; every run on this machine then has access."""
    # Checked here: only the main thread may read the terminal.
    visit = _Visit(opens=not no_browser, reads=not why_not_here(), to_stderr=frame.as_json)
    with frame.bridge(server) as (bridge, [name]):
        try:
            tools = bridge.sign_in(name, visit.sign_in)
        finally:
            visit.over.set()
    json = {"server": name, "tools": [x.name for x in tools]}
    return Report(json, f"Signed in to {name}, which offers {count(len(tools), 'tool')}.")


def logout(frame: Frame, server: Server) -> Report:
    """Sign out of a server: its stored access is deleted."""
    with frame.bridge(server) as (bridge, [name]):
        had_access = bridge.sign_out(name)
    text = f"Signed out of {name}: its token is deleted here."
    return Report(
        {"server": name, "was_signed_in": had_access},
        text if had_access else f"Nobody was signed in to {name}.",
    )


class _Visit:
    """Shows one person the sign-in page, and reads the address where the browser ended."""

    def __init__(self, *, opens: bool, reads: bool, to_stderr: bool) -> None:
        self.over = threading.Event()
        self._opens = opens
        self._reads = reads
        self._to_stderr = to_stderr

    def sign_in(self, request: SignInRequest) -> str | None:
        """Show the page and return the pasted address; runs in a thread of its own."""
        self._say(f"{request.server} wants you to sign in at {request.host}.")
        if self._opens and open_page(request.url):
            self._say("Your browser should show the page now. If it does not, open this link:")
        else:
            self._say("Open this link in a browser:")
        self._say(f"\n  {request.url}\n")
        if not self._reads:
            return None
        self._say(
            "If the browser ends at a page that it cannot show, copy the address of that page,\n"
            "paste it here and press Enter. Otherwise just wait. Ctrl-C cancels."
        )
        return self._typed(time.monotonic() + request.limit_seconds)

    def _typed(self, deadline: float) -> str | None:
        while True:
            try:
                line = read_line(deadline, self.over).strip()
            except (QuestionsEnded, TimeoutError):
                return None
            if line:
                return line

    def _say(self, text: str) -> None:
        say(text, to_stderr=self._to_stderr)
