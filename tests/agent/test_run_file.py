"""The file of a waiting run: one process at a time has it.

Its calls are made once, even by another process: see tests/canvas/test_waiting.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from xai_mcp_agent.agent.run_file import RunFileError, lock_run


def test_one_process_at_a_time_has_a_run(tmp_path: Path):
    file = tmp_path / "tidying.run.json"
    with lock_run(file), pytest.raises(RunFileError, match="is in use"), lock_run(file):
        pass
    with pytest.raises(TimeoutError, match="The model"), lock_run(file):
        raise TimeoutError("The model gave no answer.")


def test_a_run_that_cannot_be_locked_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two processes would make its calls twice."""
    (tmp_path / "home").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    with (
        pytest.raises(RunFileError, match="cannot be kept from other processes"),
        lock_run(tmp_path / "tidying.run.json"),
    ):
        pass
