"""All faults, in groups whose members run together, because they must not disturb each other."""

from __future__ import annotations

from .behind_a_url import BEHIND_A_URL
from .stdio_calls import CALLS, TRAFFIC
from .stdio_listing import LISTING
from .stdio_start import ENDING, STARTING

GROUPS = {
    "starting and ending": (*STARTING, *ENDING),
    "listing": LISTING,
    "calls": CALLS,
    "traffic": TRAFFIC,
    "behind a URL": BEHIND_A_URL,
}
FAULTS = [fault.name for faults in GROUPS.values() for fault in faults]


def group_of(name: str) -> str:
    """Return the group of a fault."""
    return next(x for x, faults in GROUPS.items() if any(name == y.name for y in faults))
