"""Compares what was added to settings with what registries and npm say of it now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.json import as_list, as_object
from ..settings.sections import RegistrySettings
from .offers import package_manifest
from .readers.npm import npm_address
from .store import Store
from .values import RegistryError


@dataclass(frozen=True, slots=True)
class PinAlarm:
    """An entry of the settings of which something else is said now than when it was added.

    `was` and `now` are digests of its document, or hashes of its package.
    """

    entry: str
    server: str
    version: str
    was: str
    now: str


@dataclass
class PinReport:
    """What came of it; `not_asked` says which packages could not be compared, and why."""

    alarms: list[PinAlarm] = field(default_factory=list[PinAlarm])
    not_asked: list[str] = field(default_factory=list[str])


def compare_pins(
    store: Store, registries: Iterable[RegistrySettings], configured: Mapping[str, Any]
) -> PinReport:
    """Look at each entry of the settings that was added from one of the registries."""
    report, known = PinReport(), list(registries)
    for entry, written in configured.items():
        noted = {key: str(x) for key, x in as_object(as_object(written).get("registry")).items()}
        if not noted.get("name"):
            continue
        report.alarms += _changed_documents(store, known, entry, noted)
        if noted.get("checksum"):
            _compare_package(report, entry, as_object(written), noted)
    return report


def _changed_documents(
    store: Store, registries: Iterable[RegistrySettings], entry: str, noted: Mapping[str, str]
) -> Iterator[PinAlarm]:
    name, version, was = (noted.get(x, "") for x in ("name", "version", "digest"))
    for one in registries:
        if not was or noted.get("from") != one.noted_as:
            continue
        kept = store.kept(one.address, name, version)
        changed = [x.now for x in store.alarms(one.address, name) if x.version == version]
        now = changed[0] if changed else kept.digest if kept else was
        if now != was:
            yield PinAlarm(entry, name, version, was, now)


def _compare_package(
    report: PinReport, entry: str, written: Mapping[str, Any], noted: Mapping[str, str]
) -> None:
    """Ask npm for the hash again, which never changes unless somebody replaced the package."""
    words = [x for x in as_list(written.get("args")) if isinstance(x, str)]
    package = next((x for x in words if not x.startswith("-")), "")
    identifier, _, version = package.rpartition("@")
    if written.get("command") != "npx" or not identifier:
        return
    try:
        found = package_manifest(npm_address(), identifier, version)
    except (OSError, RegistryError) as reason:
        report.not_asked.append(f"{entry}: {reason}")
        return
    now = found.integrity if found else "none: npm has no such version any more"
    if now != noted["checksum"]:
        version = noted.get("version", "")
        report.alarms.append(PinAlarm(entry, noted["name"], version, noted["checksum"], now))
