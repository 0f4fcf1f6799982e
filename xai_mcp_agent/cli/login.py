"""`xai-mcp-agent login` and `logout`: sign in to and out of servers."""

from __future__ import annotations

import threading
import time
from typing import Annotated

import typer

from ..console.terminal_questions import Ended, open_page, read_line, why_not_here
from ..console.text import count
from ..core.questions import SignInRequest
from .frame import Frame, Report
from .options import Server
from .output import say


def login(
    frame: Frame,
    server: Server,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only show the link; open it where you like.")
    ] = False,
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
            "paste it here and press Enter. Otherwise just wait. Ctrl-C gives up."
        )
        return self._typed(time.monotonic() + request.limit_seconds)

    def _typed(self, deadline: float) -> str | None:
        while True:
            try:
                line = read_line(deadline, self.over).strip()
            except (Ended, TimeoutError):
                return None
            if line:
                return line

    def _say(self, text: str) -> None:
        say(text, to_stderr=self._to_stderr)
