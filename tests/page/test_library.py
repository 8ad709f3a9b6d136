"""The chart library is put together once, kept, and made again when the kept one is not whole."""

from __future__ import annotations

import pytest
import vl_convert

from maskmeter.page import library


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Count how often the library is put together, in a cache of its own."""
    times = []
    monkeypatch.setattr(library, "_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(
        vl_convert, "javascript_bundle", lambda entry: times.append(entry) or "draw('</script>');"
    )
    library.chart_library.cache_clear()
    yield times
    library.chart_library.cache_clear()


def fresh():
    library.chart_library.cache_clear()
    return library.chart_library()


def test_the_library_is_put_together_once(made, tmp_path):
    first, second = fresh(), fresh()

    assert first == second == "draw('<\\/script>');"
    assert len(made) == 1
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"draw(", b"alert()\n// 0123", b"\xff\xfe"])
def test_a_kept_library_that_is_not_whole_is_made_again(made, tmp_path, content):
    whole = fresh()
    (path,) = (tmp_path / "cache").iterdir()
    path.write_bytes(content)

    assert fresh() == whole
    assert len(made) == 2
    assert fresh() == whole
    assert len(made) == 2


def test_a_cache_that_cannot_be_written_to_is_done_without(made, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder", encoding="utf-8")

    assert fresh() == fresh()
    assert len(made) == 2
