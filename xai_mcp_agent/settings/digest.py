"""Keyed digests of settings with their variables replaced, to compare two settings.

Without the key, a digest reveals nothing about the secrets in the settings, and they cannot be
guessed by trial.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from ..secrets.private_files import file_lock, make_private_folder, replace_private
from ..secrets.secrets import Secret, Secrets

_KEY_BYTES = 32
_LOCK_SECONDS = 5.0


def digest_of(value: object, key: bytes) -> str:
    """Return the digest of all settings or of one source's; equal settings have equal digests."""
    text = json.dumps(value, sort_keys=True, default=_plain)
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def user_key() -> bytes:
    """Return this user's key for digests that several processes compare; create it if needed.

    Raises:
        OSError: the key can be neither read nor written.
    """
    from platformdirs import user_state_path

    file = user_state_path("xai-mcp-agent", appauthor=False) / "digest.key"
    make_private_folder(file.parent)
    with file_lock(file.with_suffix(".lock"), _LOCK_SECONDS):
        if not file.is_file():
            replace_private(file, secrets.token_bytes(_KEY_BYTES))
        return file.read_bytes()


def _plain(value: Any) -> Any:
    """Return a value for JSON. `Secrets` are left out: the texts contain them already."""
    if isinstance(value, Secrets):
        return None
    if isinstance(value, Secret):
        return value.reveal()
    if is_dataclass(value) and not isinstance(value, type):
        return {x.name: getattr(value, x.name) for x in fields(value)}
    if isinstance(value, Mapping):
        return dict(cast(Mapping[Any, Any], value))
    if isinstance(value, set | frozenset):
        return sorted(map(str, cast(set[Any], value)))
    return str(value)
