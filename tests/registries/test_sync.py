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
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_service import Got, Said, as_json, http_service
from tests.support.processes import wait_until
from tests.support.registry_service import (
    COMMIT,
    DATA,
    OFFICIAL,
    RegistryService,
    archive,
    invalid,
    registry_service,
)
from tests.support.watchdog import done_within, ends_within
from xai_mcp_agent.registries import readers
from xai_mcp_agent.registries.registries import Registries
from xai_mcp_agent.registries.server_json import RegistryError
from xai_mcp_agent.registries.store import SyncLimits, SyncReport
from xai_mcp_agent.settings.load import settings_from
from xai_mcp_agent.sources.fetching import FetchLimits

ALL = 10  # servers on the three pages
FOLDERS = ["com.example/tickets", "com.example/weather", "io.github.example-org/notes"]


@pytest.fixture
def service() -> Iterator[RegistryService]:
    with registry_service() as found:
        yield found


def registries(service: RegistryService, folder: Path, **more: Any) -> Registries:
    """Only those of the service."""
    written = {"official": False, "team": {"url": service.url}} | more
    settings = settings_from({"mcpServers": {}, "registries": written})
    assert settings.notes == ()
    return Registries(settings, folder / "registries.db")


def synced(found: Registries, name: str = "team", **limits: Any) -> SyncReport:
    (report,) = found.sync(name, SyncLimits(**limits))
    return report


def names_in(found: Registries, name: str = "team") -> list[str]:
    address = found.settings[name].address
    return found._store.names(address)


def test_all_pages_are_read_with_their_cursors(service: RegistryService, tmp_path: Path) -> None:
    with registries(service, tmp_path) as found:
        report = synced(found)
        assert (report.pages, report.documents, report.problem) == (3, ALL, "")
        assert len(names_in(found)) == ALL
    cursors = [x.get("cursor", "") for x in service.asked()]
    assert cursors == list(service.pages)
    assert {x["version"] for x in service.asked()} == {"latest"}


def test_the_next_sync_asks_for_what_changed_since(
    service: RegistryService, tmp_path: Path
) -> None:
    with registries(service, tmp_path) as found:
        synced(found)
        gone = service.row("com.example/weather")["_meta"][OFFICIAL]
        gone |= {"status": "deleted", "updatedAt": "2999-01-01T00:00:00Z"}
        report = synced(found)
        assert report.documents == 1
        assert all("updated_since" in x for x in service.asked()[3:])
        assert "com.example/weather" not in [x.name for x in found.search("weather")]


def test_a_server_that_a_registry_removed_without_a_word_leaves_the_search(
    service: RegistryService, tmp_path: Path
) -> None:
    """Only `deleted` ones are among the changes of a registry; others are not found when asked."""
    with registries(service, tmp_path) as found:
        synced(found)
        assert "com.example/weather" in [x.name for x in found.search("weather")]
        service.faults["*"] = "404"
        listing = found.find("com.example/weather")
        assert (listing.status, listing.note != "") == ("deleted", True)
        assert "com.example/weather" not in [x.name for x in found.search("weather")]


def test_a_sync_that_was_killed_goes_on_where_it_was(
    service: RegistryService, tmp_path: Path
) -> None:
    """Each page is kept before the next one is asked for."""
    second = service.pages[list(service.pages)[1]]
    waits = threading.Event()

    def answer(got: Got) -> Said:
        if "cursor" in got.query and not waits.is_set():
            waits.wait(30)
        return service._answer(got, "")

    service.http.replies["/v0.1/servers"] = answer
    told = {"official": False, "team": {"url": service.url}}
    code = f"""
from pathlib import Path
from xai_mcp_agent import settings_from
from xai_mcp_agent.registries import Registries
settings = settings_from({{"mcpServers": {{}}, "registries": {told!r}}})
Registries(settings, Path({str(tmp_path / "registries.db")!r})).sync()
"""
    with subprocess.Popen([sys.executable, "-c", code]) as child:
        wait_until(lambda: len(service.asked()) == 2, "the second page is asked for")
        child.kill()
    waits.set()
    with registries(service, tmp_path) as found:
        assert len(names_in(found)) == 4
        report = synced(found)
        assert (report.is_resumed, report.pages) == (True, 2)
        assert len(names_in(found)) == ALL
        assert second["servers"][0]["server"]["name"] in names_in(found)


def test_a_cursor_that_the_registry_has_forgotten_begins_anew(
    service: RegistryService, tmp_path: Path
) -> None:
    with registries(service, tmp_path) as found:
        first, second, third = service.pages
        page = service.pages.pop(second)
        synced(found)
        service.pages[first]["metadata"]["nextCursor"] = "other"
        service.pages["other"] = page
        report = synced(found)
        assert (report.problem, report.is_resumed, report.pages) == ("", False, 3)
        assert service.asked()[-1]["cursor"] == third


