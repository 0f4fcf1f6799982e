"""The types of fields in the settings: texts with variables, paths, seconds, URLs, secrets."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticKnownError

from ..core.errors import SettingsError
from ..core.patterns import guard
from ..secrets.secrets import Secret
from .document import Place
from .validation import context_of, mistake, prepared_by, read_by

T = TypeVar("T")

ALL_TOOLS = "*"
# An hour: a larger number is one of milliseconds.
_MAX_SECONDS = 3600
# Python refuses to write out integers of more than 4,300 digits; no variable holds one of these.
_MAX_NUMBER = 10**100
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# They are set from the content; another value would make the server misread the request.
_HEADERS_OF_BODY = ("content-length", "transfer-encoding")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_URL_TEXT = re.compile(r"[^\s\x00-\x1f\x7f]+")


def read_text(value: Any, info: ValidationInfo) -> str:
    """A text with its variables replaced; unchanged if the entry is disabled.

    Settings given in Python may also have paths and `Secret`s.
    """
    context = context_of(info)
    if isinstance(value, Secret):
        context.variables.secrets.add(value)
        value = value.reveal()
    text = os.fspath(cast(os.PathLike[str], value)) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise PydanticKnownError("string_type")
    try:
        text = context.variables.expand(text, Place(""))
    except SettingsError as cause:
        # A disabled entry does not need its variables.
        if not context.is_off:
            raise mistake(cause.problem, cause.fix) from None
    if "\0" in text or not _is_encodable(text):
        raise mistake("it contains U+0000 or a broken escape.", "Remove that character.")
    return text


def _is_encodable(text: str) -> bool:
    try:
        # Variables may hold bytes that are not UTF-8.
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def trimmed_text(value: Any, info: ValidationInfo) -> str:
    """A text without the spaces around it."""
    return read_text(value, info).strip()


def _secret_text(value: Any, info: ValidationInfo) -> Secret | None:
    """A text as a `Secret`; None if it is empty."""
    text = trimmed_text(value, info)
    return Secret(text) if text else None


def read_path(value: Any, info: ValidationInfo) -> str:
    """An absolute path."""
    return absolute(trimmed_text(value, info), info)


def absolute(path: str, info: ValidationInfo) -> str:
    """A path, which starts at the folder of the settings if it is relative."""
    folder = context_of(info).variables.folder
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def _words(value: Any) -> Any:
    """A list, which may be written as one text with spaces between its words."""
    return tuple(value.split()) if isinstance(value, str) else value


def read_patterns(value: Any, info: ValidationInfo) -> tuple[str, ...]:
    """Names and patterns of tools: one text, or a list of them."""
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, list | tuple):
        raise PydanticKnownError("list_type")
    items = cast(list[Any], values)
    texts = tuple(trimmed_text(x, info) if isinstance(x, str) else "" for x in items)
    if not all(texts):
        fix = 'Write texts such as "library", "files/read_file" or "files/read_*".'
        raise mistake("must be names or patterns of tools.", fix)
    return texts


def usable_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns, if all regular expressions among them are valid."""
    try:
        guard(*patterns)
    except ValueError as cause:
        fix = 'Write a text such as "get_*" or "regex:get_.+", or a list of them.'
        problem = f"has a regular expression that is not valid: {cause}."
        raise mistake(problem, fix) from None
    return patterns


def _environment_text(value: Any, info: ValidationInfo) -> str:
    """Numbers and booleans are common in `env`; the server gets them as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < _MAX_NUMBER):
        return str(value)
    return read_text(value, info)


def _environment_names(env: dict[str, str]) -> dict[str, str]:
    if any(not x or "=" in x or "\0" in x or not _is_encodable(x) for x in env):
        fix = "Use letters, digits and underscores."
        raise mistake("this is not a valid name of a variable.", fix)
    return env


def _seconds(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if not value > 0:  # written so that NaN is refused too
        raise mistake("must be more than 0 seconds.", "Write seconds, such as 60.")
    if value > _MAX_SECONDS:
        problem = "must be at most 3600 seconds; this looks like milliseconds."
        raise mistake(problem, "Write seconds, such as 60.")
    return value


def _tool_names(value: Any) -> Any:
    if isinstance(value, bool):
        return (ALL_TOOLS,) if value else ()
    return value


def _header_text(value: Any, info: ValidationInfo) -> str:
    text = trimmed_text(value, info)
    if not _HEADER_VALUE.fullmatch(text):
        raise mistake(
            "it contains a line break, or a character that headers cannot have.",
            "Use printable ASCII on one line, also in the variables.",
        )
    return text


def header_names(headers: dict[str, str]) -> dict[str, str]:
    """Headers by their names, if all of them can be sent."""
    if not all(_HEADER_NAME.fullmatch(x) for x in headers):
        fix = "Use letters, digits and hyphens, without the colon."
        raise mistake("this is not a valid name of a header.", fix)
    if name := next((x for x in headers if x.lower() in _HEADERS_OF_BODY), ""):
        raise mistake(f"{name} is set from the content.", "Remove it.")
    return headers


def wrong_with_url(url: str) -> str:
    """The problem of a URL, empty if it has none. Never quotes it."""
    if not url.lower().startswith(("http://", "https://")):
        return "it does not start with http:// or https://."
    if not _URL_TEXT.fullmatch(url):
        return "it contains a space or a line break."
    try:
        parts = urlsplit(url)
        # Reading the port is what checks it.
        host_and_port = parts.hostname, parts.port
    except ValueError:
        return "its host or port is not valid."
    return "" if host_and_port[0] else "it has no host."


def _url(value: Any, info: ValidationInfo) -> str:
    url = trimmed_text(value, info)
    if not context_of(info).is_off and (problem := wrong_with_url(url)):
        raise mistake(problem, "Write a full address such as https://example.com.")
    return url


def _optional_url(value: Any, info: ValidationInfo) -> str:
    return _url(value, info) if trimmed_text(value, info) else ""


# The names of the JSON Schema say what an editor should offer; a validator reads more than that.
Text = Annotated[str, read_by(read_text)]
TrimmedText = Annotated[str, read_by(trimmed_text)]
SecretText = Annotated[Secret | None, read_by(_secret_text)]
Path = Annotated[str, read_by(read_path)]
Url = Annotated[str, read_by(_url)]
OptionalUrl = Annotated[str, read_by(_optional_url)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=1)]
Seconds = Annotated[float, Field(strict=True), BeforeValidator(_seconds)]
Texts = tuple[Text, ...]
Words = Annotated[tuple[TrimmedText, ...], prepared_by(_words, str | list[str])]
Patterns = Annotated[tuple[str, ...], read_by(read_patterns, str | list[str])]
UsablePatterns = Annotated[Patterns, AfterValidator(usable_patterns)]
Environment = Annotated[
    dict[str, Annotated[str, read_by(_environment_text, str | int | float | bool)]],
    AfterValidator(_environment_names),
]
ToolNames = Annotated[
    tuple[Annotated[str, Field(strict=True)], ...], prepared_by(_tool_names, bool | list[str])
]
HeaderText = Annotated[str, read_by(_header_text)]
Headers = Annotated[dict[str, HeaderText], AfterValidator(header_names)]
