"""`xai-mcp-agent registry`: search the local copy of registries, and add servers, switched off."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ..core.errors import BadSetting
from ..core.shell import shell_command
from ..settings.document import KeyPlace, read_document
from ..settings.load import layout_of
from ..settings.models import Settings
from ..settings.trust import trust_command, without_untrusted
from .frame import LOOK, Frame, Report
from .options import Limit, pair_in
from .output import say
from .registry_text import (
    entry_alarm_text,
    listing_text,
    offer_json,
    offer_text,
    report_json,
    report_text,
    result_text,
)
from .settings_file import check_free, settings_and_file, write_server

if TYPE_CHECKING:
    from ..registries.offers import Offer
    from ..registries.registries import Registries

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_NAME_FIX = "Choose another name with --as, or remove the entry first."


def _allowance(word: str) -> str:
    from ..registries.entries import ALLOWED

    if word not in ALLOWED:
        raise typer.BadParameter(f"{word!r} is none of these: {', '.join(ALLOWED)}.")
    return word


Registry = Annotated[
    str | None, Option(metavar="NAME", help="Only this one, as the settings name it.")
]
ServerName = Annotated[
    str, Argument(metavar="NAME", help="As the registry has it: io.github.somebody/name.")
]
ServerVersion = Annotated[
    str | None, Option(metavar="VERSION", help="This version. Default: the latest.")
]
Offline = Annotated[bool, Option(help="Use the local copy only.")]
Allow = Annotated[
    list[str] | None,
    Option(
        parser=_allowance,
        metavar="WORD",
        help="Allow one of: image-tag, runtime-options, secret-argument, deprecated.",
    ),
]
Prefer = Annotated[str, Option(metavar="TYPE", help="remote, npm, pypi, oci or nuget.")]
As = Annotated[
    str | None,
    Option("--as", metavar="NAME", help="Its name in your settings. Default: its own name."),
]

Assignments = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="A value that it asks for, not a secret."),
]
AcceptChange = Annotated[bool, Option(help="Accept the changed content of a version.")]
Enable = Annotated[bool, Option(help="Write it switched on. You are asked to trust it.")]


def search(
    frame: Frame,
    query: Annotated[str, Argument(help="What a server should do, in your words.")],
    registry: Registry = None,
    limit: Limit = 10,
) -> Report:
    """Search the local copy of the registries. It uses no network."""
    with _open_registries(frame, settings_and_file(frame.settings)[0]) as registries:
        servers = registries.search(query, limit, registry=registry)
    text = "\n".join(line for x in servers for line in result_text(x))
    none = "No server matches. `xai-mcp-agent registry sync` fetches new ones."
    results = [{**asdict(x), "score": round(x.score, 4)} for x in servers]
    return Report({"found": results}, text or none)


def show(
    frame: Frame,
    name: ServerName,
    registry: Registry = None,
    version: ServerVersion = None,
    allow: Allow = None,
    prefer: Prefer = "",
    offline: Offline = False,
) -> Report:
    """Show the facts about a server, the values it needs, and the entry `add` would write.

    The exit status is 3 if there is an alarm.
    """
    from ..registries.server_json import Refused

    loaded, _ = settings_and_file(frame.settings)
    with _open_registries(frame, loaded) as registries:
        listing = registries.find(name, registry=registry, version=version, offline=offline)
        try:
            offer = registries.offer(
                listing, _own_name(name), allow=allow or (), prefer=prefer, offline=offline,
                configured=_configured(loaded),
            )  # fmt: skip
        except Refused:
            frame.print_lines(listing_text(listing, listing.manifest))
            raise
    text = "\n".join(offer_text(offer))
    return Report(offer_json(offer), text, status=LOOK if offer.alarms else 0)


def sync(
    frame: Frame,
    registry: Annotated[
        str | None, Argument(help="Only this one, as the settings name it.")
    ] = None,
    timeout: Annotated[
        float | None, Option(min=0.1, metavar="SECONDS", help="Seconds for each registry.")
    ] = None,
) -> Report:
    """Fetch what is new in the registries. If interrupted, the next sync continues.

    The exit status is 1 if a registry could not be read to its end, and 3 if the content of a
    version changed, in the local copy or since it was added to your settings.
    """
    from ..registries.store import SYNC_SECONDS

    loaded, _ = settings_and_file(frame.settings)
    with _open_registries(frame, loaded) as registries:
        reports = registries.sync(registry, SYNC_SECONDS if timeout is None else timeout)
        changed = registries.changed_entries(_configured(loaded))
    lines = [line for x in reports for line in report_text(x)]
    has_alarm = bool(changed) or any(x.alarms for x in reports)
    return Report(
        {"registries": [report_json(x) for x in reports], "pins": changed},
        "\n".join([*lines, *map(entry_alarm_text, changed)]),
        [x.problem for x in reports if x.problem],
        status=LOOK if has_alarm else 0,
    )


def add(
    frame: Frame,
    name: ServerName,
    registry: Registry = None,
    as_name: As = None,
    version: ServerVersion = None,
    assignments: Assignments = None,
    allow: Allow = None,
    prefer: Prefer = "",
    accept_change: AcceptChange = False,
    enable: Enable = False,
    offline: Offline = False,
) -> Report:
    """Write a server into the settings: switched off, with exact versions, its tools locked.

    It lists the facts about the server and the values it needs, and starts nothing. If there is an
    alarm, it writes nothing and the exit status is 3.
    """
    values = dict(pair_in(x, "--set takes NAME=VALUE") for x in assignments or ())
    loaded, file = settings_and_file(frame.settings)
    own = as_name or _own_name(name)
    check_free(own, loaded, file, _NAME_FIX)
    with _open_registries(frame, loaded) as registries:
        listing = registries.find(name, registry=registry, version=version, offline=offline)
        if accept_change and listing.alarm:
            listing = registries.accept(listing)
        try:
            offer = registries.offer(
                listing, own, values=values, allow=allow or (), prefer=prefer, offline=offline,
                configured=_configured(loaded),
            )  # fmt: skip
        except BadSetting as reason:
            raise typer.BadParameter(f"--set: {reason}") from reason
    if enable:
        offer = replace(offer, entry={k: x for k, x in offer.entry.items() if k != "disabled"})
    return _write_offer(frame, offer, file)


def _write_offer(frame: Frame, offer: Offer, file: Path) -> Report:
    json = {**offer_json(offer), "written": None}
    frame.print_lines(offer_text(offer))
    if offer.alarms:
        why = " ".join(x.text for x in offer.alarms)
        is_changed = offer.listing.alarm is not None
        step = "If you know why it changed, add --accept-change." if is_changed else ""
        error = f"Nothing was written. {why} {step or 'Ask its publisher.'}"
        if frame.as_json:
            say(f"error: {error}", to_stderr=True)
        return Report(json, errors=[error], status=LOOK)
    write_server(file, offer.name, offer.entry)  # not trusted: a person is asked once it is on
    return Report({**json, "written": str(file)}, "\n".join(_next_steps(offer, file)))


def _next_steps(offer: Offer, file: Path) -> list[str]:
    missing = [x.variable for x in offer.composition.needs if x.variable not in os.environ]
    is_off = bool(offer.entry.get("disabled"))
    steps = [f"Written into {file}, switched {'off' if is_off else 'on'}.", "Next:"]
    if missing:
        steps.append(f"  set {', '.join(missing)} in the environment, or write values into {file}")
    if is_off:
        steps.append(f'  switch it on: remove "disabled" of {offer.name} in {file}')
    else:
        steps.append(f"  {trust_command(str(file))}    lets it start")
    command = shell_command("xai-mcp-agent", "tools", "accept", offer.name)
    steps.append(f"  {command}    accepts its tools, which are locked")
    return steps


# Settings


@contextmanager
def _open_registries(frame: Frame, loaded: Settings) -> Generator[Registries]:
    """Yield the trusted registries of the settings."""
    from ..registries.registries import Registries

    usable = without_untrusted(loaded)
    if usable.registries != loaded.registries and not frame.as_json:
        say(
            f"note: the registries of {loaded.file} are not used, because you have not agreed to "
            f"them: {trust_command(loaded.file)}", to_stderr=True,
        )  # fmt: skip
    with Registries(usable) as registries:
        yield registries


def _configured(loaded: Settings) -> Mapping[str, Any]:
    """Return the entries of the file's servers, unchanged."""
    if loaded.is_from_python or not loaded.file:
        return {}
    layout = layout_of(read_document(Path(loaded.file)), KeyPlace(loaded.file))
    _, servers, _ = layout.sources[0]
    return servers


def _own_name(name: str) -> str:
    """Return the last part of a server's registry name, fit for the settings."""
    return _NOT_IN_NAMES.sub("-", name.rpartition("/")[2]).strip("-") or "server"
