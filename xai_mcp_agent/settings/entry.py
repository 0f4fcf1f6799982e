"""Entries of sources: the keys that all kinds share, and the reader of one entry.

The types of fields come first: texts with variables, paths, seconds, URLs, secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticKnownError

from ..core.calls import DefinitionLock
from ..core.errors import SettingsError
from ..core.patterns import guard
from ..core.tools import SourceKind
from ..secrets.search import secrets_in_args, secrets_in_env, secrets_in_headers, secrets_in_text
from ..secrets.secrets import Secret, Secrets
from .approval import HOW_TO_WRITE, ApprovalWord, read_words
from .document import KeyPlace
from .interpolation import Variables
from .validation import (
    INTERNAL,
    Section,
    ValidationContext,
    context_of,
    file_keys,
    mistake,
    prepared_by,
    read,
    read_by,
)

T = TypeVar("T")

ALL_TOOLS = "*"
# One hour: a larger number is in milliseconds.
_MAX_SECONDS = 3600
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# HTTP sets these from the content; another value would make the server misread the request.
_HEADERS_OF_BODY = ("content-length", "transfer-encoding")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_URL_TEXT = re.compile(r"[^\s\x00-\x1f\x7f]+")


def read_text(value: Any, info: ValidationInfo) -> str:
    """Read a text and replace its variables; a disabled entry may keep them.

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
        text = context.variables.expand(text, KeyPlace(""))
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
    """Read a text and strip the spaces around it."""
    return read_text(value, info).strip()


def _secret_text(value: Any, info: ValidationInfo) -> Secret | None:
    """Read a text as a `Secret`; None if the text is empty."""
    text = trimmed_text(value, info)
    context_of(info).variables.secrets.add(text)
    return Secret(text) if text else None


def remembering(find: Callable[[Any], Iterable[str]]) -> Any:
    """Annotate a field so that the secrets in its value are remembered, to be masked."""

    def remember(value: Any, info: ValidationInfo) -> Any:
        context_of(info).variables.secrets.update(find(value))
        return value

    return AfterValidator(remember)


def read_path(value: Any, info: ValidationInfo) -> str:
    """Read a path and make it absolute."""
    return absolute(trimmed_text(value, info), info)


def absolute(path: str, info: ValidationInfo) -> str:
    """Make a path absolute; a relative one starts at the folder of the settings."""
    folder = context_of(info).variables.folder
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def _words(value: Any) -> Any:
    """Split a text at its spaces; return any other value unchanged."""
    return tuple(value.split()) if isinstance(value, str) else value


def read_patterns(value: Any, info: ValidationInfo) -> tuple[str, ...]:
    """Read names and patterns of tools: one text, or a list of texts."""
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
    """Return the patterns if every regular expression among them is valid."""
    try:
        guard(*patterns)
    except ValueError as cause:
        fix = 'Write a text such as "get_*" or "regex:get_.+", or a list of them.'
        problem = f"has a regular expression that is not valid: {cause}."
        raise mistake(problem, fix) from None
    return patterns


