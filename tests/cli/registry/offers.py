"""Settings with registries, and the answers of `xai-mcp-agent registry`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.support.registry_service import RegistryService

NOTES = "io.github.example-org/notes"
VERSION = "@example-org/notes-mcp/1.4.0"


def write(folder: Path, service: RegistryService, **registries: Any) -> Path:
    file = folder / "mcp_settings.json"
    registries = {"official": False, "team": {"url": service.url}} | registries
    servers = {"library": {"command": "npx", "args": ["-y", "@example-org/library@1.0.0"]}}
    text = json.dumps({"mcpServers": servers, "registries": registries}, indent=4)
    file.write_text(text.replace('"mcpServers"', '// mine\n    "mcpServers"'))
    return file


def entries(folder: Path) -> dict[str, Any]:
    text = (folder / "mcp_settings.json").read_text().replace("// mine", "")
    return json.loads(text)["mcpServers"]


def forget(folder: Path) -> None:
    """Delete the local copy, which keeps what a version held first."""
    shutil.rmtree(folder.parent / "home", ignore_errors=True)


def signals(offer: Any, about: str) -> list[str]:
    return [f"{x['weight']}: {x['text']}" for x in offer["signals"] if x["about"] == about]
