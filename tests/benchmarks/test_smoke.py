"""`make bench-smoke`: every benchmark still runs, and one that does not is reported."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks import __main__ as table
from benchmarks import smoke

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
# What `.ci/run` calls. None of them does anything; `make bench-smoke` fails.
FAKES = ("make", "npm", "timeout", "chromium", "apt-get")
FAKE = """\
#!/bin/sh
case "$(basename "$0") $*" in
  timeout*) shift; exec "$@" ;;
  make*) echo "make $*" >>"$CALLS" ;;
esac
[ "$*" != bench-smoke ]
"""
# In place of Python: notes what it is to measure; `FAILS` is the module that fails.
FAKE_PYTHON = """\
#!/bin/sh
[ "$1" = -m ] && echo "$2" >>"$CALLS"
[ "$2" != "$FAILS" ]
"""


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


def test_the_checks_fail_when_a_benchmark_does_and_end_with_the_tests(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    fakes, calls = tmp_path / "fakes", tmp_path / "calls"
    fakes.mkdir()
    for name in FAKES:
        _write_program(fakes / name, FAKE)
    around = {"PATH": f"{fakes}{os.pathsep}{os.environ['PATH']}", "CALLS": str(calls)}
    done = subprocess.run([tmp_path / ".ci" / "run"], env=around, timeout=60, capture_output=True)
    assert done.returncode == 1
    made = calls.read_text(encoding="utf-8").splitlines()
    assert made[-2:] == ["make bench-smoke", "make test"]


@pytest.mark.parametrize("fails", ["benchmarks", "benchmarks.peers", ""])
def test_the_page_of_performance_is_measured_to_its_end_and_what_failed_is_reported(
    tmp_path: Path, fails: str
) -> None:
    (tmp_path / "bin").mkdir()
    _write_program(tmp_path / "bin" / "python", FAKE_PYTHON)
    for stamp in (".package-installed", ".tools-installed"):
        (tmp_path / stamp).touch()
    calls = tmp_path / "calls"
    around = {"PATH": os.environ["PATH"], "CALLS": str(calls), "FAILS": fails}
    command = ["make", "performance", f"VENV={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, env=around, timeout=60, capture_output=True)
    assert (done.returncode != 0) == bool(fails)
    assert calls.read_text(encoding="utf-8").splitlines() == ["benchmarks", "benchmarks.peers"]


def _write_program(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
