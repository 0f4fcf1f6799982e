"""Settings, notes and errors of a settings file, as JSON for the table of `test_answers`.

The table has every settings file of the examples, the docs and earlier tests.
`python -m tests.settings.answers` writes the answers again; review the diff before you commit it.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from unittest import mock

from xai_mcp_agent import Secret, SettingsError, load_settings

TABLE = Path(__file__).parent / "data" / "answers.json"
FOLDER = "/project"
_INTERNAL = {"file", "secrets", "searched", "problem_kinds", "added"}
_ENVIRONMENT = {"HOME": "/home/ada", "XDG_CONFIG_HOME": "/home/ada/.config"}


def answer_of(text: str, environ: Mapping[str, str]) -> Any:
    """Return the settings, notes and errors of a settings file with this text."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", _ENVIRONMENT):
        file = Path(folder).resolve() / "mcp_settings.json"
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            answer = _plain(load_settings(file, environ=environ))
        except SettingsError as refusal:
            answer = {"refused": str(refusal)}
        json_text = json.dumps(answer).replace(str(file.parent), FOLDER)
        return json.loads(json_text.replace(sys.executable, "/usr/bin/python"))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dict(_fields(value))
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {str(key): _plain(x) for key, x in items}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in cast(list[Any], value)]
    if isinstance(value, set | frozenset):
        return sorted(map(str, cast(set[Any], value)))
    if isinstance(value, Secret):
        return f"secret: {value.reveal()}"
    return value if isinstance(value, str | int | float | None) else str(value)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields that differ from their defaults, without digests, which nobody can read."""
    yield "is", type(value).__name__
    for field in dataclasses.fields(value):
        current = getattr(value, field.name)
        usual = field.default
        if field.default_factory is not dataclasses.MISSING:
            usual = field.default_factory()
        if field.name not in _INTERNAL and field.name != "digest" and current != usual:
            yield field.name, _plain(current)


def _main() -> None:
    cases = json.loads(TABLE.read_text(encoding="utf-8"))
    for case in cases:
        case["answer"] = answer_of(case["text"], case["environ"])
    lines = (json.dumps(x, ensure_ascii=True) for x in cases)
    TABLE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    _main()
