"""An MCP server: converts units of measurement, exactly.

    python units.py                over stdio, as an MCP client starts it
    python units.py --http 8002    at http://127.0.0.1:8002/mcp (Streamable HTTP)
    python units.py --sse 8002     at http://127.0.0.1:8002/sse (the older HTTP transport)

Every factor is exact, because the unit is defined by it (an inch is 0.0254 m, a US gallon 231 cubic
inches), and the arithmetic is done with fractions. So a result is rounded once, at the very end.

Open it, add a unit, connect again. Over stdio, standard output belongs to the protocol: to see a
value while you experiment, `print(value, file=sys.stderr)`.

Needs only the `mcp` package (which brings pydantic).
"""

import argparse
import contextlib
import difflib
import signal
import sys
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer(
    "units",
    title="Unit converter",
    version="1.0",
    instructions=(
        "Use convert_units for every conversion instead of calculating: its factors are exact. "
        "A unit that it does not know is refused with the nearest names; list_units gives them all."
    ),
    log_level="WARNING",  # to standard error; refusals that we word ourselves are not warnings
)

# The tools calculate; they change nothing and use no other service.
CALCULATES = ToolAnnotations(read_only_hint=True, open_world_hint=False)


# --- The units ---------------------------------------------------------------------------------


Quantity = Literal["length", "mass", "temperature", "volume", "speed", "time", "area", "data"]


@dataclass(frozen=True)
class Unit:
    """A unit; (value + `zero`) * `factor` is the value in the base unit of its quantity."""

    quantity: Quantity
    symbol: str
    name: str
    factor: Fraction
    also: tuple[str, ...] = ()
    zero: Fraction = Fraction(0)

    def __str__(self) -> str:
        return f"{self.symbol} ({self.name})"


INCH = Fraction("0.0254")  # metres; international yard and pound agreement, 1959
FOOT, YARD, MILE = 12 * INCH, 36 * INCH, 63360 * INCH
POUND = Fraction("0.45359237")  # kilograms; the same agreement
US_GALLON = 231 * INCH**3
IMPERIAL_GALLON = Fraction("0.00454609")  # cubic metres; Weights and Measures Act 1985
LIGHT = Fraction(299792458)  # metres per second; it defines the metre
HOUR, DAY = Fraction(3600), Fraction(86400)  # seconds
YEAR = Fraction("365.25") * DAY  # the Julian year of astronomers