def _environment_text(value: Any, info: ValidationInfo) -> str:
    """Read a text; numbers and booleans are common in `env`, and the server gets them as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
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
    """Return the headers if every name is valid and may be set."""
    if not all(_HEADER_NAME.fullmatch(x) for x in headers):
        fix = "Use letters, digits and hyphens, without the colon."
        raise mistake("this is not a valid name of a header.", fix)
    if name := next((x for x in headers if x.lower() in _HEADERS_OF_BODY), ""):
        raise mistake(f"{name} is set from the content.", "Remove it.")
    return headers


def url_problem(url: str) -> str:
    """Return the problem of a URL, or "" if it has none. Never quote the URL."""
    if not url.lower().startswith(("http://", "https://")):
        return "it does not start with http:// or https://."
    if not _URL_TEXT.fullmatch(url):
        return "it contains a space or a line break."
    try:
        parts = urlsplit(url)
        # urlsplit checks the port only when it is read.
        host_and_port = parts.hostname, parts.port
    except ValueError:
        return "its host or port is not valid."
    return "" if host_and_port[0] else "it has no host."


def _url(value: Any, info: ValidationInfo) -> str:
    url = trimmed_text(value, info)
    if not context_of(info).is_off and (problem := url_problem(url)):
        raise mistake(problem, "Write a full address such as https://example.com.")
    return url


def _optional_url(value: Any, info: ValidationInfo) -> str:
    return _url(value, info) if trimmed_text(value, info) else ""


# The JSON Schema type is what an editor should suggest; a validator accepts more.
Text = Annotated[str, read_by(read_text)]
TrimmedText = Annotated[str, read_by(trimmed_text)]
SecretText = Annotated[Secret | None, read_by(_secret_text)]
Path = Annotated[str, read_by(read_path)]
MaskedText = Annotated[Text, remembering(secrets_in_text)]
Url = Annotated[str, read_by(_url)]
OptionalUrl = Annotated[str, read_by(_optional_url)]
# Not for every address: the tenant in a sign-in URL looks random, but is no secret.
MaskedUrl = Annotated[OptionalUrl, remembering(secrets_in_text)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=1)]
Seconds = Annotated[float, Field(strict=True), BeforeValidator(_seconds)]
Texts = tuple[Text, ...]
Arguments = Annotated[Texts, remembering(secrets_in_args)]
Words = Annotated[tuple[TrimmedText, ...], prepared_by(_words, str | list[str])]
Patterns = Annotated[tuple[str, ...], read_by(read_patterns, str | list[str])]
UsablePatterns = Annotated[Patterns, AfterValidator(usable_patterns)]
Environment = Annotated[
    dict[str, Annotated[str, read_by(_environment_text, str | int | float | bool)]],
    AfterValidator(_environment_names),
    remembering(secrets_in_env),
]
ToolNames = Annotated[
    tuple[Annotated[str, Field(strict=True)], ...], prepared_by(_tool_names, bool | list[str])
]
HeaderText = Annotated[str, read_by(_header_text)]
Headers = Annotated[
    dict[str, HeaderText], AfterValidator(header_names), remembering(secrets_in_headers)
]


FIRST = "first"
CALL_TIMEOUT_SECONDS = 60.0  # long enough for a slow search or build, short enough to notice
START_TIMEOUT_SECONDS = 30.0  # npx and uvx download the server on first use
WAIT_SECONDS = 20.0  # for a first start with a download, or many servers on few cores
KEEP_WARM_SECONDS = 600.0  # time to read an answer and change the workflow

# A server restart or a short network failure costs a call or two, not five.
_BREAKER_FAILURES = 5
# The longest pause before a source reconnects by itself.
_BREAKER_SECONDS = 30.0


@dataclass(frozen=True)
class BreakerSettings(Section):
    """Circuit breaker: after so many failures in a row, a source rests for some seconds."""

    example: ClassVar = '{"failures": 5, "seconds": 30}, or false for none'
    is_strict: ClassVar = True

    failures: Count = _BREAKER_FAILURES
    seconds: Seconds = _BREAKER_SECONDS


def _breaker(value: Any) -> Any:
    if value is True:
        return cast(dict[str, Any], {})
    return None if value is False else value


def _approval(value: Any) -> dict[str, ApprovalWord]:
    try:
        return read_words(value)
    except ValueError as why:
        raise mistake(str(why), HOW_TO_WRITE) from None


def _lock(value: Any) -> DefinitionLock:
    if value is True or value is False or value == FIRST:
        return value
    problem = f"must be true, false or {FIRST!r}."
    raise mistake(problem, f'Write true, or "{FIRST}" to accept its first listing.')


NotNegative = Annotated[float, Field(strict=True, ge=0)]
Approval = Annotated[
    dict[str, ApprovalWord], read_by(_approval, ApprovalWord | dict[str, ApprovalWord])
]


@dataclass(frozen=True, kw_only=True, repr=False)
class SourceSettings(Section):
    """One complete entry: variables are replaced, paths are absolute, and limits are set.

    `auto_approve` lists tools that need no approval (`ALL_TOOLS`: no tool needs one), and
    `approval` has words for patterns of tools. With `lock`, tools and instructions must match the
    accepted ones. A run fails if a `required` source has no tool. Without a `breaker` the source is
    called however often it failed. In a kernel the source stays for `keep_warm_seconds` after a
    run; None: for the time in the settings. A disabled entry keeps its texts as written. `secrets`
    are the known secrets of the whole file.
    """

    kind: ClassVar[SourceKind]
    noun: ClassVar[str]  # what to call such a source
    # Other hosts show some of these keys to people; the rest say where an entry came from.
    ignored_keys: ClassVar = (
        "//", "$schema", "comment", "description", "displayName", "gallery", "icon", "name",
        "note", "notes", "registry", "tags", "title", "version",
    )  # fmt: skip

    name: Annotated[str, INTERNAL] = ""
    transport: Annotated[str, INTERNAL] = ""  # how the source is reached, in one word
    call_timeout_seconds: Annotated[Seconds, file_keys("timeout")] = CALL_TIMEOUT_SECONDS
    disabled: Flag = False
    # The opposite of `disabled`, as some clients write it; `read` converts it.
    enabled: Flag = field(default=True, compare=False)
    auto_approve: ToolNames = ()
    approval: Approval = field(default_factory=dict[str, ApprovalWord], hash=False)
    disabled_tools: Annotated[Texts, AfterValidator(usable_patterns)] = ()
    lock: Annotated[DefinitionLock, read_by(_lock, DefinitionLock)] = False
    required: Flag = False
    breaker: Annotated[BreakerSettings | None, prepared_by(_breaker, BreakerSettings | bool)] = (
        BreakerSettings()
    )
    keep_warm_seconds: NotNegative | None = None
    secrets: Annotated[Secrets, INTERNAL, WithJsonSchema({})] = field(
        default_factory=Secrets, compare=False
    )

    @classmethod
    def read(
        cls,
        name: str,
        value: Any,
        place: KeyPlace,
        variables: Variables,
        notes: list[str] | None = None,
    ) -> Self:
        """Read the entry `value` at `place`, and add its secrets to the known ones.

        Unknown and unused keys are added to the `notes`.

        Raises:
            SettingsError: a value in the entry is wrong or missing.
        """
        notes = [] if notes is None else notes
        entry = cast(Mapping[Any, Any], value if isinstance(value, Mapping) else {})
        is_off = entry.get("disabled") is True or entry.get("enabled") is False
        context = ValidationContext(variables, is_off)
        source = read(cls.entry_class(), value, place, context, notes)
        for key in source.unused_keys():
            text = f"ignored: a {cls.kind.noun} of type {source.transport} has no {key}."
            notes.append(place.at(key).note(text))
        return replace(source, name=name, disabled=is_off, enabled=True, secrets=variables.secrets)

    @classmethod
    def entry_class(cls) -> type[Self]:
        """Return the class that parses an entry of this kind."""
        return cls

    def unused_keys(self) -> Iterable[str]:
        """Return the keys in the entry that its transport does not use."""
        return ()

    @property
    def origin(self) -> object:
        """The origin of the tools; two sources with the same name and origin are the same."""
        return self.name

    def __repr__(self) -> str:
        """Return the name alone: every other field may have a secret."""
        return f"{type(self).__name__}({self.name!r}, {self.transport!r})"
