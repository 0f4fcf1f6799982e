"""Names the nodes of a workflow whose code reaches into xai-agent itself.

What xai-agent keeps for a run is not there any more once its nodes are adopted: agents and
toolbelts are kept otherwise here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from ...core.json import JsonObject
from .document import nodes_of, ports_of, text_of, texts_by_port
from .migrate import Remark, is_upstream, path_of

_IN_CODE = re.compile(
    r"""\bctx\s*(?:\[|\.(?:get|setdefault|pop)\()\s*[fF]?['"](?P<key>agent_|toolbelt_|mcp_servers_)"""
    r"""|(?P<module>\bxai_agent(?:\.\w+)*)"""
)
_CLASS = re.compile(r"^class (\w+)\b", re.MULTILINE)
_IMPORT = re.compile(r"^(?:from|import) .*$", re.MULTILINE)
_LARGEST_BYTES = 1_000_000  # of a component file
_NO_MODULE = "xai_agent_"  # the folder of another library


def reaching(document: JsonObject, folder: Path) -> Iterator[Remark]:
    """A remark for each node that does: by a text wired to it, or by its class's file.

    Files are looked for from `folder` on, where the workflow runs.
    """
    texts, read = texts_by_port(document), dict[str, dict[str, str]]()
    for node_id, node in nodes_of(document).items():
        path = path_of(node)
        if is_upstream(path):
            continue
        if path and path not in read:
            read[path] = _classes(_source(folder, path))
        own = read.get(path, {}).get(text_of(node, "name"), "")
        written = (_reached(texts.get(text_of(x, "id"), "")) for x in ports_of(node))
        for where, found in (("its code", own), *(("a text in it", x) for x in written)):
            if found:
                text = (
                    f"{where} uses {found} of xai-agent, which adopted nodes do not have. Find "
                    "another way to do its work, such as the ports of AgentRun and AgentRunTool."
                )
                yield Remark(text_of(node, "name"), node_id, text)


def _reached(code: str) -> str:
    for found in _IN_CODE.finditer(code):
        if found["key"]:
            return f"`ctx['{found['key']}...']`"
        if not found["module"].startswith(_NO_MODULE):
            return f"`{found['module'][:60]}`"
    return ""


def _classes(source: str) -> dict[str, str]:
    """What of xai-agent each class of a file uses: in its own lines, or by the file's imports."""
    imports = _reached("\n".join(_IMPORT.findall(source)))
    begins = [(x.start(), x[1]) for x in _CLASS.finditer(source)]
    parts = ((x[1], source[x[0] : y[0]]) for x, y in pairwise([*begins, (len(source), "")]))
    return {name: imports or _reached(part) for name, part in parts}


def _source(folder: Path, path: str) -> str:
    """The text of a component file in a folder of the project; empty where there is none."""
    file = folder / path
    try:
        if not file.resolve().is_relative_to(folder.resolve()) or not file.is_file():
            return ""
        if file.suffix != ".py" or file.stat().st_size > _LARGEST_BYTES:
            return ""
        return file.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
