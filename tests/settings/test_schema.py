"""The JSON Schema of the settings agrees with the reader, and `init` installs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs

from tools.build_schema import COMMAND, schema_text
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.settings.load import SCHEMA_FILE

from .answers import TABLE

SCHEMA = jsonschema_rs.validator_for(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def documents() -> list[dict[str, Any]]:
    """Return the valid settings of the table that are plain JSON with a section of servers."""
    documents = list[dict[str, Any]]()
    for case in json.loads(TABLE.read_text(encoding="utf-8")):
        try:
            document = json.loads(case["text"])
        except ValueError:
            continue
        answer: dict[str, Any] = case["answer"]
        is_noted = {"refused", "problems", "notes"}.intersection(answer)
        if not is_noted and not case["environ"] and "mcpServers" in document:
            documents.append(document)
    return documents


def test_the_file_in_the_package_is_up_to_date():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), f"run `{COMMAND}`"


def test_the_schema_accepts_all_settings_without_notes():
    """An editor must not underline correct settings. Nulls are left out: they count as missing."""
    wrong = [(x, str(e)) for x in documents() for e in SCHEMA.iter_errors(x)]
    assert len(documents()) > 100
    assert [x for x in wrong if "null" not in str(json.dumps(x[0]))] == []


def test_the_schema_refuses_mistakes():
    mistakes: list[dict[str, Any]] = [
        {"mcpServers": {"a": {"command": ["x"]}}},
        {"mcpServers": {"a": {"command": "x", "timeout": "60"}}},
        {"mcpServers": {}, "approval": "perhaps"},
        {"mcpServers": {}, "rules": [{"wen": {}, "then": "deny"}]},
        {"mcpServers": {}, "builtin": {"a": {}}},
        {"mcpServers": {}, "toolSearch": {"tokenBudget": "many"}},
    ]
    for document in mistakes:
        assert not SCHEMA.is_valid(document)


def test_a_new_working_folder_has_the_schema_that_its_settings_name(tmp_path: Path):
    """Beside the settings it works offline, and on another machine."""
    init_folder(tmp_path)
    settings = json.loads((tmp_path / "mcp_settings.json").read_text(encoding="utf-8"))
    file = tmp_path / settings["$schema"]
    assert file.read_bytes() == SCHEMA_FILE.read_bytes()
    file.write_text("{}", encoding="utf-8")
    actions = {x.path: x.action for x in init_folder(tmp_path).steps}
    assert actions[".xircuits/mcp_settings.schema.json"] == "replaced"
    assert file.read_bytes() == SCHEMA_FILE.read_bytes()
