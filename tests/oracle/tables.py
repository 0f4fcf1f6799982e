"""Reads, writes and compares tables; replaces values that differ from run to run."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Rows: TypeAlias = dict[str, Any]
"""The answers of one table, by the name of the row."""

FOLDER = Path(__file__).parent / "tables"
_ROOT = Path(__file__).parents[2]
_PYTHON = sys.executable
_VARIABLE = "..."
_MAX_DIFFERENCES = 40
_ERROR_FIELDS = (
    "source", "problem", "next_step", "stderr_tail", "code", "status", "is_of_tool",
)  # fmt: skip
_LINE_CHARS = 160

# Numbers and times under these keys differ in every run.
_VARIABLE_KEYS = re.compile(
    r"(?:^|_)(?:seconds|ms|time|created|updated|last_seen|last_sync|synced_before|last_used"
    r"|last_executed|unavailable_since|disconnected_since|since|until|at|pid|position)$"
    r"|^(?:run|call_id|run_id|repo_hash)$"
)
_IN_TEXT = (
    (re.compile(r"knowledge:[\w.-]+_[0-9a-f]{12}\b"), "knowledge:PROJECT"),
    (re.compile(r"\b[0-9a-f]{12}:tools\b"), "PROJECT:tools"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:ms|µs)(?![\w])"), "TIME"),
    (re.compile(r"\b(in|after|for|within) \d+\.\d+ s\b"), r"\1 TIME"),
    (re.compile(r"\b[0-9a-f]{32,}\b"), "DIGEST"),
    (re.compile(r"^[0-9a-f]{12}$"), "RUN"),
    (re.compile(r"\bpid \d+\b"), "pid NUMBER"),
    (re.compile(r"(\.py, line )\d+"), r"\1NUMBER"),
    (re.compile(r"x{20,}"), "xxx..."),  # their number depends on the path before them
    (re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS"),
    (re.compile(r'("id": |answers request )\d+'), r"\1NUMBER"),
    (re.compile(re.escape(tempfile.gettempdir()) + r"/[\w.-]+"), "TEMPORARY"),
)


def read(name: str) -> Rows:
    """Return the recorded rows of a table; none if there is no table yet."""
    file = FOLDER / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def write(name: str, rows: Rows) -> None:
    """Write a table, sorted, with each value that fits on one line."""
    (FOLDER / f"{name}.json").write_text(_format(rows, "") + "\n", encoding="utf-8")


def _format(value: Any, indent: str) -> str:
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if not isinstance(value, dict | list) or (indent and len(indent) + len(line) <= _LINE_CHARS):
        return line
    deeper = indent + " "
    if isinstance(value, list):
        items = [_format(x, deeper) for x in value]
        opening, closing = "[", "]"
    else:
        items = [
            f"{json.dumps(name, ensure_ascii=False)}: {_format(value[name], deeper)}"
            for name in sorted(value)
        ]
        opening, closing = "{", "}"
    inner = ",\n".join(f"{deeper}{x}" for x in items)
    return f"{opening}\n{inner}\n{indent}{closing}"


def stable(value: Any, *folders: Path, key: str = "") -> Any:
    """Return a value as JSON without values that change from run to run, such as its `folders`."""
    if isinstance(value, Mapping):
        items = {str(name): stable(x, *folders, key=str(name)) for name, x in value.items()}
        return {stable_text(name, *folders): x for name, x in items.items()}
    if _VARIABLE_KEYS.search(key) and value not in (None, "", [], ()):
        return _VARIABLE
    if isinstance(value, str):
        return stable_text(value, *folders)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [stable(x, *folders) for x in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return stable_text(str(value), *folders)


def stable_text(text: str, *folders: Path) -> str:
    """Return the text with names for folders, ports, times, digests and processes."""
    for folder in folders:
        text = text.replace(str(folder), "FOLDER")
    text = text.replace(_PYTHON, "PYTHON").replace(str(_ROOT), "REPOSITORY")
    text = re.sub(r"/\S*/warm-\w+/python\b", "PYTHON", text)
    for pattern, name in _IN_TEXT:
        text = pattern.sub(name, text)
    return text


def error_facts(error: BaseException) -> dict[str, Any]:
    """Return the class of an error, its message, and its fields that have a value."""
    fields = {name: getattr(error, name, None) for name in _ERROR_FIELDS}
    facts = {name: x for name, x in fields.items() if x not in (None, "", (), False)}
    # The message of a source's error is made of these fields.
    message = {} if "problem" in facts else {"message": str(error)}
    return {"error": type(error).__name__, **message, **facts}


def differences(recorded: Any, answer: Any) -> str:
    """Return the differences, one on each line, or ""."""
    lines = list(_differences(recorded, answer, ""))
    more = [f"... and {len(lines) - _MAX_DIFFERENCES} more"]
    return "\n".join(lines[:_MAX_DIFFERENCES] + (more if len(lines) > _MAX_DIFFERENCES else []))


def _differences(recorded: Any, answer: Any, at: str) -> Iterator[str]:
    if isinstance(recorded, dict) and isinstance(answer, dict):
        for name in sorted({*recorded, *answer}):
            here = f"{at}.{name}" if at else name
            if name not in answer:
                yield f"{here}: gone; it was {_short(recorded[name])}"
            elif name not in recorded:
                yield f"{here}: new: {_short(answer[name])}"
            else:
                yield from _differences(recorded[name], answer[name], here)
    elif isinstance(recorded, list) and isinstance(answer, list):
        if len(recorded) != len(answer):
            yield f"{at}: {len(answer)} items instead of {len(recorded)}"
        for number, (old, new) in enumerate(zip(recorded, answer, strict=False)):
            yield from _differences(old, new, f"{at}[{number}]")
    elif recorded != answer or type(recorded) is not type(answer):
        yield f"{at}: {_short(answer)} instead of {_short(recorded)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) < 600 else f"{text[:600]}..."
