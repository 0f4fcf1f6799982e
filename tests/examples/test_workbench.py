"""The bundled server with several hundred tools: each of them works, and none can be misused."""

from __future__ import annotations

import json
import time
from datetime import date, timedelta
from typing import Any

import pytest

from xai_mcp_agent.core.schemas import example_arguments

from .servers import load

WORKBENCH = load("workbench")

# Texts that a tool needs, where any text would not do.
TEXTS = {
    "roman_to_number": "XIV",
    "binary_to_number": "101",
    "hexadecimal_to_number": "ff",
    "base64_decode": "dGV4dA==",
    "json_format": '{"a": 1}',
    "clock_to_seconds": "1:02:03",
}
# Some are about more than one thing, and one number gives none.
SEVERAL = {"numbers": [3, 1, 2], "others": [6, 2, 5], "width": 20}


def arguments_for(tool: Any) -> dict[str, Any]:
    given = example_arguments(tool.input_schema)
    given |= {name: value for name, value in SEVERAL.items() if name in given}
    return given | ({"text": TEXTS[tool.name]} if tool.name in TEXTS else {})


def answer(tool: str, **arguments: Any) -> Any:
    return WORKBENCH.answer(tool, arguments)


def test_there_are_several_hundred_and_no_two_have_the_same_name() -> None:
    rows = [*WORKBENCH.conversions(), *(x for rows in WORKBENCH.TOOLS.values() for x in rows)]
    assert len(rows) == len(WORKBENCH.LISTED) >= 300


def test_each_tool_answers_with_json_to_a_call_as_its_schema_wants_it() -> None:
    for tool in WORKBENCH.LISTED:
        given = arguments_for(tool)
        assert json.dumps(WORKBENCH.answer(tool.name, given)) is not None, tool.name


def test_every_parameter_that_is_explained_is_one_of_a_tool() -> None:
    used = {name for x in WORKBENCH.LISTED for name in x.input_schema["properties"]}
    assert used == set(WORKBENCH.PARAMETERS)


def test_conversions_go_there_and_back() -> None:
    for units in WORKBENCH.UNITS.values():
        first, *others = units
        for other in others:
            there = answer(f"{first}_to_{other}", value=12.5)
            assert answer(f"{other}_to_{first}", value=there) == pytest.approx(12.5)


@pytest.mark.parametrize(
    ("tool", "arguments", "wanted"),
    [
        ("miles_to_kilometres", {"value": 26.2}, 42.1648128),
        ("fahrenheit_to_celsius", {"value": 212}, 100),
        ("prime_factors", {"whole": 360}, [2, 2, 2, 3, 3, 5]),
        ("number_to_roman", {"whole": 1994}, "MCMXCIV"),
        ("roman_to_number", {"text": "mcmxciv"}, 1994),
        ("median", {"numbers": [3, 1, 2]}, 2),
        ("percentile", {"numbers": [1, 2, 3, 4], "p": 50}, 2.5),
        ("linear_regression", {"numbers": [1, 2], "others": [3, 5]}, [2, 1]),
        ("edit_distance", {"text": "kitten", "second": "sitting"}, 3),
        ("camel_case", {"text": "the quick_brown fox"}, "theQuickBrownFox"),
        ("kebab_case", {"text": "D\u00e9j\u00e0 vu!"}, "deja-vu"),
        ("is_palindrome", {"text": "A man, a plan, a canal: Panama"}, True),
        ("easter_sunday", {"year": 2026}, "2026-04-05"),
        ("add_months_to_date", {"day": "2024-01-31", "count": 1}, "2024-02-29"),
        ("age_in_years", {"day": "2000-02-29", "until": "2026-02-28"}, 25),
        ("seconds_to_clock", {"seconds": 3661}, "1:01:01"),
        ("mix_colours", {"colour": "#000000", "background": "#ffffff"}, "#808080"),
        ("contrast_ratio", {"colour": "#000000", "background": "#ffffff"}, 21),
        ("sphere_volume", {"radius": 3}, 113.097335529),
        ("loan_payment", {"amount": 1200, "rate": 0, "years": 1}, 100),
        ("compound_interest", {"amount": 100, "rate": 10, "years": 2}, 121),
        ("resistors_in_parallel", {"ohms": [10, 10]}, 5),
    ],
)
def test_what_a_tool_answers_is_right(tool: str, arguments: dict[str, Any], wanted: Any) -> None:
    assert answer(tool, **arguments) == wanted


def test_working_days_are_those_of_the_calendar() -> None:
    first = date(2026, 3, 7)
    for length in range(20):
        days = [first + timedelta(x) for x in range(length + 1)]
        counted = sum(x.weekday() < 5 for x in days)
        last = days[-1].isoformat()
        assert answer("workdays_between_dates", day=first.isoformat(), until=last) == counted


def test_places_on_opposite_sides_are_half_the_earth_apart() -> None:
    places = {"latitude1": 0, "longitude1": 0, "latitude2": 0, "longitude2": 180}
    assert answer("earth_distance", **places) == pytest.approx(20015, abs=1)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("square_root", {"x": -1}),
        ("raise_to_power", {"x": 10**9, "y": 10**9}),
        ("raise_to_power", {"x": -8, "y": 0.5}),
        ("what_percent", {"x": 1, "y": 0}),
        ("factorial", {"n": 10**9}),
        ("prime_factors", {"whole": 10**30}),
        ("standard_deviation", {"numbers": [1]}),
        ("correlation", {"numbers": [1, 2], "others": [1]}),
        ("metres_to_feet", {"value": "three"}),
        ("metres_to_feet", {}),
        ("metres_to_feet", {"value": 1, "more": 2}),
        ("weekday_of_date", {"day": "2026-02-30"}),
        ("add_days_to_date", {"day": "9999-12-31", "count": 1}),
        ("roman_to_number", {"text": "IIX"}),
        ("colour_to_rgb", {"colour": "green"}),
        ("json_format", {"text": "[" * 9_000}),
        ("upper_case", {"text": "x" * 20_000}),
    ],
)
def test_what_cannot_be_worked_out_is_refused_in_words(
    tool: str, arguments: dict[str, Any]
) -> None:
    began = time.thread_time()
    with pytest.raises(ValueError, match=r"\w"):
        answer(tool, **arguments)
    assert time.thread_time() - began < 0.5
