"""Reviews: the text a person reads before deciding, its digest, and the decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..core.errors import ReviewNeeded
from ..core.shell import tool_command
from ..core.tools import inventory_digest

Standing: TypeAlias = Literal["accepted", "changed", "new"]
"""How a tool compares to the accepted definition: the same, changed, or never accepted."""

INSTRUCTIONS = "instructions"


@dataclass(frozen=True, slots=True)
class Review:
    """A tool's current definition, or without a `tool` its server's instructions.

    `lines` quote the differences from the accepted one, or all of it if none was accepted. `like`
    is an accepted tool that its name may be confused with.
    """

    server: str
    tool: str
    digest: str
    standing: Standing
    lines: tuple[str, ...] = ()
    like: str = ""

    @property
    def name(self) -> str:
        """The name for a person."""
        return self.tool or INSTRUCTIONS


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision about a tool, or without a `tool` about its server's instructions.

    `is_new` is False if it was decided before. `lines` say how an accepted definition differs from
    the previously accepted one.
    """

    server: str
    tool: str
    decision: Literal["enabled", "disabled", "accepted", "approved", "withdrawn"]
    is_new: bool
    lines: tuple[str, ...] = ()


def waiting_of(reviews: Iterable[Review]) -> list[Review]:
    """Return the reviews that are not as accepted."""
    return [x for x in reviews if x.standing != "accepted"]


def digest_of_reviews(reviews: Sequence[Review]) -> str:
    """Return the joint digest of reviews; a single review keeps its own digest."""
    digests = [x.digest for x in reviews]
    return digests[0] if len(digests) == 1 else inventory_digest(digests)


def require_read(
    reviews: Sequence[Review], digest: str, command: Literal["accept", "approve"] = "accept"
) -> list[Review]:
    """Return the open reviews that this digest covers: all of them, or a single one.

    A partial digest does not count: a server could find another definition that has it.

    Raises:
        ReviewNeeded: the digest differs; says which `command` to run.
    """
    waiting = waiting_of(reviews)
    digest = digest.strip().lower()
    if not waiting or digest in (digest_of_reviews(waiting), digest_of_reviews(reviews)):
        return waiting
    joint = digest_of_reviews(waiting)
    if not digest:
        problem = "name the definition that you have read by its digest."
    elif len(digest) < len(joint):
        problem = f"a digest needs all of its {len(joint)} characters."
    else:
        problem = f"{digest} is not what the server says now."
    server = waiting[0].server
    lines = [f"{x.digest}  {x.name} ({x.standing})" for x in waiting]
    lines += [f"{joint}  all of it"] if len(waiting) > 1 else []
    is_named = len(waiting) == 1 or command == "approve"
    tools = [x.tool for x in waiting if x.tool and is_named]
    with_digest = tool_command(command, server, *tools, options=("--digest", joint))
    decision = "accepted" if command == "accept" else "approved"
    raise ReviewNeeded(
        server, problem, lines, with_digest, tool_command(command, server, *tools), decision
    )
