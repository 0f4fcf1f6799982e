"""Reading a workflow, in a process of its own: it is compiled, and its script looked through.

In a process, because compiling evaluates the literals on the canvas, which may be anything.
"""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, cast

from .drawing import Drawing, Unusable
from .script import imports_in, read_script

JsonObject = dict[str, Any]

_SUFFIX = ".xircuits"
_COMPILER = "xircuits"
_MAX_CHARS = 300  # of an error of which we know nothing


@dataclass
class _Compiled:
    """A workflow and those inside it: text and file of each, by the name of its module."""

    sources: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, str] = field(default_factory=dict[str, str])
    drawn: list[str] = field(default_factory=list[str])  # what was read


def read(request: JsonObject) -> JsonObject:
    """What is needed to run the workflow `file`, and how it is used; or why it cannot be."""
    file = Path(request["file"])
    try:
        return _read(file, request["module"], Path(request["scratch"]))
    except Unusable as reason:
        return {"unusable": [str(reason), reason.fix]}
    except (OSError, UnicodeDecodeError) as cause:
        return {"unusable": [f"{file} cannot be read: {cause}.", "Look at the file."]}
    except Exception as cause:  # noqa: BLE001 - it may hold anything, at any place
        said = f"{type(cause).__name__}: {cause}"[:_MAX_CHARS]
        problem = f"{file.name} holds what no workflow of Xircuits does ({said})."
        return {"unusable": [problem, "Open it in Xircuits and save it anew, or take a copy."]}


def _read(file: Path, module: str, scratch: Path) -> JsonObject:
    compiled, drawing = _Compiled(), Drawing.empty()
    if file.suffix.lower() == _SUFFIX:
        drawing = _compile(file, module, scratch, compiled, file.parent)
    else:
        compiled.sources[module] = file.read_text(encoding="utf-8")
        compiled.files[module] = str(file)
    script = read_script(compiled.sources[module])
    _check_components(compiled)
    return {
        "modules": compiled.sources,
        "files": compiled.files,
        "drawn": compiled.drawn,
        "class": script.name,
        "outputs": [asdict(x) for x in script.outputs],
        "parameters": [asdict(x) for x in drawing.described(script.parameters)],
        "description": drawing.description(file.stem) or script.description,
    }


def _compile(file: Path, module: str, scratch: Path, compiled: _Compiled, base: Path) -> Drawing:
    drawing = Drawing.read(file)
    compiled.drawn.append(str(file))
    # Whatever the file's name: the compiler makes a class of it, which not every name can be.
    target = scratch / f"{module.rpartition('.')[2]}.py"
    _run_compiler(file, target)
    compiled.sources[module] = target.read_text(encoding="utf-8")
    compiled.files[module] = str(file.with_suffix(".py"))
    for node, path in drawing.workflows():
        inner = ".".join(path.removesuffix(".py").split("/"))
        found = _inner_file(path, file, base)
        if found is not None and inner not in compiled.sources:
            _compile(found, inner, scratch, compiled, base)
        elif found is None and not (base / path).exists():
            problem = f"the workflow in its node {node} is missing: there is no {path}."
            raise Unusable(problem, "Put it back, or take the node out.")
    return drawing


def _inner_file(path: str, outer: Path, base: Path) -> Path | None:
    """Where Xircuits looks for a workflow that is a node of another."""
    name = path.removesuffix(".py") + _SUFFIX
    places = [outer.parent / name, base / name, outer.parent / Path(name).name]
    return next((x for x in places if x.is_file()), None)


def _run_compiler(file: Path, target: Path) -> None:
    # Here, because a script needs none. Its own imports are part of what compiles.
    from xircuits.compiler.compiler import compile as compile_workflow  # pyright: ignore

    try:
        compile_workflow(str(file), str(target))
    except (Exception, SystemExit) as cause:  # noqa: BLE001 - of literals, too, which are Python
        raise _not_compiled(cause) from None


def _not_compiled(cause: BaseException) -> Unusable:
    node, function = _node_at_fault(cause.__traceback__)
    if isinstance(cause, IndexError) and function in ("_generate_flows", "_generate_main"):
        problem = "it cannot be compiled: no flow leads from Start to Finish."
        return Unusable(problem, "Draw one, through all its nodes.")
    at = f" at the node {node}" if node else ""
    problem = f"it cannot be compiled{at}: {type(cause).__name__}: {cause}."
    return Unusable(problem, "Open it, correct that node, and see whether Xircuits compiles it.")


def _node_at_fault(traceback: TracebackType | None) -> tuple[str, str]:
    """The node that the compiler was working on, and in which of its functions."""
    node, function = "", ""
    while traceback is not None:
        frame = traceback.tb_frame
        if _COMPILER in Path(frame.f_code.co_filename).parts:
            node, function = _node_in(frame) or node, frame.f_code.co_name
        traceback = traceback.tb_next
    return node, function


def _node_in(frame: FrameType) -> str:
    port, node = frame.f_locals.get("port"), frame.f_locals.get("node")
    if source := getattr(port, "source", None):
        return f"{source.name} (wired to {port.target.name})"  # pyright: ignore
    read = cast(JsonObject, node if isinstance(node, dict) else {})
    return str(read.get("name") or getattr(cast(Any, node), "name", ""))


def _check_components(compiled: _Compiled) -> None:
    """Whether the components are there; they are not imported, for that may take long.

    Raises:
        Unusable: the file of one is missing.
    """
    for source in compiled.sources.values():
        for module, names in imports_in(source):
            if module not in compiled.sources and not _exists(module):
                nodes, path = ", ".join(names), module.replace(".", "/")
                library = module.split(".")[1] if "." in module else module
                raise Unusable(
                    f"its node {nodes} is not installed here: there is no {path}.py.",
                    f"Install its library, such as with `xircuits install {library}`, or take the "
                    "node out.",
                )


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
    except Exception:  # noqa: BLE001 - of a package on the way; a call tells more about it
        return True
