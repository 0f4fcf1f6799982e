"""Words of tools and requests: verbs by meaning, names of ids, names without meaning."""

from __future__ import annotations

from collections.abc import Iterable

from ..search.terms import root


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


def root_set(words: str) -> frozenset[str]:
    """Return the roots of the words of a text."""
    return frozenset(map(root, words.split()))


# Verbs with roughly the same meaning.
_VERBS = {
    "read": "get list show retrieve find search query check view display tell read lookup fetch"
    " what when where who which how see look browse know learn review inspect monitor"
    " gather obtain",
    "create": "add create new insert register set make schedule book write generate compose sign"
    " open reserve plan build produce draw arrange put buy order purchase append",
    "change": "update edit modify change set adjust alter move shift reschedule rename replace"
    " exchange switch correct fix turn reset increase decrease",
    "remove": "delete remove clear cancel drop erase unfollow discard clean",
    "send": "send post message share email mail text notify reply publish forward deliver inform",
    "finish": "complete finish mark close end done",
    "compute": "calculate compute evaluate estimate sum count convert",
}
_VERB_ROOTS = {group: root_set(words) for group, words in _VERBS.items()}
# Roots of verbs that are also nouns.
_ALSO_NOUNS = root_set(
    "text email mail message order count review plan end close set look book list share post"
    " purchase view display mark exchange estimate what when where who which how query reserve"
    " reply notify search done reset design"
)
_DETERMINERS = word_set(
    "a an the my me it them their his her all some this that those these its any each him us"
    " for up out our your to every"
)
WRITING_VERBS = root_set(
    "create add insert register delete remove cancel update edit modify change set send post"
    " publish share book buy reserve order exchange return transfer save write upload mark complete"
    " schedule rename move reset log make put submit pay stop start"
)
LOOKUP_VERBS = root_set("find search get list query lookup fetch retrieve show check browse")
# Words for an identifier.
ID_WORDS = word_set(
    "id ids uuid guid key token sku slug uri urn handle identifier ref reference code hash"
)
SURE_ID_WORDS = ID_WORDS - {"code", "reference", "ref", "hash", "uri"}
# Names that say nothing about the value.
_GENERIC = word_set(
    "id ids uuid name value text data result list info information detail content type title"
    " number object detail output response input string query status key code description date"
    " time url entry record body payload response message success amount num1 num2 total"
    " keyword keywords word phrase sentence file input q topic"
)


def verb_groups(roots: Iterable[str]) -> frozenset[str]:
    """Return the verb groups among some roots."""
    words = {*roots}
    return frozenset(group for group, verbs in _VERB_ROOTS.items() if verbs & words)


def begins_step(verb: str, following: str) -> bool:
    """Return whether a verb after "and" begins a step, by its root and the next word."""
    return bool(verb_groups((verb,))) and (not is_noun(verb) or following in _DETERMINERS)


def is_noun(verb: str) -> bool:
    """Return whether the root of a verb is also a noun."""
    return verb in _ALSO_NOUNS


def is_generic(word: str) -> bool:
    """Return whether a word of a name says nothing about the value."""
    return word in _GENERIC
