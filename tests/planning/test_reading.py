"""Values that a text states: dates, times, zones, numbers, units, names, and words in one form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.offline_talk import TODAY
from xai_mcp_agent.planning.reading.dates import moments
from xai_mcp_agent.planning.reading.mentions import mentions_in
from xai_mcp_agent.planning.reading.parameters import examples_in, parameters_of
from xai_mcp_agent.planning.reading.places import zones
from xai_mcp_agent.planning.reading.words import name_words, same_unit, stem


def stated(text: str, kind: str) -> list[Any]:
    return [x.value for x in mentions_in(text, TODAY) if x.kind == kind]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 2026-12-24", "2026-12-24"),
        ("24 December 2026", "2026-12-24"),
        ("December 24th, 2026", "2026-12-24"),
        ("24. 12.", None),
        ("24.12.2026", "2026-12-24"),
        ("12/24/2026", "2026-12-24"),
        ("24/12/2026", "2026-12-24"),
        ("02/03/2026", "02/03/2026"),
        ("the 3rd of May", "2026-05-03"),
        ("today", "2026-03-12"),
        ("tomorrow", "2026-03-13"),
        ("the day before yesterday", "2026-03-10"),
        ("next Thursday", "2026-03-19"),
        ("last monday", "2026-03-09"),
        ("in two weeks", "2026-03-26"),
        ("10 days ago", "2026-03-02"),
        ("in 999999 weeks", None),
        ("30 February 2026", None),
        ("version 3.12.2026.1", None),
    ],
)
def test_dates_are_read_as_people_write_them(text: str, expected: str | None) -> None:
    """A date that may mean two days stays as it was written: guessing would be worse."""
    found = [x.value for x in moments(text, TODAY) if x.kind == "date"]
    assert found[:1] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 14:30", ["14:30"]),
        ("2:30 pm", ["14:30"]),
        ("9am", ["09:00"]),
        ("12 am", ["00:00"]),
        ("noon", ["12:00"]),
        ("3 o'clock", ["03:00"]),
        ("14:30:15", ["14:30:15"]),
        ("a ratio of 1:200", []),
        ("25:10", []),
        ("room 5", []),
    ],
)
def test_times_are_read_into_24_hours(text: str, expected: list[str]) -> None:
    assert [x.value for x in moments(text, TODAY) if x.kind == "time"] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in Tokyo", ["Asia/Tokyo"]),
        ("in new york", ["America/New_York"]),
        ("from Europe/London to UTC", ["Europe/London", "UTC"]),
        ("Germany and Japan", ["Europe/Berlin", "Asia/Tokyo"]),
        ("Argentina", ["America/Argentina/Buenos_Aires"]),
        ("it was a nice easter", []),
        ("the Centre", []),
    ],
)
def test_places_name_time_zones(text: str, expected: list[str]) -> None:
    assert [x.name for x in zones(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234.5 and -3", [1234.5, -3]),
        ("a dozen", [12]),
        ("forty-two", [42]),
        ("three hundred", [300]),
        ("the first one", []),
        ("on 2026-12-24 at 14:30", []),
        ("room B12, order AB-1234", []),
        ("pages 5-7", [5, 7]),
        ("5km", [5]),
        ("v1.2.3", []),
        ("'7' and 8", [8]),
    ],
)
def test_numbers_are_read_where_a_number_is_meant(text: str, expected: list[Any]) -> None:
    assert stated(text, "number") == expected


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("5 miles", "unit", ["miles"]),
        ("20 degrees Celsius", "unit", ["Celsius"]),
        ("$5", "unit", ["USD"]),
        ("how many grams", "unit", ["grams"]),
        ("say \u201chello you\u201d", "quoted", ["hello you"]),
        ("it's 'not so'", "quoted", ["not so"]),
        ("see https://example.org/a?b=1.", "url", ["https://example.org/a?b=1"]),
        ("to ada.l@example.org,", "email", ["ada.l@example.org"]),
        ("~/notes.md ./src C:\\x", "path", ["~/notes.md", "./src", "C:\\x"]),
        ("and/or, e.g. this", "path", []),
        ("issue #42", "id", ["42"]),
        ("at c963a2247766", "id", ["c963a2247766"]),
        ("Find books by H. G. Wells", "name", ["H. G. Wells"]),
        ("Show Ada's loans", "name", ["Ada"]),
        ("what is 2 + 3 * (4 - 1)?", "expression", ["2 + 3 * (4 - 1)"]),
        ("Calculate (17 + 25) * 2 / 7.", "expression", ["(17 + 25) * 2 / 7"]),
        ("borrow it", "reference", ["it"]),
        ("what time is it", "reference", []),
    ],
)
def test_values_are_found_by_their_form(text: str, kind: str, expected: list[Any]) -> None:
    assert stated(text, kind) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("books", "book"), ("cities", "city"), ("searching", "search"), ("planned", "plan"),
        ("pricing", "price"), ("scheduled", "schedule"), ("translation", "translate"),
        ("calculator", "calculate"), ("cancelled", "cancel"), ("lent", "lend"),
        ("children", "child"), ("addresses", "address"), ("weather's", "weather"),
    ],
)  # fmt: skip
def test_forms_of_a_word_compare_as_one(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"), [("plane", "plan"), ("news", "new"), ("state", "station")]
)
def test_different_words_stay_different(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_identifiers_read_the_same_however_they_are_written() -> None:
    assert name_words("searchBooks") == name_words("search_books") == name_words("search-books")


@pytest.mark.parametrize(("one", "other"), [("km", "kilometres"), ("mi", "miles"), ("ft", "foot")])
def test_names_of_a_unit_are_the_same_unit(one: str, other: str) -> None:
    assert same_unit(one, other)


@pytest.mark.parametrize(
    ("schema", "topic"),
    [
        ({"tz": {}}, "zone"),
        ({"when": {"description": "IANA timezone"}}, "zone"),
        ({"start": {"description": "as YYYY-MM-DD"}}, "date"),
        ({"site": {"format": "uri"}}, "url"),
        ({"repoPath": {"type": "string"}}, "path"),
        ({"book_id": {"type": "integer"}}, "id"),
        ({"from": {"type": "string"}}, "end"),
        ({"input": {"type": "string"}}, "text"),
    ],
)
def test_names_and_descriptions_tell_what_a_parameter_takes(schema: Any, topic: str) -> None:
    assert [x.topic for x in parameters_of({"properties": schema})] == [topic]


def test_a_schema_behind_references_and_alternatives_is_read() -> None:
    schema = {
        "properties": {
            "unit": {"$ref": "#/$defs/Unit"},
            "note": {"anyOf": [{"type": "null"}, {"type": "string"}], "default": None},
            "kind": {"description": "One of 'local' or 'remote'."},
        },
        "required": ["unit"],
        "$defs": {"Unit": {"enum": ["m", "km"]}},
    }
    unit, note, kind = parameters_of(schema)
    assert (unit.choices, unit.strict, unit.required) == (("m", "km"), True, True)
    assert (note.kind, note.required, note.fallback) == ("string", False, None)
    assert (kind.choices, kind.strict) == (("local", "remote"), False)


def test_examples_are_taken_from_the_schema() -> None:
    zone = {"type": "string", "description": "IANA name (e.g., 'America/New_York', 'UTC')"}
    unit = {"type": "string", "examples": ["km"]}
    schema = {"properties": {"zone": zone, "unit": unit}}
    assert (examples_in(schema, "zone"), examples_in(schema, "unit")) == (
        ["America/New_York"],
        ["km"],
    )
