"""Registries that lie, flood and break, and a local copy that was damaged."""

from __future__ import annotations

import gzip
import io
import json
import os
import sqlite3
import tarfile
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.registries.test_sync import ALL, names_in, registries, synced
from tests.support.http_service import Said
from tests.support.registry_service import RegistryService, registry_service
from tests.support.watchdog import ends_within
from xai_mcp_agent.registries.registries import Registries
from xai_mcp_agent.registries.server_json import RegistryError
from xai_mcp_agent.sources.fetching import FetchLimits, fetch

MIB = 1024**2


@pytest.fixture
def service() -> Iterator[RegistryService]:
    with registry_service() as found:
        yield found


def serve(service: RegistryService, body: bytes, **headers: str) -> None:
    path = "/v0.1/servers"
    service.http.replies[path] = lambda _: Said(200, body, headers=headers)


# What it says


@pytest.mark.parametrize(
    "row",
    [
        {"server": {"name": "io.github.a/\ud800", "version": "1.0.0"}},
        {"server": {"name": "io.github.a/b", "version": "\udfff"}},
        {"server": {"name": "io.github.a/b\0", "version": "1.0.0\0"}},
        {"server": {"name": "x" * 1_000_000, "version": "1.0.0"}},
        {"server": {"name": "io.github.a/b", "version": "1.0.0", "description": "\ud800"}},
        {"server": {"name": "io.github.a/b", "version": "1.0.0", "x": 10**4000}},
        {"server": {"name": "io.github.a/b", "version": "1.0.0"},
         "_meta": {"io.modelcontextprotocol.registry/official": {"status": "\ud800"}}},
    ],
    ids=["half", "half-version", "null", "long", "half-text", "digits", "half-meta"],
)  # fmt: skip
def test_a_row_that_no_database_takes_costs_only_itself(
    service: RegistryService, tmp_path: Path, row: Any
) -> None:
    rows = [x for x in service.rows() if x["server"]["version"]]
    serve(service, json.dumps({"servers": [row, *rows], "metadata": {}}).encode())
    with registries(service, tmp_path) as found:
        report = synced(found)
        assert report.problem == ""
        assert set(names_in(found)) >= {x["server"]["name"] for x in rows} - {"x"}
        found.search("weather")
        assert all(len(name) <= 1000 for name, _ in report.refused)


# How it says it


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip", "deflate"])
def test_an_answer_that_unpacks_to_more_than_it_may_takes_no_room(
    service: RegistryService, coding: str
) -> None:
    body = gzip.compress(b" " * 256 * MIB, 9)
    if coding == "gzip, gzip":
        body = gzip.compress(body, 9)
    elif coding == "deflate":
        body = zlib.compress(b" " * 256 * MIB, 9)
    serve(service, body, **{"content-encoding": coding})
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match=r"larger than|coding"):
            fetch(f"{service.url}/v0.1/servers", FetchLimits(max_bytes=MIB))
        assert tracemalloc.get_traced_memory()[1] < 32 * MIB
    finally:
        tracemalloc.stop()


# Archives


