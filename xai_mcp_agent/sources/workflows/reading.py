"""Reads a workflow: its drawing, its compiled script, its components.

It runs in a process of its own, because the compiler evaluates the literals on the canvas, which
may be anything. The script is parsed, not run.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import keyword
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from ...core.util import INSTALL_LAB, module_of

JsonObject = dict[str, Any]

_SUFFIX = ".xircuits"
_MAX_CHARS = 300  # for an unknown error
_TYPES = ("string", "int", "float", "boolean", "secret", "any")
_ARGUMENT = re.compile(r"Argument \((.+?)\): (.*)", re.DOTALL)
# Attributes that every workflow's class has.
_RESERVED = re.compile(r"next|do|init|execute|debug_repr|set_execution_context|output(_\d+)?|__\w*")
_TITLES = ("description", "about", "tool")  # title of a comment on the whole workflow
# A line of a comment about one argument: `city (default: Berlin): where to look`.
_LINE = re.compile(r"\s*[-*]?\s*(\w+)\s*(?:\(([^()]*)\))?\s*:\s*(.*)")
_DEFAULT = re.compile(r"default\s*[:=]?\s*(.*)", re.IGNORECASE)
_NO_WORKFLOW = "this is not an Xircuits workflow"
_OPEN = "Open it in Xircuits, and"
_COMPILE = "Compile it again in Xircuits, or name its .xircuits file."


class Unusable(Exception):
    """The workflow cannot be used; says why, and `fix` what to do about it."""

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


@dataclass
class _Compiled:
    """A workflow and its nested workflows: text and file of each, by module name."""

    sources: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, str] = field(default_factory=dict[str, str])
    drawings: list[str] = field(default_factory=list[str])  # the files that were read


def read(request: JsonObject) -> JsonObject:
    """Return the data to run and describe the workflow `file`, or why it cannot be used."""
    file = Path(request["file"])
    try:
        return _read(file, request["module"], Path(request["scratch"]))
    except Unusable as reason:
        return {"unusable": [str(reason), reason.fix]}
    except (OSError, UnicodeDecodeError) as cause:
        return {"unusable": [f"{file} cannot be read: {cause}.", "Look at the file."]}
    except Exception as cause:  # noqa: BLE001 - it may hold anything, at any place
        words = f"{type(cause).__name__}: {cause}"[:_MAX_CHARS]
        problem = f"{file.name} has something that no Xircuits workflow has ({words})."
        return {"unusable": [problem, "Open it in Xircuits and save it again, or take a copy."]}


def _read(file: Path, module: str, scratch: Path) -> JsonObject:
    compiled, drawing = _Compiled(), Drawing([], [])
    if file.suffix.lower() == _SUFFIX:
        drawing = _compile(file, module, scratch, compiled, file.parent)
    else:
        compiled.sources[module] = file.read_text(encoding="utf-8")
        compiled.files[module] = str(file)
    tree, workflow = _workflow_in(compiled.sources[module])
    for source in compiled.sources.values():
        _require_components(source, compiled)
    docs = ast.get_docstring(tree) or ast.get_docstring(workflow) or ""
    return {
        "modules": compiled.sources,
        "files": compiled.files,
        "drawings": compiled.drawings,
        "class": workflow.name,
        "outputs": _outputs(workflow),
        "parameters": [asdict(drawing.describe(x)) for x in _parameters(workflow, tree)],
        "description": drawing.description(file.stem) or docs,
    }


# The drawing


@dataclass(frozen=True)
class Drawing:
    """Nodes of a file, and its comments from the top left on, each a title and a text."""

    nodes: list[JsonObject]
    comments: list[tuple[str, str]]

    @classmethod
    def read(cls, file: Path) -> Drawing:
        """Read the drawing in a file, and report mistakes that the compiler would not explain.

        Raises:
            Unusable: it is not a drawing, or one of its nodes cannot be used.
        """
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as cause:
            raise Unusable(
                f"{_NO_WORKFLOW}: {cause}.", "Name another file, or save it again."
            ) from None
        try:
            layers = {x["type"]: list(x["models"].values()) for x in document["layers"]}
            nodes, links = layers["diagram-nodes"], layers["diagram-links"]
            kinds = {x["id"]: x["extras"].get("type") for x in nodes}
        except (KeyError, TypeError, AttributeError):
            raise Unusable(f"{_NO_WORKFLOW}: it has no nodes.", "Name another file.") from None
        to_finish = {x.get("source") for x in links if kinds.get(x.get("target")) == "Finish"}
        for node in nodes:
            if node.get("name", "").startswith("Argument "):
                _check_argument(node, is_wired_to_finish=node["id"] in to_finish)
        comments = [x for x in nodes if kinds[x["id"]] == "comment"]
        comments.sort(key=lambda x: (x.get("y", 0), x.get("x", 0)))
        return cls(nodes, [(x.get("name", "").strip(), _text(x)) for x in comments])

    def workflows(self) -> Iterator[tuple[str, str]]:
        """Yield the nested workflows, with the files that Xircuits stores for them."""
        for node in self.nodes:
            if node["extras"].get("type") == "xircuits_workflow" and node["extras"].get("path"):
                yield node["name"], node["extras"]["path"]

    def description(self, name: str) -> str:
        """Return the description of the workflow: the comment with that title, else the first."""
        arguments = self._arguments()
        about = [text for title, text in self.comments if title.lower() in (*_TITLES, name.lower())]
        others = [text for title, text in self.comments if title not in arguments]
        lines = [line for text in (about or others)[:1] for line in text.splitlines()]
        matches = [(line, _LINE.fullmatch(line)) for line in lines]
        return "\n".join(line for line, x in matches if not x or x[1] not in arguments).strip()

    def describe(self, parameter: Parameter) -> Parameter:
        """Return the parameter with the description and default that the comments give."""
        if self._arguments().get(parameter.name) == "secret":
            parameter = replace(parameter, type="secret")
        for title, text in self.comments:
            if title == parameter.name:
                return replace(parameter, description=text.strip())
            for line in map(_LINE.fullmatch, text.splitlines()):
                if line and line[1] == parameter.name:
                    return _apply_comment(parameter, (line[2] or "").strip(), line[3].strip())
        return parameter

    def _arguments(self) -> dict[str, str]:
        """Return the types of the arguments, by name."""
        matches = (_ARGUMENT.fullmatch(x.get("name", "")) for x in self.nodes)
        return {x[2]: x[1] for x in matches if x}


def _apply_comment(parameter: Parameter, note: str, description: str) -> Parameter:
    """Give a parameter a default, or make it optional, if a comment says so in brackets."""
    if default := _DEFAULT.fullmatch(note):
        value = _default(default[1].strip(), parameter.type)
        return replace(parameter, description=description, required=False, default=value)
    is_required = parameter.required and note.lower() != "optional"
    return replace(parameter, description=description, required=is_required)


def _default(text: str, kind: str) -> Any:
    """Read a value in a comment: as JSON if it is JSON, else as a text."""
    if kind == "bool":
        return text.lower() in ("true", "yes", "1")
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if kind == "str" and not isinstance(value, str) else value


def _check_argument(node: JsonObject, *, is_wired_to_finish: bool) -> None:
    match = _ARGUMENT.fullmatch(node["name"])
    if match is None or match[1] not in _TYPES:
        problem = f"its node {node['name']!r} is of a type that no argument has."
        raise Unusable(problem, f"{_OPEN} put an argument of {', '.join(_TYPES)} there.")
    name = match[2]
    if not name.isidentifier() or keyword.iskeyword(name) or _RESERVED.fullmatch(name):
        problem = f"its Argument node {name!r} has a name that cannot be used."
        fix = "give it another one: letters, digits and underscores, and no word of Python."
        raise Unusable(problem, f"{_OPEN} {fix}")
    if is_wired_to_finish:
        problem = f"its Argument node {name!r} is wired to Finish, which Xircuits cannot do."
        raise Unusable(problem, f"{_OPEN} put a node between the two.")


def _text(node: JsonObject) -> str:
    text = node["extras"].get("commentInput", "")
    return text if isinstance(text, str) else ""


# The compiler


def _compile(file: Path, module: str, scratch: Path, compiled: _Compiled, base: Path) -> Drawing:
    drawing = Drawing.read(file)
    compiled.drawings.append(str(file))
    # The compiler makes a class of the file's name, so the name must be an identifier.
    target = scratch / f"{module.rpartition('.')[2]}.py"
    _run_compiler(file, target)
    compiled.sources[module] = target.read_text(encoding="utf-8")
    compiled.files[module] = str(file.with_suffix(".py"))
    for node, path in drawing.workflows():
        inner = ".".join(path.removesuffix(".py").split("/"))
        name = path.removesuffix(".py") + _SUFFIX
        # Xircuits looks for it there.
        places = (file.parent / name, base / name, file.parent / Path(name).name)
        inner_file = next((x for x in places if x.is_file()), None)
        if inner_file is not None and inner not in compiled.sources:
            _compile(inner_file, inner, scratch, compiled, base)
        elif inner_file is None and not (base / path).exists():
            problem = f"the workflow in its node {node} is missing: there is no {path}."
            raise Unusable(problem, "Put it back, or take the node out.")
    return drawing


def _run_compiler(file: Path, target: Path) -> None:
    # Imported here: a script does not need it, and its own imports are part of what compiles.
    try:
        from xircuits.compiler.compiler import compile as compile_workflow  # pyright: ignore
    except ImportError:
        problem = "it cannot be compiled: Xircuits is not installed here."
        raise Unusable(problem, f"Install it: {INSTALL_LAB}.") from None
    try:
        compile_workflow(str(file), str(target))
    except (Exception, SystemExit) as cause:  # noqa: BLE001 - of literals, too, which are Python
        node, function = _node_at_fault(cause.__traceback__)
        if isinstance(cause, IndexError) and function in ("_generate_flows", "_generate_main"):
            problem = "it cannot be compiled: no flow leads from Start to Finish."
            raise Unusable(problem, "Draw one, through all its nodes.") from None
        at = f" at the node {node}" if node else ""
        problem = f"it cannot be compiled{at}: {type(cause).__name__}: {cause}."
        fix = "Open it, correct that node, and see whether Xircuits compiles it."
        raise Unusable(problem, fix) from None


def _node_at_fault(traceback: TracebackType | None) -> tuple[str, str]:
    """Return the node that the compiler was working on, and the function it was in."""
    node, function = "", ""
    while traceback is not None:
        frame = traceback.tb_frame
        if "xircuits" in Path(frame.f_code.co_filename).parts:
            port: Any = frame.f_locals.get("port")
            item: Any = frame.f_locals.get("node")
            if source := getattr(port, "source", None):
                node = f"{source.name} (wired to {port.target.name})"
            else:
                is_read = isinstance(item, dict)
                name = cast(JsonObject, item).get("name") if is_read else getattr(item, "name", "")
                node = str(name or "") or node
            function = frame.f_code.co_name
        traceback = traceback.tb_next
    return node, function


def _require_components(source: str, compiled: _Compiled) -> None:
    """Check that the components exist. They are not imported, because that may take long.

    Raises:
        Unusable: the file of one is missing.
    """
    for node in module_of(source).body:
        if not isinstance(node, ast.ImportFrom) or not node.module or node.level:
            continue
        module, names = node.module, ", ".join(x.name for x in node.names)
        if module not in compiled.sources and not _exists(module):
            library = module.split(".")[1] if "." in module else module
            path, command = module.replace(".", "/"), f"`xircuits install {library}`"
            problem = f"its node {names} is not installed here: there is no {path}.py."
            fix = f"Install its library, such as with {command}, or take the node out."
            raise Unusable(problem, fix)


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
    except Exception:  # noqa: BLE001 - of a package on the way; a call tells more about it
        return True


# The compiled script


def _workflow_in(text: str) -> tuple[ast.Module, ast.ClassDef]:
    """Return the tree of a script, and the class of its workflow.

    Raises:
        Unusable: there is none.
    """
    try:
        tree = module_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        raise Unusable(f"it is not Python: {cause}.", _COMPILE) from None
    classes = [x for x in tree.body if isinstance(x, ast.ClassDef) and _is_workflow(x)]
    if not classes:
        problem = "it is not a compiled workflow: it has no class of the type xircuits_workflow."
        raise Unusable(problem, f"{_COMPILE} Plain functions go under `functions`.")
    return tree, classes[-1]


def _is_workflow(node: ast.ClassDef) -> bool:
    calls = [x for x in node.decorator_list if isinstance(x, ast.Call)]
    return any(_constant(x.value) == "xircuits_workflow" for y in calls for x in y.keywords)


def _ports(node: ast.ClassDef, kind: str) -> Iterator[tuple[str, str]]:
    """Yield name and type of each port of a kind."""
    for x in node.body:
        match x:
            case ast.AnnAssign(ast.Name(name), ast.Subscript(ast.Name(port), inner)):
                if port == kind:
                    yield name, ast.unparse(inner)
            case _:
                pass


def _parameters(node: ast.ClassDef, tree: ast.Module) -> list[Parameter]:
    """Return the parameters in the order of the script's own options, if it has any."""
    options = dict(_options(tree))
    types = dict(_ports(node, "InArg"))
    parameters: list[Parameter] = []
    for name in (*(x for x in options if x in types), *(x for x in types if x not in options)):
        option = options.get(name, {})
        default, help_text = option.get("default"), str(option.get("help") or "")
        parameters.append(Parameter(name, types[name], help_text, default is None, default))
    return parameters


