"""An environment for each peer, made once with pinned versions and then reused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..rows import IS_SMALLEST
from .peers import Peer

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "peers"
_INSTALL_SECONDS = 600
_VERSIONS_SECONDS = 60
_BIN, _EXE = ("Scripts", ".exe") if sys.platform == "win32" else ("bin", "")

_VERSIONS = """
import importlib.metadata, json, platform, sys
versions = {}
for name in sys.argv[1:]:
    try:
        versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(versions | {"python": platform.python_version()}))
"""


@dataclass(frozen=True)
class Environment:
    """A Python with a peer in it, and the versions that are installed there."""

    python: str
    versions: Mapping[str, str]


def environment(peer: Peer, cache: Path = CACHE) -> Environment:
    """Return the peer's environment, made if there is none with these pins.

    Raises:
        OSError, subprocess.SubprocessError: it cannot be made; the message ends as pip's output.
    """
    return environment_with(peer.name, peer.package, peer.pins, cache=cache)


def environment_with(
    name: str,
    package: str,
    pins: Sequence[str],
    unresolved: Sequence[str] = (),
    cache: Path = CACHE,
) -> Environment:
    """Return the environment of this name, made if there is none with these pins.

    `unresolved` are installed last, without their own requirements. Raises as `environment` does.
    """
    folder = cache / name.replace(" ", "-")
    python = str(_python_with(folder, pins, unresolved)) if pins else sys.executable
    versions = _run([python, "-c", _VERSIONS, package, "mcp"], _VERSIONS_SECONDS)
    return Environment(python, json.loads(versions))


def variables() -> dict[str, str]:
    """Return the environment of a client's process, without update checks and telemetry."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MCP_USE_ANONYMIZED_TELEMETRY": "false",
        "FASTMCP_CHECK_FOR_UPDATES": "off",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "OTEL_SDK_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


def _python_with(folder: Path, pins: Sequence[str], unresolved: Sequence[str]) -> Path:
    python, stamp = folder / _BIN / f"python{_EXE}", folder / "pins.txt"
    content = "\n".join([sys.version, *pins, *unresolved])
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == content:
        return python
    if IS_SMALLEST:
        raise OSError("it is not installed, and the smallest form installs nothing")
    shutil.rmtree(folder, ignore_errors=True)
    beside = Path(sys.executable).with_name(f"uv{_EXE}")
    if uv := str(beside) if beside.exists() else shutil.which("uv"):
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], _INSTALL_SECONDS)
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    else:
        _run([sys.executable, "-m", "venv", str(folder)], _INSTALL_SECONDS)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*install, *pins], _INSTALL_SECONDS)
    if unresolved:
        _run([*install, "--no-deps", *unresolved], _INSTALL_SECONDS)
    stamp.write_text(content, encoding="utf-8")
    return python


def _run(command: list[str], seconds: float) -> str:
    process = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if process.returncode:
        last = "\n".join(process.stderr.strip().splitlines()[-3:])
        raise OSError(f"{' '.join(command[:3])} ... ended with {process.returncode}: {last}")
    return process.stdout
