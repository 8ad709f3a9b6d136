"""The controls of the page without a browser: what each asks for, and what the page shows then."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from html import unescape
from threading import Event

import polars as pl
import pytest

import maskmeter as mm
from app.served import Talk, served_here
from maskmeter.app import key_bench, map_bench
from maskmeter.app.blocks import first, shown
from maskmeter.app.work import Cancelled
from maskmeter.app.workbench import Workbench
from maskmeter.page import Beside, Fact, Fold, Points, Table, Terms, Text, Top

SECRET = "a value of a record"
ALL = [
    "status",
    "working",
    "stopping",
    "about",
    "history",
    "file_open",
    "file_list",
    "file_written",
    "key_columns",
    "key_counts",
    "key_warnings",
    "sample_form",
    "sample_now",
    "risk_top",
    "risk_target",
    "risk_handle",
    "risk_coupled",
    "risk_rest",
    "risk_model",
    "risk_next",
    "protect_missing",
    "protect_note",
    "protect_form",
    "protect_now",
    "protect_target",
    "protect_points",
    "protect_next",
    "check_top",
    "check_findings",
    "check_next",
    "decide_top",
    "decide_pair",
    "decide_beside",
    "decide_save",
    "decide_copy",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, town):
    found = tmp_path_factory.mktemp("controls")
    people = mm.bernoulli_sample(town, fraction=0.01, rng=3)
    (found / "inside").mkdir()
    people.with_row_index("pid", offset=1).write_csv(found / "survey.csv")
    town.write_parquet(found / "inside" / "census.parquet")
    return found


@pytest.fixture
def talk(folder):
    """A page with the survey open, all of whose tabs are seen at once."""
    with opened(folder, "survey.csv") as found:
        found.wait("key_columns", "activity")
        yield found


@contextmanager
def opened(folder, file=None):
    path = None if file is None else folder / file
    with served_here(folder, path) as page:
        page.log_in()
        with page.talk() as link:
            yield Page(link)


class Page(Talk):
    """A connection that sees every output, and reads them as text."""

    def __init__(self, link):
        super().__init__(link, ALL)

    def words(self, name):
        """Return the words of an output."""
        html = (self.shown.get(name) or {}).get("html", "")
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())

    def wait(self, name, words):
        """Wait until an output says something; return all that it says."""
        try:
            self.until(lambda _: words in self.words(name))
        except TimeoutError:
            said = {one: self.words(one)[:400] for one in (name, "status", "about")}
            raise AssertionError(f"{words!r} did not appear: {said}") from None
        return self.words(name)

    def tab(self, name):
        """Say that a tab is open."""
        self._send("update", {"tab": name})


def sampled(talk, percent="1"):
    talk.tab("sample")
    talk.do("fraction", percent)
    talk.wait("sample_now", "a fraction of")


def test_every_tab_says_what_it_lacks_and_leads_there(folder):
    with opened(folder) as talk:
        for name in ("key_columns", "sample_form", "risk_top", "protect_missing", "check_top"):
            talk.wait(name, "No file is open yet.")
        talk.do("open", "survey.csv")
        talk.wait("risk_top", "Say how the file was sampled")
        talk.do("folder", "inside")
        talk.wait("file_list", "census.parquet")

        assert 'href="#sample"' in talk.shown["risk_top"]["html"]
        assert f"{folder.name} / inside" in talk.words("file_list")


def test_ticked_keys_are_counted_and_can_be_unticked_and_proposed_again(talk):
    talk.tab("keys")
    six = talk.wait("key_counts", "once the sample is known")
    talk.do("untick", "lad")
    talk.wait("about", "5 keys")
    talk.do("key", {"name": "pid", "on": True})
    talk.wait("key_warnings", "pid")
    talk.do("proposed")
    talk.wait("about", "6 keys")
    talk.until(lambda _: talk.words("key_counts") == six)
    talk.do("undo")
    talk.wait("key_warnings", "pid")


def test_a_column_is_left_out_of_the_file_and_kept_again(talk):
    talk.do("drop", "pid")
    talk.wait("key_columns", "It is left out of the released file.")
    talk.do("undrop", "pid")
    talk.until(lambda _: "left out" not in talk.words("key_columns"))


def test_bands_of_a_plan_that_do_not_fit_are_named_where_keys_are_counted(talk, folder):
    (folder / "texts.toml").write_text(
        '[data]\nkeys = ["lad", "sex"]\nbands = {lad = [0, 1]}\n', encoding="utf-8"
    )
    talk.tab("keys")
    talk.wait("key_counts", "Unique records")
    talk.do("open-plan", "texts.toml")
    talk.wait("key_warnings", "lad")
    talk.until(lambda _: "Unique records" not in talk.words("key_counts"))
    talk.do("no-bands", "lad")
    talk.wait("key_counts", "Unique records")


@pytest.mark.parametrize("given", ["one", "", "0", "150"])
def test_a_share_that_is_no_number_is_refused_in_words(talk, given):
    talk.do("fraction", given)

    assert "in percent, above 0" in talk.wait("status", "percent")


def test_a_file_of_the_population_makes_the_risk_exact(talk):
    talk.tab("sample")
    talk.do("folder", "inside")
    talk.do("sampled", "population")
    talk.wait("sample_form", "census.parquet")
    talk.do("population", "inside/census.parquet")
    talk.wait("sample_now", "counted")
    talk.do("sampled", "weights")
    assert "Column of weights" in talk.wait("sample_form", "Choose a column")
    talk.tab("risk")
    talk.wait("risk_rest", "exact")

    assert "no model is needed" in talk.wait("risk_model", "The population is known")


def test_a_file_that_is_opened_again_is_read_again(talk):
    sampled(talk)
    talk.do("open", "survey.csv")
    talk.wait("status", "press again to leave them and open survey.csv")
    talk.do("open", "survey.csv")
    talk.wait("sample_now", "not known yet")
    talk.do("fraction", "1")
    talk.wait("sample_now", "a fraction of")


def test_a_file_that_has_changed_is_opened_again_by_a_button(folder):
    path = folder / "changing.csv"
    lines = (folder / "survey.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines), encoding="utf-8")
    with opened(folder, "changing.csv") as talk:
        talk.tab("keys")
        talk.wait("key_counts", "Unique records")
        path.write_text("".join(lines[:200]), encoding="utf-8")
        talk.do("untick", "sex")
        talk.wait("key_counts", "has changed since it was opened")
        talk.wait("file_open", "Open it again")
        talk.do("open", "changing.csv")
        talk.wait("about", "199 records")
        talk.until(lambda _: "Open it again" not in talk.words("file_open"))


def test_a_text_file_is_read_as_the_reader_says(folder):
    text = "region;sex;wgt\n" + "Süd;f;12,5\nNord;m;7,5\n" * 30
    (folder / "latin.csv").write_bytes(text.encode("latin-1"))
    with opened(folder) as talk:
        talk.wait("file_list", "latin.csv")
        talk.do("open", "latin.csv")
        talk.wait("status", "encoding")
        for name, value in (("encoding", "latin-1"), ("delimiter", ";"), ("decimal", ",")):
            talk.do(name, value)
        talk.do("open", "latin.csv")
        talk.wait("about", "60 records")
        talk.tab("sample")
        talk.do("key", {"name": "sex", "on": True})
        talk.do("weights", "wgt")
        talk.wait("sample_now", "weights that sum to 600")
        talk.do("encoding", "klingon")
        talk.wait("status", "encoding")


def test_what_is_said_of_one_text_file_is_not_taken_for_another(folder):
    (folder / "plain.csv").write_text(
        "region,sex,years\n" + "Süd,f,31\nOst,m,57\n" * 20, encoding="utf-8"
    )
    (folder / "western.csv").write_bytes(("region;sex\n" + "Süd;f\nOst;m\n" * 20).encode("latin-1"))
    with opened(folder) as talk:
        talk.wait("file_list", "western.csv")
        talk.do("open", "western.csv")
        talk.wait("status", "say below the list how it is written")
        talk.wait("file_written", "Encoding")
        assert "open" in talk.shown["file_written"]["html"].partition("<summary>")[0]
        talk.do("encoding", "latin-1")
        talk.do("open", "western.csv")
        talk.wait("about", "western.csv")
        assert 'value="latin-1"' in talk.shown["file_written"]["html"]
        talk.do("open", "plain.csv")
        talk.wait("about", "plain.csv")
        talk.until(lambda _: 'value="latin-1"' not in talk.shown["file_written"]["html"])
        talk.tab("protect")
        talk.do("fraction", "5")
        talk.do("method", "recode")
        talk.do("setting-key", "region")
        talk.wait("protect_form", "Süd")


def test_work_that_is_not_saved_is_left_only_when_asked_twice(talk):
    sampled(talk)
    talk.do("example")
    talk.wait("status", "press again to leave them and open the example")
    talk.do("fraction", "2")  # more work: the question is asked anew
    talk.wait("sample_now", "2%")
    talk.do("example")
    talk.wait("status", "press again to leave them and open the example")
    talk.do("save-plan", "own")
    talk.wait("status", "Wrote own.toml")
    talk.wait("decide_copy", "--plan own.toml")
    talk.do("example")
    talk.wait("about", "14,662 records")


def test_bands_are_written_by_hand_and_undone(folder):
    people = pl.read_csv(folder / "survey.csv")
    people.with_columns(years=pl.col("pid") % 90).write_csv(folder / "years.csv")
    with opened(folder, "years.csv") as talk:
        talk.wait("key_columns", "years")
        talk.tab("keys")
        talk.do("key", {"name": "years", "on": True})
        talk.do("no-bands", "years")
        talk.wait("key_columns", "Put it into bands")
        for text, said in (("0; many", "numbers with commas"), ("30, 10", "from low to high")):
            talk.do("set-bands", {"value": "years", "text": text})
            talk.wait("status", said)
        talk.do("set-bands", {"value": "lad", "text": "0, 1"})  # a column of texts
        talk.wait("status", "lad")
        assert "lad in bands" not in talk.words("key_columns")
        talk.do("set-bands", {"value": "years", "text": "0; 30 60"})
        talk.wait("key_columns", "In bands from 0, 30, 60")
        talk.wait("key_columns", "3 bands")
        talk.wait("key_counts", "Unique records")


def test_a_setting_that_is_not_complete_shows_no_figures_of_the_one_before(talk):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_now", "Records changed")
    talk.do("method", "recode")
    talk.wait("protect_form", "Join categories by hand")
    talk.until(lambda _: talk.words("protect_now") == "")
    talk.until(lambda _: "this setting" not in talk.words("protect_points"))


def test_a_map_that_cannot_be_measured_is_not_that_of_the_file_before(talk, folder):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_points", "this setting")
    (folder / "single.csv").write_text("sex\n" + "f\nm\n" * 100, encoding="utf-8")
    for _ in range(2):
        talk.do("open", "single.csv")
    talk.wait("about", "single.csv")
    talk.do("key", {"name": "sex", "on": True})
    talk.do("fraction", "5")
    talk.wait("status", "No table to measure the loss on")
    talk.until(lambda _: talk.words("protect_points") == "")


def test_a_release_that_changes_no_key_any_more_is_said_to_protect_nobody(talk):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_points", "this setting")
    talk.do("choose", "this setting")
    talk.wait("about", "swap lad 10%")
    talk.do("untick", "lad")
    talk.wait("protect_note", "Not on the map: swap lad 10%. It needs a column")
    talk.wait("protect_note", "The release changes lad, which no intruder is taken to know")
    talk.tab("check")
    talk.wait("check_top", "protects nobody")


def test_an_impossible_target_is_refused_and_the_page_goes_on(talk, folder):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_points", "this setting")
    talk.do("target-kind", "max_share")
    talk.do("target-most", "150")
    talk.wait("status", "from 0 to 100 percent")
    (folder / "much.toml").write_text(
        '[data]\nkeys = ["lad", "sex"]\nfraction = 0.01\n[target]\nmax_share = 1.5\n',
        encoding="utf-8",
    )
    talk.do("open-plan", "much.toml")
    talk.wait("protect_missing", "Take the target out of the plan")
    talk.do("take-out", "target")
    talk.wait("protect_points", "no protection")


def test_weights_are_a_column_of_the_file(folder):
    people = pl.read_csv(folder / "survey.csv").with_columns(wgt=pl.lit(100.0))
    people.write_csv(folder / "weighted.csv")
    with opened(folder, "weighted.csv") as talk:
        talk.wait("about", "6 keys")
        talk.tab("sample")
        talk.do("sampled", "weights")
        talk.wait("sample_form", "Column of weights")
        talk.do("weights", "wgt")
        assert f"{100 * len(people):,}" in talk.wait("sample_now", "weights that sum to")
        talk.tab("risk")
        talk.wait("risk_top", "could be matched correctly")


def test_households_are_numbered_by_a_column_of_the_file(folder):
    people = pl.read_csv(folder / "survey.csv").with_columns(home=pl.col("pid") // 3)
    people.write_csv(folder / "homes.csv")
    with opened(folder, "homes.csv") as talk:
        talk.wait("about", "6 keys")
        sampled(talk)
        talk.do("household", "home")
        talk.tab("risk")
        talk.wait("risk_top", "knows all members of a household")
        talk.do("household", "")
        talk.until(lambda _: "household" not in talk.words("risk_top"))


def test_codes_for_missing_are_pointed_out_and_counted_as_missing(folder):
    people = pl.read_csv(folder / "survey.csv").with_columns(
        marital=pl.when(pl.col("pid") % 50 == 0).then(99).otherwise(pl.col("pid") % 4)
    )
    people.write_csv(folder / "coded.csv")
    with opened(folder, "coded.csv") as talk:
        talk.wait("about", "keys")
        talk.tab("keys")
        talk.do("key", {"name": "marital", "on": True})
        assert "99 (far from the other numbers)" in talk.wait("key_warnings", "codes for missing")
        talk.do("missing-codes", "marital")
        talk.until(lambda _: "codes for missing" not in talk.words("key_warnings"))
        talk.do("no-missing-codes", "marital")
        talk.wait("key_warnings", "codes for missing")
        talk.do("missing-codes", "marital")
        talk.wait("key_columns", "99 counts as missing")
        talk.wait("key_counts", "Unique records")
        sampled(talk)
        talk.tab("decide")
        talk.wait("decide_copy", "[data.missing_codes] marital = [99]")


def test_records_with_the_same_risk_count_together_and_the_page_says_so(talk):
    talk.do("population", "inside/census.parquet")  # many are alone in it
    talk.tab("risk")
    talk.wait("risk_coupled", "of")
    talk.do("records", "1")
    talk.wait("status", "Records with the same risk count together: no more than 0 fit in 1.")


def test_a_file_that_no_model_fits_has_no_map_and_no_figures(folder):
    people = pl.read_csv(folder / "survey.csv").drop("pid").head(1000)
    people.sample(4000, with_replacement=True, seed=1).write_csv(folder / "copies.csv")
    with opened(folder, "copies.csv") as talk:
        talk.wait("about", "6 keys")
        sampled(talk, "10")
        talk.tab("risk")
        talk.wait("risk_top", "not assessable")
        talk.tab("protect")
        talk.wait("protect_note", "so there is no map")
        talk.wait("protect_now", "not assessable")
        assert talk.words("protect_points") == ""


def test_a_sample_is_looked_at_also_before_a_key_is_ticked(talk):
    for key in ("lad", "sex", "age", "ethnicity", "marital", "activity"):
        talk.do("untick", key)
    talk.tab("sample")
    talk.do("folder", "inside")
    talk.do("population", "inside/census.parquet")
    talk.wait("sample_now", "counted")


def test_threshold_records_and_matches_follow_each_other(talk):
    sampled(talk)
    talk.tab("risk")
    talk.wait("risk_coupled", "Records above it")

    def values():
        html = talk.shown["risk_coupled"]["html"]
        return tuple(re.findall(r'value="([\d.]*)"', html))

    first_values = values()
    talk.do("threshold", "20")
    talk.until(lambda _: values() != first_values)
    lower = values()
    talk.do("records", first_values[0])
    talk.until(lambda _: values() != lower)
    assert int(values()[0]) <= int(first_values[0])
    talk.do("matches", lower[1])
    talk.until(lambda _: float(values()[1]) >= float(lower[1]) - 0.1)
    talk.do("threshold", "much")
    talk.wait("status", "Give a number.")


def test_a_target_is_set_changed_and_taken_away(talk):
    sampled(talk)
    talk.tab("risk")
    talk.wait("risk_next", "Protect the file")
    for kind, unit in (("max_record", "Limit in percent"), ("max_total", "Limit")):
        talk.do("target-kind", kind)
        talk.wait("risk_target", unit)
    talk.do("target-most", "1000")
    talk.wait("risk_top", "Target met")
    talk.do("target-intruder", "exact-match")
    talk.do("target-by", "estimate")
    talk.do("target-most", "few")
    talk.wait("status", "Give the limit as a number.")
    talk.do("target-kind", "")
    talk.until(lambda _: "Limit" not in talk.words("risk_target"))


def test_each_method_leaves_its_point_and_can_be_chosen_or_removed(talk):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_points", "this setting")
    for action, value, label in (
        ("within", {"name": "sex", "on": True}, "swap lad 10% within sex"),
        ("aimed", "ethnicity", "swap lad 10% aimed at ethnicity within sex"),
    ):
        talk.do(action, value)
        talk.wait("protect_points", label)
    talk.do("method", "redraw")
    talk.wait("protect_form", "Rare: fewer people")
    talk.do("rarer", "50")
    talk.do("rare-share", "50")
    talk.wait("protect_points", "this setting")
    talk.do("settle")
    talk.wait("protect_points", "redraw lad < 50, 50% of them")
    talk.do("rarer-than", "1500")
    talk.wait("protect_points", "redraw lad < 1500, 50% of them")
    talk.do("method", "subsample")
    talk.wait("protect_form", "leave out")
    talk.do("keep")
    talk.wait("protect_points", "leave out 10%")
    talk.do("choose", "leave out 10%")
    talk.wait("protect_form", "After leave out 10%")
    talk.do("method", "pram")
    talk.wait("protect_points", "this setting")
    talk.do("after", {"name": "after", "on": True})
    talk.wait("protect_points", "subsample keep 90%, then PRAM lad 10%")
    talk.wait("protect_now", "over 5 draws")
    talk.do("forget", "redraw lad < 50, 50% of them")
    talk.until(lambda _: "redraw lad < 50" not in talk.words("protect_points"))
    talk.do("choose", "no protection")
    talk.until(lambda _: "leave out" not in talk.words("about"))


def test_a_setting_that_is_chosen_gets_a_label_of_its_own(talk):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_points", "this setting")
    talk.do("choose", "this setting")

    assert "swap lad 10%" in talk.wait("about", "swap lad 10%")
    assert "this setting" not in talk.wait("protect_points", "swap lad 10%")


def test_categories_are_joined_by_hand_and_parted_again(talk):
    sampled(talk)
    talk.tab("protect")
    talk.do("method", "recode")
    talk.do("setting-key", "sex")
    talk.wait("protect_form", "Join categories by hand")
    talk.do("keep")
    talk.wait("status", "which categories are to be joined")
    talk.do("join-them", "")
    talk.wait("status", "Name the new category first.")
    talk.do("join-them", "all")
    talk.wait("status", "Tick the categories")
    names = re.findall(r'data-do="join" data-value="([^"]*)"', talk.shown["protect_form"]["html"])
    for name in names:
        talk.do("join", {"name": name, "on": True})
    talk.do("join-them", "all")
    talk.wait("protect_form", "all: ")
    talk.do("part", "all")
    talk.until(lambda _: "all: " not in talk.words("protect_form"))
    talk.do("bounds", "0, many")
    talk.wait("status", "Give numbers with commas between them")


def test_what_is_found_is_chosen_checked_mended_and_compared(talk, folder):
    sampled(talk)
    talk.tab("protect")
    talk.do("find")
    talk.wait("status", "Set a target first.")
    talk.do("target-kind", "max_share")
    talk.do("target-most", "12")
    talk.wait("protect_target", "Limit")
    talk.do("find")
    talk.wait("status", "meets the target")
    talk.tab("check")
    talk.wait("check_top", "The release check is")
    talk.tab("decide")
    talk.do("compare")
    assert "no protection" in talk.wait("decide_beside", "information loss")
    assert "maskmeter assess" in talk.words("decide_copy")
    talk.do("save-pack", " ")
    talk.wait("status", "Name the folder first.")
    talk.do("save-plan", "found")
    talk.wait("status", "Wrote found.toml")
    talk.do("open-plan", "found.toml")
    talk.wait("status", "Opened the plan found.toml.")

    assert (folder / "found.toml").exists()


def test_a_finding_is_mended_by_the_line_of_its_button(folder):
    with opened(folder, "survey.csv") as talk:
        talk.wait("about", "6 keys")
        sampled(talk)
        talk.tab("protect")
        talk.wait("protect_points", "this setting")
        talk.do("choose", "this setting")
        (folder / "kept.toml").write_text(
            '[data]\nkeys = ["lad", "sex", "age"]\nfraction = 0.01\n'
            '[[step]]\nmethod = "swap"\nkey = "lad"\nrate = 0.2\n',
            encoding="utf-8",
        )
        talk.do("open-plan", "kept.toml")
        talk.tab("check")
        html = talk.wait("check_top", "Not passed") and talk.shown["check_findings"]["html"]
        asked = [unescape(one) for one in re.findall(r'data-value="([^"]*)" aria-label', html)]
        accept = next(iter(re.findall(r'data-do="accept" data-value="([^"]*)"', html)))
        talk.do("mend", "[]")
        talk.wait("status", "look at its check again")
        talk.do("mend", next(one for one in asked if "drop" in one and "pid" in one))
        talk.wait("status", "checked again")
        talk.wait("check_top", "Passed")
        talk.do("undo")
        talk.wait("check_top", "Not passed")
        talk.do("accept", {"value": unescape(accept), "text": " "})
        talk.wait("status", "Give the reason")
        talk.do("accept", {"value": unescape(accept), "text": "the numbers are random"})
        talk.wait("check_findings", "Reason: the numbers are random")
        talk.wait("check_top", "Passed")


def test_an_error_of_an_output_is_told_without_its_words(talk, monkeypatch, capfd):
    sampled(talk)

    def failing(*_):
        raise ValueError(SECRET)

    monkeypatch.setattr(Workbench, "sampling_ready", property(failing))
    monkeypatch.setattr(Workbench, "categories", failing)
    talk.do("fraction", "2")
    talk.wait("sample_now", "This did not work (ValueError).")
    talk.tab("protect")
    talk.do("method", "recode")
    talk.wait("protect_form", "This did not work (ValueError).")

    assert SECRET not in talk.text
    assert SECRET not in "".join(capfd.readouterr())


def test_a_setting_names_none_but_keys_that_it_can_use(talk):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_now", "Records changed")
    talk.do("within", {"name": "sex", "on": True})
    talk.wait("protect_now", "swap lad 10% within sex")
    talk.do("setting-key", "sex")
    talk.until(lambda _: "within" not in talk.words("protect_now"))
    talk.do("setting-key", "lad")
    talk.do("aimed", "ethnicity")
    talk.wait("protect_now", "aimed at ethnicity")
    talk.do("untick", "ethnicity")
    talk.wait("about", "5 keys")
    talk.do("rate", "14")
    talk.do("settle")
    talk.wait("protect_now", "swap lad 14%")


def test_a_setting_that_follows_another_at_once_has_its_own_figures(talk, monkeypatch):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_now", "Records changed")
    draw = map_bench.first_draw

    def slow(*given, **options):
        time.sleep(0.2)
        return draw(*given, **options)

    monkeypatch.setattr(map_bench, "first_draw", slow)
    talk.do("within", {"name": "sex", "on": True})
    talk.do("method", "pram")
    talk.wait("protect_form", "Redraw at random")
    talk.until(lambda _: talk.words("protect_now").startswith("This setting"))
    talk.wait("protect_points", "this setting")
    monkeypatch.undo()
    talk.do("settle")
    talk.wait("protect_now", "PRAM lad 10%")


@pytest.mark.slow
def test_measuring_that_is_stopped_stays_stopped_until_it_is_asked_for(talk, folder, monkeypatch):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_points", "no protection")
    listed = "".join(
        f'[[candidate]]\nlabel = "c{one}"\n[[candidate.step]]\nmethod = "swap"\nkey = "lad"\n'
        f"rate = 0.{one}\n"
        for one in range(1, 6)
    )
    whole = f'[data]\nkeys = ["lad", "sex", "age"]\nfraction = 0.01\n{listed}'
    (folder / "many.toml").write_text(whole, encoding="utf-8")
    draw, drawn = map_bench.first_draw, []

    def slow(attempt, *given, **options):
        time.sleep(0.4)
        drawn.append(attempt.label)
        return draw(attempt, *given, **options)

    monkeypatch.setattr(map_bench, "first_draw", slow)
    talk.do("open-plan", "many.toml")
    talk.wait("working", "c2")
    talk.do("stop")
    talk.wait("status", "Stopped.")
    talk.wait("protect_note", "Measure the points")
    before = len(drawn)
    time.sleep(1)
    talk.tab("keys")
    talk.tab("protect")
    time.sleep(0.5)

    assert len(drawn) == before < 5
    talk.do("measure-points")
    talk.wait("protect_points", "c5")
    assert len(drawn) == len(set(drawn))  # none was drawn twice


def test_a_failure_is_told_also_when_a_control_is_used_at_once(talk, monkeypatch):
    talk.wait("about", "6 keys")
    sampled(talk)

    def failing(*_, **__):
        raise ValueError(SECRET)

    monkeypatch.setattr(Workbench, "save_pack", failing)
    talk.do("save-pack", "evidence")
    talk.do("threshold", "40")
    talk.do("threshold", "30")
    assert SECRET not in talk.wait("status", "This did not work (ValueError).")


def test_a_page_that_waits_for_nobody_says_nothing(talk, monkeypatch):
    """Once measuring was stopped, no window asks for it again and again."""
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_now", "Records changed")
    begun = []

    def stopped(*_, **__):
        begun.append(1)
        raise Cancelled

    monkeypatch.setattr(Workbench, "measure", stopped)
    talk.do("fraction", "2")
    talk.wait("protect_note", "Measure the points")
    time.sleep(1)

    assert len(begun) < 4


def test_a_file_that_is_refused_at_the_start_is_told_in_every_window(folder):
    (folder / "empty.csv").write_text("", encoding="utf-8")
    with served_here(folder, folder / "empty.csv") as page:
        page.log_in()
        time.sleep(1)
        for _ in range(2):
            with page.talk() as link:
                window = Page(link)
                window.wait("status", "empty.csv")
                window.wait("about", "No file is open")


def test_a_plan_may_be_named_at_the_start(folder):
    (folder / "first.toml").write_text('[data]\nkeys = ["sex"]\n', encoding="utf-8")
    with opened(folder, "first.toml") as talk:
        talk.wait("status", "Opened the plan first.toml. Now open its file.")
        talk.do("open", "survey.csv")
        talk.wait("about", "1 key")


def test_undo_says_what_it_takes_back_and_redo_measures_again(talk, folder):
    sampled(talk)
    (folder / "swapped.toml").write_text(
        '[data]\nkeys = ["lad", "sex", "age"]\nfraction = 0.02\n'
        '[[step]]\nmethod = "swap"\nkey = "lad"\nrate = 0.3\n',
        encoding="utf-8",
    )
    talk.tab("protect")
    talk.wait("protect_now", "Records changed")
    talk.do("open-plan", "swapped.toml")
    talk.wait("protect_points", "swap lad 30%")
    talk.wait("protect_now", "swap lad 30%")  # the release of the plan, with its figures
    talk.do("undo")
    said = talk.wait("status", "Undone")
    assert "the keys" in said
    assert "the release" in said
    talk.until(lambda _: "swap lad 30%" not in talk.words("protect_now"))
    talk.do("redo")
    talk.wait("status", "Done again")
    talk.wait("protect_points", "swap lad 30%")
    talk.wait("protect_now", "swap lad 30%")


def test_counting_that_is_stopped_can_be_begun_again(talk, monkeypatch):
    talk.tab("keys")
    talk.wait("key_counts", "once the sample is known")
    warn, go_on = key_bench.key_warnings, Event()

    def slow(*given):
        assert go_on.wait(20)
        return warn(*given)

    monkeypatch.setattr(key_bench, "key_warnings", slow)
    talk.do("untick", "sex")
    talk.wait("working", "Looking at the columns")
    talk.do("stop")
    talk.wait("working", "Stopping")
    go_on.set()
    talk.wait("key_counts", "Count the keys")
    talk.do("count")
    talk.wait("key_counts", "once the sample is known")


def test_a_part_of_a_plan_that_no_control_mends_is_taken_out_by_a_button(talk, folder):
    (folder / "errors.toml").write_text(
        '[data]\nkeys = ["lad", "sex"]\nfraction = 0.01\n[[error]]\nkey = "sex"\nmatrix = "no.csv"\n',
        encoding="utf-8",
    )
    talk.do("open-plan", "errors.toml")
    talk.tab("risk")
    talk.wait("risk_top", "Take the recording errors out of the plan")
    talk.wait("key_warnings", "Take the recording errors out of the plan")
    talk.do("take-out", "error")
    talk.wait("risk_top", "No record is unique on the keys")
    talk.do("take-out", "data")  # what is no such part is ignored
    assert "2 keys" in talk.words("about")


def test_two_releases_are_offered_and_one_cannot_be_compared_with_itself(talk):
    sampled(talk)
    talk.tab("protect")
    talk.wait("protect_now", "Records changed")
    talk.do("settle")
    talk.wait("decide_pair", "swap lad 10%")
    talk.do("compare")  # nothing is chosen yet
    talk.wait("decide_beside", "figure no protection swap lad 10%")
    talk.do("pair-two", "no protection")
    talk.do("compare")
    talk.wait("status", "Choose two different releases to compare.")


def test_all_blocks_of_a_report_have_a_form_on_the_page():
    block = Table("Caption", ("a", "b"), ((" sub", "1"),))
    blocks = (
        Points(("One.",)),
        Terms((("term", "said"),)),
        Fold("More", (block,)),
        Beside(block, block),
    )
    html = str(shown((*blocks, Text("Words.", "Caution"))))
    top = str(first(Top("Lead", "Mark", "good", "Under", (Fact("n", "1", "note"),)), heading="H"))

    assert html.count("<table>") == 3
    written = {one.strip() for one in re.split(r"<[^>]*>", html)}
    assert {"One.", "term", "said", "More", "Caution.", "Words.", "sub"} <= written
    assert all(words in top for words in ("<h3>H</h3>", "verdict good", "Lead", "Under", "note"))
