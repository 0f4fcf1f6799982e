"""How OpenAPI documents in a folder are read, and at what cost: a line for each.

Every schema is compiled, and every problem printed. `memory` is the peak of the conversion, in MB.
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

_SUFFIXES = (".json", ".yaml", ".yml")


def main() -> int:
    """Print the table; 1 if a schema cannot be compiled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of documents")
    folder: Path = parser.parse_args().data
    print(f"{'document':<44} tools problems  read s  convert s  memory  unusable schemas")
    tools = problems = unusable = 0
    for file in _documents(folder):
        print(f"{str(file.relative_to(folder))[-44:]:<44} ", end="", flush=True)
        try:
            conversion, broken = _measure(file)
        except BadDocument as error:
            print(error)
            continue
        for problem in conversion.problems:
            print(f"    {problem}")
        tools += len(conversion.operations)
        problems += len(conversion.problems)
        unusable += broken
    print(f"{tools:,} tools, {problems:,} problems, {unusable:,} unusable schemas")
    return 1 if unusable else 0


def _documents(folder: Path) -> Iterator[Path]:
    """Yield the files that are whole documents; the others are parts of them."""
    for file in sorted(x for x in folder.rglob("*") if x.suffix in _SUFFIXES):
        try:
            root = as_object(parse(file.read_bytes()))
        except NotReadable:
            continue
        if "openapi" in root or "swagger" in root:
            yield file


def _measure(file: Path) -> tuple[Conversion, int]:
    """Print the rest of the document's line; return the conversion and its unusable schemas."""
    start = time.process_time()
    document = _read(file)
    read_time = time.process_time()
    conversion = convert(document)
    end = time.process_time()
    operations = conversion.operations
    checks = [SchemaCheck(x.input_schema) for x in operations]
    checks += [SchemaCheck(s) for x in operations if (s := x.tool.output_schema)]
    # Some schemas turn out to be unusable at their first check.
    broken = sum(bool(x.broken or (x.problems({}) and x.broken)) for x in checks)
    print(
        f"{len(operations):>5} {len(conversion.problems):>8} {read_time - start:7.2f}"
        f" {end - read_time:10.2f} {_peak_megabytes(file):7.1f} {broken:>17}",
        flush=True,
    )
    return conversion, broken


def _read(file: Path) -> Document:
    file = file.absolute()
    return Document(file.read_bytes(), file.as_uri(), files_beside(file), file.name)


def _peak_megabytes(file: Path) -> float:
    """Return the peak memory of a conversion, above the document itself; tracing is slow."""
    document = _read(file)
    tracemalloc.start()
    convert(document)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1024**2


if __name__ == "__main__":
    sys.exit(main())
