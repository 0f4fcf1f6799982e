"""The file of a run that waits: one process at a time has it, and says what went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from xai_mcp_agent.agent.signed_file import RunFileError, held


@pytest.mark.parametrize("is_read_only", [False, True])
def test_one_process_at_a_time_has_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_read_only: bool
) -> None:
    """Also where the folder of the settings cannot be written, as in many containers."""
    home = tmp_path / "home"
    if is_read_only:
        home.write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    file = tmp_path / "tidying.run.json"
    with held(file), pytest.raises(RunFileError, match="is in use"), held(file):
        pass
    with held(file):
        pass


def test_a_time_out_of_the_run_is_not_told_as_another_process(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match="The model"), held(tmp_path / "tidying.run.json"):
        raise TimeoutError("The model gave no answer.")


def test_a_run_that_cannot_be_locked_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes would make its calls twice."""
    (tmp_path / "home").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    file = tmp_path / "home" / "tidying.run.json"
    with pytest.raises(RunFileError, match="cannot be kept from other processes"), held(file):
        pass
