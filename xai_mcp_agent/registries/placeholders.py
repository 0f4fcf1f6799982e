"""Values that a person gives: what is asked for, and the `${NAME}` where one is missing.

What a registry wrote is data: a `${` of its own is written so that it stands for itself. Else a
stranger's text could name a variable of this machine, and have its value sent anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..core.errors import BadSetting
from .values import Input

_NOT_IN_NAMES = re.compile(r"[^A-Z0-9]+")
_VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
_BOOLEANS = {"true": "true", "yes": "true", "1": "true", "false": "false", "no": "false",
             "0": "false"}  # fmt: skip
_APART = "\0"  # no text of a registry has one
GIVEN = re.compile(f"{_APART}[^{_APART}]*{_APART}")
"""A value of the person, or the `${NAME}` of one, in a text that is not finished."""


class NotWritable(ValueError):
    """A text that settings cannot say without reading something else into it."""


@dataclass(frozen=True, slots=True)
class Need:
    """A value that only a person can give. `variable` is the environment variable to set.

    `where` says what of the entry it is for.
    """

    variable: str
    name: str
    where: str
    description: str = ""
    is_secret: bool = False
    is_required: bool = True
    format: str = "string"
    choices: tuple[str, ...] = ()
    placeholder: str = ""


@dataclass
class Values:
    """What inputs come to for one entry. `given` are values of the person, by variable or name.

    `prefix` begins the variables of all but the server's own environment: two servers may both
    call something `port`, and one may call something `path`, which is always set. Of its
    environment too, where another server uses a variable of that name: it is one of `taken`.
    """

    prefix: str
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    taken: frozenset[str] = frozenset()
    needs: dict[str, Need] = field(default_factory=dict[str, Need])
    optional: dict[str, Need] = field(default_factory=dict[str, Need])
    used: set[str] = field(default_factory=set[str])

    def of(self, spec: Input, where: str, *, own_name: bool = False) -> str | None:
        """Return the text of an input; None where it is left out. `own_name`: named as it is set.

        Raises:
            NotWritable: it would mean something else in settings.
        """
        text = self.marked(spec, where, own_name=own_name)
        return None if text is None else finished(text)

    def template(self, text: str, variables: Mapping[str, Input], where: str) -> str:
        """A text in which every `{name}` is a variable, known or not.

        Raises:
            NotWritable: it would mean something else in settings.
        """
        every = {x: Input(name=x, is_required=True) for x in _VARIABLE.findall(text)} | {
            name: _needed(x) for name, x in variables.items()
        }
        return finished(self._with_variables(text, every, where))

    def unused(self) -> list[str]:
        """Return the names of values that nothing of the entry asks for."""
        return sorted({*self.given} - self.used)

    def marked(self, spec: Input, where: str, *, own_name: bool = False) -> str | None:
        """Return the same, unfinished: what a person gives is between two marks (`GIVEN`)."""
        if spec.value is not None:
            return self._filled(spec, spec.value, where)
        need = self._need(spec, where, own_name=own_name)
        if (typed := self._given(need)) is not None:
            return f"{_APART}{typed}{_APART}"
        if spec.default is not None:
            return self._filled(spec, spec.default, where)
        if not spec.is_required:
            self.optional.setdefault(need.variable, need)
            return None
        self.needs.setdefault(need.variable, need)
        return f"{_APART}${{{need.variable}}}{_APART}"

    def _filled(self, spec: Input, text: str, where: str) -> str | None:
        lacking = [
            x
            for x in spec.variables.values()
            if not x.is_required and x.value is None and x.default is None
            and self._given(self._need(x, where)) is None
        ]  # fmt: skip
        if lacking and not spec.is_required:
            for x in lacking:
                need = self._need(x, where)
                self.optional.setdefault(need.variable, need)
            return None
        return self._with_variables(text, {n: _needed(x) for n, x in spec.variables.items()}, where)

    def _with_variables(self, text: str, variables: Mapping[str, Input], where: str) -> str:
        parts: list[str] = []
        ends = 0
        for match in _VARIABLE.finditer(text):
            if match[1] in variables:
                value = self.marked(variables[match[1]], where) or ""
                parts += (text[ends : match.start()], value)
                ends = match.end()
        return "".join((*parts, text[ends:]))

    def _need(self, spec: Input, where: str, *, own_name: bool = False) -> Need:
        name = _NOT_IN_NAMES.sub("_", spec.name.upper()).strip("_") or "VALUE"
        if own_name and spec.name not in self.taken:
            name = spec.name
        elif name in self.taken or not name.startswith(f"{self.prefix}_"):
            name = f"{self.prefix}_{name}"
        return Need(
            name, spec.name.lstrip("-"), where, spec.description, spec.is_secret, spec.is_required,
            spec.format, spec.choices, spec.placeholder,
        )  # fmt: skip

    def _given(self, need: Need) -> str | None:
        for key in (need.variable, need.name):
            if key in self.given:
                self.used.add(key)
                return checked(need, self.given[key])
        return None


def prefix_of(name: str) -> str:
    """Return what the variables of an entry of this name begin with."""
    prefix = _NOT_IN_NAMES.sub("_", name.upper()).strip("_") or "SERVER"
    return f"SERVER_{prefix}" if prefix[0].isdigit() else prefix


def as_it_is(text: str) -> str:
    """Return a text that stands for itself in settings."""
    return text.replace("${", "$${")


def finished(text: str) -> str:
    """The text as settings have it: what the registry wrote stands for itself, the rest does not.

    The parts are looked at together: `$` at the end of one and `{` at the beginning of the next
    would be a variable.

    Raises:
        NotWritable: such a pair is in it.
    """
    parts = text.split(_APART)
    for before, after in pairwise(x for x in parts if x):
        if before.endswith("$") and after.startswith(("{", "$")):
            raise NotWritable("it has a $ before a value, which settings would read as another one")
    return "".join(x if n % 2 else as_it_is(x) for n, x in enumerate(parts))


def checked(need: Need, typed: str) -> str:
    """Return the value that a person gave, as settings have it.

    Raises:
        BadSetting: it cannot, or is a secret, which is given by a variable.
    """
    if typed.startswith("${") and typed.endswith("}"):
        return typed
    if need.is_secret:
        raise BadSetting(
            f"{need.name} is a secret, and is never written into settings. Set the environment "
            f"variable {need.variable} instead; the entry takes it from there."
        )
    if not typed.isprintable():
        raise BadSetting(f"{need.name} has a character that no program can be given.")
    if need.choices and typed not in need.choices:
        raise BadSetting(f"{need.name} is {typed!r}. Give one of {', '.join(need.choices)}.")
    if need.format == "boolean":
        if typed.lower() not in _BOOLEANS:
            raise BadSetting(f"{need.name} is {typed!r}. Give true or false.")
        return _BOOLEANS[typed.lower()]
    if need.format == "number" and not _is_number(typed):
        raise BadSetting(f"{need.name} is {typed!r}. Give a number.")
    return typed


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _needed(spec: Input) -> Input:
    """Return a variable of a text that is used: it has to have some value."""
    return spec if spec.is_required else replace(spec, is_required=True)
