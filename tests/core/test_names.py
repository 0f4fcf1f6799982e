"""Shown names are valid for every provider and never confuse two tools."""

from __future__ import annotations

import random
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.watchdog import compute_within
from xai_mcp_agent import ToolKey
from xai_mcp_agent.agent.text_protocol import describe_tools
from xai_mcp_agent.catalog.definitions import tokens_of
from xai_mcp_agent.core.names import MAX_SHOWN_NAME, ShownNames, nearest, skeleton
from xai_mcp_agent.core.patterns import fits
from xai_mcp_agent.core.provider_schema import FunctionSpec, function_parameters
from xai_mcp_agent.core.util import tokens_at_most
from xai_mcp_agent.core.visible import (
    count_hidden,
    is_visible,
    own_names,
    parameter_name,
    visible,
    visible_text,
)

PROVIDER_SAFE = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# With lone surrogates, which JSON can hold and UTF-8 cannot.
any_text = st.text(st.characters(exclude_categories=()), max_size=100)
tool_like = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
keys = st.builds(ToolKey, any_text | tool_like, any_text | tool_like)


@settings(max_examples=50)
@given(st.lists(keys, max_size=30))
def test_shown_names_are_provider_safe_unique_and_stable(keys: list[ToolKey]):
    """For any names of servers and tools."""
    names = ShownNames()
    name_by_key = {key: names.show(key) for key in keys}
    assert all(PROVIDER_SAFE.fullmatch(name) for name in name_by_key.values())
    assert len(set(name_by_key.values())) == len(name_by_key)
    assert {key: names.show(key) for key in keys} == name_by_key


def test_a_name_that_providers_refuse_becomes_readable_and_ends_in_a_digest():
    names = ShownNames()
    name = names.show(ToolKey("mcp", "my server", "get book: Ünïcode?"))
    assert re.fullmatch(r"my_server_get_book_n_code_[0-9a-f]{8}", name)
    long = names.show(ToolKey("mcp", "s", "x" * 200))
    assert len(long) == MAX_SHOWN_NAME
    assert re.fullmatch(r"tool_[0-9a-f]{8}", names.show(ToolKey("tools", "", "漢字")))


def test_a_tool_named_like_the_digest_name_of_another_does_not_replace_it():
    """Digests can be computed by anybody: a server must not be able to shadow a tool."""
    victim = ToolKey("mcp", "bank", "transfer money")
    digest_name = ShownNames().show(victim)
    intruder = ToolKey("tools", "", digest_name)
    for order in ((victim, intruder), (intruder, victim)):
        names = ShownNames()
        shown_names = [names.show(key) for key in order]
        assert len(set(shown_names)) == 2


def test_the_nearest_names_come_first():
    names = ["get_current_time", "convert_time", "list_books", "search_books"]
    assert nearest("get_curent_time", names)[0] == "get_current_time"
    assert nearest("books", names) == ["list_books", "search_books"]
    assert nearest("LIST_BOOKS", names)[0] == "list_books"
    assert nearest("zebra", names) == []
    assert nearest("", names) == []
    assert nearest("x", []) == []


def test_names_that_a_person_may_confuse_have_the_same_skeleton():
    """Our decision: a tool that is switched off does not come back under such a name."""
    for alike in (
        "delete-all", "Delete.All", "DELETE ALL", "d\u0435lete_all", "\uff44elete_all",
        "de\u200blete_all", "d\xe9lete_all", "de1ete_a11", "delete\u2010all", "\u202edelete_all",
        "_delete__all", "delete\u3164_all", "\u1d05elete_all", "delete_\U0001d41a\U0001d425l",
    ):  # fmt: skip
        assert skeleton(alike) == skeleton("delete_all") == "delete_all"
    others = ["delete_all", "deleteall", "delete_al", "dilete_all", "\u65e5\u672c", "\u65e5"]
    assert len({skeleton(x) for x in others}) == len(others)


