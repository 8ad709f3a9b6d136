"""Programs that tests need: left out with advice, or missed loudly."""

from __future__ import annotations

import sys

import pytest

from needs import need_program


def test_a_missing_program_skips_with_advice_or_fails_where_nothing_may_be_left_out(monkeypatch):
    monkeypatch.delenv("MASKMETER_NO_SKIPS", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"nowhere is not here .*: apt-get install it"):
        need_program("nowhere", "apt-get install it")
    monkeypatch.setenv("MASKMETER_NO_SKIPS", "1")
    with pytest.raises(pytest.fail.Exception, match="nowhere is not here"):
        need_program("nowhere", "apt-get install it")


def test_a_program_is_found_where_it_is():
    assert need_program(sys.executable, "") == sys.executable
