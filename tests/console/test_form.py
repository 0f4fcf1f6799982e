"""Text that a person types for a server's form, as values that fit the form."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent.console.form import NO_DEFAULT, Field, Unfit, fields_of
from xai_mcp_agent.console.question_words import host_of

SEATS = [{"const": "in", "title": "Inside"}, {"const": "out", "title": "Terrace"}]


def field(**schema: Any) -> Field:
    """The one field of a form."""
    (only,) = fields_of({"properties": {"it": schema}, "required": ["it"]})
    return only


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "  as it is ", "  as it is "),
        ({"type": "integer"}, " 3 ", 3),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "Yes", True),
        pytest.param({"type": "integer"}, "9" * 400, int("9" * 400), id="huge"),
        ({"type": "boolean"}, "n", False),
        ({"type": "string", "format": "date-time"}, "2026-03-01T14:30:00Z", "2026-03-01T14:30:00Z"),
        ({"type": "string", "enum": ["a", "b"]}, "2", "b"),
        ({"type": "string", "enum": ["2", "1"], "enumNames": ["One", "Two"]}, "2", "2"),
        ({"type": "string", "oneOf": SEATS}, "terrace", "out"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "2, a, b", ["b", "a"]),
        ({"type": "array", "items": {"anyOf": SEATS}}, "Inside", ["in"]),
    ],
)
def test_typed_text_becomes_a_value(schema: dict[str, Any], text: str, value: Any) -> None:
    """MCP, elicitation: texts, numbers, yes or no, and choices with and without titles."""
    assert field(**schema).read(text) == value


@pytest.mark.parametrize(
    ("schema", "text", "says"),
    [
        ({"type": "integer"}, "many", "not a whole number"),
        ({"type": "integer", "maximum": 9}, "10", "maximum of 9"),
        ({"type": "number"}, "nan", "not a number"),
        ({"type": "boolean"}, "perhaps", "yes or no"),
        ({"type": "string", "minLength": 2}, "x", "shorter than 2"),
        ({"type": "string", "format": "email"}, "ada", "not an e-mail address"),
        ({"type": "string", "format": "uri"}, "over there", "not an address"),
        ({"type": "string", "format": "date"}, "1.3.2026", "not a date"),
        ({"type": "string", "format": "date-time"}, "2026-03-01", "not a date and time"),
        ({"type": "string", "oneOf": SEATS}, "3", "not one of them"),
        ({"type": "array", "maxItems": 1, "items": {"anyOf": SEATS}}, "1,2", "more than 1 item"),
    ],
)
def test_text_that_does_not_fit_is_reported_in_words(
    schema: dict[str, Any], text: str, says: str
) -> None:
    with pytest.raises(Unfit, match=says):
        field(**schema).read(text)


def test_a_default_that_breaks_its_own_form_is_none() -> None:
    assert field(type="integer", default=3).default == 3
    assert field(type="integer", default="three").default is NO_DEFAULT


def test_a_field_says_what_it_takes() -> None:
    assert field(type="integer", minimum=1, maximum=9).expected() == "a whole number, 1 to 9"
    assert field(type="string", maxLength=9).expected() == "text, at most 9 characters"
    assert field(type="string", title="Your name", description="Whole.").label == "Your name"
    assert field(type="string").label == "it"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://google.com@evil.com/x", "evil.com"),
        ("https://g\u043e\u043egle.com", "xn--ggle-55da.com"),  # two letters are Cyrillic
        ("javascript:alert(1)", ""),
        ("file:///etc/passwd", ""),
        ("https://[", ""),
    ],
)
def test_the_host_of_a_page_cannot_be_disguised(url: str, host: str) -> None:
    assert host_of(url) == host