# For each quantity, the base unit first: symbol, name, factor, then further spellings.
# The case of symbols and spellings of one or two letters matters ("Mb" is not "MB"); names have any
# case, "-er" for "-re", and a plural s.
TABLE: dict[Quantity, list[tuple[str, str, Fraction | int | str, str]]] = {
    "length": [
        ("m", "metre", 1, ""),
        ("km", "kilometre", 1000, ""),
        ("cm", "centimetre", "0.01", ""),
        ("mm", "millimetre", "0.001", ""),
        ("μm", "micrometre", "1e-6", "um, micron"),
        ("nm", "nanometre", "1e-9", ""),
        ("in", "inch", INCH, "inches"),
        ("ft", "foot", FOOT, "feet"),
        ("yd", "yard", YARD, ""),
        ("mi", "mile", MILE, "statute mile"),
        ("nmi", "nautical mile", 1852, "NM"),
        ("au", "astronomical unit", 149597870700, "AU"),
        ("ly", "light-year", LIGHT * YEAR, ""),
    ],
    "mass": [
        ("kg", "kilogram", 1, "kilo, kilogramme"),
        ("g", "gram", "0.001", "gramme"),
        ("mg", "milligram", "1e-6", ""),
        ("μg", "microgram", "1e-9", "ug, mcg"),
        ("t", "tonne", 1000, "metric ton, ton"),
        ("lb", "pound", POUND, "lbs"),
        ("oz", "ounce", POUND / 16, ""),
        ("st", "stone", 14 * POUND, ""),
        ("gr", "grain", POUND / 7000, ""),
        ("short ton", "US ton", 2000 * POUND, "ton"),
        ("long ton", "imperial ton", 2240 * POUND, "ton"),
        ("oz t", "troy ounce", 480 * POUND / 7000, ""),
        ("ct", "carat", "0.0002", ""),
    ],
    "temperature": [
        ("K", "kelvin", 1, ""),
        ("°C", "degree Celsius", 1, "C, degC, Celsius, centigrade, degrees Celsius"),
        ("°F", "degree Fahrenheit", Fraction(5, 9), "F, degF, Fahrenheit, degrees Fahrenheit"),
        ("°R", "degree Rankine", Fraction(5, 9), "degR, Rankine, degrees Rankine"),
    ],
    "volume": [
        ("m³", "cubic metre", 1, "m^3, cu m"),
        ("cm³", "cubic centimetre", "1e-6", "cm^3, cc"),
        ("L", "litre", "0.001", "l"),
        ("dL", "decilitre", "1e-4", "dl"),
        ("cL", "centilitre", "1e-5", "cl"),
        ("mL", "millilitre", "1e-6", "ml"),
        ("in³", "cubic inch", INCH**3, "in^3, cu in, cubic inches"),
        ("ft³", "cubic foot", FOOT**3, "ft^3, cu ft, cubic feet"),
        ("US gal", "US gallon", US_GALLON, "gal, gallon"),
        ("US qt", "US quart", US_GALLON / 4, "qt, quart"),
        ("US pt", "US pint", US_GALLON / 8, "pt, pint"),
        ("US cup", "US customary cup", US_GALLON / 16, "cup"),
        ("US fl oz", "US fluid ounce", US_GALLON / 128, "fl oz, fluid ounce"),
        ("US tbsp", "US tablespoon", US_GALLON / 256, "tbsp, tablespoon"),
        ("US tsp", "US teaspoon", US_GALLON / 768, "tsp, teaspoon"),
        ("imp gal", "imperial gallon", IMPERIAL_GALLON, "gal, gallon, UK gallon"),
        ("imp qt", "imperial quart", IMPERIAL_GALLON / 4, "qt, quart, UK quart"),
        ("imp pt", "imperial pint", IMPERIAL_GALLON / 8, "pt, pint, UK pint"),
        ("imp fl oz", "imperial fluid ounce", IMPERIAL_GALLON / 160, "fl oz, fluid ounce"),
    ],
    "speed": [
        ("m/s", "metre per second", 1, "mps, metres per second"),
        ("km/h", "kilometre per hour", 1000 / HOUR, "km/hr, kph, kmh, kilometres per hour"),
        ("mph", "mile per hour", MILE / HOUR, "mi/h, miles per hour"),
        ("kn", "knot", 1852 / HOUR, "kt, kts"),
        ("ft/s", "foot per second", FOOT, "fps, feet per second"),
        ("c", "speed of light", LIGHT, ""),
    ],
    "time": [
        ("s", "second", 1, "sec"),
        ("ms", "millisecond", "0.001", ""),
        ("μs", "microsecond", "1e-6", "us"),
        ("ns", "nanosecond", "1e-9", ""),
        ("min", "minute", 60, ""),
        ("h", "hour", HOUR, "hr, hrs"),
        ("d", "day", DAY, ""),
        ("wk", "week", 7 * DAY, ""),
        ("yr", "Julian year", YEAR, "year, yrs"),
    ],
    "area": [
        ("m²", "square metre", 1, "m^2, sq m, sqm"),
        ("km²", "square kilometre", 10**6, "km^2, sq km"),
        ("cm²", "square centimetre", "1e-4", "cm^2, sq cm"),
        ("mm²", "square millimetre", "1e-6", "mm^2, sq mm"),
        ("ha", "hectare", 10**4, ""),
        ("in²", "square inch", INCH**2, "in^2, sq in, square inches"),
        ("ft²", "square foot", FOOT**2, "ft^2, sq ft, sqft, square feet"),
        ("yd²", "square yard", YARD**2, "yd^2, sq yd"),
        ("ac", "acre", 4840 * YARD**2, ""),
        ("mi²", "square mile", MILE**2, "mi^2, sq mi"),
    ],
    "data": [
        ("bit", "bit", 1, "b"),
        ("kbit", "kilobit", 10**3, "kb"),
        ("Mbit", "megabit", 10**6, "Mb"),
        ("Gbit", "gigabit", 10**9, "Gb"),
        ("Tbit", "terabit", 10**12, "Tb"),
        ("B", "byte", 8, ""),
        ("kB", "kilobyte", 8 * 10**3, ""),
        ("MB", "megabyte", 8 * 10**6, ""),
        ("GB", "gigabyte", 8 * 10**9, ""),
        ("TB", "terabyte", 8 * 10**12, ""),
        ("PB", "petabyte", 8 * 10**15, ""),
        ("KiB", "kibibyte", 8 * 2**10, ""),
        ("MiB", "mebibyte", 8 * 2**20, ""),
        ("GiB", "gibibyte", 8 * 2**30, ""),
        ("TiB", "tebibyte", 8 * 2**40, ""),
        ("PiB", "pebibyte", 8 * 2**50, ""),
    ],
}

