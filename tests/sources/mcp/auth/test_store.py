"""The token store: only the owner can read it, and a damaged file costs a new sign-in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from xai_mcp_agent import ServerSettings, settings_from
from xai_mcp_agent.sources.mcp.auth.token_store import Record, TokenStore

URL = "https://example.org/mcp"
TOKEN = "access-0123456789"
posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")


def server_at(url: str, **auth: str) -> ServerSettings:
    """Return the settings of a server."""
    entry = {"url": url, "auth": auth or True}
    return settings_from({"mcpServers": {"it": entry}}).servers["it"]


def record_of(url: str = URL) -> Record:
    """Return a record with a token."""
    return Record(url, "https://sign-in.example", {"access_token": TOKEN, "expires_in": 60})


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    """An empty store whose folder does not exist yet."""
    return TokenStore(tmp_path / "new" / "tokens")


async def write(store: TokenStore, server: ServerSettings) -> Path:
    """Write a record, and return its file."""
    await store.write(server, record_of(server.url))
    return next(store.folder.glob("*.json"))


@posix_only
@pytest.mark.anyio
async def test_only_the_owner_can_read_tokens_and_open_files_are_closed_to_others(
    store: TokenStore,
):
    server = server_at(URL)
    file = await write(store, server)
    assert [x.name for x in store.folder.iterdir()] == [file.name], "there is no half-written file"
    for _ in range(2):
        assert store.folder.stat().st_mode & 0o777 == 0o700
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o644)
        store.folder.chmod(0o755)
        assert (await store.read(server)).access_token == TOKEN
        await store.write(server, record_of())
    assert len(store.notes) == 2
    assert "was open to others" in store.notes[0]


DAMAGED = {
    "empty": b"", "no JSON": b"{", "a list": b"[]", "no text": b"\xff\xfe", "deep": b"[" * 50_000,
    "other types": b'{"url": "https://example.org/mcp", "issuer": "", "tokens": "secret"}',
    "a life in words": b'{"url": "https://example.org/mcp", "issuer": "", "expires_at": 1e12, '
    b'"tokens": {"access_token": "t", "expires_in": "long"}}',
    "of another server": b'{"url": "https://evil.example/mcp", "issuer": "", "tokens": null}',
}  # fmt: skip


@pytest.mark.anyio
async def test_a_damaged_file_costs_a_new_sign_in_and_no_error(store: TokenStore):
    server = server_at(URL)
    file = await write(store, server)
    for name, damage in DAMAGED.items():
        file.write_bytes(damage)
        store = TokenStore(file.parent)
        record = await store.read(server)
        assert (record.url, record.access_token) == (URL, ""), name
        assert "sign in again" in store.notes[0]


@pytest.mark.anyio
async def test_a_token_is_read_for_its_own_url_and_client_only(store: TokenStore):
    await write(store, server_at(URL))
    assert (await store.read(server_at(URL))).access_token == TOKEN
    for other in (server_at(f"{URL}/other"), server_at(URL, clientId="somebody-else")):
        assert (await store.read(other)).access_token == ""


@pytest.mark.anyio
async def test_a_folder_that_cannot_be_created_is_a_note_and_no_error(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    store = TokenStore(tmp_path / "file" / "tokens")
    async with store.lock(server_at(URL)):
        await store.write(server_at(URL), record_of())
    assert store.notes


def test_the_repr_of_a_record_has_no_secret():
    assert TOKEN not in repr(record_of())
    assert list(record_of().secrets()) == [TOKEN]
