"""How OpenAPI documents in a folder are read, and at what cost: a line for each.

Every schema is compiled, and every problem told. `memory` is what converting adds at most, in MB.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from xai_mcp_agent.core.json import as_object
from xai_mcp_agent.core.schema_check import SchemaCheck
from xai_mcp_agent.sources.openapi import BadDocument
from xai_mcp_agent.sources.openapi.document import Document, NotReadable, files_beside, parse
from xai_mcp_agent.sources.openapi.operations import Conversion, convert

_KINDS = (".json", ".yaml", ".yml")


def main() -> int:
    """Print the table; 1 if a schema cannot be compiled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of documents")
    folder: Path = parser.parse_args().data
    print(f"{'document':<44} tools problems  read s  convert s  memory  unusable schemas")
    totals = [0, 0, 0]
    for file in _documents(folder):
        found, broken, line = _row(file)
        print(f"{str(file.relative_to(folder))[-44:]:<44} {line}", flush=True)
        for problem in found.problems:
            print(f"    {problem}")
        totals = [
            x + y
            for x, y in zip(
                totals, (len(found.operations), len(found.problems), broken), strict=True
            )
        ]
    print(f"{totals[0]:,} tools, {totals[1]:,} problems, {totals[2]:,} unusable schemas")
    return 1 if totals[2] else 0


def _documents(folder: Path) -> Iterator[Path]:
    """Yield the files that are whole documents; the others are parts of them."""
    for file in sorted(x for x in folder.rglob("*") if x.suffix in _KINDS):
        try:
            root = as_object(parse(file.read_bytes()))
        except NotReadable:
            continue
        if "openapi" in root or "swagger" in root:
            yield file


def _document(file: Path) -> Document:
    file = file.absolute()
    return Document.parse(file.read_bytes(), file.as_uri(), files_beside(file), file.name)


def _row(file: Path) -> tuple[Conversion, int, str]:
    began = time.process_time()
    try:
        document = _document(file)
    except BadDocument as error:
        return Conversion((), ()), 0, str(error)
    read = time.process_time()
    found = convert(document)
    done = time.process_time()
    memory = _memory(file)
    checks = [SchemaCheck(x.input_schema) for x in found.operations]
    checks += [SchemaCheck(s) for x in found.operations if (s := x.tool.output_schema)]
    broken = sum(bool(x.problems({}) and x.broken) or bool(x.broken) for x in checks)
    counts = f"{len(found.operations):>5} {len(found.problems):>8}"
    return (
        found,
        broken,
        f"{counts} {read - began:7.2f} {done - read:10.2f} {memory:7.1f} {broken:>17}",
    )


def _memory(file: Path) -> float:
    """Above the document itself; measured by itself, because that takes time."""
    document = _document(file)
    tracemalloc.start()
    convert(document)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1024**2


if __name__ == "__main__":
    sys.exit(main())
