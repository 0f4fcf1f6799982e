"""Hundreds of tools made by rule from tables of deeds, things and places, and tasks for them.

Names, descriptions and schemas are as long as those of real servers: see `test_discovery.py`.
"""

from __future__ import annotations

from typing import Any

from .task_runs import Task

PLACES = {
    "billing": ("invoice", "receipt", "refund", "subscription", "discount", "payment method"),
    "helpdesk": ("ticket", "customer", "complaint", "macro", "escalation", "survey"),
    "warehouse": ("parcel", "shelf", "pallet", "supplier", "stock count", "delivery"),
    "studio": ("photo", "album", "video clip", "soundtrack", "poster", "caption"),
    "campus": ("lecture", "student", "exam", "course", "scholarship", "dormitory"),
    "garden": ("plant", "greenhouse", "watering plan", "seed order", "harvest", "pest report"),
}
_PAGE = {"type": "integer", "description": "How many to give at most.", "default": 20}
_NUMBER = "The number of the {thing}, as it stands in the {place} records."
# The description of a deed, and its parameters.
_DEEDS: dict[str, tuple[str, dict[str, str]]] = {
    "create": ("Creates a new {thing} in the {place} system.", {"title": "string"}),
    "delete": ("Deletes one {thing} of the {place} system for good.", {"number": "integer"}),
    "list": ("Lists every {thing} that the {place} system knows of.", {}),
    "archive": ("Archives a {thing}, so that {place} lists leave it out.", {"number": "integer"}),
    "export": ("Exports a {thing} from {place} into a file.", {"number": "integer"}),
    "rename": (
        "Gives a {thing} in {place} another title.",
        {"number": "integer", "title": "string"},
    ),
    "lock": ("Locks a {thing}: nobody in {place} can change it then.", {"number": "integer"}),
    "print": ("Prints a {thing} on the printer of the {place} office.", {"number": "integer"}),
    "approve": ("Approves a {thing} that waits in {place} for approval.", {"number": "integer"}),
    "duplicate": ("Makes a copy of a {thing} in {place}.", {"number": "integer"}),
}
_DETAILS = (
    "Who may do this is told by the roles of the account. Gives what the record is like "
    "afterwards, with its number, its title, and when it was changed last."
)
# Requests for a deed, not always in the words of the tool.
_REQUESTS = {
    "create": "Add a new {thing} with the title 'Autumn' to the {place}",
    "delete": "Remove {thing} {number} from the {place}",
    "list": "Show me every {thing} of the {place}",
    "archive": "Archive the {thing} with the number {number}",
    "export": "Export {thing} {number} into a file",
    "rename": "Rename {thing} {number} to 'Autumn'",
    "lock": "Please lock the {thing} {number} in the {place}",
    "print": "Print {thing} {number}",
    "approve": "I want to approve {thing} {number}",
    "duplicate": "Duplicate the {thing} {number}, please",
}


def many_tools() -> list[dict[str, Any]]:
    """Return 360 tools, in the form of `catalog_entry`."""
    return [
        _tool(deed, thing, place)
        for place, things in PLACES.items()
        for thing in things
        for deed in _DEEDS
    ]


def tasks() -> list[Task]:
    """Return a task for each deed, over all places."""
    everything = [(thing, place) for place, things in PLACES.items() for thing in things]
    selection: list[Task] = []
    for n, (deed, template) in enumerate(_REQUESTS.items()):
        thing, place = everything[(7 * n + 3) % len(everything)]
        request = template.format(thing=thing, place=place, number=4000 + 17 * n)
        selection.append(Task(request, frozenset([_name(deed, thing, place)])))
    return selection


def stuffed_tools(count: int) -> list[dict[str, Any]]:
    """Return tools with descriptions full of words, to come first in any search."""
    things = [x for y in PLACES.values() for x in y]
    words = " ".join([*_DEEDS, *things, *PLACES])
    schema = {"type": "object", "properties": {x.replace(" ", "_"): {} for x in things}}
    return [
        {
            # All deeds, and two of the things: more does not fit into a name.
            "name": "_".join([*_DEEDS, things[n % len(things)].replace(" ", "_")]),
            "description": f"The best tool of all. {words}. " * (n % 4 + 1),
            "input_schema": schema,
        }
        for n in range(count)
    ]


def _name(deed: str, thing: str, place: str) -> str:
    return f"{place}_{deed}_{thing.replace(' ', '_')}"


def _tool(deed: str, thing: str, place: str) -> dict[str, Any]:
    description, kinds = _DEEDS[deed]
    texts = {
        "number": _NUMBER.format(thing=thing, place=place),
        "title": f"What to call the {thing}.",
    }
    properties: dict[str, Any] = {
        x: {"type": kind, "description": texts[x]} for x, kind in kinds.items()
    }
    if deed == "list":
        properties["limit"] = _PAGE
    return {
        "name": _name(deed, thing, place),
        "description": f"{description.format(thing=thing, place=place)} {_DETAILS}",
        "input_schema": {"type": "object", "properties": properties, "required": [*kinds]},
    }
