"""Files and folders appear whole or not at all, whenever the run that writes them is killed."""

from __future__ import annotations

import json
import os
import sys
import threading

import pytest

from command import run_python
from killed import AT_CALL, CALLS
from maskmeter.errors import FileError
from maskmeter.files import BusyError, check_new_folder, unfinished, whole, whole_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")

# One process that forks for each case: a child writes and is killed, another one writes again.
EVERY_CALL = (
    AT_CALL
    + """
import json
from pathlib import Path
from maskmeter.errors import FileError
from maskmeter.files import check_new_folder, remove_leftovers, unfinished, whole_folder

def write_file(root, text):
    target, first = root / "safe.csv", root / "safe.csv.json"
    remove_leftovers(target)
    if target.exists() or first.exists():
        raise FileError("there")
    with unfinished(target, first) as folder:
        (folder / target.name).write_text(text)
        (folder / first.name).write_text(text)

def write_folder(root, text, is_ours=lambda _: False):
    with whole_folder(root / "pack", is_ours=is_ours) as folder:
        (folder / "inside").mkdir()
        for name in ("one", "inside/two"):
            (folder / name).write_text(text)

def replace_folder(root, text):
    write_folder(root, text, is_ours=lambda _: True)

def child(work):
    process = os.fork()
    if process == 0:
        try:
            work()
        except FileError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

def held(root):
    return {str(one.relative_to(root)): one.read_text() for one in sorted(root.rglob("*")) if one.is_file()}

kind, root, names = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
write = {"file": write_file, "replaced": replace_folder}.get(kind, write_folder)
results, number = [], 0
while True:
    number += 1
    for when in ("before", "after"):
        place = root / f"{number}{when}"
        place.mkdir()
        if kind == "empty":
            (place / "pack").mkdir()
        if kind == "replaced":
            write_folder(place, "old")
        def work():
            kill_at(names, number, when)
            write(place, "first")
        ended = child(work)
        left = held(place)
        again = child(lambda: write(place, "second"))
        results.append([number, when, ended, left, again, held(place), len(list(place.rglob(".*")))])
    if ended == 0:
        break
print(json.dumps(results))
"""
)
WHOLE = {
    "file": {"safe.csv", "safe.csv.json"},
    "new": {"pack/one", "pack/inside/two"},
    "empty": {"pack/one", "pack/inside/two"},
    "replaced": {"pack/one", "pack/inside/two"},
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_run_killed_at_any_call_leaves_all_or_nothing_and_the_next_one_succeeds(kind, tmp_path):
    done = run_python(EVERY_CALL, kind, tmp_path, *CALLS)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)

    assert sum(ended < 0 for _, _, ended, *_ in results) >= 25
    for number, when, ended, left, again, after, hidden in results:
        seen = {name: text for name, text in left.items() if not name.startswith(".")}
        where = f"{when} call {number}: {seen}"
        if kind == "file" and "safe.csv" not in seen:
            assert set(seen) <= {"safe.csv.json"}, where  # it comes first, and means nothing alone
            seen = {}
        old = dict.fromkeys(WHOLE[kind], "old")
        assert seen in ({}, dict.fromkeys(WHOLE[kind], "first"), old), where
        if kind == "replaced":
            assert again == 0, where
        else:
            assert again == bool(seen), where  # refused only where the first is whole
        expected = "first" if again else "second"
        assert after == dict.fromkeys(WHOLE[kind], expected), where
        assert hidden == 0, where
        assert ended == 0 or ended < 0


def write_both(target, first):
    with unfinished(target, first) as folder:
        (folder / target.name).write_text("new")
        (folder / first.name).write_text("new")


def test_the_folder_of_a_live_run_is_left_alone_and_a_second_run_is_refused(tmp_path):
    target = tmp_path / "safe.csv"
    with unfinished(target) as folder:
        (folder / "safe.csv").write_text("mine")
        with pytest.raises(BusyError, match="Another run is writing"), whole(target) as path:
            path.write_text("theirs")
        assert (folder / "safe.csv").read_text() == "mine"

    assert target.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["safe.csv"]


