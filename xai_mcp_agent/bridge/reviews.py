"""What waits to be accepted, for a person to read; and accepting exactly what was read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..core.errors import UnknownTool
from ..core.fingerprint import digest_of
from ..core.invocation import PROGRAM
from ..core.tools import JsonObject
from ..core.visible import escaped
from ..policy.decisions import Choice, changes_between
from ..policy.review import Review, require_read
from .decisions import Decided, KnownTools, kept, known_tools
from .engine import Engine


async def review(engine: Engine, server: str, tools: Sequence[str] = ()) -> list[Review]:
    """What a server says of these tools now; without any, of all, and of its own use.

    Of tools that are named, that is as the server listed them last, whichever process it was that
    had them listed. Where nothing is new in that, the server is asked.

    Raises:
        UnknownServer, SettingsError, UnknownTool, SourceFailed: it cannot be known.
    """
    known = await known_tools(engine, server)
    names = list(dict.fromkeys(tools))
    await known.find(names)
    if not names:
        await known.ask_server()
        inventory = engine.catalog.inventory(known.source)
        listed = inventory.tools if inventory else ()
        await engine.catalog.digest_all(listed)
        return [*[await _review(known, x.name) for x in listed], *_of_instructions(engine, server)]
    if any(known.digest(x) in ("", known.entries(x)[0].accepted) for x in names):
        await known.ask_server(if_it_can_be=True)
    return [await _review(known, name) for name in names]


async def accept(
    engine: Engine, server: str, tools: Sequence[str] = (), digest: str = ""
) -> Decided:
    """Accept what the server says of these tools now, or all of it, if this is its digest.

    Raises:
        ReviewNeeded: it is not; nothing was accepted. And what `review` raises.
    """
    reviews = await review(engine, server, tools)
    wanted = require_read(reviews, digest)
    known = await known_tools(engine, server)
    keys = {e.key: x.digest for x in wanted if x.tool for e in known.entries(x.tool)}
    said = next((x.digest for x in wanted if not x.tool), "")
    trouble = await kept(engine.decisions.accept(server, keys, said)) if wanted else None
    told = wanted if not tools else reviews
    return Decided([_choice(x, is_new=x in wanted) for x in told], trouble)


async def pinned_servers(engine: Engine) -> list[str]:
    """The sources of the settings that are pinned, or of which something was accepted."""
    await engine.decisions.read()
    return [
        x for x in engine.settings.usable
        if engine.pin_of(x, PROGRAM) or engine.decisions.has_accepted(x)
    ]  # fmt: skip


async def definition_lines(known: KnownTools, name: str) -> tuple[str, tuple[str, ...]]:
    """The digest of a tool's definition, as it was listed last, and all of it.

    Raises:
        UnknownTool: nobody knows it.
    """
    digest, live, decisions = known.digest(name), known.live(name), known.engine.decisions
    if not digest:
        raise UnknownTool(f"{known.server} has not told yet what its tool {name!r} is.")
    now = decisions.definition(live).definition if live else await decisions.definition_of(digest)
    return digest, _all_of(now)


def _choice(read: Review, *, is_new: bool) -> Choice:
    lines = read.lines if read.standing == "changed" else ()
    return Choice(read.server, read.tool, "accepted", is_new, lines)


async def _review(known: KnownTools, name: str) -> Review:
    """What is known of it last."""
    entry, decisions = known.entries(name)[0], known.engine.decisions
    digest = known.digest(name) or entry.accepted
    if not digest:
        raise UnknownTool(f"{known.server} has not told yet what its tool {name!r} is.")
    like = decisions.looks_like(entry.key)
    if digest == entry.accepted:
        return Review(known.server, name, digest, "accepted")
    live = known.live(name)
    now = decisions.definition(live).definition if live else await decisions.definition_of(digest)
    if not entry.accepted:
        return Review(known.server, name, digest, "new", _all_of(now), like)
    lines = changes_between(await decisions.accepted_definition(entry.key), now)
    return Review(known.server, name, digest, "changed", lines, like)


def _of_instructions(engine: Engine, server: str) -> list[Review]:
    said, decisions = engine.catalog.instructions(server), engine.decisions
    if not said:
        return []
    digest, lines = digest_of(said), tuple(escaped(engine.recorder.mask(said), "\n").split("\n"))
    if decisions.has_accepted_instructions(server):
        return [Review(server, "", digest, "accepted")]
    return [Review(server, "", digest, decisions.standing_of_instructions(server), lines)]


def _all_of(definition: JsonObject | None) -> tuple[str, ...]:
    """The whole definition as JSON in ASCII: what cannot be seen is seen there."""
    if definition is None:
        return (_NOT_KNOWN,)
    return tuple(json.dumps(definition, indent=2).splitlines())


_NOT_KNOWN = "what it says is not known here: connect the server, and accept it then"
