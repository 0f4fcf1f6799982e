"""The local copy: paging, interruptions, lies, changed content; against a real service.

Who decided it: reference sources.md section 5, issue "Registries".
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import shutil
import sqlite3
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_service import Received, Reply, as_json
from tests.support.registry_service import (
    COMMIT,
    DATA,
    OFFICIAL,
    RegistryService,
    archive,
    invalid,
    registry_service,
)
from tests.support.watchdog import compute_within, ends_within
from xai_mcp_agent.registries import readers, store
from xai_mcp_agent.registries.registries import Registries
from xai_mcp_agent.registries.server_json import RegistryError
from xai_mcp_agent.registries.store import SyncReport
from xai_mcp_agent.settings.load import settings_from
from xai_mcp_agent.sources.fetching import FetchLimits

ALL = 10  # servers on the three pages
NOTES, WEATHER = "io.github.example-org/notes", "com.example/weather"
FOLDERS = ["com.example/tickets", WEATHER, NOTES]
LATER = "2999-01-01T00:00:00Z"


@pytest.fixture
def service() -> Iterator[RegistryService]:
    with registry_service() as service:
        yield service


def opened(service: RegistryService, folder: Path, **more: Any) -> Registries:
    """Only those of the service."""
    entries = {"official": False, "team": {"url": service.url}} | more
    settings = settings_from({"mcpServers": {}, "registries": entries})
    assert settings.notes == ()
    return Registries(settings, folder / "registries.db")


@pytest.fixture
def team(service: RegistryService, tmp_path: Path) -> Iterator[Registries]:
    """The registry of a team; others are in the same file."""
    with opened(service, tmp_path) as team:
        yield team


def synced(registries: Registries, name: str = "team") -> SyncReport:
    (report,) = registries.sync(name)
    return report


def names_in(registries: Registries, name: str = "team") -> list[str]:
    address = registries.settings[name].address
    return sorted(x.name for x in registries._store.latest(address))


def hits(registries: Registries, words: str) -> list[str]:
    return [x.name for x in registries.search(words)]


def test_all_pages_are_read_and_then_what_changed_since(service: RegistryService, team: Registries):
    """Only `deleted` ones are among the changes of a registry; others are not found when asked."""
    report = synced(team)
    assert (report.pages, report.documents, report.problem) == (3, ALL, "")
    assert len(names_in(team)) == ALL
    assert [x.get("cursor", "") for x in service.queries()] == list(service.pages)
    assert {x["version"] for x in service.queries()} == {"latest"}
    assert team.search("read-only queries on a database", 3)[0].name.startswith("com.example/data")
    assert any("database" in x for x in team.search("read-only database", 1)[0].reasons)
    assert hits(team, "weather")[0] == WEATHER
    service.row(NOTES)["_meta"][OFFICIAL] |= {"status": "deleted", "updatedAt": LATER}
    assert synced(team).documents == 1
    assert all("updated_since" in x for x in service.queries()[3:])
    assert NOTES not in hits(team, "notes")
    service.faults["*"] = "404"
    listing = team.find(WEATHER)
    assert (listing.status, listing.note != "") == ("deleted", True)
    assert WEATHER not in hits(team, "weather")


def test_an_interrupted_sync_continues_where_it_was(
    service: RegistryService, team: Registries, tmp_path: Path
):
    """Each page is stored before the next one is requested."""
    stored: list[int] = []

    def fail_at_the_second_page(got: Received) -> Reply:
        if "cursor" not in got.query:
            return service._answer(got, "")
        with opened(service, tmp_path) as other:
            stored.append(len(names_in(other)))
        return Reply(503)

    service.http.replies["/v0.1/servers"] = fail_at_the_second_page
    assert "at page 2" in synced(team).problem
    assert stored == [4]
    del service.http.replies["/v0.1/servers"]
    report = synced(team)
    assert (report.is_resumed, report.pages) == (True, 2)
    assert len(names_in(team)) == ALL


def test_a_cursor_that_the_registry_rejects_starts_the_sync_again(
    service: RegistryService, team: Registries
):
    first, second, third = service.pages
    page = service.pages.pop(second)
    synced(team)
    service.pages[first]["metadata"]["nextCursor"] = "other"
    service.pages["other"] = page
    report = synced(team)
    assert (report.problem, report.is_resumed, report.pages) == ("", False, 3)
    assert service.queries()[-1]["cursor"] == third


def test_a_repeated_cursor_ends_it_and_what_came_is_kept(
    service: RegistryService, team: Registries
):
    service.faults["/v0.1/servers"] = "repeat"
    report = compute_within(10, lambda: synced(team))
    assert "gives the same cursor again" in report.problem
    assert (report.pages, len(names_in(team))) == (2, 4)
    service.faults.clear()
    assert synced(team).problem == ""
    assert len(names_in(team)) == ALL


PATIENCE = FetchLimits(seconds=0.2, max_bytes=1024**2)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("404", "the answer is 404 Not Found"), ("slow", "it is not there after 0.2 s"),
        ("broken", "the answer cannot be read"), ("other", "not a registry of MCP servers"),
    ],
)  # fmt: skip
def test_a_failure_is_reported_plainly(
    service: RegistryService, team: Registries, monkeypatch: pytest.MonkeyPatch,
    fault: str, says: str,
):  # fmt: skip
    monkeypatch.setattr(store, "_PAGE_LIMITS", PATIENCE)
    service.faults["*"] = fault
    report = compute_within(10, lambda: synced(team))
    assert says in report.problem
    assert service.url in report.problem
    assert report.documents == 0
    with pytest.raises(RegistryError, match="registry sync"):
        team.search("anything")


# Content


def test_the_invalid_documents_are_refused_by_name_and_the_others_kept(
    service: RegistryService, team: Registries
):
    service.pages[""]["servers"][2:2] = [{"server": x} for x in invalid()]
    report = synced(team)
    reasons = {
        "com.example/evil": "its identifier is not a valid package name",
        "com.example/bad-mcpb": "it is a file to download, and its `fileSha256` is missing",
        "no-namespace": "its name has no namespace: it should be like io.github.somebody/name",
        "com.example/bad-latest": "its version 'latest' is not exact",
        "com.example/bad-range": "its version '^1.2.3' is not exact",
    }
    refused = dict(report.refused)
    assert refused.keys() == reasons.keys()
    assert [x for x in reasons if reasons[x] not in refused[x]] == []
    assert (len(names_in(team)), report.problem) == (ALL, "")


ROWS: list[Any] = [
    None, 7, "text", [], {}, {"server": []}, {"server": {"name": ["x"]}},
    {"server": {"name": "a/b", "version": {}, "packages": {"0": 1}}},
    {"server": {"name": "a/b", "version": "1", "packages": [None, {"transport": 3}]}},
    {"server": {"name": "io.github.a/\ud800", "version": "1.0.0"}},
    {"server": {"name": "io.github.a/b\0", "version": "1.0.0\0"}},
    {"server": {"name": "x" * 1_000_000, "version": "1.0.0"}},
]  # fmt: skip
ODD_ROWS: list[Any] = [
    {"server": {"name": "io.github.a/b", "version": "1.0.0", "description": "\ud800"}},
    {"server": {"name": "io.github.a/c", "version": "1.0.0", "x": 10**4000}},
    {"server": {"name": "io.github.a/d", "version": "1.0.0"},
     "_meta": {OFFICIAL: {"status": "\ud800"}}},
]  # fmt: skip


def test_an_invalid_row_does_not_affect_the_others(service: RegistryService, team: Registries):
    """Hidden characters of hostile texts are not shown."""
    words = "Weather\x1b[31m\u202e data\u200b\U000e0041" + "x" * 10_000
    service.row(WEATHER)["server"]["description"] = words
    rows = [*service.rows()]
    everything = {"servers": [*ROWS, *ODD_ROWS, *rows], "metadata": {}}
    service.http.replies["/v0.1/servers"] = as_json(everything)
    report = synced(team)
    assert report.problem == ""
    assert len(report.refused) >= len(ROWS)
    assert all(len(name) <= 1000 for name, _ in report.refused)
    assert set(names_in(team)) >= {x["server"]["name"] for x in rows}
    (weather,) = team.search("weather data", 1)
    assert weather.description.startswith("Weather data")
    assert len(weather.description) < 3_000
    assert json.dumps(weather.description).isascii()


def test_changed_content_under_the_same_version_is_an_alarm_and_the_old_one_stays(
    service: RegistryService, team: Registries
):
    synced(team)
    before = team.find(NOTES, offline=True)
    row = service.row(NOTES)
    row["server"]["packages"][0]["identifier"] = "@examp1e-org/notes-mcp"
    row["_meta"][OFFICIAL]["updatedAt"] = LATER
    (alarm,) = synced(team).alarms
    assert (alarm.name, alarm.version) == (NOTES, "1.4.0")
    after = team.find(NOTES, offline=True)
    assert (after.document.server, after.document.digest) == (
        before.document.server, before.document.digest,
    )  # fmt: skip
    assert after.alarm == alarm
    accepted = team.accept(after)
    assert accepted.alarm is None
    assert accepted.document.digest == alarm.now != alarm.was
    assert synced(team).alarms == []
    row = service.row(WEATHER)
    row["server"] = copy.deepcopy(row["server"]) | {"version": "0.10.0"}
    row["_meta"][OFFICIAL]["updatedAt"] = LATER
    assert synced(team).alarms == [], "a new version is none, and is the latest"
    listing = team.find(WEATHER, offline=True)
    assert (listing.document.version, listing.versions) == ("0.10.0", ("0.10.0", "0.5.0"))


# Lists, folders, repositories


def test_lists_and_checkouts_of_all_forms_are_read(service: RegistryService, tmp_path: Path):
    for name in ("servers-as-server-json.json", "servers-object.json"):
        there = {"type": "list", "url": f"{service.url}/lists/{name}"}
        with opened(service, tmp_path, lists=there) as registries:
            assert synced(registries, "lists").problem == ""
            assert names_in(registries, "lists") == FOLDERS
    with opened(service, tmp_path, here={"path": str(tmp_path / "gone")}) as registries:
        assert "there is no file or folder" in synced(registries, "here").problem
    count = len(service.http.got)
    with opened(service, tmp_path, checkout={"path": str(DATA / "repository")}) as registries:
        assert synced(registries, "checkout").problem == ""
        assert names_in(registries, "checkout") == FOLDERS
        assert registries.search("weather", registry="checkout")[0].name == WEATHER
    assert len(service.http.got) == count


def test_a_repository_is_read_from_its_archive_and_the_commit_kept(
    service: RegistryService, tmp_path: Path
):
    """A server that is removed from the repository leaves the copy too."""
    there = {"repository": "example-org/servers", "ref": "main", "url": service.url}
    service.archives["main"] = service.archives[COMMIT]
    with opened(service, tmp_path, hub=there) as registries:
        assert synced(registries, "hub").problem == ""
        assert names_in(registries, "hub") == FOLDERS
        listing = registries.find(WEATHER, registry="hub")
        assert f"{COMMIT}/servers/weather/server.json" in listing.document.place
        shutil.copytree(DATA / "repository" / "weather", tmp_path / "left" / "weather")
        service.archives["main"] = archive(tmp_path / "left")
        assert synced(registries, "hub").removed == 2
        assert names_in(registries, "hub") == [WEATHER]


def test_an_invalid_file_of_a_folder_does_not_affect_the_others(
    service: RegistryService, tmp_path: Path
):
    folder = tmp_path / "servers"
    good = (DATA / "repository" / "weather" / "server.json").read_text(encoding="utf-8")
    for name, text in {
        "good": good,
        "bomb": "a: &a [x, x]\nb: &b [*a, *a]\nc: *d",
        "odd": "- 1\n- 2",
        "hostile": good.replace(WEATHER, "a\\u202eb c"),
        "cut": good[:100],
    }.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "server.json").write_text(text)
    with opened(service, tmp_path, here={"path": str(folder)}) as registries:
        report = synced(registries, "here")
        assert report.problem == ""
        assert names_in(registries, "here") == [WEATHER]
        assert dict(report.refused).keys() >= {"bomb/server.json", "cut/server.json"}


def tar_of(members: dict[str, Any]) -> bytes:
    """Files by their data; links and the like by their type and where they lead."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            if isinstance(data, tuple):
                member.type, member.linkname = data
            else:
                member.size = len(data)
            archive.addfile(member, io.BytesIO(data) if isinstance(data, bytes) else None)
    return out.getvalue()


