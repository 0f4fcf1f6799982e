"""`tools enable`, `disable`, `accept` and `approve`: what a person decides about tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from typer import Argument, Option

from ..bridge.faces import Bridge
from ..core.errors import BadSetting, ReviewNeeded
from ..policy.review import Choice, Review, digest_of_reviews, waiting_of
from ..views.tools import choice_text, review_text
from .frame import Report, StoreFrame
from .options import DecidedServer, Digest, Tools
from .output import say, says_yes

_NOTHING_LOCKED = 'Nothing waits to be accepted: no server has "lock" in the settings.'

SomeServer = Annotated[
    str | None, Argument(help="The server, as the settings name it; `canvas`: drawn tools.")
]
SomeTools = Annotated[list[str] | None, Argument(help="Its tools, as the server names them.")]


def disable(frame: StoreFrame, server: DecidedServer, tools: Tools) -> Report:
    """Switch tools off: no agent is offered them until you switch them on again.

    Running workflows notice it when their next agent starts. `call` still calls them.
    """
    with frame.bridge(server, needs_server=False) as (bridge, [name]):
        return _report(bridge.disable(name, *tools))


def enable(frame: StoreFrame, server: DecidedServer, tools: Tools) -> Report:
    """Switch tools on again that were switched off."""
    with frame.bridge(server, needs_server=False) as (bridge, [name]):
        return _report(bridge.enable(name, *tools))


def accept(
    frame: StoreFrame,
    server: SomeServer = None,
    tools: SomeTools = None,
    digest: Digest = "",
    everything: Annotated[
        bool, Option("--all", help="All tools of all servers that wait; asks about each.")
    ] = False,
) -> Report:
    """Show how servers describe their tools, and accept it if you agree.

    For a tool that changed, only the difference is shown. Agents read only accepted descriptions of
    locked servers. In a script, --digest names the description that was reviewed.
    """
    if everything == bool(server) or (everything and digest):
        raise typer.BadParameter("Name a server, perhaps some of its tools too, or give --all.")
    with frame.bridge(server) as (bridge, names):
        choices = list[Choice]()
        names = names or bridge.locked_servers()
        for name in names:
            words = (name, *(tools or ()))
            review = _ReviewDialog(bridge.review, bridge.accept, review_text, words)
            if digest or not frame.can_ask:
                choices += review.decide_by(digest)
                continue
            accepted = review.decide_by_asking(f"Accept this of {name!a}?")
            if accepted is None:
                say(f"{name}: nothing was accepted.")
            elif not accepted:
                say(f"{name}: nothing waits to be accepted.")
            choices += accepted or []
    return _report(choices) if names else Report([], _NOTHING_LOCKED)


def approve(
    frame: StoreFrame,
    server: SomeServer = None,
    tools: SomeTools = None,
    digest: Digest = "",
    withdraw: Annotated[bool, Option(help="Ask about these tools again from now on.")] = False,
    show: Annotated[
        bool, Option("--list", help="Print the tools that are approved for good.")
    ] = False,
) -> Report:
    """Approve a server's tools for all future calls.

    It shows their full descriptions and asks. The approval holds until a tool changes.
    """
    if show == bool(server) or (not show and not tools) or (withdraw and digest):
        raise typer.BadParameter("Name a server and its tools, or give --list.")
    with frame.bridge(server, needs_server=False) as (bridge, names):
        if show:
            return _approvals(bridge)
        (name,), tools = names, tools or []
        if withdraw:
            return _report(bridge.withdraw(name, *tools))
        review = _ReviewDialog(
            bridge.review_to_approve, bridge.approve, _whole_text, (name, *tools)
        )
        if digest or not frame.can_ask:
            return _report(review.decide_by(digest))
        tool_names = ", ".join(map(ascii, tools))
        choices = review.decide_by_asking(
            f"May agents call {tool_names} of {name!a} unasked from now on?"
        )
    if choices is None:
        raise BadSetting(f"{name}: nothing was approved.")
    return _report(choices)


@dataclass(frozen=True)
class _ReviewDialog:
    """Review of a server's tools by a person, and the decision about exactly what was shown."""

    read: Callable[..., list[Review]]
    decide: Callable[..., list[Choice]]
    text: Callable[[Review], str]
    names: tuple[str, ...]

    def _waiting(self) -> list[Review]:
        return list(waiting_of(self.read(*self.names)))

    def decide_by(self, digest: str) -> list[Choice]:
        """Decide about the tools with this digest.

        Raises:
            ReviewNeeded: the digest differs; what waits is printed.
        """
        try:
            return self.decide(*self.names, digest=digest)
        except ReviewNeeded:
            for review in self._waiting():
                say(self.text(review), to_stderr=True)
            raise

    def decide_by_asking(self, question: str) -> list[Choice] | None:
        """Show what waits, and decide about exactly that; return None if the person says no."""
        while waiting := self._waiting():
            say("\n".join(map(self.text, waiting)))
            if not says_yes(question):
                return None
            try:
                return self.decide(*self.names, digest=digest_of_reviews(waiting))
            except ReviewNeeded:
                say("It is something else by now:")
        return self.decide(*self.names)


def _whole_text(review: Review) -> str:
    head = f"{review.server} describes {review.tool} (digest {review.digest}):"
    return "\n".join((head, *(f"    {x}" for x in review.lines)))


def _approvals(bridge: Bridge) -> Report:
    approvals = bridge.approvals()
    lines = list[str]()
    for one in approvals:
        note = "" if one.counts else ", which does not count: you have not agreed to it"
        lines.append(f"{one.source or 'canvas'}: {one.tool} (digest {one.digest}){note}")
    text = "\n".join(lines) or "Nothing is approved for good."
    return Report([x._asdict() for x in approvals], text)


def _report(choices: Sequence[Choice]) -> Report:
    return Report(choices, "\n".join(map(choice_text, choices)))
