"""The chart library is built once, cached, and rebuilt when the cached copy is damaged."""

from __future__ import annotations

import pytest
import vl_convert

from maskmeter.page import library


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Return a list with one entry per build of the library, in a cache of its own."""
    times = []
    monkeypatch.setattr(library, "_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(
        vl_convert, "javascript_bundle", lambda entry: times.append(entry) or "draw('</script>');"
    )
    library._HELD.clear()
    yield times
    library._HELD.clear()


def fresh():
    library._HELD.clear()
    return library.chart_library()


def test_the_library_is_built_once(made, tmp_path):
    first, second = fresh(), fresh()

    assert first == second == "draw('<\\/script>');"
    assert len(made) == 1
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"draw(", b"alert()\n// 0123", b"\xff\xfe"])
def test_a_damaged_library_is_rebuilt(made, tmp_path, content):
    whole = fresh()
    (path,) = (tmp_path / "cache").iterdir()
    path.write_bytes(content)

    assert fresh() == whole
    assert len(made) == 2
    assert fresh() == whole
    assert len(made) == 2


def test_the_library_works_without_a_writable_cache(made, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder", encoding="utf-8")

    assert fresh() == fresh()
    assert len(made) == 2


def test_beside_a_process_the_library_is_the_same_and_nothing_is_written(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setattr(library, "_folder", lambda: tmp_path / "cache")
    library._HELD.clear()
    beside = library.chart_library_beside()
    again = library.chart_library()  # as a report asks for it: it is held
    library._HELD.clear()

    assert not (tmp_path / "cache").exists()
    assert again is beside
    assert beside == library.chart_library()


def test_a_process_that_fails_leaves_the_library_to_this_one(made, monkeypatch):
    monkeypatch.setattr(library.sys, "executable", "no such program")

    assert library.chart_library_beside() == "draw('<\\/script>');"
    assert len(made) == 1
