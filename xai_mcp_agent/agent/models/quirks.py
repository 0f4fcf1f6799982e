"""What a service turned out to refuse of its requests, so that it is asked without."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import is_overflow, words_of

# A service that misses a field in one message names it as one that refuses it does.
_MISSED = re.compile(r"missing|must|required", re.IGNORECASE)
# In the words of OpenAI, vLLM, llama.cpp, OpenRouter and DeepSeek; of chat templates for text.
_NO_MEDIA = re.compile(
    r"image|picture|\bvision|multi-?modal|mmproj|audio|must be a string|expected a? ?string"
    r"|roles must alternate",
    re.IGNORECASE,
)
_MEDIA_STATUSES = {400, 404, 413, 415, 422, 500, 501}
# In the words of OpenAI and DeepSeek; Groq; vLLM; llama.cpp.
_ABOUT_FORMAT = re.compile(
    r"response[_ ]format|text\.format|json[_ ]schema|structured[_ ]output|\bgrammar\b"
)
_LIMIT_NAMES = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}


@dataclass
class ServiceQuirks:
    """Request fields that this service rejects for a model, kept for the process.

    `refused` are fields of the request, names of what the service added to messages, and `image`
    and `audio` for those in tool results. `limit_name` is its name for the limit of an answer;
    `window_tokens` what it said when a request was too long for it.
    """

    refused: set[str] = field(default_factory=set[str])
    limit_name: str = ""
    calls_functions: bool = True
    window_tokens: int = 0

    def learn(
        self,
        error: Any,
        body: Mapping[str, Any],
        *,
        optional: Collection[str],
        added: set[str],
        media: set[str],
    ) -> bool:
        """Learn from an `APIStatusError`; True when asking again in another way makes sense.

        `optional` are fields of `body`; `added` went back to the service as it had added it;
        `media` are the kinds that tool results hold.
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
        return status in _MEDIA_STATUSES and self.learn_media(words, media, status == 413)

    def learn_media(self, words: str, media: set[str], is_too_large: bool = False) -> bool:
        """Leave out one kind: the one that is named, or else pictures before sounds."""
        left = sorted(media - self.refused, reverse=True)
        if not left or is_overflow(None, words):
            return False
        if not is_too_large and not _NO_MEDIA.search(words):
            return False
        named = [x for x in left if x in words.lower()]
        self.refused.add((named or left)[0])
        return True

    def _learn_field(
        self, param: str | None, words: str, body: Mapping[str, Any], optional: Collection[str]
    ) -> bool:
        if param == "stream" and "stream" in body:
            # OpenAI streams some models to verified organisations only.
            self.refused |= {"stream", "stream_options"}
            return True
        named = [x for x in optional if x in body and _names(param, words, x)]
        if _ABOUT_FORMAT.search(f"{param or ''} {words}".lower()):
            named += [x for x in ("response_format", "text") if x in body]
        self.refused |= {*named[:1]}
        return bool(named)

    def _learn_added(self, words: str, added: set[str]) -> bool:
        named = {x for x in added - self.refused if _names(None, words, x)}
        if not named or _MISSED.search(words):
            return False
        self.refused |= named
        return True

    def _learn_limit_name(self, param: str | None, words: str, body: Mapping[str, Any]) -> bool:
        for name, other in _LIMIT_NAMES.items():
            if name in body and not self.limit_name and _names(param, words, name):
                self.limit_name = other
                return True
        return False


_quirks: dict[tuple[str, str], ServiceQuirks] = {}


def quirks_of(address: str, model: str) -> ServiceQuirks:
    """What is known of a model at an address; the same object for all who ask it."""
    return _quirks.setdefault((address, model), ServiceQuirks())


def forget_quirks() -> None:
    """Know nothing of any service, as at the start of the process."""
    _quirks.clear()


def _names(param: str | None, words: str, name: str) -> bool:
    """Whether a refusal is about this parameter."""
    return param == name or bool(re.search(rf"\b{re.escape(name)}\b", words))
