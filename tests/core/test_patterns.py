"""Patterns of names in settings: they fit whole texts, and hang on none."""

from __future__ import annotations

import time

from xai_mcp_agent.core.patterns import fits


def test_a_pattern_fits_whole_texts():
    rows: list[tuple[str, list[str], list[str]]] = [
        ("get_*", ["get_", "get_a\nb"], ["a_get_", "Get_a"]),
        ("[a]?", ["[a]?"], ["a", "ab"]),
        ("regex:get_.+", ["get_a", "get_\u00e4"], ["get_", "xget_a", "get_a\n"]),
        ("regex:a|b", ["a", "b"], ["ab", "xa"]),
        ("regex:(?i)AB", ["ab"], ["abc"]),
        ("regex:.", ["\ud800", "\U0001f600"], [""]),
        ("*\ud800*", ["a\ud800b"], ["ab"]),
    ]
    for pattern, fitting, others in rows:
        fit = fits(pattern)
        assert [x for x in (*fitting, *others) if fit(x)] == fitting


def test_no_pattern_and_no_name_can_hang():
    for pattern in ("regex:(a+)+b", "regex:(a|aa)*c", "regex:(.*)*x", "*a*a*a*a*a*a*a*a*b"):
        fit = fits(pattern)
        started = time.perf_counter()
        assert not fit("a" * 100_000)
        assert time.perf_counter() - started < 1.0
