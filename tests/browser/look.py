"""What a browser shows of a page, and the faults that a careful reader would find.

In a test: ``assert faults(path) == []``.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import TimeoutError, sync_playwright  # noqa: A004 - playwright's own

from needs import need_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, Page

VIEWS = tuple((scheme, width) for scheme in ("light", "dark") for width in (1280, 400))
ARGUMENTS = [
    "--no-sandbox",  # continuous integration runs as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
]
DRAWN = (
    "[...document.querySelectorAll('figure')].filter(one => one.querySelector('svg .mark-group'))"
)
SETTLED = (
    f"{DRAWN}.length === document.querySelectorAll('figure').length"
    " && !document.querySelector('[aria-busy=true]')"
)
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BAD = {"error", "warning"}
_RUNNING = ExitStack()
# Texts of charts are checked here: axe checks only HTML.
CHARTS = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((one) => {
    const share = one / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const light = (colour) => channels(colour).reduce((sum, one, i) => sum + one * [.2126, .7152, .0722][i], 0);
  const behind = getComputedStyle(document.body).backgroundColor;
  const paper = behind === "rgba(0, 0, 0, 0)" ? 1 : light(behind);
  const contrast = (colour) => {
    const [low, high] = [light(colour), paper].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const seen = (text) => text.textContent.trim() && text.getAttribute("opacity") !== "0"
    && getComputedStyle(text).opacity !== "0";
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const found = [];
  document.querySelectorAll("figure svg").forEach((svg, place) => {
    const frame = svg.getBoundingClientRect();
    if (frame.right > svg.parentElement.closest("figure").getBoundingClientRect().right + 1)
      found.push(`chart ${place + 1} is wider than its figure`);
    const texts = [...svg.querySelectorAll("text")].filter(seen).map((text) => ({
      words: text.textContent, at: text.getBoundingClientRect(), fill: getComputedStyle(text).fill,
      turned: (text.getAttribute("transform") ?? "").includes("rotate"),
      own: text.closest(".role-axis, .role-legend") !== null,
      label: text.closest("[class*=label_]") !== null,
    }));
    const dots = [...svg.querySelectorAll(".mark-line.role-mark path, .mark-rule.role-mark line")]
      .filter((one) => one.getAttribute("opacity") !== "0").flatMap((one) => {
        const place = one.getScreenCTM(), long = one.getTotalLength();
        return Array.from({length: Math.ceil(long) + 1}, (_, at) =>
          one.getPointAtLength(Math.min(at, long)).matrixTransform(place));
      });
    for (const text of texts) {
      const {at} = text;
      if (at.left < frame.left - 1 || at.right > frame.right + 1 || at.top < frame.top - 1
        || at.bottom > frame.bottom + 1 || text.words.endsWith("…"))
        found.push(`chart ${place + 1} cuts "${text.words}"`);
      if (text.own && contrast(text.fill) < 4.5)
        found.push(`chart ${place + 1} is faint: "${text.words}"`);
    }
    for (const {words, at, label} of texts)
      if (label && dots.some(({x, y}) => x > at.left + 1 && x < at.right - 1 && y > at.top + 2 && y < at.bottom - 2))
        found.push(`chart ${place + 1} has a line through "${words}"`);
    const level = texts.filter((text) => !text.turned);
    level.forEach((one, i) => level.slice(i + 1).forEach((other) => {
      if (meet(one.at, other.at))
        found.push(`chart ${place + 1} has "${one.words}" on "${other.words}"`);
    }));
  });
  return found;
}"""
UNNAMED = """() => [...document.querySelectorAll("figure")].map((figure, place) => [figure, place + 1])
  .filter(([figure]) => !figure.querySelector('[role="img"][aria-label]:not([aria-label=""])'))
  .map(([, number]) => `figure ${number} has no words for a screen reader`)"""


@dataclass(frozen=True)
class Shown:
    """A page in a browser, with its errors and requests so far."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Facts:
    """What one view of a page showed."""

    scheme: str
    width: int
    figures: int
    drawn: int
    errors: tuple[str, ...]  # from scripts and the console
    requests: tuple[str, ...]  # for anything but the file itself
    charts: tuple[str, ...]  # texts that are cut, faint or on top of each other
    violations: tuple[str, ...]  # accessibility faults that axe finds
    overflow: int  # pixels by which the page scrolls sideways

    def faults(self) -> list[str]:
        """Return every fault, in words."""
        found = [f"error: {one}" for one in self.errors]
        found += [f"request: {one}" for one in self.requests]
        found += list(self.charts)
        found += [f"accessibility: {one}" for one in self.violations]
        if self.drawn != self.figures:
            found.append(f"{self.drawn} of {self.figures} figures are drawn")
        if self.overflow > 0:
            found.append(f"the page scrolls sideways by {self.overflow} pixels")
        return [f"{self.scheme}, {self.width} px: {one}" for one in found]


def faults(path: Path | str, *, views: Sequence[tuple[str, int]] = VIEWS) -> list[str]:
    """Return the faults of an HTML file in light and dark, wide and narrow views."""
    return [fault for facts in look(path, views=views) for fault in facts.faults()]


def look(path: Path | str, *, views: Sequence[tuple[str, int]] = VIEWS) -> list[Facts]:
    """Return what each view of an HTML file shows."""
    with browser() as started:
        return [_view(started, path, scheme, width) for scheme, width in views]


@contextmanager
def browser() -> Iterator[Browser]:
    """Yield the browser that all tests of a process share, and close its pages."""
    started = _started()
    yield started
    for context in started.contexts:
        context.close()


@cache
def _started() -> Browser:
    """Start Debian's browser, because playwright's own would need a download."""
    program = need_program("chromium", "apt-get install chromium")
    playwright = _RUNNING.enter_context(sync_playwright())
    started = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
    _RUNNING.callback(started.close)
    return started


def stop_browser() -> None:
    """Stop the browser, if it was started."""
    _RUNNING.close()
    _started.cache_clear()


def show(started: Browser, path: Path | str, *, scheme: str = "light", width: int = 1280) -> Shown:
    """Return a page, without network, once its charts are drawn or five seconds have passed."""
    view = {"width": width, "height": 900}
    page = started.new_page(color_scheme=scheme, viewport=view, offline=True)
    address = Path(path).resolve().as_uri()
    shown = Shown(page)
    page.on("pageerror", lambda error: shown.errors.append(str(error)))
    page.on("console", lambda said: said.type in BAD and shown.errors.append(said.text))
    own = (address, "data:", "blob:")
    page.on("request", lambda asked: asked.url.startswith(own) or shown.requests.append(asked.url))
    page.goto(address)
    with suppress(TimeoutError):  # the missing charts are then counted as a fault
        page.wait_for_function(SETTLED, timeout=5000)
    return shown


def _view(started: Browser, path: Path | str, scheme: str, width: int) -> Facts:
    shown = show(started, path, scheme=scheme, width=width)
    page = shown.page
    violations = Axe().run(page).response["violations"]
    facts = Facts(
        scheme=scheme,
        width=width,
        figures=page.locator("figure").count(),
        drawn=page.evaluate(f"{DRAWN}.length"),
        errors=tuple(shown.errors),
        requests=tuple(shown.requests),
        charts=tuple(page.evaluate(CHARTS) + page.evaluate(UNNAMED)),
        violations=tuple(
            f"{one['id']} at {len(one['nodes'])} places, first {one['nodes'][0]['target'][0]}"
            for one in violations
        ),
        overflow=page.evaluate(SIDEWAYS),
    )
    page.close()
    return facts