def test_a_damaged_archive_is_reported_and_its_links_lead_nowhere(
    service: RegistryService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A small one may unpack to any size: it takes no more room than the limit."""
    monkeypatch.setattr(readers, "_MAX_UNPACKED", 1024**2)
    good = tar_of({"x/servers/a/server.json": b"of many; " * 5_000})
    packed = gzip.compress(good)
    large = tar_of({f"x/servers/{n}/server.json": b" " * 400_000 for n in range(3)})
    leading = tar_of({
        "x/servers/a/server.json": (tarfile.SYMTYPE, "/etc/passwd"),
        "x/servers/b/server.json": (tarfile.LNKTYPE, "../../../../etc/passwd"),
        "x/servers/../../c/server.json": (tarfile.REGTYPE, ""),
        "/x/servers/d/server.json": (tarfile.FIFOTYPE, ""),
    })  # fmt: skip
    archives = {
        "cannot be read": (
            b"", b"hello", packed[: len(packed) // 2], packed[:10] + b"\x07" + packed[11:],
            gzip.compress(os.urandom(5_000)), good,
            gzip.compress(good[:124] + b"\xff" * 12 + good[136:]),
            gzip.compress(b"x/servers/server.json".ljust(512, b"\x80") * 4),
        ),
        "too large when unpacked": (gzip.compress(large, 1),),
        "nothing at servers": (gzip.compress(tar_of({"x/other": b"1"})), gzip.compress(leading)),
    }  # fmt: skip
    hub = {"repository": "a/b", "ref": "main", "url": service.url}
    with opened(service, tmp_path, hub=hub) as registries:
        for words, several in archives.items():
            for service.archives["main"] in several:
                assert words in synced(registries, "hub").problem


# npm


def test_npm_is_searched_by_keyword_and_removed_packages_leave_the_copy(
    service: RegistryService, tmp_path: Path
):
    one = service.search["objects"][0]["package"]
    service.search["objects"] += [{"package": one | {"name": f"notes-{n}"}} for n in range(300)]
    with opened(service, tmp_path, npm={"type": "npm", "url": service.url}) as registries:
        report = synced(registries, "npm")
        assert (report.documents, report.pages, report.problem) == (302, 2, "")
        assert [x["from"] for x in service.queries("/-/v1/search")] == ["0", "250"]
        assert service.queries("/-/v1/search")[0]["text"] == "keywords:mcp-server"
        removed_name = service.search["objects"].pop()["package"]["name"]
        service.http.replies["/-/v1/search"] = lambda got: (
            service._answer(got, "") if "from=0" in got.query else Reply(503)
        )
        assert "at page 2" in synced(registries, "npm").problem
        del service.http.replies["/-/v1/search"]
        assert removed_name in names_in(registries, "npm")
        report = synced(registries, "npm")
        assert (report.is_resumed, report.removed) == (True, 1)
        assert removed_name not in [x.name for x in registries.search(removed_name, 400)]


def test_the_configuration_of_npm_says_where_it_is(
    service: RegistryService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY", "NPM_CONFIG_USERCONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with opened(service, tmp_path, npm={"type": "npm"}) as registries:
        assert "npm_config_registry" in synced(registries, "npm").problem
        monkeypatch.setenv("npm_config_registry", f"{service.url}/")
        assert synced(registries, "npm").problem == ""
        monkeypatch.delenv("npm_config_registry")
        npm = tmp_path / "npm"
        npm.write_text(f"#!/bin/sh\necho {service.url}/\n")
        npm.chmod(0o755)
        assert synced(registries, "npm").documents == 2


# The local copy itself


@pytest.mark.parametrize(
    "damage",
    ["UPDATE documents SET document = '{'", "UPDATE documents SET document = '{}'",
     "ALTER TABLE documents RENAME COLUMN document TO said", ""],
)  # fmt: skip
def test_a_damaged_copy_is_reported_with_what_to_do(
    service: RegistryService, tmp_path: Path, damage: str
):
    with opened(service, tmp_path) as team:
        synced(team)
    file = tmp_path / "registries.db"
    if damage:
        with closing(sqlite3.connect(file)) as database, database:
            database.execute(damage)
    else:
        file.write_bytes(b"x" * 5000)
    with pytest.raises(RegistryError, match="delete it"), opened(service, tmp_path) as team:
        team.search("weather")


def test_two_syncs_at_once_are_reported_no_cursor_that_repeats(
    service: RegistryService, tmp_path: Path
):
    barrier = threading.Barrier(2)

    def sync(_: int) -> str:
        with opened(service, tmp_path) as team:
            barrier.wait(30)
            return synced(team).problem

    with ends_within(60), ThreadPoolExecutor(2) as threads:
        problems = list(threads.map(sync, range(2)))
    assert not any("same cursor" in x for x in problems), problems
    with opened(service, tmp_path) as team:
        synced(team)
        assert len(names_in(team)) == ALL
