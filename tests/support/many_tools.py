"""Hundreds of tools made by rule from deeds, things and places, and tasks for them.

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
_DETAILS = (
    "Who may do this is told by the roles of the account. Gives what the record is like "
    "afterwards, with its number, its title, and when it was changed last."
)
# Deeds, each with a request that is not always in the words of the tool.
_DEEDS = {
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
    for n, (deed, template) in enumerate(_DEEDS.items()):
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
    what = {"list": f"every {thing}", "create": f"a new {thing}"}.get(deed, f"one {thing}")
    number = {"type": "integer", "description": f"Its number in the {place} records."}
    title = {"type": "string", "description": f"What to call the {thing}."}
    properties = {"list": {}, "create": {"title": title}}.get(deed, {"number": number})
    return {
        "name": _name(deed, thing, place),
        "description": f"{deed.title()}s {what} of the {place} system. {_DETAILS}",
        "input_schema": {"type": "object", "properties": properties, "required": [*properties]},
    }
