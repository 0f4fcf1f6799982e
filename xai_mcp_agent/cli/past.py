"""The history as a command reads it: found and opened without starting any server."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..bridge.screen.surface import surface_of
from ..bridge.screen.text import as_it_is
from ..core.errors import StoreFailed
from ..history.place import IN_MEMORY, Place, find_place
from ..settings.load import load_settings
from .output import say

if TYPE_CHECKING:
    from ..history.store import Store


def absolute(store: str | None) -> str | None:
    """The store as somebody named it to a command: a file of the current folder, or a URL."""
    is_file = store and "://" not in store and store != IN_MEMORY
    return os.path.abspath(os.path.expanduser(store)) if store and is_file else store


def text_width() -> int:
    """How many columns a line for a person may have."""
    return surface_of(sys.stdout).width


@contextmanager
def opened(store: str | None, settings: Path | None) -> Generator[Store | None]:
    """The history, to read: no server is started for it. None where nothing was ever kept.

    Raises:
        StoreFailed: it cannot be used, or is not where somebody said that it is.
        SettingsError: the settings file cannot be read.
    """
    found = _found(_place(store, settings), is_named=bool(store))
    if found is None:
        yield None
        return
    try:
        _note_ends(found)
        yield found
    finally:
        found.close()


def where(store: str | None, settings: Path | None) -> str:
    """Where the history is kept, for a person."""
    return _place(store, settings).shown


def say_nothing_yet(store: str | None, settings: Path | None) -> None:
    """Tell a person that there is no history."""
    say(
        f"Nothing is remembered yet in {where(store, settings)}. It begins when a workflow or a "
        "command uses a server."
    )


def _found(place: Place, *, is_named: bool) -> Store | None:
    if place.file is not None and not place.file.exists():
        if is_named:
            raise StoreFailed(place.shown, "there is no such file.", "Name another one.")
        return None
    # Here: no other command should wait for SQLAlchemy.
    from ..history.store import NoHistory, open_to_read

    try:
        return open_to_read(place)
    except NoHistory:
        if is_named:
            raise
        return None


def _place(store: str | None, settings: Path | None) -> Place:
    place = find_place(load_settings(settings), absolute(store))
    # Whoever names a file wants to see what is in it, whichever project's it is.
    return replace(place, any_project=True) if store and place.file else place


def _note_ends(store: Store) -> None:
    """Write down the end of processes that had no time to: what they had is not there any more."""
    from ..catalog.keeping.recorder import Recorder  # loads SQLAlchemy
    from ..history.runs import Runs
    from ..history.store import open_store

    file = store.place.file
    if file is not None and not os.access(file, os.W_OK):
        return
    with suppress(StoreFailed):  # it can be read all the same
        with store.reading() as connection:
            ended = Runs(store.project_id).ended_silently(connection)
        if ended:
            Recorder(open_store(store.place), as_it_is).close()
