"""JSON values as XML documents, named as the `xml` objects of a schema say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast
from xml.etree import ElementTree

from .serialize import Unwritable, text_of

# XML 1.0 has no way to write these, not even escaped.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAME = re.compile(r"[^\W\d][\w.-]*")
_MOST_DEEP = 50
_Rules = Mapping[str, Any]


def xml_document(value: Any, root: str, rules: _Rules) -> bytes:
    """The document whose root element is named so; a list has its items in it.

    Raises:
        Unwritable: a name or a text cannot be in XML.
    """
    name = rules.get("name") or root
    # Where the value is a list it is the root that wraps it.
    found = _elements(name, value, {**rules, "wrapped": True}, 0)
    element = found[0] if found else ElementTree.Element(_checked(name))
    return ElementTree.tostring(element, encoding="utf-8", xml_declaration=True)


def _elements(name: str, value: Any, rules: _Rules, depth: int) -> list[ElementTree.Element]:
    if depth > _MOST_DEEP:
        raise Unwritable("it is nested too deeply for XML")
    if value is None:
        return []
    if isinstance(value, list):
        return _list(name, cast(list[Any], value), rules, depth)
    element = _element(name, rules)
    if isinstance(value, dict):
        _fill(element, cast(dict[str, Any], value), rules, depth)
    else:
        element.text = _text(value)
    return [element]


def _list(name: str, value: list[Any], rules: _Rules, depth: int) -> list[ElementTree.Element]:
    """The items have their own name, else that of the list; one that is wrapped is around them."""
    of_item = _within(rules, "items")
    item_name = of_item.get("name") or name
    items = [x for item in value for x in _elements(item_name, item, of_item, depth + 1)]
    if not rules.get("wrapped"):
        return items
    around = _element(name, rules)
    around.extend(items)
    return [around]


def _fill(
    element: ElementTree.Element, value: Mapping[str, Any], rules: _Rules, depth: int
) -> None:
    properties = _within(rules, "properties")
    for key, member in value.items():
        of_member = _within(properties, key)
        name = of_member.get("name") or key
        if not of_member.get("attribute"):
            element.extend(_elements(name, member, of_member, depth + 1))
        elif member is not None:
            element.set(_qualified(name, of_member), _text(member))


def _element(name: str, rules: _Rules) -> ElementTree.Element:
    element = ElementTree.Element(_qualified(name, rules))
    prefix, namespace = rules.get("prefix"), rules.get("namespace")
    if namespace:
        # Written so, and not registered with ElementTree: that would be for the whole process.
        element.set(f"xmlns:{_checked(prefix)}" if prefix else "xmlns", _text(namespace))
    return element


def _qualified(name: str, rules: _Rules) -> str:
    prefix = rules.get("prefix")
    return f"{_checked(prefix)}:{_checked(name)}" if prefix else _checked(name)


def _within(rules: _Rules, key: str) -> _Rules:
    found = rules.get(key)
    return cast(_Rules, found) if isinstance(found, Mapping) else {}


def _checked(name: Any) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise Unwritable("it has a name that no XML element can have")


def _text(value: Any) -> str:
    text = text_of(value)
    if _NO_XML.search(text):
        raise Unwritable("it has a character that XML cannot hold")
    return text
