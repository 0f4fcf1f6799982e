"""Text and JSON of registry reports. Text from registries is never trusted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..console.text import count, cut, one_line
from ..core.json import JsonObject, as_text
from ..core.shell import shell_command

if TYPE_CHECKING:
    from ..registries.entries import Need
    from ..registries.offers import Listing, Offer, RegistryManifest
    from ..registries.registries import ChangedEntry, FoundServer
    from ..registries.store import SyncReport

_INDENT = "  "
_DESCRIPTION_CHARS = 300
_MAX_VERSIONS = 10
_MAX_REFUSED = 20  # per registry; the rest is counted
_MARKS = {"good": "+", "told": "-", "unknown": "?", "warning": "!", "alarm": "!!"}


def result_text(server: FoundServer) -> Iterator[str]:
    """Yield a search result in a few lines."""
    version = f" {server.version}" if server.version else ""
    yield f"{server.name}{version} ({server.registry})"
    about = cut(server.description or server.title, _DESCRIPTION_CHARS)
    if about:
        yield one_line(about, _INDENT)


def report_text(report: SyncReport) -> Iterator[str]:
    """Yield the lines about one registry's sync."""
    continuation = ", continued where it was interrupted" if report.is_resumed else ""
    removed = f", {count(report.removed, 'version')} gone" if report.removed else ""
    pages, documents = count(report.pages, "page"), count(report.documents, "document")
    yield f"{report.registry}: {documents} on {pages}{removed}{continuation}."
    for name, reason in report.refused[:_MAX_REFUSED]:
        yield one_line(f"refused: {name or '(without a name)'}: {reason}", _INDENT)
    if more := len(report.refused) - _MAX_REFUSED:
        yield from [f"{_INDENT}and {more:,} more refused"] if more > 0 else []
    for alarm in report.alarms:
        yield one_line(
            f"ALARM: {alarm.name} {alarm.version} has changed under the same version: digest "
            f"{alarm.was[:12]} before, {alarm.now[:12]} now. The first content is kept.",
            _INDENT,
        )


def entry_alarm_text(alarm: ChangedEntry) -> str:
    """Return a line about a settings entry whose server changed in its registry."""
    version = f" {alarm.version}" if alarm.version else ""
    return (
        f"ALARM: {alarm.entry} in your settings was added as {alarm.server}{version}, which has "
        f"changed since: its digest was {alarm.was} and is {alarm.now} now. Leave it switched off "
        f"until you know why. `{shell_command(*_SHOW_COMMAND, alarm.server)}` shows it."
    )


_SHOW_COMMAND = ("xai-mcp-agent", "registry", "show")


def offer_text(offer: Offer) -> Iterator[str]:
    """Yield the signals about a server, and its entry."""
    yield from listing_text(offer.listing, offer.manifest)
    yield "Signals (+ proved or pinned, ? not known, ! look twice):"
    for signal in offer.signals:
        yield one_line(signal.text, f"{_INDENT}{_MARKS[signal.weight]:>2} ")
    for reason in offer.composition.passed_over:
        yield one_line(f"not used: {reason}", f"{_INDENT} - ")
    yield f"The entry, switched {'off' if offer.entry.get('disabled') else 'on'}:"
    entry_json = json.dumps({offer.name: offer.entry}, indent=2, ensure_ascii=False)
    yield from (f"{_INDENT}{x}" for x in entry_json.splitlines())
    yield from _needs_text("You must give:", offer.composition.needs)
    yield from _needs_text("You may give:", offer.composition.optional)


def listing_text(listing: Listing, manifest: RegistryManifest) -> Iterator[str]:
    """Yield the description of a server in its registry."""
    document = listing.document
    version = f" {manifest.version}" if manifest.version else ""
    yield f"{manifest.name}{version}, from {listing.registry.name} ({listing.registry.address})"
    about = as_text(document.server.get("description"))
    if about:
        yield one_line(cut(about, _DESCRIPTION_CHARS), _INDENT)
    facts = (
        ("by", manifest.author), ("license", manifest.license), ("tags", ", ".join(manifest.tags)),
        ("document", manifest.manifest_url), ("package", manifest.download_url),
        ("checksum", manifest.checksum), ("schema", manifest.schema_version),
        ("versions", ", ".join(x for x in listing.versions[:_MAX_VERSIONS] if x)),
    )  # fmt: skip
    for name, text in facts:
        if text:
            yield one_line(f"{name}: {cut(text, _DESCRIPTION_CHARS)}", _INDENT)


def _needs_text(title: str, needs: Sequence[Need]) -> Iterator[str]:
    if needs:
        yield title
    for need in needs:
        about = need.spec.description or f"for {need.where}"
        secret = ", a secret: only as an environment variable" if need.spec.is_secret else ""
        choices = f", one of {', '.join(need.spec.choices)}" if need.spec.choices else ""
        example = f", such as {need.spec.placeholder}" if need.spec.placeholder else ""
        yield one_line(f"{need.variable}: {about}{choices}{example}{secret}", _INDENT)


# JSON


def report_json(report: SyncReport) -> JsonObject:
    """Return the result of a sync as JSON."""
    json_ = asdict(report)
    refused = [{"name": name, "reason": reason} for name, reason in report.refused]
    return json_ | {"refused": refused, "resumed": json_.pop("is_resumed")}


def offer_json(offer: Offer) -> JsonObject:
    """Return the signals about a server and its entry as JSON."""
    listing, composition = offer.listing, offer.composition
    return {
        "registry": listing.registry.name,
        "manifest": offer.manifest.as_json(),
        "versions": list(listing.versions),
        "digest": listing.document.digest,
        "signals": list(offer.signals),
        "alarm": bool(offer.alarms),
        "name": offer.name,
        "entry": offer.entry,
        "needs": _needs_json(composition.needs),
        "optional": _needs_json(composition.optional),
        "passed_over": list(composition.passed_over),
    }


def _needs_json(needs: Iterable[Need]) -> list[JsonObject]:
    return [
        {
            "variable": x.variable,
            "name": x.name,
            "where": x.where,
            "description": x.spec.description,
            "format": x.spec.format,
            "choices": x.spec.choices,
            "secret": x.spec.is_secret,
        }
        for x in needs
    ]
