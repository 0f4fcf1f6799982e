"""Large JSON is read as Python reads it, only in small steps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent.sources.web import large_json
from xai_mcp_agent.sources.web.large_json import TooMuch, read_in_steps

TEXTS = st.text(st.sampled_from('ab"\\/\n\t{}[],: \u20ac\U0001f600'), max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=40,
)


@pytest.fixture(scope="module", autouse=True)
def _tiny_steps():
    """So that small values are taken apart as large ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_json, "_STEPS", (2, 5, 24))
        patch.setattr(large_json, "_PIECE", 24)
        yield


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_every_value_is_read_as_it_is(value: Any, is_ascii: bool, indent: int | None):
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    assert read_in_steps(f" {text}\n") == value


@given(VALUES, st.data())
def test_what_is_cut_is_an_error_as_everywhere(value: Any, data: st.DataObject):
    text = json.dumps([value])
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(ValueError, match=r"no |Expecting|control|Invalid"):
        read_in_steps(cut)
    with pytest.raises(ValueError, match="follows"):
        read_in_steps(f"{text} {text}")


@pytest.mark.parametrize(
    "text", ["\\" * 201, "\U0001f600" * 50, "\\" * 23 + "\U0001f600", '"' * 99]
)
def test_no_escape_is_cut(text: str):
    for shift in range(30):
        value = ["x" * shift + text]
        assert read_in_steps(json.dumps(value)) == value


def test_what_is_made_of_too_many_parts_is_refused(monkeypatch: pytest.MonkeyPatch):
    """Collecting garbage would hold up everybody. Brackets in a text do not count."""
    monkeypatch.setattr(large_json, "MAX_CONTAINERS", 100)
    with pytest.raises(TooMuch, match="made of more than 100 objects and lists"):
        read_in_steps(json.dumps([{"a": 1}] * 101))
    assert read_in_steps(json.dumps({"a": '{"a": [' * 101}))["a"]