def test_a_source_gets_no_shown_name_that_begins_like_those_of_another_source():
    """In either order, and even before the other source is connected."""
    honest, intruder = ToolKey("mcp", "git_hub", "search"), ToolKey("mcp", "git", "hub_search")
    for order in ((honest, intruder), (intruder, honest)):
        names = ShownNames(sources=("git", "git_hub"))
        name_by_key = {key: names.show(key) for key in order}
        assert name_by_key[honest] == "git_hub_search"
        assert re.fullmatch(r"git_hub_search_[0-9a-f]{8}", name_by_key[intruder])
    assert ShownNames(sources=("git", "git_hub")).show(intruder) != "git_hub_search"
    assert names.show(ToolKey("mcp", "git", "status")) == "git_status"


def test_a_name_that_looks_like_one_of_another_source_gets_a_digest():
    for name in ("hub-search", "Hub_Search", "hub__search", "hub_sear-ch"):
        names = ShownNames()
        assert names.show(ToolKey("mcp", "git_hub", "search")) == "git_hub_search"
        shown_name = names.show(ToolKey("mcp", "git", name))
        looks_alike = skeleton(f"git_{name}") == skeleton("git_hub_search")
        assert bool(re.search(r"_[0-9a-f]{8}$", shown_name)) == looks_alike


# Untrusted text without invisible characters.


TAGS = "".join(chr(0xE0000 + ord(x)) for x in "obey")
BYTES = "".join(chr(0xE0100 + x) for x in b"obey")  # variation selectors, one for each byte
BITS = "\u200c\u200d\u200d\u200c"
ANY = st.text(max_size=200)


def test_invisible_characters_are_removed():
    rows = [
        ("a\r\nb\rc\u2028d\x0be", "a\nb\nc\nd\ne"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x00b\x1bc\x9bd", "a\ufffdb\ufffdc\ufffdd"),
        ("a\ud800b", "a\ufffdb"),
        ("evil\u202elive\u2066x\u2069", "evillivex"),
        (f"add{TAGS}", "add"),
        (f"smile \U0001f600{BYTES}", "smile \U0001f600"),
        (f"ad{BITS}d", "add"),
        ("a\u3164b\u115fc\u2062d\ufeffe\xadf", "abcdef"),
        ("a\ufe0fb\ufe01c", "abc"),
    ]
    for text, clean in rows:
        assert visible(text) == clean
    assert visible_text("word " * 40, 50).endswith(" ... (cut)")
    assert visible_text(f"{TAGS * 100}shown", 50) == " ... (cut)", "it is longer than was read"


def test_text_that_people_write_does_not_change():
    """Persian and Indian letters, and emoji of families, need invisible characters."""
    for text in (
        "plain\n\ttext", "na\xefve \u2014 \u65e5\u672c\u8a9e", "1\ufe0f\u20e3", "e\u0301",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f\u200d\U0001f525",
    ):  # fmt: skip
        assert visible(text) == text
        assert is_visible(text)
        assert not count_hidden(text)


@given(ANY)
def test_cleaned_text_is_visible_and_visible_text_stays(text: str):
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", visible(text))
    if is_visible(text):
        assert visible(text) == re.sub("\x0b|\x0c|\x85|\u2028|\u2029|\r\n?", "\n", text)


@given(ANY, ANY)
def test_parameters_have_distinct_visible_names(one: str, other: str):
    if one != other:
        assert parameter_name(one) != parameter_name(other)
    assert is_visible(parameter_name(one))
    assert len(parameter_name(one)) <= 200


NAMES = st.one_of(ANY, st.sampled_from(["path", "pa\u200bth", f"path{TAGS}", "x" * 900, "a\nb"]))


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.integers(), max_size=3), max_size=3))
def test_arguments_with_shown_names_reach_the_tool_with_its_own_names(own: dict[str, Any]):
    items = {name: {"properties": {x: {} for x in inner}} for name, inner in own.items()}
    lists = {name: {"type": "array", "items": x} for name, x in items.items()}
    schema = {"type": "object", "properties": lists}
    specs = function_parameters(schema)["properties"]
    arguments = {
        name: [dict(zip(spec["items"].get("properties", {}), inner.values(), strict=True))]
        for (name, spec), inner in zip(specs.items(), own.values(), strict=True)
    }
    assert own_names(arguments, schema) == {name: [inner] for name, inner in own.items()}


