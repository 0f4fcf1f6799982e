"""Every settings file of the repository and of the tests' tables is read as it always was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .answers import TABLE, answer_of

CASES = json.loads(TABLE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_file_is_read_noted_and_refused_word_for_word(number: int) -> None:
    case: dict[str, Any] = CASES[number]
    assert answer_of(case["text"], case["environ"]) == case["answer"], case["text"]
