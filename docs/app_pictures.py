"""The pictures of the page: python docs/app_pictures.py walks through it with the example and takes them.

It needs Chromium, which playwright drives.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parent / "_static"
WIDTH, HEIGHT, LONG = 1200, 820, 120_000
REST = 1_000  # milliseconds after which a slider has left its point
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def settled(page: Page) -> None:
    """Wait until no work runs and all charts are drawn."""
    page.wait_for_timeout(600)
    page.wait_for_selector(".working", state="detached", timeout=LONG)
    page.wait_for_timeout(900)


def go(page: Page, tab: str) -> None:
    """Open a tab."""
    page.evaluate("(tab) => { location.hash = tab; }", tab)
    settled(page)


def keep(page: Page, name: str) -> None:
    """Take a picture of what a reader sees first."""
    page.evaluate("document.activeElement.blur()")
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=FOLDER / f"app_{name}.png")
    print(f"Wrote app_{name}.png")


def points(page: Page) -> None:
    """Put some points on the map, and let the page find another."""
    for method, slider, values in (
        ("swap", "rate", (5, 20)),
        ("pram", "rate", (10, 20)),
        ("redraw", "rarer", (60, 150)),
    ):
        page.select_option('[data-do="method"]', method)
        settled(page)
        for value in values:
            page.locator(f'[data-do="{slider}"]').fill(str(value))
            page.wait_for_timeout(REST)
            settled(page)
    page.select_option('#protect [data-do="target-kind"]', "max_share")
    settled(page)
    page.click('[data-do="find"]')
    page.wait_for_selector(".notice", timeout=LONG)
    settled(page)


def walk(page: Page) -> None:
    """Go the whole way with the example, and take a picture of five tabs."""
    page.click('[data-do="example"]')
    page.wait_for_selector("text=Choose the keys", timeout=LONG)
    go(page, "sample")
    page.locator('[data-do="fraction"]').fill("1")
    page.locator('[data-do="fraction"]').press("Enter")
    settled(page)
    go(page, "keys")
    keep(page, "keys")
    go(page, "risk")
    page.wait_for_selector("#risk_next a", timeout=LONG)
    settled(page)
    keep(page, "risk")
    go(page, "protect")
    points(page)
    go(page, "keys")  # and back: what was said is gone then
    go(page, "protect")
    keep(page, "protect")
    go(page, "check")
    page.wait_for_selector("#check_next a", timeout=LONG)
    settled(page)
    keep(page, "check")
    go(page, "decide")
    page.click('[data-do="compare"]')
    page.wait_for_selector("#decide_beside table", timeout=LONG)
    page.emulate_media(color_scheme="dark")
    settled(page)
    keep(page, "decide")


def main() -> None:
    """Serve the page from an empty folder, and take the pictures."""
    command = [sys.executable, "-m", "maskmeter", "app", "--no-browser"]
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
        assert server.stdout is not None  # noqa: S101 - it is a pipe
        try:
            address = server.stdout.readline().split()[-1]
            browser = playwright.chromium.launch(executable_path=which("chromium"), args=ARGUMENTS)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(address)
            walk(page)
            browser.close()
        finally:
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    main()