def test_a_model_is_not_offered_values_with_invisible_characters():
    """A model would return the visible text, which is not one of the values."""
    spec = {"enum": ["red", "bl\u200bue"], "default": f"red{TAGS}", "pattern": "a\u200bb"}
    hidden = {"enum": [f"red{TAGS}"]}
    specs = function_parameters({"properties": {"x": spec, "y": hidden}})["properties"]
    assert specs["x"] == {"enum": ["red"]}
    assert specs["y"] == {"description": "One of 1 values, such as red."}


# Estimates of tokens are never too low for a budget; `make bench-search` counts whole catalogs.


# Counts of the tokenizer `o200k_base`.
TOKEN_COUNTS = {
    "url": ("https://example.com/v2/reports/{report_id}/exports?format=csv&since=2024-01-01", 26),
    "uuid": ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", 27),
    "numbers": (",".join(map(str, range(60))), 119),
    "capitals": ("RENEKTON JARVAN_IV ELISE ORIANNA WUKONG BRAND LEE_SIN VAYNE RUMBLE", 29),
    "spaces": ("   ".join(["abc"] * 20), 39),
    "english": ("Creates an issue in a repository, with labels and people assigned to it.", 15),
    "finnish": ("Hakee asiakkaan laskut annetulta ajanjaksolta eräpäivän mukaan järjestettynä", 23),
    "russian": ("Ищет счета клиента за указанный период, отсортированные по сроку оплаты", 17),
    "thai": ("ค้นหาใบแจ้งหนี้ของลูกค้าในช่วงเวลาที่กำหนด", 17),
    "chinese": ("查询客户在指定时间段内的发票按到期日排序", 15),
    "japanese": ("指定した期間の顧客の請求書を支払期日順に検索し", 20),
    "amharic": ("ለተጠቀሰው ጊዜ የደንበኛውን ደረሰኞች", 43),
    "pictures": ("🚀🔥✨🇩🇪✅📈", 11),
}


def test_the_estimate_is_not_below_the_count_of_a_tokenizer():
    """Bytes alone are no measure of numbers, capitals and other scripts."""
    for kind in TOKEN_COUNTS:
        text, count = TOKEN_COUNTS[kind]
        slack = 0.9 if kind in ("finnish", "amharic") else 1.0  # they are the hardest
        assert tokens_at_most(text) >= count * slack


def test_a_tool_takes_no_more_tokens_as_text_than_estimated():
    cases: list[str] = ["Adds two numbers.", "a  b\n\n\n c", "\\" * 50, "", "-\n-"]
    for description in cases:
        schema = {"type": "object", "properties": {"a": {"type": "number", "description": "first"}}}
        function = FunctionSpec("add_two-numbers", description, schema)
        assert tokens_of(function) >= tokens_at_most(describe_tools([function]))


def test_more_text_never_takes_fewer_tokens():
    """A shorter definition must cost less."""
    chooses = random.Random(7)
    signs = 'ab cZ9_-"{}:,\\\n é中я🚀'
    for _ in range(200):
        text = "".join(chooses.choices(signs, k=40))
        cut = text[: chooses.randrange(40)]
        assert tokens_at_most(cut) <= tokens_at_most(text)


# Patterns of names in settings fit whole texts and cannot hang.


def test_a_pattern_fits_whole_texts():
    rows: list[tuple[str, list[str], list[str]]] = [
        ("get_*", ["get_", "get_a\nb"], ["a_get_", "Get_a"]),
        ("[a]?", ["[a]?"], ["a", "ab"]),
        ("regex:get_.+", ["get_a", "get_\u00e4"], ["get_", "xget_a", "get_a\n"]),
        ("regex:a|b", ["a", "b"], ["ab", "xa"]),
        ("regex:(?i)AB", ["ab"], ["abc"]),
        ("regex:.", ["\ud800", "\U0001f600"], [""]),
        ("*\ud800*", ["a\ud800b"], ["ab"]),
    ]
    for pattern, fitting, others in rows:
        fit = fits(pattern)
        assert [x for x in (*fitting, *others) if fit(x)] == fitting


def test_no_pattern_and_no_name_can_hang():
    for pattern in ("regex:(a+)+b", "regex:(a|aa)*c", "regex:(.*)*x", "*a*a*a*a*a*a*a*a*b"):
        fit = fits(pattern)
        assert not compute_within(1.0, lambda fit=fit: fit("a" * 100_000))
