"""`calculate`: arithmetic by `simpleeval`, with bounds that are checked before each operation."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, cast

from pydantic import Field

from ...core.util import expression_of

_MAX_CHARS = 1_000
_MAX_BITS = 4_000  # about 1,200 digits; Python writes out at most 4,300
_MAX_FACTORIAL = 400
_MAX_PLACES = 300  # digits to round to: no float has more
_DIGITS = 15  # exact digits of a float

# How simpleeval names an operator that it does not know.
_OBJECT = re.compile(r"<ast\.(\w+) object at \w+>")

# As people and calculators write them; `^` means power here, not exclusive or.
_SPELLINGS = {"^": "**", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-"}
_NODES = (
    ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.IfExp, ast.List, ast.Name,
    ast.Tuple, ast.UnaryOp,
)  # fmt: skip


class CalculationError(ValueError):
    """The expression cannot be calculated; says why."""


def calculate(
    expression: Annotated[
        str, Field(description="Such as `2 * (3 + 4) ** 2`, `sqrt(2) / 3`, `max(1, 2.5)`.")
    ],
) -> str:
    """Work out an arithmetic expression; whole numbers are exact.

    Operators: + - * / // % **, brackets, comparisons. Functions: abs, acos, asin, atan, atan2,
    ceil, comb, cos, degrees, exp, factorial, floor, gcd, hypot, lcm, log, log10, log2, max, min,
    perm, pow, radians, round, sin, sqrt, sum, tan, trunc. Angles are in radians; pi, e and tau are
    known.
    """
    text = expression.strip()
    for sign, meaning in _SPELLINGS.items():
        text = text.replace(sign, meaning)
    if not text:
        raise CalculationError("there is nothing to calculate: write an expression such as 2 + 3.")
    if len(text) > _MAX_CHARS:
        raise CalculationError(f"the expression has more than {_MAX_CHARS} characters.")
    try:
        value = _evaluator().eval(text, expression_of(text))
        return _format(value if isinstance(value, bool) else _number(value))
    except CalculationError:
        raise
    except ZeroDivisionError:
        raise CalculationError("it divides by zero.") from None
    except OverflowError:
        raise CalculationError("the result is too large.") from None
    except (RecursionError, MemoryError):
        raise CalculationError("it is nested too deeply.") from None
    except Exception as cause:  # noqa: BLE001 - of Python's parser, simpleeval or math
        message = _OBJECT.sub(r"\1", str(cause))
        raise CalculationError(f"it cannot be calculated: {message[:200]}") from None


@cache
def _evaluator() -> Any:
    # Imported here: few programs calculate.
    from simpleeval import EvalWithCompoundTypes

    evaluator: Any = EvalWithCompoundTypes(
        operators={node: _limit(function) for node, function in _OPERATORS.items()},
        functions={name: _limit(function) for name, function in _FUNCTIONS.items()},
        names={"pi": math.pi, "e": math.e, "tau": math.tau},
    )
    evaluator.nodes = {x: handler for x, handler in evaluator.nodes.items() if x in _NODES}
    return evaluator


def _limit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a bounded result, for numbers or for one list of numbers."""

    def run(*values: Any) -> Any:
        is_list = len(values) == 1 and isinstance(values[0], list | tuple)
        result = function(*map(_number, cast(Sequence[Any], values[0]) if is_list else values))
        return result if isinstance(result, bool) else _number(result)

    return run


def _number(value: Any) -> int | float:
    # Python counts `True` as a number.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CalculationError(f"{str(value)[:30]!r} is not a number.")
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise CalculationError("a number in it has more than 1,200 digits.")
    if isinstance(value, float) and not math.isfinite(value):
        raise CalculationError("the result is too large, or not a number.")
    return value


def _power(base: float, exponent: float) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        # 0, 1 and -1 stay small, whatever the exponent; others grow by at least a bit each time.
        if abs(base) <= 1:
            exponent = min(exponent, 2 + exponent % 2)
        elif abs(exponent) * (base.bit_length() - 1) > _MAX_BITS:
            raise CalculationError("the result of ** would have more than 1,200 digits.")
    return base**exponent


def _of_whole_numbers(
    function: Callable[..., int], at_most: int = 1 << _MAX_BITS
) -> Callable[..., int]:
    def run(*numbers: float) -> int:
        return function(*(_whole(x, at_most) for x in numbers))

    return run


def _whole(x: float, at_most: int) -> int:
    if x != int(x):
        raise CalculationError("it takes whole numbers only.")
    if abs(x) > at_most:
        raise CalculationError(f"it takes numbers up to {at_most} only.")
    return int(x)


def _divide(a: float, b: float) -> float:
    return a / b


def _floor_divide(a: float, b: float) -> float:
    return a // b


def _round(x: float, places: float = 0) -> float:
    return round(x, _whole(places, _MAX_PLACES))


def _sum(*numbers: float) -> float:
    return sum(numbers)


def _format(value: float) -> str:
    """Return the text of a result: a whole number, or as many digits as are exact."""
    if isinstance(value, bool):
        return "true" if value else "false"
    # + 0.0 removes the minus of a zero
    return str(value) if isinstance(value, int) else f"{value + 0.0:.{_DIGITS}g}"


_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: _divide,
    ast.FloorDiv: _floor_divide, ast.Mod: operator.mod, ast.Pow: _power, ast.UAdd: operator.pos,
    ast.USub: operator.neg, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_PLAIN = (
    math.acos, math.asin, math.atan, math.atan2, math.ceil, math.cos, math.degrees, math.exp,
    math.floor, math.hypot, math.log, math.log10, math.log2, math.radians, math.sin, math.sqrt,
    math.tan, math.trunc, abs, max, min,
)  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{x.__name__: x for x in _PLAIN},
    "comb": _of_whole_numbers(math.comb, _MAX_FACTORIAL),
    "factorial": _of_whole_numbers(math.factorial, _MAX_FACTORIAL),
    "gcd": _of_whole_numbers(math.gcd),
    "lcm": _of_whole_numbers(math.lcm),
    "perm": _of_whole_numbers(math.perm, _MAX_FACTORIAL),
    "pow": _power,
    "round": _round,
    "sum": _sum,
}
