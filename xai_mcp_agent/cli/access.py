"""`xai-mcp-agent login` and `logout`: access to servers that want somebody to sign in."""

from __future__ import annotations

import threading
import time
from typing import Annotated

import typer

from ..bridge.bridge import Bridge
from ..bridge.people.terminal import Ended, open_page, read_line, why_not_here
from ..bridge.screen.values import count
from ..core.sign_in import SignInRequest
from .output import say
from .servers import SettingsFile, require_settings

Server = Annotated[str, typer.Argument(help="The server, as the settings name it.")]


def login(
    server: Server,
    settings: SettingsFile = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only show the link; open it where you like.")
    ] = False,
) -> None:
    """Sign in to a server that wants it; every run on this machine then has access."""
    # Asked here, in the main thread, which is the one that may read.
    visit = _Visit(opens=not no_browser, reads=not why_not_here())
    with Bridge.open(settings) as bridge:
        require_settings(bridge)
        try:
            tools = bridge.sign_in(server, visit.sign_in)
        finally:
            visit.over.set()
    say(f"Signed in to {server}, which offers {count(len(tools), 'tool')}.")


def logout(server: Server, settings: SettingsFile = None) -> None:
    """Forget the access to a server that somebody signed in to."""
    with Bridge.open(settings) as bridge:
        require_settings(bridge)
        had_access = bridge.sign_out(server)
    if had_access:
        say(f"Signed out of {server}: its token is deleted here.")
    else:
        say(f"Nobody was signed in to {server}.")


class _Visit:
    """Shows one person the page to sign in, and takes the address where the browser ended."""

    def __init__(self, *, opens: bool, reads: bool) -> None:
        self.over = threading.Event()
        self._opens = opens
        self._reads = reads

    def sign_in(self, request: SignInRequest) -> str | None:
        """Called in a thread of its own."""
        say(f"{request.server} wants you to sign in at {request.host}.")
        if self._opens and open_page(request.url):
            say("Your browser should show the page now. If it does not, open this link:")
        else:
            say("Open this link in a browser:")
        say(f"\n  {request.url}\n")
        if not self._reads:
            return None
        say("If the browser ends at a page that it cannot show, copy the address of that page,")
        say("paste it here and press Enter. Otherwise just wait. Ctrl-C gives up.")
        return self._typed(time.monotonic() + request.limit_seconds)

    def _typed(self, deadline: float) -> str | None:
        """What the person types, if it comes to that."""
        while True:
            try:
                line = read_line(deadline, self.over).strip()
            except (Ended, TimeoutError):
                return None
            if line:
                return line
