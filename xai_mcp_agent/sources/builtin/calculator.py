"""`calculate`: arithmetic that is parsed, never evaluated as Python, and limited in size.

Whole numbers and fractions are exact; with a number that is neither (`sqrt(2)`, `sin(1)`) the rest
is floating point. What would be too large is refused before it is made.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal, Inexact, localcontext
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from ...core.util import expression_of

Number: TypeAlias = Fraction | float

# Of an expression: more is no question that a person or a model writes down.
_MAX_CHARS, _MAX_DEPTH = 1_000, 50
# Of a number: about 1,200 digits. Each step takes microseconds with these; Python's own limit for
# writing one out is 4,300 digits.
_MAX_BITS = 4_000
_MAX_FACTORIAL = 400
_MAX_ARGUMENTS = 100
_DIGITS = 15  # of a floating point number that are right
_MAX_SHOWN = 40  # digits of a fraction: more of them nobody reads

_ONLY = (
    "{} cannot be used: only numbers, + - * / // % **, comparisons, functions such as sqrt(2), "
    "and pi, e, tau."
)
# The signs of multiplication, division and minus that are no ASCII, and the power as many write it.
_SPELLED = {"^": "**", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-"}
_CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e, "tau": math.tau}


class CalculationError(ValueError):
    """The expression cannot be worked out; says why and what can be written."""


def calculate(
    expression: Annotated[
        str, Field(description="Such as `2 * (3 + 4) ** 2`, `sqrt(2) / 3`, `max(1, 2.5)`.")
    ],
) -> str:
    """Work out an arithmetic expression, exactly where that is possible.

    Operators: + - * / // % **, brackets, comparisons. Functions: abs, acos, asin, atan, atan2,
    ceil, comb, cos, degrees, exp, factorial, floor, gcd, hypot, lcm, log, log10, log2, max, min,
    perm, pow, radians, round, sin, sqrt, sum, tan, trunc. Angles are in radians; pi, e and tau are
    known.
    """
    return _shown(_value(_parsed(expression), 0))


def _parsed(expression: str) -> ast.expr:
    # As calculators and people write them; `^` is no exclusive or to anybody who calculates.
    text = expression.strip()
    for sign, meant in _SPELLED.items():
        text = text.replace(sign, meant)
    if not text:
        raise CalculationError("there is nothing to calculate: write an expression such as 2 + 3.")
    if len(text) > _MAX_CHARS:
        raise CalculationError(f"the expression has more than {_MAX_CHARS} characters.")
    try:
        return expression_of(text)
    except SyntaxError as cause:
        at = f" at character {cause.offset}" if cause.offset else ""
        raise CalculationError(f"this is no expression{at}: {cause.msg}.") from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as cause:
        raise CalculationError(f"this cannot be read: {type(cause).__name__}.") from None


def _value(node: ast.expr, depth: int) -> Any:
    """What a part of the expression comes to: a number, or what a comparison gives."""
    if depth > _MAX_DEPTH:
        raise CalculationError(f"it is nested more than {_MAX_DEPTH} deep.")
    match node:
        case ast.Constant(value):
            return _constant(value)
        case ast.Name(name):
            return _named(name)
        case ast.UnaryOp(op, operand) if type(op) in _SIGNS:
            return _SIGNS[type(op)](_number(operand, depth))
        case ast.BinOp():
            return _chained(node, depth)
        case ast.Compare(left, ops, others) if all(type(x) in _COMPARISONS for x in ops):
            numbers = [_number(x, depth) for x in (left, *others)]
            pairs = zip(ops, numbers, numbers[1:], strict=False)
            return all(_COMPARISONS[type(op)](a, b) for op, a, b in pairs)
        case ast.Call(ast.Name(name), arguments, []):
            return _called(name, arguments, depth)
        case _:
            raise CalculationError(_ONLY.format(_words(node)))


def _chained(node: ast.BinOp, depth: int) -> Number:
    """Operators in a row, which are nested to the left however many there are."""
    steps: list[tuple[ast.operator, ast.expr]] = []
    first: ast.expr = node
    while isinstance(first, ast.BinOp):
        steps.append((first.op, first.right))
        first = first.left
    value = _number(first, depth)
    for operation, right in reversed(steps):
        if type(operation) not in _OPERATORS:
            raise CalculationError(_ONLY.format(_words(operation)))
        value = _applied(_OPERATORS[type(operation)], value, _number(right, depth))
    return value


def _number(node: ast.expr, depth: int) -> Number:
    found = _value(node, depth + 1)
    if isinstance(found, bool):
        raise CalculationError("what a comparison gives is no number.")
    return found


def _constant(value: object) -> Number:
    # `True` is a number to Python, not to anybody who calculates.
    if isinstance(value, int) and not isinstance(value, bool):
        return _checked(Fraction(value))
    if isinstance(value, float) and math.isfinite(value):
        # As it is written: 0.1 is a tenth.
        return _checked(Fraction(repr(value)))
    raise CalculationError(f"{str(value)[:30]!r} is no number that can be used.")


def _named(name: str) -> Number:
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name in _FUNCTIONS:
        raise CalculationError(f"{name} is a function: write {name}(...).")
    raise CalculationError(f"{name[:30]!r} is not known. Known are {', '.join(_CONSTANTS)}.")


def _called(name: str, arguments: list[ast.expr], depth: int) -> Any:
    if name not in _FUNCTIONS:
        known = ", ".join(sorted(_FUNCTIONS))
        raise CalculationError(f"there is no function {name[:30]!r}. There are {known}.")
    if len(arguments) > _MAX_ARGUMENTS:
        raise CalculationError(f"{name} is given more than {_MAX_ARGUMENTS} numbers.")
    if len(arguments) == 1 and isinstance(arguments[0], ast.List | ast.Tuple):
        arguments = arguments[0].elts  # max([1, 2])
    return _applied(_FUNCTIONS[name], *(_number(x, depth) for x in arguments))


def _applied(function: Callable[..., Any], *numbers: Number) -> Number:
    name = function.__name__.strip("_").replace("<lambda>", "it")
    try:
        result = function(*numbers)
    except ZeroDivisionError:
        raise CalculationError("it divides by zero.") from None
    except OverflowError:
        raise CalculationError(f"what {name} gives is too large.") from None
    except TypeError:
        problem = f"{name} is given {len(numbers)} numbers, which it does not take."
        raise CalculationError(problem) from None
    except CalculationError:
        raise
    except ValueError as cause:  # of `math`
        raise CalculationError(f"{name} cannot be worked out for this: {cause}.") from None
    return _checked(result)


def _checked(value: Any) -> Number:
    """A result that is a number, and not too large."""
    if isinstance(value, int):
        value = Fraction(value)
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
            raise CalculationError("a number in it has more than 1,200 digits.")
        return value
    if not isinstance(value, float):
        raise CalculationError("the result is no real number.")
    if not math.isfinite(value):
        raise CalculationError("the result is too large, or no number.")
    return value


def _power(base: Number, exponent: Number) -> Any:
    if isinstance(base, float) or isinstance(exponent, float) or exponent.denominator != 1:
        return _root(base, exponent) if base >= 0 else float(base) ** float(exponent)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    # 0, 1 and -1 stay small, whatever the exponent; others grow by at least a bit each time.
    if bits > 1 and abs(exponent.numerator) * (bits - 1) > _MAX_BITS:
        raise CalculationError("the result of ** would have more than 1,200 digits.")
    if bits <= 1:
        return _unit_power(Fraction(base), exponent.numerator)
    return base**exponent.numerator


def _unit_power(base: Fraction, exponent: int) -> Fraction:
    """Of 0, 1 or -1."""
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    if exponent == 0:
        return Fraction(1)
    return base if exponent % 2 or base == 0 else Fraction(1)


def _root(base: Number, exponent: Number) -> Number:
    """A power with a fraction as its exponent: exact for square roots that are."""
    if isinstance(base, Fraction) and exponent == Fraction(1, 2):
        top, bottom = math.isqrt(base.numerator), math.isqrt(base.denominator)
        if top * top == base.numerator and bottom * bottom == base.denominator:
            return Fraction(top, bottom)
    return float(base) ** float(exponent)


def _sqrt(x: Number) -> Number:
    if x < 0:
        raise CalculationError("the square root of a number below 0 is no real number.")
    return _root(x, Fraction(1, 2))


def _whole(x: Number) -> int:
    if x != int(x):
        raise CalculationError("it takes whole numbers only.")
    return int(x)


def _factorial(x: Number) -> int:
    return math.factorial(_limited(x))


def _limited(x: Number) -> int:
    """A whole number that a factorial may be taken of."""
    if abs(number := _whole(x)) > _MAX_FACTORIAL:
        raise CalculationError(f"it takes numbers up to {_MAX_FACTORIAL} only.")
    return number


def _comb(n: Number, k: Number) -> int:
    return math.comb(_limited(n), _limited(k))


def _perm(n: Number, k: Number) -> int:
    return math.perm(_limited(n), _limited(k))


def _gcd(*numbers: Number) -> int:
    return math.gcd(*map(_whole, numbers))


def _lcm(*numbers: Number) -> int:
    found = 1
    for number in map(_whole, numbers):
        found = math.trunc(_checked(math.lcm(found, number)))
    return found


def _round(x: Number, digits: Number = Fraction(0)) -> Number:
    places = _whole(digits)
    if abs(places) > 300:  # more than a floating point number can have
        raise CalculationError("round takes up to 300 digits.")
    return round(Fraction(x), places)


def _sum(*numbers: Number) -> Number:
    total: Number = Fraction(0)
    for number in numbers:
        total = _checked(total + number)
    return total


def _logarithm(function: Callable[[int | float], float]) -> Callable[[Number], float]:
    """Also of numbers that are too large for floating point."""

    def run(x: Number) -> float:
        if isinstance(x, float) or x.denominator == 1:
            return function(x if isinstance(x, float) else x.numerator)
        return function(x.numerator) - function(x.denominator)

    run.__name__ = function.__name__
    return run


def _log(x: Number, base: Number | None = None) -> float:
    logged = _logarithm(math.log)
    return logged(x) if base is None else logged(x) / logged(base)


def _floats(function: Callable[..., float]) -> Callable[..., float]:
    def run(*numbers: Number) -> float:
        return function(*map(float, numbers))

    run.__name__ = function.__name__
    return run


def _shown(value: Any) -> str:
    """A result to read: exact, or with as many digits as are right."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value + 0.0:.{_DIGITS}g}"  # + 0.0: no minus before a zero
    if value.denominator == 1:
        return str(value.numerator)
    with localcontext(prec=_MAX_SHOWN) as context:
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
        if not context.flags[Inexact]:
            return f"{decimal.normalize():f}" if decimal.adjusted() > -_DIGITS else str(decimal)
    with localcontext(prec=_DIGITS):
        about = f"about {Decimal(value.numerator) / Decimal(value.denominator)}"
    exact = f"{value.numerator}/{value.denominator}"
    return f"{exact}, {about}" if len(exact) <= _MAX_SHOWN else about


def _words(node: ast.AST) -> str:
    """What a part of an expression is, for whoever wrote it."""
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        text = ""
    return repr(text[:40]) if text else f"The operator {type(node).__name__}"


_SIGNS: Mapping[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: _power,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_IN_FLOATS = (
    math.acos, math.asin, math.atan, math.atan2, math.cos, math.degrees, math.exp, math.hypot,
    math.radians, math.sin, math.tan,
)  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{x.__name__: _floats(x) for x in _IN_FLOATS},
    **{x.__name__: x for x in (abs, math.ceil, math.floor, math.trunc, max, min)},
    "comb": _comb,
    "factorial": _factorial,
    "gcd": _gcd,
    "lcm": _lcm,
    "log": _log,
    "log10": _logarithm(math.log10),
    "log2": _logarithm(math.log2),
    "perm": _perm,
    "pow": _power,
    "round": _round,
    "sqrt": _sqrt,
    "sum": _sum,
}
