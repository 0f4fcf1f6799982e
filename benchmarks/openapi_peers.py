"""Converting OpenAPI documents, beside other libraries: a line for each document and each of them.

Each conversion has a process of its own, in an environment of its own: processor seconds from the
document as a dict to the last tool, and by how many MB the process grew at most.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .peers.environments import environment_with, variables

_SECONDS = 300  # for one document; who takes longer has not converted it
_LARGEST = 4  # documents that are tried without others being named
_KINDS = (".json", ".yaml", ".yml")

_FRAME = """
import json, resource, sys, time
{imports}
def convert(document):
{convert}
document = json.load(open(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.process_time()
try:
    tools = convert(document)
except BaseException as cause:
    print(json.dumps({{"error": f"{{type(cause).__name__}}: {{cause}}"[:100]}}))
else:
    seconds = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({{"tools": tools, "seconds": seconds, "mb": grown}}))
"""


@dataclass(frozen=True)
class Converter:
    """A library, and how it makes tools of a document."""

    name: str
    package: str
    pins: tuple[str, ...]
    imports: str
    convert: str

    @property
    def script(self) -> str:
        """What its process runs."""
        return _FRAME.format(imports=self.imports, convert=self.convert)


CONVERTERS = (
    Converter(
        "xai_mcp_agent", "xai-mcp-agent", (),
        "from xai_mcp_agent.sources.openapi import load_service",
        "    return len(load_service(document, 'http://127.0.0.1:9').tools)",
    ),
    Converter(
        "fastmcp", "fastmcp", ("fastmcp==4.1.2",),
        "import asyncio, httpx2\nfrom fastmcp import FastMCP",
        "    client = httpx2.AsyncClient(base_url='http://127.0.0.1:9')\n"
        "    server = FastMCP.from_openapi(document, client=client)\n"
        "    return len(asyncio.run(server.list_tools()))",
    ),
    Converter(
        "google-adk", "google-adk", ("google-adk==2.13.0",),
        "from google.adk.tools.openapi_tool.openapi_spec_parser.openapi_toolset "
        "import OpenAPIToolset",
        "    import asyncio\n"
        "    tools = asyncio.run(OpenAPIToolset(spec_dict=document).get_tools())\n"
        "    return len([x._get_declaration() for x in tools])",
    ),
)  # fmt: skip


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of documents")
    parser.add_argument("--only", nargs="*", default=[], help="names of files; else the largest")
    chosen = parser.parse_args()
    print(f"{'document':<28} {'library':<14} tools  CPU s     MB")
    for file in _files(chosen.data, chosen.only):
        as_json = _as_json(file)
        for converter in CONVERTERS:
            print(f"{file.name[:28]:<28} {converter.name:<14} {_line(converter, as_json)}")
    return 0


def _files(folder: Path, only: list[str]) -> list[Path]:
    found = [x for x in folder.glob("*") if x.suffix in _KINDS]
    if only:
        return [x for x in found if x.name in only]
    return sorted(found, key=lambda x: -x.stat().st_size)[:_LARGEST]


def _as_json(file: Path) -> Path:
    """The document as JSON, its keys texts: not all libraries read YAML alike."""
    from xai_mcp_agent.sources.openapi.document.parsing import parsed

    place = Path(".cache") / "openapi" / f"{file.stem}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(parsed(file.read_bytes())), encoding="utf-8")
    return place


def _line(converter: Converter, file: Path) -> str:
    try:
        python = environment_with(converter.name, converter.package, converter.pins).python
        done = subprocess.run(
            [python, "-c", converter.script, str(file.resolve())],
            capture_output=True, text=True, timeout=_SECONDS, check=True, env=variables(),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not in {_SECONDS} s"
    except (OSError, subprocess.SubprocessError) as cause:
        return f"cannot be run: {cause}"[:100]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    if "error" in found:
        return f"    0  {found['error']}"
    return f"{found['tools']:>5} {found['seconds']:>6.2f} {found['mb']:>6.0f}"


if __name__ == "__main__":
    sys.exit(main())
