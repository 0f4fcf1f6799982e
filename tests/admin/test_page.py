"""The page in a real Chromium, in the window of a small laptop."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.admin import SECONDS, TOKEN, AdminClient, serving_admin
from tests.support.lab import SMALL
from tests.support.mcp_servers import gallery_entry
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import Bridge

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=document.title=1>"
SHRED = {"tool": "shredder/shred", "arguments": {"paper": "the \u202econtract"}}


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bridge]:
    servers = {
        "gallery": gallery_entry(startTimeout=100),
        "shredder": {**shredder_entry(), "startTimeout": 100}, "evil": {"command": EVIL},
        "locked": gallery_entry(lock=True, startTimeout=100),
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("page")
    options = {"store": folder / "history.db", "lock": folder / "lock.json"}
    with Bridge({"mcpServers": servers}, **options) as bridge:  # pyright: ignore[reportArgumentType]
        bridge.connect("gallery", "shredder", "locked", wait=True)
        bridge.connect("evil")
        yield bridge


@pytest.fixture(scope="module")
def address(bridge: Bridge) -> Generator[str]:
    with serving_admin(bridge) as address:
        yield address


@contextmanager
def open_page(
    running: Browser, address: str, scheme: Any = "light", *, errors: bool = False
) -> Generator[Page]:
    """Open the page in a new window; check at the end whether it reported errors."""
    size = {"width": SMALL[0], "height": SMALL[1]}
    page = running.new_page(viewport=size, color_scheme=scheme)  # pyright: ignore[reportArgumentType]
    page.set_default_timeout(SECONDS * 1000)
    errors_shown: list[str] = []
    page.on("console", lambda x: errors_shown.append(x.text))
    page.on("pageerror", lambda x: errors_shown.append(str(x)))
    page.goto(address)
    yield page
    assert bool(errors_shown) == errors, errors_shown
    page.close()


def source(page: Page, name: str, state: str) -> None:
    """Wait until the row of a source has this state."""
    row = page.get_by_role("row", name=name).first
    expect(row.locator(".state")).to_have_text(state, timeout=SECONDS * 1000)


def test_the_page_shows_sources_in_both_color_schemes_and_fits(running: Browser, address: str):
    backgrounds = set[str]()
    for scheme in ("light", "dark"):
        with open_page(running, f"{address}/#token={TOKEN}", scheme) as page:
            source(page, "gallery", "ready")
            source(page, "evil", "failed")
            page.get_by_role("button", name="gallery", exact=True).click()
            page.get_by_text("Add two integers.").wait_for()
            page.get_by_text("called").or_(page.get_by_text("connected")).first.wait_for()
            assert TOKEN not in page.url
            assert page.evaluate("document.documentElement.scrollWidth") == SMALL[0]
            backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            # Words of servers are text.
            page.get_by_text(EVIL).first.wait_for()
            assert page.locator("img").count() == 0
            assert page.title() == "xai-mcp-agent"
    assert len(backgrounds) == 2


def test_the_page_asks_for_a_missing_token(running: Browser, address: str):
    with open_page(running, address, errors=True) as page:
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Open").click()
        page.get_by_text("token needed").wait_for()
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Open").click()
        source(page, "gallery", "ready")
        assert not page.get_by_label("Token").is_visible()
        page.reload()
        source(page, "gallery", "ready")


def test_tools_can_be_searched_and_switched_by_keyboard(
    running: Browser, bridge: Bridge, address: str
):
    with open_page(running, f"{address}/#token={TOKEN}") as page:
        page.get_by_role("button", name="gallery", exact=True).press("Enter")
        page.get_by_text("9 tools", exact=True).wait_for()
        page.get_by_label("Search the tools").fill("integers")
        page.get_by_text("1 tool", exact=True).wait_for()
        switch = page.get_by_role("switch", name="Agents may use add")
        switch.press("Space")
        expect(switch).not_to_be_checked()
        (off,) = [x for x in bridge.list_tools("gallery").entries if not x.is_enabled]
        assert off.key.name == "add"
        bridge.enable("gallery", "add")
        expect(switch).to_be_checked(timeout=SECONDS * 1000)


def test_a_waiting_tool_can_be_reviewed_and_accepted(running: Browser, address: str):
    with open_page(running, f"{address}/#token={TOKEN}") as page:
        page.get_by_role("button", name="locked", exact=True).click()
        page.get_by_text("Tools of locked").wait_for()
        page.get_by_label("Search the tools").fill("integers")
        page.get_by_text("1 tool", exact=True).wait_for()
        page.get_by_role("button", name="Read and accept").click()
        page.get_by_text('"input_schema"').wait_for()
        page.get_by_role("button", name="Accept this definition").press("Enter")
        page.get_by_text("add is accepted as it is now.").wait_for()
        expect(page.get_by_text("not accepted yet")).to_have_count(0)


def test_a_call_is_approved_or_refused_on_the_page(running: Browser, address: str):
    with open_page(running, f"{address}/#token={TOKEN}") as page:
        page.get_by_text("live", exact=True).wait_for()
        with AdminClient(address) as client, ThreadPoolExecutor() as pool:
            for button, status in (("Do not make it", 403), ("Make this call", 200)):
                call = pool.submit(client.post, "/api/call", status, SHRED)
                page.get_by_text("admin wants to call shred of shredder").wait_for()
                # A character that changes the direction of text is made visible.
                assert "the \ufffdcontract" in page.locator(".call pre").inner_text()
                page.get_by_role("button", name=button).click()
                call.result(SECONDS)
                expect(page.locator(".call")).to_have_count(0, timeout=SECONDS * 1000)
        page.get_by_text("called · by admin").first.wait_for()


def test_the_page_follows_changes_and_refreshes_a_source(
    running: Browser, bridge: Bridge, address: str
):
    with open_page(running, f"{address}/#token={TOKEN}", errors=True) as page:
        source(page, "gallery", "ready")
        bridge.disconnect("gallery")
        source(page, "gallery", "idle")
        page.get_by_role("button", name="Refresh gallery").click()
        source(page, "gallery", "ready")
        page.get_by_text("gallery: 9 tools, nothing changed.").wait_for()
        page.get_by_role("button", name="Refresh evil").click()
        page.get_by_role("status").filter(has_text="was not found").wait_for()
