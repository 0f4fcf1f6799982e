"""Request fields that a service has refused, so that later requests omit them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import is_overflow, words_of

# Complaints about a missing field name the field just as refusals do.
_IS_MISSING = re.compile(r"missing|must|required", re.IGNORECASE)
# As worded by OpenAI, vLLM, llama.cpp, OpenRouter and DeepSeek; by chat templates for text.
_NO_MEDIA = re.compile(
    r"image|picture|\bvision|multi-?modal|mmproj|audio|must be a string|expected a? ?string"
    r"|roles must alternate",
    re.IGNORECASE,
)
# Mistral's and Gemma's templates. They do not count calls and results, so a person's text may not
# follow a result either.
_MUST_ALTERNATE = re.compile("roles must alternate", re.IGNORECASE)
_MEDIA_STATUSES = {0, 400, 404, 413, 415, 422, 500, 501}
# As worded by OpenAI and DeepSeek; Groq; vLLM; llama.cpp.
_ABOUT_FORMAT = re.compile(
    r"response[_ ]format|text\.format|json[_ ]schema|structured[_ ]output|\bgrammar\b"
)
_LIMIT_NAMES = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}


@dataclass
class ServiceQuirks:
    """Request fields that this service rejects for a model, as long as the process lives.

    `refused` holds request fields, names of fields that the service itself added to messages, and
    `image` and `audio` for media in tool results. `limit_name` is the service's name for the answer
    limit; `window_tokens` the size it stated when a request was too long. With `alternates` it
    takes no two messages of the user without one of the assistant between them.
    """

    refused: set[str] = field(default_factory=set[str])
    limit_name: str = ""
    calls_functions: bool = True
    window_tokens: int = 0
    alternates: bool = False

    def learn(
        self,
        error: Any,
        body: Mapping[str, Any],
        *,
        optional: Collection[str],
        added: set[str],
        media: set[str],
    ) -> bool:
        """Learn from an `APIStatusError`; return True if a changed request makes sense.

        `optional` are fields of `body`, `added` the service's own fields in the messages, and
        `media` the kinds of media in tool results.
        """
        words, status = words_of(error.body), error.status_code
        if is_overflow(error.code, words):
            return False
        if status in {400, 422} and (
            self._learn_field(error.param, words, body, optional)
            or self._learn_added(f"{error.code} {words}", added)
            or self._learn_limit_name(error.param, words, body)
        ):
            return True
        return self.learn_media(words, status, media) or self._learn_alternation(words)

    def learn_media(self, words: str, status: int, media: set[str]) -> bool:
        """Drop one kind: the one named in the refusal, or else pictures before sounds.

        `status` is 0 if the refusal came in the middle of an answer.
        """
        remaining = sorted(media - self.refused, reverse=True)
        if not remaining or status not in _MEDIA_STATUSES or is_overflow(None, words):
            return False
        if status != 413 and not _NO_MEDIA.search(words):
            return False
        matches = [x for x in remaining if x in words.lower()]
        self.refused.add((matches or remaining)[0])
        return True

    def _learn_field(
        self, param: str | None, words: str, body: Mapping[str, Any], optional: Collection[str]
    ) -> bool:
        if param == "stream" and "stream" in body:
            # OpenAI streams some models to verified organisations only.
            self.refused |= {"stream", "stream_options"}
            return True
        names = [x for x in optional if x in body and _mentions(param, words, x)]
        if _ABOUT_FORMAT.search(f"{param or ''} {words}".lower()):
            names += [x for x in ("response_format", "text") if x in body]
        self.refused |= {*names[:1]}
        return bool(names)

    def _learn_added(self, words: str, added: set[str]) -> bool:
        names = {x for x in added - self.refused if _mentions(None, words, x)}
        if not names or _IS_MISSING.search(words):
            return False
        self.refused |= names
        return True

    def _learn_limit_name(self, param: str | None, words: str, body: Mapping[str, Any]) -> bool:
        for name, other in _LIMIT_NAMES.items():
            if name in body and not self.limit_name and _mentions(param, words, name):
                self.limit_name = other
                return True
        return False

    def _learn_alternation(self, words: str) -> bool:
        if self.alternates or not _MUST_ALTERNATE.search(words):
            return False
        self.alternates = True
        return True


_quirks: dict[tuple[str, str], ServiceQuirks] = {}


def quirks_of(address: str, model: str) -> ServiceQuirks:
    """Return the quirks of a model at an address; all its callers share one object."""
    return _quirks.setdefault((address, model), ServiceQuirks())


def _mentions(param: str | None, words: str, name: str) -> bool:
    """Return whether a refusal is about this parameter."""
    return param == name or bool(re.search(rf"\b{re.escape(name)}\b", words))