def tar_of(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            told = tarfile.TarInfo(name)
            told.size = len(data)
            archive.addfile(told, io.BytesIO(data))
    return out.getvalue()


def damaged_archives() -> dict[str, bytes]:
    text = "".join(f"{n} of many; " for n in range(5_000)).encode()
    good = tar_of({"x/servers/a/server.json": text})
    packed = gzip.compress(good)
    return {
        "none": b"",
        "text": b"hello",
        "cut": packed[: len(packed) // 2],
        "flipped": packed[:10] + b"\x07" + packed[11:],
        "no-tar": gzip.compress(os.urandom(5_000)),
        "plain": good,
        "odd-size": gzip.compress(good[:124] + b"\xff" * 12 + good[136:]),
        "odd-header": gzip.compress(b"x/servers/server.json".ljust(512, b"\x80") * 4),
    }


@pytest.mark.parametrize("kind", [*damaged_archives()])
def test_a_damaged_archive_is_reported(service: RegistryService, tmp_path: Path, kind: str) -> None:
    service.archives["main"] = damaged_archives()[kind]
    hub = {"hub": {"repository": "a/b", "ref": "main", "url": service.url}}
    with registries(service, tmp_path, **hub) as found:
        assert "cannot be read" in synced(found, "hub").problem


def test_an_archive_of_nothing_but_room_takes_little_of_it(
    service: RegistryService, tmp_path: Path
) -> None:
    members = {f"x/servers/{n}/server.json": b" " * 15 * MIB for n in range(20)}
    service.archives["main"] = gzip.compress(tar_of(members), 1)
    hub = {"hub": {"repository": "a/b", "ref": "main", "url": service.url}}
    tracemalloc.start()
    try:
        with registries(service, tmp_path, **hub) as found:
            assert "too large" in synced(found, "hub").problem
        assert tracemalloc.get_traced_memory()[1] < 320 * MIB
    finally:
        tracemalloc.stop()


def test_links_and_paths_of_an_archive_lead_nowhere(
    service: RegistryService, tmp_path: Path
) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, kind, to in (
            ("x/servers/a/server.json", tarfile.SYMTYPE, "/etc/passwd"),
            ("x/servers/b/server.json", tarfile.LNKTYPE, "../../../../etc/passwd"),
            ("x/servers/../../c/server.json", tarfile.REGTYPE, ""),
            ("/x/servers/d/server.json", tarfile.FIFOTYPE, ""),
        ):
            told = tarfile.TarInfo(name)
            told.type, told.linkname = kind, to
            archive.addfile(told)
    service.archives["main"] = out.getvalue()
    hub = {"hub": {"repository": "a/b", "ref": "main", "url": service.url}}
    with registries(service, tmp_path, **hub) as found:
        assert "nothing at servers" in synced(found, "hub").problem


# The local copy


DAMAGES = {
    "document": "UPDATE documents SET document = '{'",
    "no-json": "UPDATE documents SET document = '[]', meta = '7'",
    "fields": "UPDATE documents SET document = '{}'",
    "blob": "UPDATE documents SET document = x'ff', meta = x'00'",
    "other": "DROP TABLE documents",
    "columns": "ALTER TABLE documents RENAME COLUMN document TO said",
    "progress": "UPDATE progress SET cursor = 7, begun = 'long ago'",
}


@pytest.mark.parametrize("damage", [*DAMAGES])
def test_a_damaged_copy_is_reported_with_what_to_do(
    service: RegistryService, tmp_path: Path, damage: str
) -> None:
    with registries(service, tmp_path) as found:
        synced(found)
        name = names_in(found)[0]
    copy = sqlite3.connect(tmp_path / "registries.db")
    with copy:
        copy.execute(DAMAGES[damage])
    copy.close()
    asks: list[Callable[[Registries], Any]] = [
        lambda x: x.search("weather"),
        lambda x: x.find(name, offline=True),
        lambda x: x.sync("team"),
    ]
    for ask in asks:
        with suppress(RegistryError), registries(service, tmp_path) as found:
            ask(found)
    if damage not in ("other", "progress"):
        with (
            pytest.raises(RegistryError, match="Delete it"),
            registries(service, tmp_path) as found,
        ):
            found.search("weather")


def test_two_syncs_at_once_are_reported_no_cursor_that_repeats(
    service: RegistryService, tmp_path: Path
) -> None:
    reports: list[Any] = []
    barrier = threading.Barrier(2)

    def sync() -> None:
        with registries(service, tmp_path) as found:
            barrier.wait(30)
            reports.append(synced(found))

    threads = [threading.Thread(target=sync) for _ in range(2)]
    with ends_within(60):
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert not any("same cursor" in x.problem for x in reports), [x.problem for x in reports]
    with registries(service, tmp_path) as found:
        synced(found)
        assert len(names_in(found)) == ALL
