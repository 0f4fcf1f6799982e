"""All faults, in groups whose members are run together: they must not disturb each other anyway.

A part of the catalogue is a file with a tuple of faults; a new one is added to `GROUPS`.
"""

from __future__ import annotations

from .http_calls import ANSWERED, LARGE, REFUSED
from .http_start import SILENT as SILENT_BEHIND_A_URL
from .http_start import STARTING as STARTING_BEHIND_A_URL
from .stdio_calls import CALLS
from .stdio_listing import LISTING
from .stdio_start import SILENT, STARTING
from .stdio_traffic import ENDING, TRAFFIC

GROUPS = {
    "starting": STARTING,
    "silent": (*SILENT, *SILENT_BEHIND_A_URL),
    "listing": LISTING,
    "calls": CALLS,
    "traffic": TRAFFIC,
    "ending": ENDING,
    "starting behind a URL": STARTING_BEHIND_A_URL,
    "refused behind a URL": REFUSED,
    "answered behind a URL": ANSWERED,
    "large behind a URL": LARGE,
}
FAULTS = [fault.name for faults in GROUPS.values() for fault in faults]


def group_of(name: str) -> str:
    """The group that a fault belongs to."""
    return next(x for x, faults in GROUPS.items() if any(name == y.name for y in faults))
