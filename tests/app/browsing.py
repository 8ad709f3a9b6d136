"""A reader of the page: a browser that walks through its tabs and notes what it sees."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from axe_playwright_python.sync_playwright import Axe

from browser.look import BAD, CHARTS, SIDEWAYS, browser

if TYPE_CHECKING:
    from playwright.sync_api import Page

TABS = ("file", "keys", "sample", "risk", "protect", "check", "decide")
LONG = 60_000  # milliseconds for work in the background
# How long the figures beside a slider take to change after it was moved, in milliseconds.
ANSWER = """([slider, place, value]) => new Promise((done) => {
  const control = document.querySelector(`[data-do="${slider}"]`), began = performance.now();
  const shown = document.getElementById(place);
  const seen = new MutationObserver(() => {
    if (shown.querySelector(".former")) return; // it only says that the answer is on its way
    seen.disconnect();
    done(performance.now() - began);
  });
  seen.observe(shown, {childList: true, subtree: true, characterData: true});
  control.focus();
  control.value = value;
  control.dispatchEvent(new Event("input", {bubbles: true}));
})"""
# Where the middle of a point of the map is.
SPOT = """(label) => {
  for (const one of document.querySelectorAll("#protect_map .mark-symbol path")) {
    if (one.__data__?.datum?.label !== label) continue;
    const box = one.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  }
  return null;
}"""
IDLE = "!document.documentElement.classList.contains('shiny-busy') && !document.querySelector('[aria-busy=true]')"


@dataclass
class Visit:
    """A page in a browser, its errors, and what it asked for."""

    page: Page
    seconds: float = 0.0  # from the start of the command until its first page was there
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def go(self, tab):
        """Open a tab, and wait until it has nothing more to say."""
        self.page.evaluate("(tab) => { location.hash = tab; }", tab)
        self.settle()

    def settle(self):
        """Wait until the server has answered, no work runs and all charts are drawn."""
        self.page.wait_for_timeout(180)
        self.page.wait_for_selector(".working", state="detached", timeout=LONG)
        # The policy of the page forbids what `wait_for_function` does.
        for _ in range(LONG // 50):
            if self.page.evaluate(IDLE):
                break
            self.page.wait_for_timeout(50)
        self.page.wait_for_timeout(60)

    def text(self, place):
        """Return the words of a part of the page in one line."""
        return " ".join(self.page.locator(place).inner_text().split())

    def facts(self, place):
        """Return the figures of the first screen in a part of the page, by their names."""
        found = self.page.locator(f"{place} .facts > div")
        return {
            one.locator("dt").inner_text(): " ".join(one.locator("dd").inner_text().split())
            for one in found.all()
        }

    def rows(self, place):
        """Return the cells of a table by the first of each row."""
        rows = [
            [cell.strip() for cell in one.locator("th, td").all_inner_texts()]
            for one in self.page.locator(f"{place} tbody tr").all()
        ]
        return {row[0]: row[1:] for row in rows}

    def fill(self, action, value):
        """Write into a field and leave it."""
        field = self.page.locator(f'[data-do="{action}"]:visible')
        field.fill(str(value))
        field.press("Enter")
        self.settle()

    def press(self, action, value=None):
        """Press a button by its action, and its value if there are several."""
        more = "" if value is None else f'[data-value="{value}"]'
        self.page.locator(f'button[data-do="{action}"]{more}:visible').first.click()

    def key(self, selector, *keys):
        """Go to a control with the Tab key alone, and press some keys there."""
        for _ in range(200):
            if self.page.evaluate("(one) => document.activeElement.matches(one)", selector):
                break
            self.page.keyboard.press("Tab")
        else:
            raise AssertionError(f"Tab does not reach {selector}")
        for one in keys:
            self.page.keyboard.press(one)
        self.settle()

    def answer(self, slider, value, *, place):
        """Return the milliseconds until a part of the page answers to a slider."""
        return self.page.evaluate(ANSWER, [slider, place, str(value)])

    def click_point(self, label):
        """Click on a point of the map."""
        spot = self.page.evaluate(SPOT, label)
        assert spot, f"no point {label!r}"
        self.page.mouse.click(*spot)
        self.settle()

    def drag(self, place, *heights):
        """Drag in a chart from one height of its plot to others, as shares of it from the top.

        Return where the pointer is then.
        """
        ground = self.page.locator(f"#{place} .mark-group .background").first.bounding_box()
        across, mouse = ground["x"] + ground["width"] / 2, self.page.mouse
        for number, height in enumerate(heights):
            mouse.move(across, ground["y"] + height * ground["height"])
            if number == 0:
                mouse.down()
            self.page.wait_for_timeout(100)
        mouse.up()
        self.settle()
        return ground["y"] + heights[-1] * ground["height"]

    def rest(self, slider):
        """Let go of a slider, and wait until it has left its point."""
        control = self.page.locator(f'[data-do="{slider}"]:visible').first
        control.dispatch_event("change")
        self.page.wait_for_timeout(900)
        self.settle()

    def faults(self):
        """Return what a careful reader would find fault with on the tab that is open."""
        wrong = Axe().run(self.page).response["violations"]
        found = [f"{one['id']}: {one['nodes'][0]['target'][0]}" for one in wrong]
        found += self.page.evaluate(CHARTS)
        if self.page.evaluate(SIDEWAYS) > 0:
            found.append("the page scrolls sideways")
        return found


@contextmanager
def visit(served, *, width=1280, scheme="light"):
    """Open the page in a browser, with its token."""
    with browser() as started:
        page = started.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        found = Visit(page)
        page.on("pageerror", lambda error: found.errors.append(str(error)))
        page.on("console", lambda said: said.type in BAD and found.errors.append(said.text))
        page.on("request", lambda asked: found.requests.append(asked.url))
        page.on("websocket", lambda opened: found.requests.append(opened.url))
        page.goto(served.address)
        page.wait_for_selector("#file_list table, #file_list p", timeout=LONG)
        found.seconds = time.monotonic() - served.began
        yield found


def elsewhere(requests, served):
    """Return the requests that went anywhere but to the page's own server."""
    own = re.compile(rf"^(http|ws)://127\.0\.0\.1:{served.port}/|^(data|blob):")
    return [one for one in requests if not own.match(one)]
