"""URI templates filled in, as RFC 6570 says; the examples are its own where it has some."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent import InvalidArguments
from xai_mcp_agent.core.util import fill_template


def test_values_are_encoded_for_their_place():
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("x://plain", {}, "x://plain"),
        ("x://{var}", {"var": "value"}, "x://value"),
        ("x://{hello}", {"hello": "Hello World!"}, "x://Hello%20World%21"),
        ("x://{+path}/here", {"path": "/foo/bar"}, "x:///foo/bar/here"),
        ("x://{path}", {"path": "../etc"}, "x://..%2Fetc"),
        ("x:/{/list*}", {"list": ["red", "green"]}, "x://red/green"),
        ("x://a{?x,y}", {"x": 1024, "y": True}, "x://a?x=1024&y=true"),
        ("x://a{?x,y}", {"y": "b&c"}, "x://a?y=b%26c"),
        ("x://a{?x}", {"x": None}, "x://a"),
        ("x://{user-id}{#part}", {"user-id": 7}, "x://7"),
        ("x://{self}", {"self": "me"}, "x://me"),
    ]
    for template, values, uri in cases:
        assert fill_template(template, values) == uri


def test_what_is_missing_or_misspelled_is_named():
    """A hole in a path would read another resource."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "day is missing"),
        ({"day": ""}, "day is missing"),
        ({"day": None}, "day is missing"),
        ({"day": "x", "dya": "y"}, "there is no parameter dya"),
    ]
    for values, problem in cases:
        with pytest.raises(InvalidArguments, match=problem) as caught:
            fill_template("x://{day}{?lang}", values)
        assert str(caught.value).endswith("Expected: day, lang.")
