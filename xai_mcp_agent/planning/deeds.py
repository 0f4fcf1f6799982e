"""What people call the same deed, roughly: to look up, to make, to change, to remove, to send."""

from __future__ import annotations

from collections.abc import Iterable

from ..search.terms import root


def listed(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


def listed_roots(words: str) -> frozenset[str]:
    """The roots of the words of a text."""
    return frozenset(root(x) for x in words.split())


_GROUPS = {
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
_GROUP_OF: dict[str, frozenset[str]] = {}
for _name, _words in _GROUPS.items():
    for _word in _words.split():
        _GROUP_OF[root(_word)] = _GROUP_OF.get(root(_word), frozenset()) | {_name}

READ = "read"


def groups_of(words: Iterable[str]) -> frozenset[str]:
    """The groups of the deeds among some roots."""
    return frozenset(x for word in words for x in _GROUP_OF.get(word, ()))


# Names of things, too: a deed only where somebody says with what.
_AMBIGUOUS = listed_roots(
    """
    text email mail message order count review plan end close set look book list share post
    order purchase view display mark exchange estimate what when where who which how query
    reserve reply notify search done reset design
    """
)


def begins_a_step(verb: str, following: str) -> bool:
    """Whether a verb behind "and" asks for something of its own, by the word that follows it."""
    if not groups_of((verb,)):
        return False
    return verb not in _AMBIGUOUS or following in _DETERMINERS


_DETERMINERS = listed(
    """
    a an the my me it them their his her all some this that those these its any each him us
    for up out our your to every
    """
)


def is_ambiguous(verb: str) -> bool:
    """Whether a deed is the name of a thing, too."""
    return verb in _AMBIGUOUS
