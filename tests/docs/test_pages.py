"""The pages agree with the code, and their links lead somewhere."""

from __future__ import annotations

import itertools
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

import xai_mcp_agent
from tests.support.pages import (
    PAGES,
    ROOT,
    Row,
    blocks_of,
    codes_of,
    headings_of,
    links_of,
    rows_of,
    text_of,
)
from tests.test_house import ARROWS, may_import
from tools.components import our_components
from xai_mcp_agent import ModelError
from xai_mcp_agent.agent.models.access import ModelAccess
from xai_mcp_agent.agent.models.base import ModelSettings
from xai_mcp_agent.agent.models.choice import PROVIDERS
from xai_mcp_agent.agent.prompt import PLACEHOLDERS
from xai_mcp_agent.agent.text_protocol import ProtocolChoice
from xai_mcp_agent.settings.server import CLOSE_TIMEOUT_SECONDS
from xai_mcp_agent.sources import process
from xai_mcp_agent.sources.mcp import source

PACKAGE = Path(xai_mcp_agent.__file__).parent
HOUSE, MODELS = ROOT / "docs" / "how_it_is_built.md", ROOT / "docs" / "models.md"
FOREIGN_KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL")


# Links


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path):
    """Also on the generated pages."""
    missing: list[str] = []
    for link in links_of(page):
        if link.startswith(("https://", "http://")):
            continue
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (heading and heading not in headings_of(target)):
            missing.append(link)
    assert missing == []


def test_every_page_and_every_picture_is_linked_from_somewhere():
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in links_of(page)
    }
    files = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "images").iterdir()]
    assert [x.name for x in files if x.resolve() not in linked] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path):
    """Words that look like paths in the repository or the package."""
    paths = [
        x
        for x in codes_of(page)
        if re.fullmatch(r"[\w./-]+/[\w.-]*\.(?:py|md|xircuits)|[\w/]+/", x)
    ]
    places = (ROOT, PACKAGE, ROOT / "docs")
    assert [x for x in paths if not any((place / x).exists() for place in places)] == []


# How it is built


def _plan() -> list[str]:
    """Return the paths of the packages in the plan of the house."""
    plan = next(x.text for x in blocks_of(HOUSE) if x.language == "plan")
    paths: list[str] = []
    for indent, name in re.findall(r"^( +)(\w+)/ ", plan, re.MULTILINE):
        around = paths[-1].split("/")[: len(indent) // 2 - 1] if paths else []
        paths.append("/".join([*around, name]))
    return paths


def test_the_plan_of_the_house_has_every_package():
    packages = {x.parent.relative_to(PACKAGE).as_posix() for x in PACKAGE.rglob("__init__.py")}
    inner = {x for x in packages - {"."} if not x.startswith("agent/models/")}
    assert set(_plan()) == inner


def test_the_arrows_on_the_page_are_those_that_are_tested():
    """tests/test_house.py has the arrows of the design, also of future parts."""
    (diagram,) = (x.text for x in blocks_of(HOUSE) if "->" in x.text)
    chains = [x.split(" -> ") for x in re.split(r"\n|\s{4,}", diagram.strip())]
    steps = [pair for chain in chains for pair in itertools.pairwise(chain)]
    pairs = {(a, b) for start, end in steps for a in start.split(", ") for b in end.split(", ")}
    assert {(a, b) for a, b in pairs if b not in may_import(a)} == set()
    there = {*_plan(), "components"}
    direct = {(a, b) for a, bs in ARROWS.items() for b in bs if {a, b} <= there}
    assert direct <= pairs


def test_the_limits_on_the_page_are_those_of_the_code():
    text = " ".join(text_of(HOUSE).split())
    ending = CLOSE_TIMEOUT_SECONDS, process._TERM_GRACE_SECONDS
    assert "after {:g} seconds SIGTERM; after {:g} more SIGKILL".format(*ending) in text
    assert f"growing pauses up to {source._LONGEST_PAUSE_SECONDS:g} seconds" in text
    assert f"after {source._MAX_TRIES_IN_A_ROW} tries in a row" in text


# Models


def _model_rows(column: str) -> list[Row]:
    return [row for row in rows_of(MODELS) if column in row.cells]


def test_every_provider_and_protocol_is_on_the_page():
    providers = [x for r in _model_rows("what it asks") for x in r.codes("`agent_provider`")]
    assert providers == list(PROVIDERS)
    protocols = [x for r in _model_rows("what happens") for x in r.codes("`tool_protocol`")]
    assert protocols == list(get_args(ProtocolChoice))


def test_every_setting_of_a_model_is_on_the_page_and_a_port():
    column = "port of AgentModel and AgentModelLimits"
    documented = {x for r in _model_rows(column) for x in r.codes(column)}
    of_runs = {"context_tokens", "max_run_tokens", "max_run_cost"}
    prices = {"input_price", "output_price"}
    assert documented == {*(x.name for x in fields(ModelSettings)), *of_runs, *prices}
    nodes = [x for name, x in our_components().items() if name.startswith("AgentModel")]
    assert documented <= {port.name for node in nodes for port in node.ports}


def test_every_placeholder_of_a_prompt_is_on_the_page():
    assert [x for x in PLACEHOLDERS if f"`{{{x}}}`" not in text_of(MODELS)] == []


@pytest.mark.parametrize("row", _model_rows("service"), ids=lambda row: row.cells["service"])
def test_a_recipe_that_names_no_key_needs_none(row: Row, monkeypatch: pytest.MonkeyPatch):
    for name in FOREIGN_KEYS:
        monkeypatch.delenv(name, raising=False)
    (provider,) = row.codes("`agent_provider`")
    assert provider in PROVIDERS
    if provider != "openai":
        return
    address = next((x for x in row.codes("`base_url`") if x.startswith("http")), "")
    access = ModelAccess("openai", "any", address, None)
    if row.cells["key"].startswith("none"):
        access.check(1.0)
        access.open(1.0)
    else:
        with pytest.raises(ModelError, match="no API key"):
            access.check(1.0)


# The README


def test_every_example_is_in_the_readme():
    listed = [
        x for r in rows_of(ROOT / "README.md") if "example" in r.cells for x in r.codes("example")
    ]
    assert sorted(listed) == sorted(x.name for x in (ROOT / "examples").glob("*.xircuits"))
