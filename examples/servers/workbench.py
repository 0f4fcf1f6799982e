"""An MCP server with several hundred small tools: a workbench of numbers, texts, dates and more.

    python workbench.py                over stdio, as an MCP client starts it
    python workbench.py --http 8004    at http://127.0.0.1:8004/mcp (Streamable HTTP)

So many tools do not fit into a request to a model: an agent that uses this server searches for the
ones it needs. Each tool is a row of a table with its name, description and function; PARAMETERS has
the schema of each parameter. Conversions follow from a table of units.

Open it, add a row, connect again. Over stdio, standard output belongs to the protocol: to see a
value while you experiment, `print(value, file=sys.stderr)`.

Needs only the `mcp` package (which brings jsonschema).
"""

import argparse
import base64
import calendar
import contextlib
import hashlib
import html
import inspect
import json
import math
import re
import signal
import statistics
import sys
import textwrap
import unicodedata
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

CALCULATES = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
MOST = 10_000  # characters of a text, items of a list
Row = tuple[str, str, Callable[..., Any]]


# --- Parameters: the schema of each name, the same in every tool -------------------------------


def number(words: str, **limits: float) -> dict[str, Any]:
    """Return the schema of a number."""
    return {"type": "number", "description": words, **limits}


def whole(words: str, **limits: int) -> dict[str, Any]:
    """Return the schema of a whole number."""
    return {"type": "integer", "description": words, **limits}


def text(words: str, **limits: Any) -> dict[str, Any]:
    """Return the schema of a text."""
    return {"type": "string", "description": words, "maxLength": MOST} | limits


def several(words: str, kind: str, least: int = 1) -> dict[str, Any]:
    """Return the schema of a list of numbers or texts."""
    items = {"type": kind}
    return {
        "type": "array",
        "items": items,
        "minItems": least,
        "maxItems": MOST,
        "description": words,
    }


DAY = {"format": "date", "pattern": r"^\d{4}-\d{2}-\d{2}$", "examples": ["2026-03-12"]}
COLOUR = {"pattern": "^#[0-9a-fA-F]{6}$", "examples": ["#2e8b57"]}
PARAMETERS: dict[str, dict[str, Any]] = {
    "value": number("The number to convert."),
    "x": number("The number."),
    "y": number("The other number."),
    "n": whole("The whole number.", minimum=0, maximum=2000),
    "m": whole("The other whole number.", minimum=0, maximum=2000),
    "limit": whole("The largest number to look at.", minimum=2, maximum=100_000),
    "whole": whole("The whole number.", minimum=1, maximum=10**12),
    "other": whole("The other whole number.", minimum=1, maximum=10**12),
    "digits": whole("How many decimal places.", minimum=0, maximum=15),
    "numbers": several("The numbers.", "number"),
    "others": several("The other numbers, as many.", "number"),
    "a": number("The first coefficient."),
    "b": number("The second coefficient."),
    "percent": number("The per cent, such as 19."),
    "p": number("The percentile, 0 to 100.", minimum=0, maximum=100),
    "text": text("The text."),
    "second": text("The other text."),
    "word": text("The word or phrase to look for.", minLength=1),
    "new": text("What stands in its place.", maxLength=200),
    "items": several("The texts.", "string"),
    "more": several("The other texts.", "string"),
    "separator": text("What stands between the parts.", maxLength=100),
    "width": whole("So many characters.", minimum=1, maximum=500),
    "day": text("The day, as 2026-03-12.", **DAY),
    "until": text("The other day, as 2026-03-12.", **DAY),
    "count": whole("How many; below 0 to go back.", minimum=-100_000, maximum=100_000),
    "year": whole("The year.", minimum=1, maximum=9998),
    "colour": text("The colour, as #2e8b57.", **COLOUR),
    "background": text("The other colour, as #ffffff.", **COLOUR),
    "red": whole("How much red.", minimum=0, maximum=255),
    "green": whole("How much green.", minimum=0, maximum=255),
    "blue": whole("How much blue.", minimum=0, maximum=255),
    "share": number("How much of it, in per cent.", minimum=0, maximum=100),
    "radius": number("The radius.", exclusiveMinimum=0),
    "base": number("The length of the base.", exclusiveMinimum=0),
    "height": number("The height.", exclusiveMinimum=0),
    "length": number("The length.", exclusiveMinimum=0),
    "breadth": number("The breadth.", exclusiveMinimum=0),
    "latitude1": number("The first place's latitude.", minimum=-90, maximum=90),
    "longitude1": number("The first place's longitude.", minimum=-180, maximum=180),
    "latitude2": number("The second place's latitude.", minimum=-90, maximum=90),
    "longitude2": number("The second place's longitude.", minimum=-180, maximum=180),
    "amount": number("The amount of money.", minimum=0),
    "years": number("How many years.", exclusiveMinimum=0, maximum=200),
    "rate": number("The interest in per cent a year.", minimum=0, maximum=1000),
    "people": whole("How many people.", minimum=1),
    "mass": number("The mass in kilograms.", exclusiveMinimum=0),
    "metres": number("The length in metres.", exclusiveMinimum=0),
    "seconds": number("The time in seconds.", exclusiveMinimum=0),
    "speed": number("The speed in metres per second."),
    "volts": number("The voltage in volts."),
    "amperes": number("The current in amperes.", exclusiveMinimum=0),
    "ohms": several("The resistances in ohms.", "number"),
    "kilometres": number("The distance in kilometres.", exclusiveMinimum=0),
    "litres": number("The volume in litres.", exclusiveMinimum=0),
}


