"""Groups in the settings file: read as they are meant, or not at all."""

from __future__ import annotations

import time
from typing import Any

import pytest

from xai_mcp_agent import Settings, settings_from
from xai_mcp_agent.core.patterns import fits


def read(groups: Any, **more: Any) -> Settings:
    return settings_from({"mcpServers": {"a": {"command": "x"}}, "groups": groups, **more})


def test_a_group_has_selectors_tools_and_exceptions(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHICH", "a")
    written = {
        "selectors": [{"source": "${WHICH}", "tags": ["x", "y*"], "method": "get"}],
        "include": "a/one",
        "exclude": ["*_two"],
    }
    group = read({"g": written}).group("g")
    assert group is not None
    assert group.selectors == ({"source": ("a",), "tags": ("x", "y*"), "method": ("GET",)},)
    assert (group.include, group.exclude) == ((("a", "one"),), ("*_two",))


def test_a_group_may_not_be_called_like_a_source():
    settings = read({"a": {"include": ["a/one"]}})
    assert any("another section of this file uses this name too" in x for x in settings.notes)
    assert settings.group("a") is None
    assert settings.source("a").name == "a"


def test_a_pattern_fits_whole_texts():
    cases: list[tuple[str, list[str], list[str]]] = [
        ("get_*", ["get_", "get_a\nb"], ["a_get_", "Get_a"]),
        ("[a]?", ["[a]?"], ["a", "ab"]),
        ("regex:get_.+", ["get_a", "get_\u00e4"], ["get_", "xget_a", "get_a\n"]),
        ("regex:a|b", ["a", "b"], ["ab", "xa"]),
        ("regex:(?i)AB", ["ab"], ["abc"]),
        ("regex:.", ["\ud800", "\U0001f600"], [""]),
        ("*\ud800*", ["a\ud800b"], ["ab"]),
    ]
    for pattern, fitting, others in cases:
        fit = fits(pattern)
        assert [x for x in (*fitting, *others) if fit(x)] == fitting


def test_no_pattern_and_no_name_can_hang():
    cases: list[str] = [
        "regex:(a+)+b",
        "regex:(a|aa)*c",
        "regex:(.*)*x",
        "*a*a*a*a*a*a*a*a*b",
        "regex:(a*)*(a*)*b",
    ]
    for pattern in cases:
        fit = fits(pattern)
        started = time.perf_counter()
        assert not fit("a" * 100_000)
        assert time.perf_counter() - started < 1.0
