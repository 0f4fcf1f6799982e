"""Names: the shown name of a tool, and the nearest known name for a wrong one."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

from .tools import ToolKey, find_kind

# The strictest rule among the providers: OpenAI, Anthropic and Gemini all accept this.
MAX_SHOWN_NAME = 64
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]+")
_DIGEST_LENGTH = 8
_MOST_NAME_CHARS = 300  # of a name that is compared with others; models may write anything
_SEPARATORS, _AROUND = re.compile(r"[-_.\s]+"), re.compile("_?/_?")
# Letters and digits that look the same in most fonts.
_LOOKS_LIKE = {
    letter: plain
    for plain, lookalikes in {
        "a": "аαɑᴀ", "b": "ьβƅʙв", "c": "сϲᴄ", "d": "ԁɗđᴅ", "e": "еєεҽᴇ", "f": "ẝꜰϝ",
        "g": "ɡցɢγ", "h": "һհħʜн", "i": "іιıɩɪ", "j": "јյϳᴊ", "k": "кκᴋ", "l": "ӏłʟ1", "m": "мᴍ",
        "n": "ոηпɴ", "o": "оοσօøᴏ0", "p": "рρᴘ", "q": "ԛգ", "r": "гʀ", "s": "ѕꜱ", "t": "тτᴛ",
        "u": "υսμᴜ", "v": "ѵνᴠ", "w": "ԝωաᴡ", "x": "хχ", "y": "уүʏ", "z": "ᴢ",
    }.items()
    for letter in lookalikes
}  # fmt: skip
_SAME = str.maketrans(_LOOKS_LIKE)
# Invisible letters and signs, besides marks and controls.
_BLANK_LETTERS = "\u115f\u1160\u3164\uffa0\u2800"
_AS_SEPARATOR = ("Pd", "Pc", "Zs", "Zl", "Zp")


class ShownNames:
    """Assigns each tool the name that a model reads; no two tools share a name.

    A shown name is `<source>_<tool>`, or just `<tool>` for a source without a name (tools drawn on
    the canvas) or of the same name (a workflow). It follows the rules of every provider and has at
    most `MAX_SHOWN_NAME` characters. A name that had to be changed or shortened, or that is taken,
    ends in a digest of its key; so it is stable from run to run as long as tools are shown in a
    stable order. `names` are from an earlier run.

    A name also counts as taken if another source's tool has a similar-looking name, or if it begins
    like the names of another of the `sources`, connected or not.
    """

    def __init__(
        self, names: Iterable[tuple[ToolKey, str]] = (), sources: Iterable[str] = ()
    ) -> None:
        self._name_of: dict[ToolKey, str] = dict(names)
        self._assigned_names = set(self._name_of.values())
        self._source_by_start = {skeleton(x): x for x in sources if skeleton(x)}
        # By skeleton: the source that a shown name belongs to, and the sources with a tool of that
        # name.
        self._owner_of: dict[str, str] = {}
        self._own: defaultdict[str, set[str]] = defaultdict(set)
        self._keys: set[ToolKey] = set()

    def show(self, key: ToolKey) -> str:
        """Return the shown name of `key`; it is assigned on first use and never changes."""
        if key not in self._keys:
            if key not in self._name_of:
                self._name_of[key] = self._new_name(key)
            name = self._name_of[key]
            self._assigned_names.add(name)
            self._keys.add(key)
            self._owner_of.setdefault(skeleton(name), key.source)
            self._own[skeleton(key.name)].add(key.source)
        return self._name_of[key]

    def is_clear(self, name: str, source: str) -> bool:
        """Return whether a tool's own name means this source, whichever others are connected."""
        look = skeleton(name)
        owners = {*self._own.get(look, ()), self._owner_of.get(look, source)}
        return owners <= {source} and not self._owner_by_start(look, source)

    def _new_name(self, key: ToolKey) -> str:
        name, attempt = _plain_name(key), 0
        # More than one attempt only if another tool has the digest name as its own name.
        while name is None or self._is_taken(name, key, is_plain=not attempt):
            name, attempt = _digest_name(key, attempt), attempt + 1
        return name

    def _is_taken(self, name: str, key: ToolKey, *, is_plain: bool) -> bool:
        if name in self._assigned_names:
            return True
        look = skeleton(name)
        if self._owner_of.get(look, key.source) != key.source:
            return True
        # Tools without a source are ours or drawn by a person, who may choose any name.
        return bool(is_plain and key.source and self._owner_by_start(look, key.source))

    def _owner_by_start(self, look: str, source: str) -> str:
        """Return another source that a name with this skeleton seems to belong to, or "".

        The longest prefix counts: `git_hub_search` belongs to `git_hub` rather than to `git`.
        """
        end = len(look)
        while end > 0:
            owner = self._source_by_start.get(look[:end])
            if owner is not None:
                return owner if skeleton(owner) != skeleton(source) else ""
            end = look.rfind("_", 0, end)
        return ""


