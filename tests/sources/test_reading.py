"""What every source that is read from something promises to those who wait for it."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from xai_mcp_agent import SourceFailed
from xai_mcp_agent.settings.sources import FunctionSettings
from xai_mcp_agent.sources.functions.source import FunctionSource

pytestmark = pytest.mark.anyio


async def test_nobody_waits_for_a_source_that_is_stopped_before_it_runs(tmp_path: Path) -> None:
    """Its owner may wait for another one of that name to end, which closing the pool cuts short."""
    settings = FunctionSettings(name="it", file=str(tmp_path / "it.py"))
    source = FunctionSource(settings, str)
    with anyio.fail_after(5.0):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_refused, source)
            await anyio.lowlevel.checkpoint()
            source.stop()
    assert source.state == "closed"


async def _refused(source: FunctionSource) -> None:
    with pytest.raises(SourceFailed, match="it was closed"):
        await source.ready()
