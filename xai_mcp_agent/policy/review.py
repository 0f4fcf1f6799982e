"""What somebody reads before they accept it, bound to what they read by a digest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..core.errors import ReviewNeeded
from ..core.shell import tool_command
from ..core.tools import inventory_digest

Standing: TypeAlias = Literal["accepted", "changed", "new"]
"""How a tool is to what was accepted: it, another definition of it, or nothing was."""

INSTRUCTIONS = "instructions"


@dataclass(frozen=True, slots=True)
class Review:
    """What a server says of a tool now; without a `tool`, of its own use: its instructions.

    `digest` is that of it. `lines` tell what is different from what was accepted, or all of it
    where nothing was; they quote the server. `like` is an accepted tool for which its name may be
    taken.
    """

    server: str
    tool: str
    digest: str
    standing: Standing
    lines: tuple[str, ...] = ()
    like: str = ""

    @property
    def name(self) -> str:
        """What people call it."""
        return self.tool or INSTRUCTIONS


def waiting_of(reviews: Iterable[Review]) -> list[Review]:
    """Those of them that are not as they were accepted."""
    return [x for x in reviews if x.standing != "accepted"]


def digest_of_reviews(reviews: Sequence[Review]) -> str:
    """That of all of them together; of one, its own."""
    digests = [x.digest for x in reviews]
    return digests[0] if len(digests) == 1 else inventory_digest(digests)


def require_read(
    reviews: Sequence[Review], digest: str, command: Literal["accept", "approve"] = "accept"
) -> list[Review]:
    """Those that are accepted now: all that wait, if this digest is of them, or of all of it.

    Only the whole of it counts: a server could find another definition for a beginning. `command`
    is the one that does it, for what is said where it is not.

    Raises:
        ReviewNeeded: it is not, or not the whole of it.
    """
    waiting = waiting_of(reviews)
    given = digest.strip().lower()
    told = {digest_of_reviews(waiting), digest_of_reviews(reviews)} if waiting else {given}
    if not waiting or given in told:
        return waiting
    raise _needed(waiting, given, command)


def _needed(waiting: Sequence[Review], given: str, verb: str) -> ReviewNeeded:
    server = waiting[0].server
    is_named = len(waiting) == 1 or verb == "approve"
    tools = [x.tool for x in waiting if x.tool] if is_named else []
    all_of_it = digest_of_reviews(waiting)
    command = tool_command(verb, server, *tools)
    lines = [f"{x.digest}  {x.name} ({x.standing})" for x in waiting]
    lines += [f"{all_of_it}  all of it"] if len(waiting) > 1 else []
    if not given:
        problem = "say by its digest what you have read."
    elif len(given) < len(all_of_it):
        problem = f"a digest needs all of its {len(all_of_it)} characters."
    else:
        problem = f"{given} is not what the server says now."
    done = "accepted" if verb == "accept" else "approved"
    with_digest = tool_command(verb, server, *tools, options=("--digest", all_of_it))
    return ReviewNeeded(server, problem, lines, with_digest, command, done)