# The number to add to a temperature so that absolute zero becomes 0.
ZERO_POINTS = {"°C": Fraction("273.15"), "°F": Fraction("459.67")}


def read_table() -> list[Unit]:
    """Return the rows of TABLE as units."""
    return [
        Unit(
            quantity=quantity,
            symbol=symbol,
            name=name,
            factor=Fraction(factor),
            also=tuple(also.split(", ")) if also else (),
            zero=ZERO_POINTS.get(symbol, Fraction(0)),
        )
        for quantity, rows in TABLE.items()
        for symbol, name, factor, also in rows
    ]


UNITS = read_table()


# --- Finding a unit by its spelling ------------------------------------------------------------


def as_symbol(text: str) -> str:
    """Return the standard form of a symbol: `m²` for `m2`, the letter mu for micro."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def as_name(text: str) -> str:
    """Return the standard form of a name: `light year` for `Light_Years` and `light-year`."""
    words = as_symbol(text).casefold().replace("-", " ").replace("_", " ").split()
    plain = " ".join(words).replace("meter", "metre").replace("liter", "litre")
    return plain[:-1] if len(plain) > 3 and plain.endswith("s") else plain


def spellings(unit: Unit) -> tuple[str, ...]:
    """Return all spellings of a unit."""
    return (unit.symbol, unit.name, *unit.also)


def find_unit(text: str) -> Unit:
    """Return the unit with this spelling, or raise an error with the nearest ones."""
    symbol, name = as_symbol(text), as_name(text)
    matches = [unit for unit in UNITS if symbol in map(as_symbol, spellings(unit))]
    if not matches and len(name) > 2:  # a symbol in the wrong case may be another unit: Mb and MB
        matches = [unit for unit in UNITS if name in map(as_name, spellings(unit))]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ToolError(f"{text!r} may be {' or '.join(map(str, matches))}. Say which.")
    raise ToolError(f"There is no unit {text!r} here. {advice(name)}")


def advice(name: str) -> str:
    """Return the advice for an unknown unit: the nearest ones, or where to find all."""
    by_name: dict[str, list[str]] = {}
    for unit in UNITS:
        for spelling in map(as_name, spellings(unit)):
            by_name.setdefault(spelling, []).append(str(unit))
    # A spelling in the wrong case needs no other suggestions.
    near = [name] if name in by_name else difflib.get_close_matches(name, by_name, n=3, cutoff=0.7)
    units = list(dict.fromkeys(unit for spelling in near for unit in by_name[spelling]))
    if units:
        return f"Did you mean {' or '.join(units)}?"
    return f"list_units gives the units of each of: {', '.join(TABLE)}."


# --- Tools -------------------------------------------------------------------------------------

UNIT = (
    "A name in any case, or a symbol as it is written: km, mile, lb, oz, °F, celsius, mL, "
    "US gallon, mph, knot, hour, day, acre, m², MB, GiB, Mbit and others; list_units gives all."
)


class Conversion(BaseModel):
    """A value in another unit."""

    value: float
    from_unit: str = Field(description="Symbol of the unit that was understood.")
    result: float
    to_unit: str = Field(description="Symbol of the unit of the result.")
    quantity: Quantity
    sentence: str = Field(description="The conversion in words, the result to 10 digits.")


class UnitDescription(BaseModel):
    """One unit of the list."""

    symbol: str
    name: str
    also: list[str] = Field(description="Other spellings that are understood.")


class UnitList(BaseModel):
    """The units of one quantity, the base unit first."""

    quantity: Quantity
    units: list[UnitDescription]


@server.tool(title="Convert units", annotations=CALCULATES)
def convert_units(
    value: Annotated[
        float, Field(description="The number to convert, such as 26.2.", allow_inf_nan=False)
    ],
    from_unit: Annotated[str, Field(description="Unit of the value. " + UNIT)],
    to_unit: Annotated[str, Field(description="Unit of the result, of the same quantity. " + UNIT)],
) -> Conversion:
    """Convert a length, mass, temperature, volume, speed, time, area or amount of data exactly."""
    source, target = find_unit(from_unit), find_unit(to_unit)
    if source.quantity != target.quantity:
        raise ToolError(
            f"{source} measures {source.quantity}, but {target} measures {target.quantity}. "
            f"Convert to a unit of {source.quantity}; list_units gives them."
        )
    result = convert(value, source, target)
    return Conversion(
        value=value,
        from_unit=source.symbol,
        result=result,
        to_unit=target.symbol,
        quantity=source.quantity,
        sentence=f"{value:.15g} {source.symbol} = {result:.10g} {target.symbol}",
    )


def convert(value: float, source: Unit, target: Unit) -> float:
    """Return the converted value; refuse one below absolute zero or too large for a float."""
    # The decimal value: 0.1 is one tenth here, not the binary fraction near it.
    base = (Fraction(str(value)) + source.zero) * source.factor
    if source.quantity == "temperature" and base < 0:
        raise ToolError(f"{value:.15g} {source.symbol} is below absolute zero, 0 K = -273.15 °C.")
    try:
        return float(base / target.factor - target.zero)
    except OverflowError:
        raise ToolError(
            f"{value:.15g} {source.symbol} is too large a number of {target.symbol}."
        ) from None


@server.tool(title="List units", annotations=CALCULATES)
def list_units(
    quantity: Annotated[Quantity, Field(description="The quantity whose units to list.")],
) -> UnitList:
    """List the units of one quantity with their symbols, names and other spellings."""
    units = [
        UnitDescription(symbol=unit.symbol, name=unit.name, also=list(unit.also))
        for unit in UNITS
        if unit.quantity == quantity
    ]
    return UnitList(quantity=quantity, units=units)


# --- Starting ----------------------------------------------------------------------------------


def main() -> None:
    """Read the command line and serve until the client leaves, or Ctrl+C."""
    parser = argparse.ArgumentParser(description="MCP server that converts units.")
    over = parser.add_mutually_exclusive_group()
    over.add_argument("--http", type=int, metavar="PORT", help="serve Streamable HTTP on this port")
    over.add_argument("--sse", type=int, metavar="PORT", help="serve HTTP with SSE on this port")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        serve(options.http, options.sse)


def serve(http_port: int | None, sse_port: int | None) -> None:
    """Serve on one of the ports, or else over stdio."""
    if http_port is not None:
        print(f"Serving at http://127.0.0.1:{http_port}/mcp, Ctrl+C ends.", file=sys.stderr)
        server.run("streamable-http", port=http_port)
    elif sse_port is not None:
        print(f"Serving at http://127.0.0.1:{sse_port}/sse, Ctrl+C ends.", file=sys.stderr)
        server.run("sse", port=sse_port)
    else:
        if sys.stdin.isatty():
            print("Waiting for an MCP client; try --http 8002. Ctrl+C ends.", file=sys.stderr)
        # End at once on Ctrl+C; otherwise it would wait for one more line of input.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        server.run()


if __name__ == "__main__":
    main()
