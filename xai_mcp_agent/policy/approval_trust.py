"""Trust in permanent approvals: they count if this user gave them or agreed to them.

The lock file that contains them comes with a clone. Another person's approval must not let calls
through before this user has seen it. See `settings.trust`.
"""

from __future__ import annotations

import logging

from ..core.errors import LockFailed, SettingsError
from ..settings.models import Settings, SettingsPart
from ..settings.trust import APPROVED, TrustStore
from .lockfile import find_lock, read_decisions

logger = logging.getLogger(__name__)


class ApprovalTrust:
    """Which approvals in the lock file of these settings count."""

    def __init__(self, settings: Settings) -> None:
        self._file = settings.file
        self._is_vouched = settings.is_from_python or settings.is_vouched
        self._store = TrustStore()

    def counts(self, source: str, tool: str, word: str) -> bool:
        """Whether this user agreed to an approval, or named the settings in their own program."""
        return self._is_vouched or self._store.agrees_to(self._file, _part(source, tool, word))

    def agree(self, source: str, tool: str, word: str) -> None:
        """Record that this user approves; without a `word`, forget that they did."""
        if self._is_vouched:
            return
        try:
            self._store.agree_to(self._file, _part(source, tool, word))
        except SettingsError as reason:
            logger.warning("%s It will be asked for again.", reason)


def approvals_in(settings: Settings) -> tuple[SettingsPart, ...]:
    """Return the approvals in the lock file, for a person to agree to; empty if unreadable."""
    path = find_lock(settings)
    if path is None or not settings.file:
        return ()
    try:
        lock = read_decisions(path)
    except LockFailed as reason:
        logger.debug("%s has no approvals to agree to: %s", path, reason)
        return ()
    return tuple(
        _part(source, tool, word)
        for source, lock_of_source in lock.sources.items()
        for tool, word in lock_of_source.approved.items()
    )


def _part(source: str, tool: str, word: str) -> SettingsPart:
    fact = "agents call it without asking, with its present definition"
    return SettingsPart(f"{APPROVED}{source}/{tool}", word, (fact,))
