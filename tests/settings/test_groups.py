"""Groups in the settings file: read as they are meant, or not at all."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import Settings, SettingsError, load_settings, settings_from
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


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ([], "groups.g"),
        ({}, "groups.g"),
        ({"selectors": []}, "groups.g"),
        ({"selectors": [{}]}, "groups.g.selectors[0]"),
        ({"selectors": ["a"]}, "groups.g.selectors[0]"),
        ({"selectors": {"name": "a"}}, "groups.g.selectors"),
        ({"selectors": [{"nam": "a"}]}, "groups.g.selectors[0].nam"),
        ({"selectors": [{"name": 5}]}, "groups.g.selectors[0].name"),
        ({"selectors": [{"name": []}]}, "groups.g.selectors[0].name"),
        ({"selectors": [{"name": "${NOT_SET_AT_ALL}"}]}, "groups.g.selectors[0].name"),
        ({"selectors": [{"name": "a"}], "exlude": ["b"]}, "groups.g.exlude"),
        ({"selectors": [{"name": "a"}], "exclude": [""]}, "groups.g.exclude"),
        ({"include": ["one"]}, "groups.g.include"),
        *(
            ({"selectors": [{"path": f"regex:{x}"}]}, "groups.g.selectors[0].path")
            for x in ("(", "a)|(b", "(?=a)", r"(a)\1", "(a{1000}){1000}", "a" * 1001)
        ),
    ],
)
def test_a_group_with_a_mistake_is_not_used_and_nothing_else_suffers(written: Any, place: str):
    """Without the part that is wrong it would be another group than somebody meant."""
    settings = read({"g": written, "fine": {"include": ["a/one"]}})
    with pytest.raises(SettingsError) as told:
        settings.group("g")
    assert told.value.key_path == place
    assert any("'g' cannot be used" in x for x in settings.notes)
    assert settings.group("fine") is not None
    assert list(settings.sources) == ["a"]


def test_a_group_may_not_be_called_like_a_source():
    settings = read({"a": {"include": ["a/one"]}})
    assert any("another section of this file uses this name too" in x for x in settings.notes)
    assert settings.group("a") is None
    assert settings.source("a").name == "a"


def test_a_group_that_is_written_twice_is_not_used(tmp_path: Path):
    file = tmp_path / "mcp_settings.json"
    group = '{"include": ["a/one"]}'
    file.write_text(f'{{"mcpServers": {{}}, "groups": {{"g": {group}, "g": {group}}}}}')
    settings = load_settings(file)
    with pytest.raises(SettingsError, match="written more than once"):
        settings.group("g")


def test_a_section_that_is_invalid_is_noted():
    assert any("groups" in x for x in read([]).notes)


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("get_*", ["get_", "get_a\nb"], ["a_get_", "Get_a"]),
        ("[a]?", ["[a]?"], ["a", "ab"]),
        ("regex:get_.+", ["get_a", "get_\u00e4"], ["get_", "xget_a", "get_a\n"]),
        ("regex:a|b", ["a", "b"], ["ab", "xa"]),
        ("regex:(?i)AB", ["ab"], ["abc"]),
        ("regex:.", ["\ud800", "\U0001f600"], [""]),
        ("*\ud800*", ["a\ud800b"], ["ab"]),
    ],
)
def test_a_pattern_fits_whole_texts(pattern: str, fitting: list[str], others: list[str]):
    fit = fits(pattern)
    assert [x for x in (*fitting, *others) if fit(x)] == fitting


@pytest.mark.parametrize(
    "pattern",
    ["regex:(a+)+b", "regex:(a|aa)*c", "regex:(.*)*x", "*a*a*a*a*a*a*a*a*b", "regex:(a*)*(a*)*b"],
)
def test_no_pattern_and_no_name_can_hang(pattern: str):
    fit = fits(pattern)
    started = time.perf_counter()
    assert not fit("a" * 100_000)
    assert time.perf_counter() - started < 1.0
