"""A compiled workflow as text: its class, what it takes, what it gives. Nothing of it is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...core.util import module_of

_FIX = "Compile it anew in Xircuits, or name its .xircuits file."


class Unusable(Exception):
    """Why a workflow cannot be used, and what to do about it."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(problem)
        self.fix = fix


@dataclass(frozen=True)
class Parameter:
    """One argument. `type` as a script writes it: str, int, float, bool, any; or secret."""

    name: str
    type: str
    description: str = ""
    required: bool = True
    default: Any = None


@dataclass(frozen=True)
class Output:
    """One value that is wired to Finish: the attribute that holds it, and what it is called."""

    attribute: str
    name: str


@dataclass(frozen=True)
class Script:
    """A compiled workflow; `name` is that of its class."""

    name: str
    description: str
    parameters: list[Parameter]
    outputs: list[Output]


def read_script(text: str) -> Script:
    """The workflow in this text.

    Raises:
        Unusable: there is none.
    """
    try:
        tree = module_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        raise Unusable(f"it is no Python: {cause}.", _FIX) from None
    classes = [x for x in tree.body if isinstance(x, ast.ClassDef) and _is_workflow(x)]
    if not classes:
        problem = "it is no compiled workflow: it has no class of the type xircuits_workflow."
        raise Unusable(problem, f"{_FIX} Plain functions go under `functions`.")
    found = classes[-1]
    said = ast.get_docstring(tree) or ast.get_docstring(found) or ""
    return Script(found.name, said, _parameters(found, tree), _outputs(found))


def imports_in(text: str) -> Iterator[tuple[str, list[str]]]:
    """The modules that a script takes components from, and which."""
    for node in module_of(text).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, [x.name for x in node.names]


def _is_workflow(node: ast.ClassDef) -> bool:
    calls = [x for x in node.decorator_list if isinstance(x, ast.Call)]
    words = [word for call in calls for word in call.keywords]
    return any(_constant(x.value) == "xircuits_workflow" for x in words)


def _ports(node: ast.ClassDef, kind: str) -> Iterator[tuple[str, str]]:
    """Name and type of each port of this kind."""
    for x in node.body:
        match x:
            case ast.AnnAssign(ast.Name(name), ast.Subscript(ast.Name(port), given)):
                if port == kind:
                    yield name, ast.unparse(given)
            case _:
                pass


def _parameters(node: ast.ClassDef, tree: ast.Module) -> list[Parameter]:
    """In the order in which the script's own options are added, where it adds them."""
    options = dict(_options(tree))
    types = dict(_ports(node, "InArg"))
    order = [*(x for x in options if x in types), *(x for x in types if x not in options)]
    return [_parameter(name, types[name], options.get(name, {})) for name in order]


def _parameter(name: str, kind: str, option: dict[str, Any]) -> Parameter:
    default, words = option.get("default"), option.get("help") or ""
    return Parameter(name, kind, str(words), default is None, default)


def _options(tree: ast.Module) -> Iterator[tuple[str, dict[str, Any]]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(attr="add_argument"), [option, *_], keywords):
                name = str(_constant(option)).lstrip("-")
                yield name, {x.arg: _constant(x.value) for x in keywords if x.arg}
            case _:
                pass


def _outputs(node: ast.ClassDef) -> list[Output]:
    """Called like the ports that they are wired to."""
    attributes = sorted((name for name, _ in _ports(node, "OutArg")), key=_place)
    wired = dict(_wires(node))
    names: list[str] = []
    for attribute in attributes:
        names.append(_free(wired.get(attribute, "output"), names))
    return [Output(*both) for both in zip(attributes, names, strict=True)]


def _wires(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """What stands as `self.output.connect(self.c_1.text)`."""
    for call in ast.walk(node):
        match call:
            case ast.Call(
                ast.Attribute(ast.Attribute(ast.Name(), output), "connect"),
                [ast.Attribute(attr=port)],
            ):
                yield output, port
            case _:
                pass


def _place(attribute: str) -> int:
    number = re.search(r"\d+$", attribute)
    return int(number[0]) if number else 0


def _free(name: str, taken: list[str]) -> str:
    number = 1
    wanted = name
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def _constant(node: ast.expr) -> Any:
    """The value, where it is written down as such."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