def test_a_repeated_cursor_ends_it_and_what_came_is_kept(
    service: RegistryService, tmp_path: Path
) -> None:
    service.faults["/v0.1/servers"] = "repeat"
    with registries(service, tmp_path) as found:
        report = done_within(10, lambda: synced(found))
        assert "gives the same cursor again" in report.problem
        assert report.pages == 2
        assert len(names_in(found)) == 4
        service.faults.clear()
        assert synced(found).problem == ""
        assert len(names_in(found)) == ALL


PATIENCE = FetchLimits(seconds=0.4, read_seconds=0.2, max_bytes=1024**2)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("404", "the answer is 404 Not Found"), ("slow", "nothing came for 0.2 s"),
        ("drip", "it is not there after 0.4 s"), ("huge", "it is larger than 1 MiB"),
        ("broken", "the answer cannot be read"), ("other", "not a registry of MCP servers"),
        ("closed", "Check that the server runs"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_reported_plainly(
    service: RegistryService, tmp_path: Path, fault: str, says: str
) -> None:
    service.faults["*"] = fault
    if fault == "other":
        service.http.replies["*"] = lambda _: as_json({"mcpServers": {}})
    elif fault == "closed":
        service.http.close()
    with registries(service, tmp_path) as found:
        report = done_within(10, lambda: synced(found, fetch=PATIENCE))
        assert says in report.problem
        assert service.url in report.problem
        assert report.documents == 0
        with pytest.raises(RegistryError, match="registry sync"):
            found.search("anything")


def test_a_redirect_to_another_host_is_not_followed(
    service: RegistryService, tmp_path: Path
) -> None:
    """It might lead to a private address, whatever its name is."""
    with http_service() as inner:
        there = {"location": f"{inner.url}/v0.1/servers"}
        service.http.replies["/v0.1/servers"] = lambda _: Said(302, headers=there)
        with registries(service, tmp_path) as found:
            assert "it is redirected to another host" in synced(found).problem
        assert inner.got == []


# Content


def test_the_invalid_documents_are_refused_by_name_and_the_others_kept(
    service: RegistryService, tmp_path: Path
) -> None:
    first = service.pages[""]["servers"]
    first[2:2] = [{"server": x} for x in invalid()]
    with registries(service, tmp_path) as found:
        report = synced(found)
        assert dict(report.refused) == {
            "com.example/evil": "its package npm --registry=http://127.0.0.1:9 evil 1.0.0: its "
            "identifier would be read as options",
            "com.example/bad-mcpb": "its package mcpb https://github.com/example-org/x/releases/"
            "download/v1/x.mcpb: it is a file to download, and its `fileSha256` is missing",
            "no-namespace": "its name has no namespace: it should be like io.github.somebody/name",
            "com.example/bad-latest": "its package npm @example/x latest: its version 'latest' "
            "moves: it may be another one tomorrow",
            "com.example/bad-range": "its package npm @example/x ^1.2.3: its version '^1.2.3' is "
            "not exact",
        }
        assert len(names_in(found)) == ALL
        assert report.problem == ""


ROWS: list[Any] = [
    None, 7, "text", [], {}, {"server": []}, {"server": {"name": ["x"]}},
    {"server": {"name": "a/b", "version": {}, "packages": {"0": 1}}},
    {"server": {"name": "a/b", "version": "1", "packages": [None, {"transport": 3}]}},
    {"server": {"name": "io.github.a/\ud800", "version": "1.0.0"}},
    {"server": {"name": "io.github.a/b", "version": "\udfff"}},
    {"server": {"name": "io.github.a/b\0", "version": "1.0.0\0"}},
    {"server": {"name": "x" * 1_000_000, "version": "1.0.0"}},
]  # fmt: skip
ODD_ROWS: list[Any] = [
    {"server": {"name": "io.github.a/b", "version": "1.0.0", "description": "\ud800"}},
    {"server": {"name": "io.github.a/c", "version": "1.0.0", "x": 10**4000}},
    {"server": {"name": "io.github.a/d", "version": "1.0.0"},
     "_meta": {OFFICIAL: {"status": "\ud800"}}},
]  # fmt: skip


def test_a_row_of_anything_costs_only_itself(service: RegistryService, tmp_path: Path) -> None:
    rows = [*service.rows()]
    said = as_json({"servers": [*ROWS, *ODD_ROWS, *rows], "metadata": {}})
    service.http.replies["/v0.1/servers"] = lambda _: said
    with registries(service, tmp_path) as found:
        report = synced(found)
        assert report.problem == ""
        assert len(report.refused) >= len(ROWS)
        assert all(len(name) <= 1000 for name, _ in report.refused)
        assert set(names_in(found)) >= {x["server"]["name"] for x in rows}
        found.search("weather")


def test_changed_content_under_the_same_version_is_an_alarm_and_the_old_one_stays(
    service: RegistryService, tmp_path: Path
) -> None:
    with registries(service, tmp_path) as found:
        synced(found)
        before = found.find("io.github.example-org/notes", offline=True)
        row = service.row("io.github.example-org/notes")
        row["server"]["packages"][0]["identifier"] = "@examp1e-org/notes-mcp"
        row["_meta"][OFFICIAL]["updatedAt"] = "2999-01-01T00:00:00Z"
        (alarm,) = synced(found).alarms
        assert (alarm.name, alarm.version) == ("io.github.example-org/notes", "1.4.0")
        after = found.find("io.github.example-org/notes", offline=True)
        assert (after.document.server, after.digest) == (before.document.server, before.digest)
        assert after.alarms == (alarm,)
        accepted = found.accept(after)
        assert accepted.alarms == ()
        assert accepted.digest == alarm.now != before.digest
        assert synced(found).alarms == []


def test_a_new_version_is_no_alarm_and_is_the_latest(
    service: RegistryService, tmp_path: Path
) -> None:
    with registries(service, tmp_path) as found:
        synced(found)
        row = service.row("com.example/weather")
        row["server"] = copy.deepcopy(row["server"]) | {"version": "0.10.0"}
        row["_meta"][OFFICIAL]["updatedAt"] = "2999-01-01T00:00:00Z"
        assert synced(found).alarms == []
        listing = found.find("com.example/weather", offline=True)
        assert (listing.document.version, listing.versions) == ("0.10.0", ("0.10.0", "0.5.0"))


# Lists, folders, repositories


def test_lists_of_all_forms_are_read(service: RegistryService, tmp_path: Path) -> None:
    for name in ("servers-as-server-json.json", "servers-object.json"):
        there = {"type": "list", "url": f"{service.url}/lists/{name}"}
        with registries(service, tmp_path, lists=there) as found:
            assert synced(found, "lists").problem == ""
            assert names_in(found, "lists") == FOLDERS
    with registries(service, tmp_path, here={"path": str(tmp_path / "gone")}) as found:
        assert "there is no file or folder" in synced(found, "here").problem


def test_a_checkout_is_read_as_it_lies_there(service: RegistryService, tmp_path: Path) -> None:
    folder = {"path": str(DATA / "repository")}
    with registries(service, tmp_path, checkout=folder) as found:
        assert synced(found, "checkout").problem == ""
        assert names_in(found, "checkout") == FOLDERS
        (first, *_) = found.search("weather", registry="checkout")
        assert first.name == "com.example/weather"
    assert service.http.got == []


def test_a_repository_is_read_from_its_archive_and_the_commit_kept(
    service: RegistryService, tmp_path: Path
) -> None:
    there = {"repository": "example-org/servers", "ref": "main", "url": service.url}
    service.archives["main"] = service.archives[COMMIT]
    with registries(service, tmp_path, hub=there) as found:
        assert synced(found, "hub").problem == ""
        assert names_in(found, "hub") == FOLDERS
        listing = found.find("com.example/weather", registry="hub")
        assert f"{COMMIT}/servers/weather/server.json" in listing.document.place


def test_a_server_that_left_a_list_leaves_the_copy(
    service: RegistryService, tmp_path: Path
) -> None:
    there = {"repository": "example-org/servers", "ref": COMMIT, "url": service.url}
    with registries(service, tmp_path, hub=there) as found:
        synced(found, "hub")
        (tmp_path / "left").mkdir()
        shutil.copytree(DATA / "repository" / "weather", tmp_path / "left" / "weather")
        service.archives[COMMIT] = archive(tmp_path / "left")
        report = synced(found, "hub")
        assert report.removed == 2
        assert names_in(found, "hub") == ["com.example/weather"]


def test_one_bad_file_of_a_folder_costs_only_itself(
    service: RegistryService, tmp_path: Path
) -> None:
    folder = tmp_path / "servers"
    good = (DATA / "repository" / "weather" / "server.json").read_text(encoding="utf-8")
    for name, text in {
        "good": good,
        "bomb": "a: &a [x, x]\nb: &b [*a, *a]\nc: *d",
        "odd": "- 1\n- 2",
        "hostile": good.replace("com.example/weather", "a\\u202eb c"),
        "cut": good[:100],
    }.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "server.json").write_text(text)
    with registries(service, tmp_path, here={"path": str(folder)}) as found:
        report = synced(found, "here")
        assert report.problem == ""
        assert names_in(found, "here") == ["com.example/weather"]
        assert dict(report.refused).keys() >= {"bomb", "cut"}