# --- Units: each as a number of the first unit of its quantity ---------------------------------

UNITS: dict[str, dict[str, Fraction | int | str]] = {
    "length": {
        "metres": 1, "kilometres": 1000, "centimetres": "0.01", "millimetres": "0.001",
        "inches": "0.0254", "feet": "0.3048", "yards": "0.9144", "miles": "1609.344",
        "nautical_miles": 1852,
    },
    "mass": {
        "kilograms": 1, "grams": "0.001", "tonnes": 1000, "pounds": "0.45359237",
        "ounces": "0.028349523125", "stones": "6.35029318",
    },
    "volume": {
        "litres": 1, "millilitres": "0.001", "cubic_metres": 1000, "us_gallons": "3.785411784",
        "us_cups": "0.2365882365", "imperial_pints": "0.56826125",
    },
    "speed": {
        "metres_per_second": 1, "kilometres_per_hour": Fraction(5, 18), "knots": Fraction(463, 900),
        "miles_per_hour": "0.44704",
    },
    "area": {
        "square_metres": 1, "square_kilometres": 10**6, "hectares": 10**4,
        "acres": "4046.8564224", "square_feet": "0.09290304",
    },
    "duration": {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 604800},
    "amount of data": {
        "bytes": 1, "kilobytes": 1000, "megabytes": 10**6, "gigabytes": 10**9, "mebibytes": 2**20,
    },
    "energy": {"joules": 1, "kilojoules": 1000, "kilocalories": 4184, "kilowatt_hours": 3600000},
    "pressure": {
        "pascals": 1, "bars": 10**5, "atmospheres": 101325,
        "millimetres_of_mercury": "133.322387415",
    },
}  # fmt: skip


def conversions() -> Iterator[Row]:
    """Yield a tool for each pair of units of one quantity."""
    for quantity, units in UNITS.items():
        for one, other in permutations(units, 2):
            factor = Fraction(units[one]) / Fraction(units[other])
            article = "an" if quantity[0] in "aeiou" else "a"
            words = f"Convert {article} {quantity} from {one} to {other}.".replace("_", " ")
            yield f"{one}_to_{other}", words, times(factor)


def times(factor: Fraction) -> Callable[..., float]:
    """Return a function that multiplies exactly and rounds once, at the end."""
    return lambda value: float(Fraction(str(value)) * factor)


