"""Helpers of the tests: programs that some tests need, and folders that tests share."""

from __future__ import annotations

import sys

import pytest

from needs import need_program


def test_a_missing_program_skips_the_test_or_fails_it_where_skips_are_forbidden(monkeypatch):
    monkeypatch.delenv("MASKMETER_NO_SKIPS", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"nowhere is not here .*: apt-get install it"):
        need_program("nowhere", "apt-get install it")
    monkeypatch.setenv("MASKMETER_NO_SKIPS", "1")
    with pytest.raises(pytest.fail.Exception, match="nowhere is not here"):
        need_program("nowhere", "apt-get install it")


def test_an_installed_program_is_found():
    assert need_program(sys.executable, "") == sys.executable


def test_a_shared_folder_is_filled_again_only_after_a_failure(once):
    begun = []

    def fill(folder):
        begun.append(folder)
        (folder / "part").touch(exist_ok=False)
        if len(begun) == 1:
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - the one above
        once("filled in a test", fill)
    folders = [once("filled in a test", fill) for _ in range(3)]

    assert len(begun) == 2
    assert set(folders) == set(begun)