def tar_of(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def test_a_damaged_archive_is_reported(
    service: RegistryService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small one may unpack to any size: it takes no more room than the limit."""
    monkeypatch.setattr(readers, "_MAX_UNPACKED", 1024**2)
    good = tar_of({"x/servers/a/server.json": b"of many; " * 5_000})
    packed = gzip.compress(good)
    large = tar_of({f"x/servers/{n}/server.json": b" " * 400_000 for n in range(3)})
    hub = {"hub": {"repository": "a/b", "ref": "main", "url": service.url}}
    archives = {
        "cannot be read": (
            b"", b"hello", packed[: len(packed) // 2], packed[:10] + b"\x07" + packed[11:],
            gzip.compress(os.urandom(5_000)), good,
            gzip.compress(good[:124] + b"\xff" * 12 + good[136:]),
            gzip.compress(b"x/servers/server.json".ljust(512, b"\x80") * 4),
        ),
        "too large when unpacked": (gzip.compress(large, 1),),
        "nothing at servers": (gzip.compress(tar_of({"x/other": b"1"})),),
    }  # fmt: skip
    with registries(service, tmp_path, **hub) as found:
        for words, several in archives.items():
            for service.archives["main"] in several:
                assert words in synced(found, "hub").problem


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


# npm


def many_npm_packages(service: RegistryService) -> None:
    one = service.search["objects"][0]["package"]
    service.search["objects"] += [{"package": one | {"name": f"notes-{n}"}} for n in range(300)]


def test_npm_is_searched_by_keyword_page_by_page_and_what_left_it_leaves_the_copy(
    service: RegistryService, tmp_path: Path
) -> None:
    many_npm_packages(service)
    with registries(service, tmp_path, npm={"type": "npm", "url": service.url}) as found:
        report = synced(found, "npm")
        assert (report.documents, report.pages, report.problem) == (302, 2, "")
        assert [x["from"] for x in service.asked("/-/v1/search")] == ["0", "250"]
        assert service.asked("/-/v1/search")[0]["text"] == "keywords:mcp-server"
        gone = service.search["objects"].pop()["package"]["name"]
        service.http.replies["/-/v1/search"] = lambda got: (
            service._answer(got, "") if "from=0" in got.query else Said(503)
        )
        assert "at page 2" in synced(found, "npm").problem
        del service.http.replies["/-/v1/search"]
        assert gone in names_in(found, "npm")
        report = synced(found, "npm")
        assert (report.is_resumed, report.removed) == (True, 1)
        assert gone not in [x.name for x in found.search(gone, 400)]


def test_where_npm_is_says_its_own_configuration(
    service: RegistryService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY", "NPM_CONFIG_USERCONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with registries(service, tmp_path, npm={"type": "npm"}) as found:
        assert "npm_config_registry" in synced(found, "npm").problem
        monkeypatch.setenv("npm_config_registry", f"{service.url}/")
        assert synced(found, "npm").problem == ""
        monkeypatch.delenv("npm_config_registry")
        npm = tmp_path / "npm"
        npm.write_text(f"#!/bin/sh\necho {service.url}/\n")
        npm.chmod(0o755)
        assert synced(found, "npm").documents == 2


# The local copy itself


@pytest.mark.parametrize(
    "damage", ["UPDATE documents SET document = '{'", "UPDATE documents SET document = '[]'",
               "UPDATE documents SET document = '{}'",
               "ALTER TABLE documents RENAME COLUMN document TO said", ""],
)  # fmt: skip
def test_a_damaged_copy_is_reported_with_what_to_do(
    service: RegistryService, tmp_path: Path, damage: str
) -> None:
    with registries(service, tmp_path) as found:
        synced(found)
    file = tmp_path / "registries.db"
    if damage:
        with closing(sqlite3.connect(file)) as store, store:
            store.execute(damage)
    else:
        file.write_bytes(b"x" * 5000)
    with (
        pytest.raises(RegistryError, match="Delete it"),
        registries(service, tmp_path) as found,
    ):
        found.search("weather")


def test_the_search_is_ours_and_says_why(service: RegistryService, tmp_path: Path) -> None:
    with registries(service, tmp_path) as found:
        synced(found)
        first, *others = found.search("read-only queries on a database", 3)
        assert first.name in ("com.example/database", "com.example/database-pinned")
        assert any("database" in x for x in first.reasons)
        assert all(x.name != "com.example/old-weather" for x in (first, *others))
        assert found.search("weather")[0].name == "com.example/weather"


def test_hostile_texts_are_shown_without_what_hides_in_them(
    service: RegistryService, tmp_path: Path
) -> None:
    row = service.row("com.example/weather")
    row["server"]["description"] = "Weather\x1b[31m\u202e data\u200b\U000e0041" + "x" * 10_000
    with registries(service, tmp_path) as found:
        synced(found)
        (weather,) = found.search("weather data", 1)
        assert weather.description.startswith("Weather data")
        assert len(weather.description) < 3_000
        assert json.dumps(weather.description).isascii()


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
