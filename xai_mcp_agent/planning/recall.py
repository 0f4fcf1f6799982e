"""What plans for similar requests had, and what mostly came along: into the choice of tools.

How much the memory counts, it has shown itself: each plan that was learned was guessed first.
"""

from __future__ import annotations

from collections.abc import Sequence

from .choosing import Choice
from .flows import Flows
from .memory import Memory
from .steps import Request

_KEPT = 0.5  # below this nobody who asked for the like needed the tool
_RECALLED = 0.28  # from this on they did
_COMPANION = 0.75  # of the plans with a tool, those that had the other one, too
_COMPANION_SCORE = 0.5


def recalled(
    flows: Flows, request: Request, memory: Memory, chosen: Sequence[Choice]
) -> list[Choice]:
    """The chosen tools without those that similar plans did not have, and with those they had."""
    if not len(memory):
        return list(chosen)
    votes, similarity = memory.votes(request.text, flows)
    trust = memory.trust(similarity)
    share = trust / (trust + memory.words_alone)
    kept = [x for x in chosen if 1 - share + share * votes.get(x.ports.key, 0.0) >= _KEPT]
    there = {x.ports.key for x in chosen}
    for key, vote in sorted(votes.items(), key=lambda x: (-x[1], str(x[0]))):
        if key not in there and share * vote >= _RECALLED:
            said = f"was used for similar requests ({vote:.0%})"
            _insert(memory, kept, Choice(flows.ports(key), None, vote, (said,)))
    for key, other, times in memory.companions([x.ports.key for x in kept], _COMPANION):
        if key in flows and all(x.ports.key != key for x in kept):
            said = f"came along with {flows.ports(other).name} {times} times"
            _insert(memory, kept, Choice(flows.ports(key), None, _COMPANION_SCORE, (said,)))
    return kept


def _insert(memory: Memory, chosen: list[Choice], one: Choice) -> None:
    for place, other in enumerate(chosen):
        if memory.is_before(one.ports.key, other.ports.key):
            chosen.insert(place, one)
            return
    chosen.append(one)
