"""`make bench-smoke`: every benchmark still runs, and one that does not is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import __main__ as table
from benchmarks import smoke

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


def test_a_turn_with_thousands_of_tools_is_measured() -> None:
    assert smoke.main(["turn"]) == 0


def test_every_benchmark_is_run() -> None:
    texts = {x: x.read_text(encoding="utf-8") for x in BENCHMARKS.glob("*.py")}
    rows = {x.stem for x, text in texts.items() if "\ndef rows(" in text}
    programs = {x.stem for x, text in texts.items() if "\ndef main(" in text}
    programs |= {x.parent.name for x in BENCHMARKS.glob("*/__main__.py")}
    assert rows == {*table.NAMES}
    assert rows | programs == {*smoke.COMMANDS, "__main__", "smoke"}


def test_a_benchmark_that_fails_is_named_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = {"broken": ("benchmarks", "no_such_name"), "rules": ("benchmarks", "rules")}
    monkeypatch.setattr(smoke, "COMMANDS", commands)
    assert smoke.main([]) == 1
    shown = capfd.readouterr().out
    assert "50 rules, one call" in shown
    assert shown.endswith("==> broken failed\n")
