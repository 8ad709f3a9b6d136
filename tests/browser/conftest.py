"""Tests that look at pages share one browser."""

from __future__ import annotations

import pytest

from browser.look import stop_browser


@pytest.fixture(scope="session", autouse=True)
def _one_browser():
    yield
    stop_browser()