def join_names(names: Sequence[str], most: int) -> str:
    """Return the first `most` names as text, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def may_be_of(shown_name: str, source: str) -> bool:
    """Return whether a name that a model wrote may be one of this source's tools."""
    start = f"{source}_"
    readable = _NOT_ALLOWED.sub("_", start).lstrip("_")[: MAX_SHOWN_NAME - _DIGEST_LENGTH - 1]
    return shown_name == source or shown_name.startswith((start, readable or start))


def skeleton(name: str) -> str:
    """Return the same text for all names that a person may confuse with each other.

    It ignores case, alphabet, width, marks and invisible characters of the letters, and the
    separators between words.
    """
    return fold_name(name).strip("_")


def fold_letters(name: str) -> str:
    """Return a skeleton without separators of words: `d el` and `d-el` become `del`."""
    return fold_name(name).replace("_", "")


@lru_cache(maxsize=10_000)
def fold_name(name: str) -> str:
    """Return the skeleton of a part of a name; separators at its ends stay."""
    if not (name.isascii() and name.isprintable()):
        plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
        name = "".join(map(_visible_part, plain))
    return _AROUND.sub("/", _SEPARATORS.sub("_", name.lower().translate(_SAME)))


def nearest(name: str, candidates: Iterable[str], *, count: int = 3) -> list[str]:
    """Return the candidates most like `name`, best first; those that contain it come last."""
    # Imported here because most names are right.
    from rapidfuzz import fuzz, process

    text = name[:_MOST_NAME_CHARS].lower()
    by_lowercase = {x.lower(): x for x in candidates}
    names = list(by_lowercase)  # rapidfuzz takes a list three times as fast as keys
    close = process.extract(text, names, scorer=fuzz.ratio, limit=count, score_cutoff=50)
    containing = (low for low in by_lowercase if text and (text in low or low in text))
    best = dict.fromkeys((*(low for low, _, _ in close), *containing))
    return [by_lowercase[low] for low in islice(best, count)]


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return a sentence that suggests the nearest names, or an empty string if there are none."""
    close = nearest(name, candidates)
    return f"Did you mean {' or '.join(repr(x) for x in close)}?" if close else ""


def _visible_part(letter: str) -> str:
    """Return the visible part of a letter: "" for marks and invisible letters."""
    category = unicodedata.category(letter)
    if category in _AS_SEPARATOR or letter.isspace():
        return "_"
    return "" if category[0] in "MC" or letter in _BLANK_LETTERS else letter


def _plain_name(key: ToolKey) -> str | None:
    is_alone = key.source == key.name and find_kind(key.kind).one_tool
    name = key.name if is_alone or not key.source else f"{key.source}_{key.name}"
    if not key.name or len(name) > MAX_SHOWN_NAME or _NOT_ALLOWED.search(name):
        return None
    return name


def _digest_name(key: ToolKey, attempt: int) -> str:
    text = f"{key.source}\0{key.name}" + f"\0{key.kind}\0{attempt}" * (attempt > 0)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    joined = f"{key.source}_{key.name}" if key.source else key.name
    readable = _NOT_ALLOWED.sub("_", joined).strip("_") or "tool"
    return f"{readable[: MAX_SHOWN_NAME - _DIGEST_LENGTH - 1]}_{digest}"
