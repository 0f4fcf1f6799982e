"""What a service turned out to refuse of its requests, so that it is asked without."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import openai_errors as errors
from .openai_format import is_about_format

# A service that misses a field in one message names it as one that refuses it does.
_MISSED = re.compile(r"missing|must|required", re.IGNORECASE)
# In the words of OpenAI, vLLM, llama.cpp, OpenRouter and DeepSeek; of chat templates for text.
_NO_MEDIA = re.compile(
    r"image|picture|\bvision|multi-?modal|mmproj|audio|must be a string|expected a? ?string"
    r"|roles must alternate",
    re.IGNORECASE,
)
_MEDIA_STATUSES = {400, 404, 413, 415, 422, 500, 501}


@dataclass
class Learned:
    """Names of what this service refuses, kept for the model's life.

    Fields of the request, of what the service added to messages, and `image` and `audio` for those
    in tool results. `limit_name` is the name that it wants for the limit of its answers.
    """

    refused: set[str] = field(default_factory=set[str])
    limit_name: str = ""

    def from_error(
        self,
        cause: Exception,
        body: Mapping[str, Any],
        *,
        optional: Collection[str],
        added: set[str],
        media: set[str],
    ) -> bool:
        """Learn from a refusal; True when asking again without what it names makes sense.

        `optional` are fields of `body`; `added` went back to the service as it had added it;
        `media` are the kinds that tool results hold.
        """
        import openai  # Here, because it is heavy; it was loaded when the client was made.

        if not isinstance(cause, openai.APIStatusError):
            return False
        words = errors.words_of(cause.body)
        if errors.is_overflow(cause.code, words):
            return False
        if cause.status_code in {400, 422} and (
            self._field(cause.param, words, body, optional)
            or self._added(f"{cause.code} {words}", added)
            or self._other_limit(cause.param, words, body)
        ):
            return True
        is_too_large = cause.status_code == 413
        return cause.status_code in _MEDIA_STATUSES and self._media(words, media, is_too_large)

    def from_words(self, words: str, media: set[str]) -> bool:
        """Learn from an error in the middle of an answer; `media` as in `from_error`."""
        return not errors.is_overflow(None, words) and self._media(words, media)

    def _field(
        self, param: str | None, words: str, body: Mapping[str, Any], optional: Collection[str]
    ) -> bool:
        if param == "stream" and "stream" in body:
            # OpenAI streams some models to verified organisations only.
            self.refused |= {"stream", "stream_options"}
            return True
        named = [x for x in optional if x in body and _names(param, words, x)]
        if is_about_format(param, words):
            named += [x for x in ("response_format", "text") if x in body]
        self.refused |= {*named[:1]}
        return bool(named)

    def _added(self, words: str, added: set[str]) -> bool:
        """Take out what a service that was sent what it added itself refuses of it."""
        taken = {x for x in added - self.refused if _mentions(words, x)}
        if not taken or _MISSED.search(words):
            return False
        self.refused |= taken
        return True

    def _other_limit(self, param: str | None, words: str, body: Mapping[str, Any]) -> bool:
        pair = ("max_tokens", "max_completion_tokens")
        for name, other in (pair, pair[::-1]):
            if name in body and not self.limit_name and _names(param, words, name):
                self.limit_name = other
                return True
        return False

    def _media(self, words: str, media: set[str], is_too_large: bool = False) -> bool:
        """Take out one kind: the one that is named, or else pictures before sounds."""
        left = sorted(media - self.refused, reverse=True)
        if not left or not (is_too_large or _NO_MEDIA.search(words)):
            return False
        named = [x for x in left if x in words.lower()]
        self.refused.add((named or left)[0])
        return True


def _names(param: str | None, words: str, name: str) -> bool:
    """Whether a refusal is about this parameter."""
    return param == name or _mentions(words, name)


def _mentions(words: str, name: str) -> bool:
    return bool(re.search(rf"\b{re.escape(name)}\b", words))
