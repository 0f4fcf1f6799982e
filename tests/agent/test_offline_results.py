"""Results of tools as the offline model reads them: what they offer for the next call."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent.agent.models.offline.results import value_for
from xai_mcp_agent.planning.reading.parameters import parameters_of


@pytest.mark.parametrize(
    ("name", "schema", "result", "expected"),
    [
        ("book_id", "integer", '{"book_id": 3, "year": 1851}', 3),
        ("book_id", "integer", '{"id": 3, "year": 1851}', 3),
        ("book_id", "integer", '[{"year": 1851, "book_id": "8"}]', 8),
        ("timezone", "string", '{"place": "Rome", "tz": "Europe/Rome"}', "Europe/Rome"),
        ("amount", "number", "The sum is 12.5 euros.", 12.5),
        ("amount", "number", "true", None),
        ("date", "string", '{"due": "2026-12-24T10:00:00Z"}', "2026-12-24"),
        ("ids", "array", '{"ids": [1, 2]}', [1, 2]),
        ("revision", "string", "Commit history:\nRevision: c963a22\nAuthor: Ada", "c963a22"),
        ("text", "string", "just words", "just words"),
    ],
)
def test_a_result_gives_the_value_that_a_parameter_wants(
    name: str, schema: str, result: str, expected: Any
) -> None:
    parameter = parameters_of({"properties": {name: {"type": schema}}, "required": [name]})[0]
    assert value_for(parameter, result, "") == expected
