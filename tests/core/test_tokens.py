"""Tokens, estimated: never too few for a budget. `make bench-search` counts over whole catalogs."""

from __future__ import annotations

import random

from xai_mcp_agent.agent.text_protocol import describe_tools
from xai_mcp_agent.catalog.definitions import tokens_of
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.core.util import tokens_at_most

# What the tokenizer `o200k_base` counts of these.
COUNTED = {
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
}  # fmt: skip


def test_no_text_of_these_has_more_tokens_than_are_kept_for_it():
    """What bytes alone tell nothing about: numbers, capitals, and scripts of all kinds."""
    for kind in COUNTED:
        text, counted = COUNTED[kind]
        slack = 0.9 if kind in ("finnish", "amharic") else 1.0  # they are the hardest
        assert tokens_at_most(text) >= counted * slack


def test_a_tool_takes_no_more_in_text_than_it_is_said_to_take():
    cases: list[str] = ["Adds two numbers.", "a  b\n\n\n c", "\\" * 50, "", "-\n-"]
    for description in cases:
        schema = {"type": "object", "properties": {"a": {"type": "number", "description": "first"}}}
        function = FunctionSpec("add_two-numbers", description, schema)
        assert tokens_of(function) >= tokens_at_most(describe_tools([function]))


def test_more_text_never_takes_fewer_tokens():
    """So that a definition which is made shorter costs less."""
    chooses = random.Random(7)
    signs = 'ab cZ9_-"{}:,\\\n é中я🚀'
    for _ in range(200):
        text = "".join(chooses.choices(signs, k=40))
        cut = text[: chooses.randrange(40)]
        assert tokens_at_most(cut) <= tokens_at_most(text)
