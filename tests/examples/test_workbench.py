"""The bundled server with several hundred tools: each works, and refuses bad arguments."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from xai_mcp_agent.core.schemas import example_arguments

from .servers import load

WORKBENCH = load("workbench")

# Texts for tools that do not take any text.
TEXTS = {
    "roman_to_number": "XIV",
    "binary_to_number": "101",
    "hexadecimal_to_number": "ff",
    "base64_decode": "dGV4dA==",
    "json_format": '{"a": 1}',
    "clock_to_seconds": "1:02:03",
}
# Arguments for tools for which the examples are too few or too small.
SEVERAL = {"numbers": [3, 1, 2], "others": [6, 2, 5], "width": 20}


def arguments_for(tool: Any) -> dict[str, Any]:
    arguments = example_arguments(tool.input_schema)
    arguments |= {name: value for name, value in SEVERAL.items() if name in arguments}
    return arguments | ({"text": TEXTS[tool.name]} if tool.name in TEXTS else {})


def answer(tool: str, **arguments: Any) -> Any:
    return WORKBENCH.answer(tool, arguments)


def test_each_of_several_hundred_tools_answers_a_call_that_fits_its_schema() -> None:
    rows = [*WORKBENCH.conversions(), *(x for rows in WORKBENCH.TOOLS.values() for x in rows)]
    assert len(rows) == len(WORKBENCH.ALL_TOOLS) >= 300, "no two have the same name"
    for tool in WORKBENCH.ALL_TOOLS:
        arguments = arguments_for(tool)
        assert json.dumps(WORKBENCH.answer(tool.name, arguments)) is not None, tool.name


def test_converting_back_gives_the_same_value() -> None:
    for units in WORKBENCH.UNITS.values():
        first, *others = units
        for other in others:
            there = answer(f"{first}_to_{other}", value=12.5)
            assert answer(f"{other}_to_{first}", value=there) == pytest.approx(12.5)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("miles_to_kilometres", {"value": 26.2}, 42.1648128),
        ("prime_factors", {"whole": 360}, [2, 2, 2, 3, 3, 5]),
        ("number_to_roman", {"whole": 1994}, "MCMXCIV"),
        ("percentile", {"numbers": [1, 2, 3, 4], "p": 50}, 2.5),
        ("edit_distance", {"text": "kitten", "second": "sitting"}, 3),
        ("kebab_case", {"text": "D\u00e9j\u00e0 vu!"}, "deja-vu"),
        ("is_palindrome", {"text": "A man, a plan, a canal: Panama"}, True),
        ("easter_sunday", {"year": 2026}, "2026-04-05"),
        ("add_months_to_date", {"day": "2024-01-31", "count": 1}, "2024-02-29"),
        ("age_in_years", {"day": "2000-02-29", "until": "2026-02-28"}, 25),
        ("contrast_ratio", {"colour": "#000000", "background": "#ffffff"}, 21),
        ("sphere_volume", {"radius": 3}, 113.097335529),
        ("compound_interest", {"amount": 100, "rate": 10, "years": 2}, 121),
        ("resistors_in_parallel", {"ohms": [10, 10]}, 5),
        ("workdays_between_dates", {"day": "2026-03-07", "until": "2026-03-23"}, 11),
    ],
)
def test_the_result_of_a_tool_is_correct(
    tool: str, arguments: dict[str, Any], expected: Any
) -> None:
    assert answer(tool, **arguments) == expected


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("square_root", {"x": -1}),
        ("raise_to_power", {"x": 10**9, "y": 10**9}),
        ("factorial", {"n": 10**9}),
        ("prime_factors", {"whole": 10**30}),
        ("correlation", {"numbers": [1, 2], "others": [1]}),
        ("metres_to_feet", {"value": "three"}),
        ("metres_to_feet", {}),
        ("metres_to_feet", {"value": 1, "more": 2}),
        ("weekday_of_date", {"day": "2026-02-30"}),
        ("roman_to_number", {"text": "IIX"}),
        ("json_format", {"text": "[" * 9_000}),
        ("upper_case", {"text": "x" * 20_000}),
    ],
)
def test_impossible_arguments_are_refused_with_a_reason(
    tool: str, arguments: dict[str, Any]
) -> None:
    start = time.thread_time()
    with pytest.raises(ValueError, match=r"\w"):
        answer(tool, **arguments)
    assert time.thread_time() - start < 0.5
