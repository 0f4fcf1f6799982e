"""Which model searches by meaning: an endpoint's, or one in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.errors import SettingsError
from ..core.names import did_you_mean
from ..secrets.redactor import secrets_in_url
from ..secrets.secrets import Secret
from .document import Place, kind_of
from .interpolation import Variables

_KEYS = ("model", "baseUrl", "apiKey", "folder")
_FIX = 'Write {"model": "...", "baseUrl": "..."}, or {"folder": "..."}.'


@dataclass(frozen=True)
class EmbeddingSettings:
    """Either the `folder` of a model, or its name at an OpenAI-compatible endpoint or in a package.

    Without a `base_url` it is the installed model of that name; where no package brings it, the
    endpoint is the one in OPENAI_BASE_URL, or OpenAI's.
    """

    model: str = ""
    base_url: str = field(default="", repr=False)  # a password may stand in it
    api_key: Secret | None = None
    folder: Path | None = None


def read_embeddings(
    written: Mapping[str, Any], place: Place, variables: Variables, notes: list[str]
) -> EmbeddingSettings | None:
    """What is written there; None where nothing is, or something that is wrong, which is noted."""
    try:
        return _read(written, place, variables, notes) if written else None
    except SettingsError as reason:
        notes.append(f"{reason} Until then tools are searched by their words.")
        return None


def _read(
    written: Mapping[str, Any], place: Place, variables: Variables, notes: list[str]
) -> EmbeddingSettings:
    for key in (x for x in written if x not in _KEYS):
        hint = did_you_mean(str(key), _KEYS)
        notes.append(place.at(str(key)).note(f"this key is not known. {hint}".strip()))
    texts = {key: _text(written.get(key), place.at(key), variables) for key in _KEYS}
    if bool(texts["model"]) == bool(texts["folder"]):
        raise place.error("must name either a model of an endpoint or a folder.", _FIX)
    variables.secrets.update([texts["apiKey"], *secrets_in_url(texts["baseUrl"])])
    folder = os.path.join(variables.folder, os.path.expanduser(texts["folder"]))
    return EmbeddingSettings(
        texts["model"],
        texts["baseUrl"],
        Secret(texts["apiKey"]) if texts["apiKey"] else None,
        Path(folder) if texts["folder"] else None,
    )


def _text(value: Any, place: Place, variables: Variables) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, Path):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise place.error(f"must be a text, but is {kind_of(value)}.", _FIX)
    return variables.expand(value or "", place).strip()
