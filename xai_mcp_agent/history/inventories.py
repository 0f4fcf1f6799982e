"""Inventories in the store: each once, most as what is different from the one before."""

from __future__ import annotations

import json
import threading
import zlib
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select, update

from .database import insert_rows
from .packing import Inventory
from .tables import Unreadable, inventories, kept_json, log_rows

# So many are read one after the other, in milliseconds, to know the last one.
_MOST_STEPS = 64
# A part of the tools; more are as well written anew.
_MOST_DIFFERENT = 4
_AT_ONCE = 500  # databases take only so many values in one statement
_MOST_CACHED = 200_000  # tools, some ten megabytes


class _Cache:
    """Inventories by their digests, whatever store they are of. Used from any thread."""

    def __init__(self) -> None:
        self._known: dict[str, Inventory] = {}
        self._size = 0
        self._changing = threading.Lock()

    def get(self, digest: str) -> Inventory | None:
        return self._known.get(digest)

    def add(self, inventory: Inventory) -> None:
        with self._changing:
            if self._size > _MOST_CACHED:
                self._known, self._size = {}, 0
            self._known[inventory.digest] = inventory
            self._size += len(inventory.names)


_cache = _Cache()


class _Kept(NamedTuple):
    """A row: all of an inventory, or what is different from its `base`."""

    base: str | None
    steps: int
    content: bytes


def keep_inventory(
    connection: Connection, project: int, inventory: Inventory, near: str | None
) -> None:
    """Write one, unless it is there; `near` is the digest of one that is likely to be similar."""
    if _row(connection, project, inventory.digest) is None:
        kept = _different(connection, project, inventory, near) or _whole(inventory)
        insert_rows(connection, inventories, [(project, inventory.digest, *kept)])
    _cache.add(inventory)


def inventory_of(connection: Connection, project: int, digest: str) -> Inventory | None:
    """The inventory of this digest; None if it was lost.

    Raises:
        Unreadable: what is there is damaged.
    """
    if (known := _cache.get(digest)) is not None:
        return known
    found = _read(connection, project, digest)
    if found is not None:
        _cache.add(found)
    return found


def _read(connection: Connection, project: int, digest: str) -> Inventory | None:
    """As `inventory_of`, from the store itself."""
    steps: list[Any] = []
    base: str | None = digest
    while base is not None:
        row = _row(connection, project, base)
        if row is None:
            return None
        steps.append(unpacked(row.content))
        base = row.base if len(steps) <= _MOST_STEPS else None
    found = _joined(steps)
    if found.digest != digest:
        raise Unreadable("An inventory is not what was written.")
    return found


def drop_damaged(connection: Connection) -> None:
    """Remove those that cannot be read, or of which what they rest on was lost."""
    known = select(inventories.c.project, inventories.c.digest)
    for project, digest in connection.execute(known).all():
        try:
            is_sound = _read(connection, project, digest) is not None
        except (Unreadable, TypeError, ValueError):
            is_sound = False
        if not is_sound:
            it = inventories.c.project == project, inventories.c.digest == digest
            connection.execute(delete(inventories).where(*it))


def drop_unused(connection: Connection, project: int) -> None:
    """Remove those that no row of the log names; what differs from one of these is written anew."""
    mine = inventories.c.project == project
    query = select(inventories.c.digest, inventories.c.base).where(mine)
    bases: dict[str, str | None] = {x.digest: x.base for x in connection.execute(query)}
    named = select(log_rows.c.inventory).where(log_rows.c.project == project).distinct()
    used = set[str | None]((None, *connection.execute(named).scalars()))
    for digest, base in bases.items():
        is_left = digest in used and base not in used
        found = inventory_of(connection, project, digest) if is_left else None
        if found is not None:
            whole = update(inventories).where(mine, inventories.c.digest == digest)
            connection.execute(whole.values(_whole(found)._asdict()))
    unused = sorted(bases.keys() - used)
    for first in range(0, len(unused), _AT_ONCE):
        some = unused[first : first + _AT_ONCE]
        connection.execute(delete(inventories).where(mine, inventories.c.digest.in_(some)))


def definitions_in(connection: Connection) -> set[str]:
    """The digests of all definitions that inventories name, of all projects."""
    found: set[str] = set()
    for content in connection.execute(select(inventories.c.content)).scalars():
        found.update(unpacked(content)[1])
    return found


def _row(connection: Connection, project: int, digest: str) -> Any:
    is_it = inventories.c.project == project, inventories.c.digest == digest
    return connection.execute(select(inventories).where(*is_it)).first()


def _whole(inventory: Inventory) -> _Kept:
    return _Kept(None, 0, _packed([inventory.names, inventory.definitions]))


def _different(
    connection: Connection, project: int, inventory: Inventory, near: str | None
) -> _Kept | None:
    """What is to be written where there is a similar one, of which the order tells the new one."""
    before = near and inventory_of(connection, project, near)
    row = near and _row(connection, project, near)
    if not before or not row or row.steps >= _MOST_STEPS or not inventory.is_sorted:
        return None
    old = dict(zip(before.names, before.definitions, strict=True))
    pairs = zip(inventory.names, inventory.definitions, strict=True)
    new = [(name, digest) for name, digest in pairs if old.get(name) != digest]
    gone = [x for x in before.names if x not in inventory.places]
    if (len(new) + len(gone)) * _MOST_DIFFERENT > len(inventory.names):
        return None
    return _Kept(near, row.steps + 1, _packed([[x for x, _ in new], [x for _, x in new], gone]))


def _joined(steps: list[Any]) -> Inventory:
    names, digests, *_ = steps.pop()
    if not steps:
        return Inventory(tuple(names), tuple(digests))
    tools = dict(zip(names, digests, strict=True))
    for names, digests, gone in reversed(steps):
        for name in gone:
            tools.pop(name, None)
        tools |= zip(names, digests, strict=True)
    ordered = sorted(tools.items())
    return Inventory(tuple(x for x, _ in ordered), tuple(x for _, x in ordered))


def _packed(value: Any) -> bytes:
    return zlib.compress(kept_json(value).encode())


def unpacked(content: bytes) -> Any:
    """What a row holds: of an inventory, or what is different from another one.

    Raises:
        Unreadable: it is damaged.
    """
    try:
        value = json.loads(zlib.decompress(content))
        if not all(isinstance(x, list) for x in value) or len(value) not in (2, 3):
            raise ValueError
    except (TypeError, ValueError, zlib.error) as cause:
        raise Unreadable("An inventory is not what was written.") from cause
    return value
