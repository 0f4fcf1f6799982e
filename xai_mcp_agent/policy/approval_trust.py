"""Approvals for good count once this user agreed to them, or gave them.

They stand in the file of decisions, which comes with a clone: what somebody else approved must not
let calls through here before this user has seen it. See `settings.trust`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable

from ..core.errors import SettingsError
from ..secrets.private_files import open_to_read
from ..settings.models import Settings
from ..settings.parts import Part
from ..settings.trust import APPROVED, TrustStore
from .lock import DecisionLock, Unreadable, read_lock
from .lockfile import MAX_BYTES, find_lock

logger = logging.getLogger(__name__)


class ApprovalTrust:
    """Whether approvals in the file of decisions of these settings count."""

    def __init__(self, settings: Settings, store: TrustStore | None = None) -> None:
        self._file = settings.file
        self._is_vouched = settings.is_from_python or settings.is_vouched
        self._store = store or TrustStore()

    def counts(self, source: str, tool: str, word: str) -> bool:
        """Whether this user has agreed to it, or named the settings in a program of theirs."""
        return self._is_vouched or self._store.agrees_to(self._file, _part(source, tool, word))

    def agree(self, source: str, tool: str, word: str) -> None:
        """This user approves it; without a `word` what they agreed to is forgotten."""
        if self._is_vouched:
            return
        try:
            self._store.agree_to(self._file, _part(source, tool, word))
        except SettingsError as reason:
            logger.warning("%s It will be asked for again.", reason)


def approvals_in(settings: Settings) -> tuple[Part, ...]:
    """What the file of decisions lets through, for somebody to agree to; nothing if unreadable."""
    path = find_lock(settings)
    if path is None or not settings.file:
        return ()
    try:
        with os.fdopen(open_to_read(path), "rb") as opened:
            return tuple(_parts(read_lock(opened.read(MAX_BYTES).decode("utf-8"))))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, Unreadable) as reason:
        logger.debug("%s has no approvals to agree to: %s", path, reason)
        return ()


def _parts(lock: DecisionLock) -> Iterable[Part]:
    for source, decided in lock.sources.items():
        for tool, word in decided.approved.items():
            yield _part(source, tool, word)


def _part(source: str, tool: str, word: str) -> Part:
    fact = "agents call it without a question, as it is described"
    return Part(f"{APPROVED}{source}/{tool}", word, (fact,))
