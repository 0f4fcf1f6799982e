"""Credentials that a program gives, as the settings have them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from ...core.errors import BadSetting
from ...settings.interpolation import Variables
from ...settings.openapi import CredentialsByScheme, CredentialSettings
from ...settings.validation import ValidationContext, known_keys
from .calls.auth import Credentials

Auth: TypeAlias = Mapping[str, Any] | str
"""As `auth` in the settings. A text is the key or the token of whatever wants one; so is one that
stands at the name of a scheme."""


def read_credentials(auth: Auth) -> Credentials:
    """The credentials, variables in them replaced from the environment.

    Raises:
        BadSetting: they are none; says where, and no secret.
    """
    known = known_keys(CredentialSettings)
    given: Any = _of_text(auth) if isinstance(auth, str) else dict(auth)
    written = {
        x: _of_text(y) if isinstance(y, str) and x not in known else y for x, y in given.items()
    }
    adapter: TypeAdapter[Credentials] = TypeAdapter(CredentialsByScheme)
    try:
        return adapter.validate_python(
            written, context=ValidationContext(Variables(os.environ, ""))
        )
    except ValidationError as cause:
        error = cause.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(x) for x in error["loc"] if x)
        raise BadSetting(
            f"`auth`{f', at {where}' if where else ''}: {error['msg']} "
            'Give such as {"apiKey": "${NAME}"}, {"bearer": "${NAME}"}, or username and password.'
        ) from None


def _of_text(text: str) -> dict[str, str]:
    return {"apiKey": text, "bearer": text}