# --- Functions that take more than a line ------------------------------------------------------


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour, 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def hex_colour(*parts: float) -> str:
    """Return the colour with these parts, 0 to 255."""
    return "#" + "".join(f"{min(max(round(x), 0), 255):02x}" for x in parts)


def mix(colour: str, other: str, share: float) -> str:
    """Return a colour with `share` per cent of another one in it."""
    pairs = zip(rgb(colour), rgb(other), strict=True)
    return hex_colour(*(x + (y - x) * share / 100 for x, y in pairs))


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as in the rules for contrast on the web."""
    parts = [x / 255 for x in rgb(colour)]
    light = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]


def contrast(colour: str, background: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(colour), luminance(background)))
    return (high + 0.05) / (low + 0.05)


def factors(whole: int) -> list[int]:
    """Return the prime factors of a number, the smallest first."""
    prime_factors, divisor = list[int](), 2
    while divisor * divisor <= whole:
        while whole % divisor == 0:
            prime_factors.append(divisor)
            whole //= divisor
        divisor += 1
    return [*prime_factors, whole] if whole > 1 else prime_factors


def primes(limit: int) -> list[int]:
    """Return the primes up to a limit."""
    sieve = bytearray([1]) * (limit + 1)
    for x in range(2, math.isqrt(limit) + 1):
        sieve[x * x :: x] = bytes(len(range(x * x, limit + 1, x)))
    return [x for x in range(2, limit + 1) if sieve[x]]


ROMAN = {
    "M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40, "X": 10,
    "IX": 9, "V": 5, "IV": 4, "I": 1,
}  # fmt: skip


def roman(n: int) -> str:
    """Return a number in Roman numerals."""
    if not 0 < n < 4000:
        raise ValueError("Roman numerals go from 1 to 3999.")
    numeral = ""
    for sign, size in ROMAN.items():
        numeral, n = numeral + sign * (n // size), n % size
    return numeral


def from_roman(text: str) -> int:
    """Return the number of a Roman numeral."""
    sizes = [ROMAN.get(x, 0) for x in text.upper()]
    n = sum(-x if x < y else x for x, y in zip(sizes, [*sizes[1:], 0], strict=True))
    if not 0 < n < 4000 or roman(n) != text.upper():
        raise ValueError(f"{text!r} is not a Roman numeral.")
    return n


def distance(one: str, other: str) -> int:
    """Return how many letters must be added, removed or replaced to get the other text."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one[:1000], 1):
        before, row[0] = row[0], at
        for n, another in enumerate(other, 1):
            before, row[n] = row[n], min(row[n] + 1, row[n - 1] + 1, before + (letter != another))
    return row[-1]


def fibonacci(n: int) -> int:
    """Return the n-th number of 0, 1, 1, 2, 3, 5."""
    one, other = 0, 1
    for _ in range(n):
        one, other = other, one + other
    return one


def without_accents(text: str) -> str:
    """Return a text without the marks above and below its letters."""
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(x for x in parts if not unicodedata.combining(x)))


def words_of(text: str) -> list[str]:
    """Return the words of a text, or of a name such as `camelCase` or `snake_case`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.findall(r"[^\W_]+", spaced)


def easter(year: int) -> str:
    """Return Easter Sunday in the Gregorian calendar (the anonymous computus)."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1).isoformat()


def workdays(day: str, until: str) -> int:
    """Return the number of days from one to the other, both included, without weekends."""
    first, last = sorted((on(day), on(until)))
    weeks, rest = divmod((last - first).days + 1, 7)
    return 5 * weeks + sum((first + timedelta(x)).weekday() < 5 for x in range(rest))


def on(day: str) -> date:
    """Return a day as a date."""
    return date.fromisoformat(day)