def test_of_many_runs_for_one_folder_exactly_one_wins(tmp_path):
    ended, begin = [], threading.Barrier(8)

    def write(number):
        begin.wait()
        try:
            with whole_folder(tmp_path / "pack") as folder:
                for name in ("a", "b"):
                    (folder / name).write_text(str(number))
            ended.append(number)
        except FileError:
            pass

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert len(ended) == 1
    assert [(tmp_path / "pack" / name).read_text() for name in "ab"] == [str(ended[0])] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["pack"]


@pytest.mark.parametrize("content", ["file", "link", "folder", "other"])
def test_a_hidden_folder_that_is_not_ours_is_never_removed(tmp_path, content):
    hidden, theirs = tmp_path / ".pack.maskmeter", tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "new").write_text("theirs")
    if content == "file":
        hidden.write_text("theirs")
    elif content == "link":
        hidden.symlink_to(theirs)
    else:
        hidden.mkdir()
        (hidden / "lock").touch()
        (hidden / "photo.png").touch()
        if content == "folder":
            (hidden / "lock").unlink()
    before = sorted(tmp_path.rglob("*"))
    with (
        pytest.raises(FileError, match="not a folder that this user's maskmeter left"),
        whole_folder(tmp_path / "pack"),
    ):
        pytest.fail("it was taken")

    assert sorted(tmp_path.rglob("*")) == before
    assert (theirs / "new").read_text() == "theirs"


def test_a_file_that_is_already_first_is_kept_when_the_run_fails(tmp_path):
    target, first = tmp_path / "safe.csv", tmp_path / "safe.csv.json"
    first.write_text("of an earlier release")
    target.mkdir()  # in the way of the last rename
    with pytest.raises(FileError, match="directory"):
        write_both(target, first)

    assert first.read_text() == "of an earlier release"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["safe.csv", "safe.csv.json"]


def test_a_run_that_fails_removes_what_it_put_first(tmp_path, monkeypatch):
    target, first, replace = tmp_path / "safe.csv", tmp_path / "safe.csv.json", os.replace

    def failing(old, new):
        if str(new) == str(target):
            raise OSError(28, "No space left on device")
        replace(old, new)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(FileError, match="No space left on device"):
        write_both(target, first)

    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_renamed_to_is_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in (tmp_path, tmp_path / ".", "/proc"):
        with pytest.raises(FileError, match="Name a new folder in it"):
            check_new_folder(tmp_path / place)


def test_a_link_to_an_empty_folder_is_followed_and_its_permissions_are_kept(tmp_path):
    (tmp_path / "real").mkdir(mode=0o750)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with whole_folder(tmp_path / "link") as folder:
        (folder / "one").write_text("1")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "one").read_text() == "1"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o750


def test_a_read_only_file_is_replaced_with_its_permissions(tmp_path):
    (tmp_path / "a.csv").write_text("old")
    (tmp_path / "a.csv").chmod(0o444)
    with whole(tmp_path / "a.csv") as path:
        path.write_text("new")

    assert (tmp_path / "a.csv").read_text() == "new"
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == 0o444


def test_a_folder_comes_back_when_the_one_that_replaces_it_fails(tmp_path, monkeypatch):
    place, replace = tmp_path / "demo", os.replace
    place.mkdir()
    (place / "one").write_text("old")

    def failing(old, new):
        if str(new) == str(place) and "ready" in str(old):
            raise OSError(5, "Input/output error")
        replace(old, new)

    monkeypatch.setattr(os, "replace", failing)
    with (
        pytest.raises(FileError, match="Input/output error"),
        whole_folder(place, is_ours=lambda _: True) as folder,
    ):
        (folder / "one").write_text("new")

    assert (place / "one").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]
