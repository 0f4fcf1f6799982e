"""The bridge of a run, when several runs come and go."""

from __future__ import annotations

import copy
import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.processes import is_running, wait_until
from xai_mcp_agent.canvas import lease, servers
from xai_mcp_agent.canvas.lease import bridge_of
from xai_mcp_agent.core.errors import SettingsError

from .conftest import UseServers

Ctx = dict[str, Any]

_THREAD_SECONDS = 30


@pytest.fixture(autouse=True)
def _no_servers(use_servers: UseServers) -> None:
    use_servers()


def test_a_run_may_be_collected_by_a_loop_for_which_another_run_waits() -> None:
    """Garbage is collected in any thread, such as that of a bridge that another run has opened."""
    run: Ctx = {}
    bridge = bridge_of(run)
    run["itself"] = run
    gc.disable()
    try:
        del run
        with lease._lock:  # as a run has it that waits for its bridge
            thread = threading.Thread(target=gc.collect, daemon=True)
            thread.start()
            thread.join(_THREAD_SECONDS)
            assert not thread.is_alive()
    finally:
        gc.enable()
    wait_until(lambda: not bridge.is_open, "the bridge is closed", _THREAD_SECONDS)


def test_a_copy_of_ctx_is_still_one_run() -> None:
    ctx: Ctx = {}
    bridge = bridge_of(ctx)
    assert bridge_of(copy.deepcopy(ctx)) is bridge


def test_each_run_says_what_is_ignored_in_the_file_for_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9/v1\n", encoding="utf-8")
    for _ in range(2):
        bridge_of({})
        output = " ".join(capsys.readouterr().out.split())
        assert "OPENAI_BASE_URL: ignored in this file" in output


def pid(ctx: Ctx) -> str:
    """The id of the server process that this run uses."""
    return servers.call_tool(ctx, "it", "pid", {})["text"]


def test_workflows_that_alternate_in_one_thread_keep_their_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of one settings file share them."""
    processes: dict[str, set[str]] = {"one": set(), "other": set()}
    runs: list[tuple[str, Ctx]] = [("one", {}), ("other", {}), ("one", {})]
    for name in processes:
        (tmp_path / name).mkdir()
        write_settings(tmp_path / name, {"it": entry()})
    for name, ctx in runs * 3:
        monkeypatch.setenv("XAI_MCP_SETTINGS", str(tmp_path / name / "mcp_settings.json"))
        processes[name].add(pid(ctx))
    assert [len(x) for x in processes.values()] == [1, 1]
    assert not processes["one"] & processes["other"]


def test_a_new_run_follows_the_settings_and_the_trust_that_changed_since_one_that_was_left(
    use_servers: UseServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_servers(it=entry())
    older: Ctx = {}
    before = pid(older)
    use_servers(it=entry(), more=entry())
    new: Ctx = {}
    assert servers.call_tool(new, "more", "echo", {"text": "hi"})["text"] == "hi"
    assert pid(new) == pid(older) == before
    del new
    monkeypatch.delenv("XAI_MCP_TRUST")
    with pytest.raises(SettingsError, match=r"(?s)you have not agreed.*et XAI_MCP_TRUST"):
        pid({})
    assert not is_running(int(before))