def shift_month(day: str, count: int) -> str:
    """Return the day `count` months later, or the last day of that month."""
    at = on(day)
    year, month = divmod(at.year * 12 + at.month - 1 + count, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return at.replace(year=year, month=month + 1, day=min(at.day, last)).isoformat()


def age(day: str, until: str) -> int:
    """Return the whole years since a birthday."""
    born, then = on(day), on(until)
    return then.year - born.year - ((then.month, then.day) < (born.month, born.day))


def great_circle(latitude1: float, longitude1: float, latitude2: float, longitude2: float) -> float:
    """Return the kilometres between two places on a sphere with the earth's mean radius."""
    one, other = math.radians(latitude1), math.radians(latitude2)
    along = math.radians(longitude2 - longitude1)
    half = math.sin((other - one) / 2) ** 2
    half += math.cos(one) * math.cos(other) * math.sin(along / 2) ** 2
    return 2 * 6371.0088 * math.asin(math.sqrt(half))


def payment(amount: float, rate: float, years: float) -> float:
    """Return the monthly payment of a loan."""
    monthly, months = rate / 1200, years * 12
    return amount / months if not monthly else amount * monthly / (1 - (1 + monthly) ** -months)


def percentile(numbers: list[float], p: float) -> float:
    """Return a percentile, interpolated between the two nearest numbers."""
    ordered = sorted(numbers)
    place = (len(ordered) - 1) * p / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def count_each(items: list[str]) -> dict[str, int]:
    """Return how often each item occurs, the most frequent first."""
    return dict(Counter(items).most_common())


# --- The tools: name, description and function -------------------------------------------------

TOOLS: dict[str, list[Row]] = {
    "temperature": [
        ("celsius_to_fahrenheit", "Convert degrees Celsius to Fahrenheit.",
         lambda value: value * 9 / 5 + 32),
        ("fahrenheit_to_celsius", "Convert degrees Fahrenheit to Celsius.",
         lambda value: (value - 32) * 5 / 9),
        ("celsius_to_kelvin", "Convert degrees Celsius to kelvin.", lambda value: value + 273.15),
        ("kelvin_to_celsius", "Convert kelvin to degrees Celsius.", lambda value: value - 273.15),
        ("fahrenheit_to_kelvin", "Convert degrees Fahrenheit to kelvin.",
         lambda value: (value + 459.67) * 5 / 9),
        ("kelvin_to_fahrenheit", "Convert kelvin to degrees Fahrenheit.",
         lambda value: value * 9 / 5 - 459.67),
    ],
    "numbers": [
        ("add_numbers", "Add up all numbers of a list.", lambda numbers: math.fsum(numbers)),
        ("multiply_numbers", "Multiply all numbers of a list.", lambda numbers: math.prod(numbers)),
        ("raise_to_power", "Raise a number to a power.", lambda x, y: math.pow(x, y)),
        ("square_root", "The square root of a number.", lambda x: math.sqrt(x)),
        ("round_number", "Round a number to so many decimal places.",
         lambda x, digits=0: round(x, digits)),
        ("factorial", "The product of all whole numbers up to one, as digits.",
         lambda n: str(math.factorial(n))),
        ("fibonacci_number", "The n-th Fibonacci number, as digits.", lambda n: str(fibonacci(n))),
        ("binomial_coefficient", "In how many ways m things can be chosen out of n.",
         lambda n, m: str(math.comb(n, m))),
        ("greatest_common_divisor", "The largest number that divides both.",
         lambda whole, other: math.gcd(whole, other)),
        ("least_common_multiple", "The smallest number that both divide.",
         lambda whole, other: math.lcm(whole, other)),
        ("is_prime", "Whether a whole number is a prime.", lambda whole: factors(whole) == [whole]),
        ("prime_factors", "The prime factors of a whole number.", factors),
        ("list_primes", "All primes up to a limit.", primes),
        ("digit_sum", "Add up the digits of a whole number.",
         lambda whole: sum(map(int, str(whole)))),
        ("number_to_roman", "Write a whole number in Roman numerals.",
         lambda whole: roman(whole)),
        ("roman_to_number", "Read a Roman numeral.", from_roman),
        ("number_to_binary", "Write a whole number in binary.", lambda whole: f"{whole:b}"),
        ("binary_to_number", "Read a binary number.", lambda text: int(text, 2)),
        ("number_to_hexadecimal", "Write a whole number in hexadecimal.",
         lambda whole: f"{whole:x}"),
        ("hexadecimal_to_number", "Read a hexadecimal number.", lambda text: int(text, 16)),
        ("group_thousands", "Write a number with a comma between thousands.", lambda x: f"{x:,}"),
        ("decimal_to_fraction", "The simplest fraction close to a number.",
         lambda x: str(Fraction(str(x)).limit_denominator(1000))),
        ("solve_linear_equation", "The solution of a x + b = 0.", lambda a, b: -b / a),
    ],
    "percentages": [
        ("percent_of", "So many per cent of a number.", lambda percent, x: x * percent / 100),
        ("what_percent", "How many per cent one number is of another.", lambda x, y: 100 * x / y),
        ("percent_change", "The change from one number to another in per cent.",
         lambda x, y: 100 * (y - x) / abs(x)),
        ("increase_by_percent", "A number and so many per cent more.",
         lambda x, percent: x * (1 + percent / 100)),
        ("decrease_by_percent", "A number less so many per cent.",
         lambda x, percent: x * (1 - percent / 100)),
    ],
    "statistics": [
        ("mean", "The arithmetic mean, or average, of numbers.",
         lambda numbers: statistics.fmean(numbers)),
        ("median", "The middle one of numbers.", lambda numbers: statistics.median(numbers)),
        ("variance", "The variance of a sample.", lambda numbers: statistics.variance(numbers)),
        ("standard_deviation", "The standard deviation of a sample.",
         lambda numbers: statistics.stdev(numbers)),
        ("smallest_number", "The smallest of numbers.", lambda numbers: min(numbers)),
        ("largest_number", "The largest of numbers.", lambda numbers: max(numbers)),
        ("percentile", "The number below which so many per cent of them are.", percentile),
        ("correlation", "Pearson's correlation of two rows of numbers.",
         lambda numbers, others: statistics.correlation(numbers, others)),
        ("linear_regression", "Slope and intercept of the line through points, with others as y.",
         lambda numbers, others: list(statistics.linear_regression(numbers, others))),
        ("sort_numbers", "Put numbers in order, the smallest first.",
         lambda numbers: sorted(numbers)),
        ("count_numbers", "How many numbers there are.", lambda numbers: len(numbers)),
    ],
    "texts": [
        ("upper_case", "Write a text in capital letters.", lambda text: text.upper()),
        ("lower_case", "Write a text in small letters.", lambda text: text.lower()),
        ("camel_case", "Write words as camelCase.",
         lambda text: (x := "".join(map(str.capitalize, words_of(text))))[:1].lower() + x[1:]),
        ("snake_case", "Write words as snake_case.", lambda text: "_".join(words_of(text)).lower()),
        ("kebab_case", "Write words as kebab-case, also for web addresses (a slug).",
         lambda text: "-".join(words_of(without_accents(text))).lower()),
        ("reverse_text", "Write a text backwards.", lambda text: text[::-1]),
        ("count_words", "How many words a text has.", lambda text: len(text.split())),
        ("count_occurrences", "How often a word or phrase stands in a text.",
         lambda text, word: text.count(word)),
        ("word_frequencies", "How often each word stands in a text.",
         lambda text: count_each(re.findall(r"\w+", text.lower()))),
        ("reading_time", "How many minutes it takes to read a text, at 200 words a minute.",
         lambda text: len(text.split()) / 200),
        ("replace_text", "Replace a word or phrase wherever it stands in a text.",
         lambda text, word, new: text.replace(word, new)),
        ("shorten_text", "Cut a text at a word so that it has at most so many characters.",
         lambda text, width: textwrap.shorten(text, width, placeholder="...")),
        ("sort_lines", "Put the lines of a text in alphabetical order.",
         lambda text: "\n".join(sorted(text.splitlines()))),
        ("collapse_spaces", "Leave one space where a text has several.",
         lambda text: " ".join(text.split())),
        ("remove_accents", "Write letters without accents.", without_accents),
        ("is_palindrome", "Whether a text reads the same backwards.",
         lambda text: (x := "".join(words_of(text)).lower()) == x[::-1]),
        ("edit_distance", "How many letters two words differ in (Levenshtein distance).",
         lambda text, second: distance(text[:1000], second[:1000])),
        ("extract_numbers", "All numbers that stand in a text.",
         lambda text: [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?", text)]),
        ("extract_email_addresses", "All e-mail addresses that stand in a text.",
         lambda text: re.findall(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+", text)),
        ("extract_web_addresses", "All web addresses that stand in a text.",
         lambda text: re.findall(r"https?://[^\s<>\"]+", text)),
    ],
    "codes": [
        ("base64_encode", "Write a text in Base64.",
         lambda text: base64.b64encode(text.encode()).decode()),
        ("base64_decode", "Read a text in Base64.",
         lambda text: base64.b64decode(text, validate=True).decode()),
        ("url_encode", "Write a text so that it can stand in a web address.",
         lambda text: urllib.parse.quote(text, safe="")),
        ("url_decode", "Read a text from a web address.", lambda text: urllib.parse.unquote(text)),
        ("html_escape", "Write a text so that it can stand in HTML.",
         lambda text: html.escape(text)),
        ("json_format", "Write JSON with one value on each line.",
         lambda text: json.dumps(json.loads(text), indent=2)),
        ("sha256_checksum", "The SHA-256 checksum of a text.",
         lambda text: hashlib.sha256(text.encode()).hexdigest()),
    ],
    "lists": [
        ("sort_texts", "Put texts in alphabetical order.",
         lambda items: sorted(items, key=str.casefold)),
        ("items_in_both", "The texts that two lists have in common (intersection).",
         lambda items, more: [x for x in dict.fromkeys(items) if x in set(more)]),
        ("items_in_either", "The texts of two lists, each once (union).",
         lambda items, more: list(dict.fromkeys([*items, *more]))),
        ("join_texts", "Join texts to one, with something between them.",
         lambda items, separator="": separator.join(items)),
    ],
    "dates": [
        ("weekday_of_date", "The day of the week of a date.", lambda day: on(day).strftime("%A")),
        ("days_between_dates", "How many days lie between two dates.",
         lambda day, until: (on(until) - on(day)).days),
        ("workdays_between_dates", "How many working days, Monday to Friday, two dates span.",
         workdays),
        ("add_days_to_date", "The date so many days later.",
         lambda day, count: (on(day) + timedelta(count)).isoformat()),
        ("add_months_to_date", "The date so many months later.", shift_month),
        ("age_in_years", "How old somebody is who was born on a day, at another day.", age),
        ("week_of_year", "The calendar week of a date (ISO 8601).",
         lambda day: on(day).isocalendar().week),
        ("is_leap_year", "Whether a year has 366 days.", lambda year: calendar.isleap(year)),
        ("easter_sunday", "The date of Easter Sunday in a year.", easter),
    ],
    "durations": [
        ("seconds_to_clock", "Write seconds as hours, minutes and seconds.",
         lambda seconds: str(timedelta(seconds=round(seconds)))),
        ("clock_to_seconds", "Read hours, minutes and seconds such as 1:02:03 as seconds.",
         lambda text: sum(float(x) * 60**n for n, x in enumerate(reversed(text.split(":"))))),
    ],
    "colours": [
        ("colour_to_rgb", "Red, green and blue of a colour.", lambda colour: list(rgb(colour))),
        ("rgb_to_colour", "The colour of so much red, green and blue, in hexadecimal.",
         lambda red, green, blue: hex_colour(red, green, blue)),
        ("lighten_colour", "A colour with so much white in it.",
         lambda colour, share: mix(colour, "#ffffff", share)),
        ("darken_colour", "A colour with so much black in it.",
         lambda colour, share: mix(colour, "#000000", share)),
        ("mix_colours", "A colour with so much of another one in it.",
         lambda colour, background, share=50: mix(colour, background, share)),
        ("invert_colour", "The negative of a colour.",
         lambda colour: hex_colour(*(255 - x for x in rgb(colour)))),
        ("contrast_ratio", "The contrast of a text with its background, 1 to 21.", contrast),
        ("readable_text_colour", "Whether black or white is better to read on a colour.",
         lambda colour: max("#000000", "#ffffff", key=lambda x: contrast(x, colour))),
    ],
    "geometry": [
        ("circle_area", "The area of a circle.", lambda radius: math.pi * radius**2),
        ("circle_circumference", "How far it is around a circle.",
         lambda radius: 2 * math.pi * radius),
        ("rectangle_area", "The area of a rectangle.", lambda length, breadth: length * breadth),
        ("rectangle_perimeter", "How far it is around a rectangle.",
         lambda length, breadth: 2 * (length + breadth)),
        ("triangle_area", "The area of a triangle from base and height.",
         lambda base, height: base * height / 2),
        ("hypotenuse", "The longest side of a right triangle (Pythagoras).",
         lambda length, breadth: math.hypot(length, breadth)),
        ("box_volume", "The volume of a box.",
         lambda length, breadth, height: length * breadth * height),
        ("sphere_volume", "The volume of a sphere, or ball.",
         lambda radius: 4 / 3 * math.pi * radius**3),
        ("cylinder_volume", "The volume of a cylinder.",
         lambda radius, height: math.pi * radius**2 * height),
        ("cone_volume", "The volume of a cone.",
         lambda radius, height: math.pi * radius**2 * height / 3),
        ("earth_distance", "The distance of two places on earth in kilometres.", great_circle),
        ("degrees_to_radians", "Convert an angle from degrees to radians.",
         lambda value: math.radians(value)),
        ("radians_to_degrees", "Convert an angle from radians to degrees.",
         lambda value: math.degrees(value)),
    ],
    "money": [
        ("compound_interest", "What an amount has grown to with interest each year.",
         lambda amount, rate, years: amount * (1 + rate / 100) ** years),
        ("loan_payment", "What a loan costs each month until it is paid back.", payment),
        ("add_tax", "A price with tax added.",
         lambda amount, percent: amount * (1 + percent / 100)),
        ("discounted_price", "A price after a discount.",
         lambda amount, percent: amount * (1 - percent / 100)),
        ("tip_amount", "How much to tip on a bill.",
         lambda amount, percent=10: amount * percent / 100),
        ("split_bill", "What each of several people pays of a bill.",
         lambda amount, people: amount / people),
    ],
    "physics and everyday life": [
        ("body_mass_index", "The body mass index from mass and height.",
         lambda mass, metres: mass / metres**2),
        ("average_speed", "The speed from a way and the time it took, in metres per second.",
         lambda metres, seconds: metres / seconds),
        ("kinetic_energy", "The energy of something that moves, in joules.",
         lambda mass, speed: mass * speed**2 / 2),
        ("fall_time", "How long something falls from a height, in seconds.",
         lambda metres: math.sqrt(2 * metres / 9.80665)),
        ("electric_power", "The power from voltage and current, in watts.",
         lambda volts, amperes: volts * amperes),
        ("resistors_in_parallel", "The resistance of resistors side by side.",
         lambda ohms: 1 / sum(1 / x for x in ohms)),
        ("fuel_consumption", "How many litres a car needs for 100 kilometres.",
         lambda litres, kilometres: 100 * litres / kilometres),
        ("running_pace", "How many minutes a kilometre takes, from way and time.",
         lambda kilometres, seconds: seconds / 60 / kilometres),
    ],
}  # fmt: skip


# --- The server --------------------------------------------------------------------------------


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the schema of a tool's parameters; those with a default are optional."""
    parameters = inspect.signature(function).parameters.values()
    properties = {x.name: dict(PARAMETERS[x.name]) for x in parameters}
    for x in parameters:
        if x.default is not x.empty:
            properties[x.name]["default"] = x.default
    required = [x.name for x in parameters if x.default is x.empty]
    return {
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": False,
    }  # fmt: skip


def tool_of(row: Row) -> types.Tool:
    """Return a row of the table as a tool."""
    name, words, function = row
    title = name.replace("_", " ").capitalize()
    return types.Tool(
        name=name, title=title, description=words, input_schema=schema_of(function),
        output_schema=RESULT_SCHEMA, annotations=CALCULATES,
    )  # fmt: skip


ROWS = {row[0]: row for row in [*conversions(), *(row for rows in TOOLS.values() for row in rows)]}
# Older clients need an object.
RESULT_SCHEMA = {"type": "object", "properties": {"result": {}}, "required": ["result"]}
ALL_TOOLS = [tool_of(row) for row in ROWS.values()]
SCHEMAS = {tool.name: tool.input_schema for tool in ALL_TOOLS}


@cache
def validator(name: str) -> Any:
    """Return the validator of a tool's arguments, made at its first call."""
    import jsonschema  # imported here: it takes up to a second, and listing does not need it

    return jsonschema.Draft202012Validator(SCHEMAS[name])


def answer(name: str, arguments: dict[str, Any]) -> Any:
    """Return the result of a tool for these arguments.

    Raises:
        ValueError: it cannot be computed; the message says why.
    """
    for problem in validator(name).iter_errors(arguments):
        raise ValueError(f"{'.'.join(map(str, problem.path)) or 'arguments'}: {problem.message}")
    try:
        result = ROWS[name][2](**arguments)
    except (ArithmeticError, LookupError, RecursionError) as reason:
        raise ValueError(f"There is no result: {reason}.") from None
    if isinstance(result, complex) or (isinstance(result, float) and not math.isfinite(result)):
        raise ValueError("There is no result that is a number.")
    return float(f"{result:.12g}") if isinstance(result, float) else result


async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
    """List all tools."""
    return types.ListToolsResult(tools=ALL_TOOLS)


async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Call a tool; a refusal is a result that says why."""
    try:
        if params.name not in ROWS:
            raise ValueError(f"There is no tool {params.name!r}.")
        result = answer(params.name, params.arguments or {})
    except ValueError as reason:
        return types.CallToolResult(content=[types.TextContent(text=str(reason))], is_error=True)
    words = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(text=words)], structured_content={"result": result}
    )


server = Server(
    "workbench",
    title="Workbench",
    version="1.0",
    instructions=(
        "Each tool does one small thing exactly: use them in place of calculating. "
        "There are several hundred, so search for what one step needs."
    ),
    on_list_tools=list_tools,
    on_call_tool=call_tool,
)


async def over_stdio() -> None:
    """Serve the client that started this process."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Read the command line and serve until the client leaves, or Ctrl+C."""
    parser = argparse.ArgumentParser(description="MCP server with several hundred small tools.")
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve Streamable HTTP on this port"
    )
    port = parser.parse_args().http
    with contextlib.suppress(KeyboardInterrupt):
        if port is not None:
            import uvicorn  # imported here: stdio does not need it

            print(f"Serving at http://127.0.0.1:{port}/mcp, Ctrl+C ends.", file=sys.stderr)
            uvicorn.run(server.streamable_http_app(), port=port, log_level="warning")
        else:
            if sys.stdin.isatty():
                print("Waiting for an MCP client; try --http 8004. Ctrl+C ends.", file=sys.stderr)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at once on Ctrl+C
            anyio.run(over_stdio)


if __name__ == "__main__":
    main()
