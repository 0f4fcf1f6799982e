"""A server's stderr: its last lines are kept for errors, bounded and without secrets."""

from __future__ import annotations

import pytest

from tests.support.bridges import bridge_with, status_of
from tests.support.fault_server import entry
from xai_mcp_agent import SourceClosed
from xai_mcp_agent.secrets.secrets import Secrets
from xai_mcp_agent.sources.stderr import StderrLog

SECRET = "sk-live-0123456789abcdef"


def log(*chunks: bytes) -> StderrLog:
    """Return a log with these bytes that masks one secret."""
    stderr = StderrLog(Secrets([SECRET]).redact)
    for chunk in chunks:
        stderr.feed(chunk)
    return stderr


def test_the_tail_is_the_last_lines_newest_last_with_an_unfinished_one():
    stderr = log(b"one\ntwo\n\nthr", b"ee\nfou")
    assert stderr.tail() == ("one", "two", "three", "fou")
    stderr.feed(b"r\n")
    assert stderr.tail() == ("one", "two", "three", "four"), "`tail` does not split the line"


def test_the_tail_is_bounded():
    tail = log(b"".join(b"%d %s\n" % (i, b"x" * 5000) for i in range(1000))).tail()
    assert len(tail) == 12
    assert tail[-1].startswith("999 xxx")
    assert max(len(x) for x in tail) == 2000
    endless = log(*[b"step %d " % i for i in range(100_000)]).tail()
    assert "step 9" in endless[-1]
    assert sum(len(x) for x in endless) <= 24_000


def test_a_secret_is_masked_wherever_the_bytes_are_cut():
    secret = SECRET.encode()
    for cut in range(len(secret)):
        stderr = log(b"token " + secret[:cut], secret[cut:] + b" end\n")
        assert stderr.tail() == ("token *** end",)
    long = log(b"x" * 1990 + b" " + secret + b"\n")
    assert "sk-live" not in long.tail()[0]
    endless = log(*[b"word " * 13_000 + secret + b" " for _ in range(3)])
    assert not any("sk-live" in line or "abcdef" in line for line in endless.tail())


def test_broken_encodings_colours_and_progress_bars_become_readable():
    stderr = log(b"caf\xe9\n", b"\x1b[31mred\x1b[0m\n", b"10%\r50%\r100%\n", b"a\x00b\n")
    assert stderr.tail() == ("caf\ufffd", "red", "100%", "a\ufffdb")


def test_the_tail_is_of_the_latest_start(tmp_path: object):
    journal = f"{tmp_path}/journal"
    later = {"stderr": "second start"}
    with bridge_with(it=entry(stderr="first start", journal=journal, then=later)) as bridge:
        bridge.list_tools("it")
        with pytest.raises(SourceClosed) as caught:
            bridge.call_tool("it", "die")
        assert caught.value.stderr_tail == ("first start",)
        bridge.list_tools("it")
        assert status_of(bridge, "it").stderr_tail == ("second start",)
