"""Hides the secrets of a run in what people see of it on the screen.

Only what is known to be one, or cannot be anything else: a rule that guesses by the words around
a value, as for a server's stderr, would hide answers, too ("the key: turn it twice").
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, cast

from ..settings.secret_rules import secrets_in_env, tokens_in_text
from ..settings.secrets import Secret, Secrets
from .screen.text import Mask

# Shorter ones are words as well: DESKTOP_SESSION=ubuntu.
_LEAST_CHARS_IN_ENVIRONMENT = 12


def learn_keys(ctx: Any, secrets: Secrets) -> None:
    """Add the keys of all agents of this run to the secrets that are known."""
    # Copied first: agents in other threads write into the same `ctx`.
    agents = [cast(dict[str, Any], x) for x in list(ctx.values()) if isinstance(x, dict)]
    secrets.update(x for agent in agents for x in list(agent.values()) if isinstance(x, Secret))


def mask_of(known: Iterable[Secrets]) -> Mask:
    """A function that puts `***` in place of these secrets, the environment's, and of tokens."""
    found = secrets_in_env(os.environ)
    environment = Secrets(x for x in found if len(x) >= _LEAST_CHARS_IN_ENVIRONMENT)
    all_known = (*known, environment)

    def mask(text: str) -> str:
        tokens = tokens_in_text(text)
        for secrets in (*all_known, Secrets(tokens)) if tokens else all_known:
            text = secrets.mask(text)
        return text

    return mask
