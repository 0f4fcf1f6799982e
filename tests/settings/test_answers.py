"""Every settings file of the repository leads to the settings and messages in the table."""

from __future__ import annotations

import json

from .answers import TABLE, answer_of


def test_every_settings_file_has_the_recorded_settings_notes_and_errors():
    for case in json.loads(TABLE.read_text(encoding="utf-8")):
        assert answer_of(case["text"], case["environ"]) == case["answer"], case["text"]