def _options(tree: ast.Module) -> Iterator[tuple[str, JsonObject]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(attr="add_argument"), [option, *_], keywords):
                name = str(_constant(option)).lstrip("-")
                yield name, {x.arg: _constant(x.value) for x in keywords if x.arg}
            case _:
                pass


def _outputs(node: ast.ClassDef) -> list[JsonObject]:
    """Return the attributes that hold outputs, each with the name of the port wired to it."""
    port_by_output: dict[str, str] = {}
    for call in ast.walk(node):
        match call:
            # The statement `self.output.connect(self.c_1.text)`.
            case ast.Call(
                ast.Attribute(ast.Attribute(ast.Name(), output), "connect"),
                [ast.Attribute(attr=port)],
            ):
                port_by_output[output] = port
            case _:
                pass
    names: list[str] = []
    attributes = sorted((name for name, _ in _ports(node, "OutArg")), key=_place)
    for name in (port_by_output.get(x, "output") for x in attributes):
        others = (f"{name}_{x}" for x in range(2, len(attributes) + 2))
        names.append(name if name not in names else next(x for x in others if x not in names))
    return [{"attribute": x, "name": y} for x, y in zip(attributes, names, strict=True)]


def _place(attribute: str) -> int:
    number = re.search(r"\d+$", attribute)
    return int(number[0]) if number else 0


def _constant(node: ast.expr) -> Any:
    """Return the value of a literal; None for any other expression."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
