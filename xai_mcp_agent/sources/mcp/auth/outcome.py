"""What the browser brought back from a sign-in, wherever it was read."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, repr=False)
class Outcome:
    """A code that a token can be had for, or an error. Printing it shows neither."""

    code: str = ""
    state: str | None = None
    issuer: str | None = None
    error: str = ""
    description: str = ""


def outcome_in(text: str, state: str) -> Outcome | None:
    """The outcome in an address that the browser was sent to, or in a code alone; None if in none.

    `state` is ours, and goes with a code alone: whoever hands us one vouches for it.
    """
    text = text.strip()
    found = outcome_in_query(urlsplit(text).query or text)
    if found is not None:
        return found
    is_code = text and "://" not in text and not any(x.isspace() for x in text)
    return Outcome(text, state) if is_code else None


def outcome_in_query(query: str) -> Outcome | None:
    """The outcome in what follows the question mark of such an address."""
    found = {name: values[0] for name, values in parse_qs(query).items()}
    if "code" not in found and "error" not in found:
        return None
    return Outcome(
        found.get("code", ""),
        found.get("state"),
        found.get("iss"),
        found.get("error", ""),
        found.get("error_description", ""),
    )
