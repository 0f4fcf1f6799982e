"""The example unit converter: exact factors, and errors that name the nearest unit."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server.mcpserver.exceptions import ToolError

from .servers import answer, load, refusal

units = load("units")


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "result"),
    [
        (1, "mi", "m", 1609.344),
        (6, "feet", "m", 1.8288),
        (1, "light-year", "m", 9460730472580800),
        (0.1, "km", "m", 100),
        (1, "lb", "g", 453.59237),
        (212, "°F", "°C", 100),
        (98.6, "F", "C", 37),
        (491.67, "°R", "°C", 0),
        (1, "US gallon", "litres", 3.785411784),
        (1, "imperial gallon", "liters", 4.54609),
        (60, "mph", "km/h", 96.56064),
        (1, "week", "hours", 168),
        (1, "acre", "m²", 4046.8564224),
        (1, "GiB", "bytes", 1073741824),
        (8, "Mb", "MB", 1),
    ],
)
def test_a_conversion_is_exact(value: float, from_unit: str, to_unit: str, result: float) -> None:
    """By definition of the units: BIPM SI brochure, and the yard and pound agreement of 1959."""
    assert units.convert_units(value, from_unit, to_unit).result == result


SAME_QUANTITY = [
    (a, b) for a, b in product(units.UNITS, units.UNITS) if a.quantity == b.quantity and a != b
]


@given(st.sampled_from(SAME_QUANTITY), st.floats(1e-6, 1e12))
def test_there_and_back_gives_the_same_value(pair: tuple, value: float) -> None:
    one, other = pair
    there = units.convert(value, one, other)
    back = units.convert(there, other, one)
    # A small temperature next to a large zero point keeps only the digits that fit behind it.
    assert math.isclose(back, value, rel_tol=1e-12, abs_tol=1e-9)


def test_every_quantity_starts_with_its_base_unit_and_every_symbol_means_one_unit() -> None:
    for quantity in units.TABLE:
        listed = units.list_units(quantity).units
        assert units.find_unit(listed[0].symbol).factor == 1
        for unit in listed:
            assert units.find_unit(unit.symbol).name == unit.name
            assert units.find_unit(unit.name).symbol == unit.symbol


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("Kilometers", "km"),
        ("light_years", "ly"),
        ("\u00b5m", "μm"),  # the micro sign; the table has the Greek letter
        ("\u2103", "°C"),  # one sign for degree Celsius
        ("ft^2", "ft²"),
        ("m2", "m²"),
        ("Metric Tons", "t"),
        ("meters per second", "m/s"),
        ("MPH", "mph"),
        ("b", "bit"),
        ("B", "B"),
    ],
)
def test_a_unit_is_understood_in_many_spellings(text: str, symbol: str) -> None:
    assert units.find_unit(text).symbol == symbol


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kilometr", "Did you mean km (kilometre)?"),
        ("celcius", "Did you mean °C (degree Celsius)?"),
        ("KG", "Did you mean kg (kilogram)?"),
        ("mb", "Did you mean Mbit (megabit) or MB (megabyte)?"),
        ("gallon", "US gal (US gallon) or imp gal (imperial gallon). Say which."),
        ("ton", "t (tonne) or short ton (US ton) or long ton (imperial ton). Say which."),
        ("parsec", "list_units gives the units of each of: length, mass, temperature"),
        ("", "list_units gives"),
    ],
)
def test_an_unknown_or_unclear_unit_is_refused_with_the_nearest(text: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        units.convert_units(1, text, "m")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "words"),
    [
        (1, "km", "kg", "km (kilometre) measures length, but kg (kilogram) measures mass"),
        (-500, "C", "K", "-500 °C is below absolute zero"),
        (1e308, "ly", "nm", "1e+308 ly is too large a number of nm"),
    ],
)
def test_what_cannot_be_converted_is_refused_in_words(
    value: float, from_unit: str, to_unit: str, words: str
) -> None:
    with pytest.raises(ToolError) as caught:
        units.convert_units(value, from_unit, to_unit)
    assert words in str(caught.value)


@pytest.mark.anyio
async def test_the_answer_names_the_units_it_understood() -> None:
    async with Client(units.server) as client:
        arguments = {"value": 26.2, "from_unit": "Miles", "to_unit": "km"}
        assert await answer(client, "convert_units", **arguments) == {
            "value": 26.2, "from_unit": "mi", "result": 42.1648128, "to_unit": "km",
            "quantity": "length", "sentence": "26.2 mi = 42.1648128 km",
        }  # fmt: skip
        assert "quantity" in await refusal(client, "list_units", quantity="colour")
