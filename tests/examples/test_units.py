"""The example unit converter: exact factors, and errors that name the nearest unit."""

from __future__ import annotations

import math
from itertools import permutations

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
        (0.1, "km", "m", 100),
        (1, "lb", "g", 453.59237),
        (212, "°F", "°C", 100),
        (491.67, "°R", "°C", 0),
        (1, "imperial gallon", "liters", 4.54609),
        (60, "mph", "km/h", 96.56064),
        (1, "acre", "m²", 4046.8564224),
        (1, "GiB", "bytes", 1073741824),
        (8, "Mb", "MB", 1),
    ],
)
def test_a_conversion_is_exact(value: float, from_unit: str, to_unit: str, result: float) -> None:
    """The units are defined so: BIPM SI brochure, and the yard and pound agreement of 1959."""
    assert units.convert_units(value, from_unit, to_unit).result == result


@given(
    st.sampled_from([x for x in permutations(units.UNITS, 2) if x[0].quantity == x[1].quantity]),
    st.floats(1e-6, 1e12),
)
def test_converting_back_gives_the_same_value(pair: tuple, value: float) -> None:
    one, other = pair
    back = units.convert(units.convert(value, one, other), other, one)
    # A small temperature plus a large zero point loses its last digits.
    assert math.isclose(back, value, rel_tol=1e-12, abs_tol=1e-9)


def test_every_quantity_starts_with_its_base_unit_and_every_symbol_means_one_unit() -> None:
    for quantity in units.TABLE:
        units_of_quantity = units.list_units(quantity).units
        assert units.find_unit(units_of_quantity[0].symbol).factor == 1
        for unit in units_of_quantity:
            assert units.find_unit(unit.symbol).name == unit.name
            assert units.find_unit(unit.name).symbol == unit.symbol


def test_a_unit_has_many_spellings() -> None:
    spellings = {
        "Kilometers": "km", "light_years": "ly", "\u00b5m": "μm", "\u2103": "°C", "ft^2": "ft²",
        "m2": "m²", "Metric Tons": "t", "meters per second": "m/s", "b": "bit", "B": "B",
    }  # fmt: skip
    assert {x: units.find_unit(x).symbol for x in spellings} == spellings


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "words"),
    [
        (1, "kilometr", "m", "Did you mean km (kilometre)?"),
        (1, "KG", "g", "Did you mean kg (kilogram)?"),
        (1, "mb", "B", "Did you mean Mbit (megabit) or MB (megabyte)?"),
        (1, "gallon", "l", "US gal (US gallon) or imp gal (imperial gallon). Say which."),
        (1, "parsec", "m", "list_units gives the units of each of: length, mass, temperature"),
        (1, "", "m", "list_units gives"),
        (1, "km", "kg", "km (kilometre) measures length, but kg (kilogram) measures mass"),
        (-500, "C", "K", "-500 °C is below absolute zero"),
        (1e308, "ly", "nm", "1e+308 ly is too large a number of nm"),
    ],
)
def test_an_impossible_conversion_is_refused_with_advice(
    value: float, from_unit: str, to_unit: str, words: str
) -> None:
    with pytest.raises(ToolError) as caught:
        units.convert_units(value, from_unit, to_unit)
    assert words in str(caught.value)


@pytest.mark.anyio
async def test_the_result_names_the_recognised_units() -> None:
    async with Client(units.server) as client:
        converted = await answer(
            client, "convert_units", value=26.2, from_unit="Miles", to_unit="km"
        )
        assert (converted["from_unit"], converted["quantity"]) == ("mi", "length")
        assert converted["sentence"] == "26.2 mi = 42.1648128 km"
        assert "quantity" in await refusal(client, "list_units", quantity="colour")
