"""Who may talk to the page, what it may read, and what it lets a browser do."""

from __future__ import annotations

import http.client
import re
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from websockets.exceptions import InvalidStatus

from app.served import Talk, served, served_here, stopped
from command import run, run_python
from maskmeter.app.guard import Guard

LINES = "sex,age\n" + "\n".join(f"{'fm'[i % 2]},{i % 7}" for i in range(200)) + "\n"
SECRET = "the secret of the folder above"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A start directory with a file, beside a folder that is not below it."""
    above = tmp_path_factory.mktemp("above")
    start = above / "start"
    start.mkdir()
    (start / "people.csv").write_text(LINES, encoding="utf-8")
    (above / "secret.csv").write_text(f"{SECRET},b\n1,2\n", encoding="utf-8")
    (start / "link.csv").symlink_to(above / "secret.csv")
    (start / "way").symlink_to(above, target_is_directory=True)
    return start


@pytest.fixture(scope="module")
def page(folder):
    """A page that a browser has logged in to."""
    with served_here(folder) as found:
        assert found.log_in()[0] == 303
        yield found


def test_a_token_is_exchanged_once_for_a_cookie_that_no_other_site_sends(folder):
    with served(folder) as found:
        refused = found.ask("/")
        wrong = found.ask("/?token=guess")
        status, headers, _ = found.log_in()
        again = found.ask(f"/?token={found.token}", known=False)
        inside = found.ask("/")

        assert (refused[0], wrong[0], status, again[0], inside[0]) == (403, 403, 303, 403, 200)
        assert "Open the page with the link" in refused[2]
        assert "used already" in wrong[2]
        assert again[2] == wrong[2]  # nobody learns which of the two it was
        assert headers["Location"] == "/"
        given = headers["Set-Cookie"]
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} < set(given.split("; "))
        assert found.token not in given
        code, said = stopped(found.process)

    assert (code, said.strip()) == (130, "Interrupted.")


def test_the_link_that_was_used_leads_its_own_browser_to_the_page(page):
    link = f"/?token={page.token}"
    status, headers, _ = page.ask(link)

    assert (status, headers["Location"], headers["Set-Cookie"]) == (303, "/", None)
    assert page.ask(link, known=False)[0] == 403


def test_looking_at_the_link_does_not_use_it(folder):
    with served(folder) as found:
        status, _, _ = found.ask(f"/?token={found.token}", method="HEAD", known=False)
        assert status == 403
        assert found.log_in()[0] == 303


@pytest.mark.parametrize("other", ['theme={"a": 1}', "=", "x", 'quoted="a;b"'])
def test_cookies_of_other_programs_on_this_machine_do_not_lock_the_page(page, other):
    own = page.cookie
    try:
        page.cookie = f"{other}; {own}"
        assert page.ask("/")[0] == 200
        page.cookie = f"{own}; {own.partition('=')[0]}=other"
        assert page.ask("/")[0] == 403
    finally:
        page.cookie = own


@pytest.mark.parametrize(
    "path",
    ["/", "/assets/app.js", "/assets/charts.js", "/lib/shiny-1.8.0/shiny.js", "/session/x/y/z"],
)
def test_nothing_is_served_without_the_cookie(page, path):
    assert page.ask(path, known=False)[0] == 403
    assert page.ask(path, known=False, Cookie=f"maskmeter-{page.port}=guess")[0] == 403


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "127.0.0.1:80", "evil.test:{port}", ""]
)
def test_another_host_name_is_refused_also_with_the_cookie(page, host):
    status, _, said = page.ask("/", host=host.format(port=page.port))

    assert status == 403
    assert "its own address" in said


def test_at_the_usual_port_browsers_leave_it_out():
    for port, host, origin in ((80, "127.0.0.1", "http://localhost"), (8080, "127.0.0.1:8080", "")):
        guard = Guard(None, port=port, token="", policy="")
        given = {"host": [host], **({"origin": [origin]} if origin else {})}
        scope = {"type": "http", "method": "GET"}
        assert guard._fault(scope, given) is None
        assert guard._fault(scope, {"host": ["127.0.0.1:81"]}) is not None
    assert Guard(None, port=8080, token="", policy="")._fault(scope, {"host": ["127.0.0.1"]})


def test_localhost_is_another_name_of_the_same_page(page):
    assert page.ask("/", host=f"localhost:{page.port}")[0] == 200


def test_requests_of_other_sites_are_refused_and_none_can_send_anything(page):
    foreign = page.ask("/", method="POST", Origin="https://evil.test")
    unsaid = page.ask("/", method="POST")
    own = page.ask("/", method="POST", Origin=page.origin)
    read = page.ask("/", Origin="https://evil.test")
    upload = page.ask("/session/a/upload/b", method="POST", Origin=page.origin)

    assert [one[0] for one in (foreign, unsaid, own, read, upload)] == [403, 403, 405, 403, 405]


def refusal(page, **options):
    with pytest.raises(InvalidStatus) as refused, page.talk(**options):
        pass
    return refused.value.response.status_code


def test_a_connection_needs_the_cookie_and_an_origin_of_its_own(page):
    assert refusal(page, origin="https://evil.test") == 403
    assert refusal(page, origin=None) == 403
    assert refusal(page, additional_headers={}) == 403
    with page.talk() as link:
        Talk(link).until(lambda text: "people.csv" in text)


def test_every_answer_forbids_what_is_not_needed(page):
    for path, known in (("/", True), ("/assets/app.js", True), ("/", False), ("/nowhere", True)):
        headers = page.ask(path, known=known)[1]
        policy = dict(
            one.strip().split(" ", 1) for one in headers["Content-Security-Policy"].split(";")
        )

        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert set(policy["script-src"].split()) - {"'self'"} == {
            one for one in policy["script-src"].split() if one.startswith("'sha256-")
        }
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Server"] is None


def test_the_page_names_no_other_host(page):
    _, _, html = page.ask("/")

    assert not re.findall(r"https?://(?!127\.0\.0\.1)", html)
    assert re.findall(r'src="[^"]*"', html)


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../../../../etc/passwd",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/lib/shiny-1.8.0/../../../../../etc/passwd",
        "/lib/shiny-1.8.0/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/people.csv",
        "//etc/passwd",
    ],
)
def test_no_address_leads_to_a_file_of_the_machine(page, path):
    status, _, said = page.ask(path)

    assert status in (400, 404)
    assert "root:" not in said
    assert "age" not in said


@pytest.mark.parametrize(
    ("action", "path"),
    [
        ("open", "../secret.csv"),
        ("open", "link.csv"),
        ("open", "way/secret.csv"),
        ("open-plan", "../plan.toml"),
        ("open", "/etc/passwd"),
        ("open", "nothing\x00.csv"),
        ("save-plan", "../plan.toml"),
        ("save-plan", "way/plan.toml"),
    ],
)
def test_a_control_cannot_ask_for_a_path_outside_the_start_directory(page, folder, action, path):
    with page.talk() as link:
        talk = Talk(link)
        talk.until(lambda text: "people.csv" in text)
        talk.do(action, path)
        said = talk.until(lambda text: "notice failed" in text)

    assert SECRET not in said
    assert "root:" not in said
    assert {one.name for one in folder.parent.iterdir()} == {"secret.csv", "start"}


def test_folders_outside_the_start_directory_are_not_listed(page):
    with page.talk() as link:
        talk = Talk(link)
        talk.until(lambda text: "people.csv" in text)
        for path in ("..", "way", "/", "../.."):
            talk.shown.pop("status", None)
            talk.do("folder", path)
            assert "secret.csv" not in talk.until(lambda text: "notice failed" in text)


def test_what_is_no_control_of_the_page_is_ignored(page):
    with page.talk() as link:
        talk = Talk(link)
        talk.until(lambda text: "people.csv" in text)
        for action, value in (("__init__", ""), ("open", {"a": 1}), ("key", 3), ("mend", "9/9")):
            talk.do(action, value)
        talk.do("open", "people.csv")
        talk.until(lambda text: "200" in text and "Choose the keys" in text)


def test_fifty_requests_at_once_are_each_served_or_refused_as_they_should_be(folder):
    with served(folder) as page:
        page.log_in()
        with page.talk() as link:
            talk = Talk(link)
            talk.do("example")  # 14,662 records
            talk.until(lambda text: "14,662 record" in text)
        asked, heard = _all_at_once(page)

        assert asked == [(known, 200 if known else 403) for known, _ in asked]
        assert heard == [True] * 10
        assert page.memory() < 500


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal")
def test_the_example_is_removed_when_the_terminal_is_closed(folder, tmp_path):
    with served(folder, env={"TMPDIR": str(tmp_path)}) as page:
        page.log_in()
        with page.talk() as link:
            talk = Talk(link)
            talk.do("example")
            talk.until(lambda text: "14,662 record" in text)
        kept = [one.name.split("-")[0] for one in tmp_path.iterdir()]
        page.process.send_signal(signal.SIGHUP)
        page.process.wait(20)

    assert "maskmeter" in kept
    assert not list(tmp_path.glob("maskmeter-*"))


def _all_at_once(page):
    def ask(number):
        known = number % 2 == 0
        path = ("/", "/assets/app.css", "/lib/shiny-1.8.0/shiny.js")[number % 3]
        return known, page.ask(path, known=known)[0]

    def listen(_):
        with page.talk() as link:
            return "survey.csv" in Talk(link).until(lambda text: "14,662 record" in text)

    with ThreadPoolExecutor(50) as pool:
        asked = list(pool.map(ask, range(50)))
        heard = list(pool.map(listen, range(10)))
    return asked, heard


def test_the_server_listens_on_the_loopback_interface_only(page):
    with open("/proc/net/tcp", encoding="ascii") as lines:  # noqa: PTH123 - no file
        listening = [line.split()[1] for line in lines if line.split()[3] == "0A"]
    heard = [one for one in listening if one.endswith(f":{page.port:04X}")]

    assert heard == [f"0100007F:{page.port:04X}"]


def test_a_file_given_by_name_may_lie_elsewhere_and_opens_at_once(folder):
    with served_here(folder, folder.parent / "secret.csv") as found:
        found.log_in()
        with found.talk() as link:
            assert SECRET in Talk(link).until(lambda text: SECRET in text)


def test_without_shiny_the_command_says_what_to_install(tmp_path):
    code = "import sys; from maskmeter.cli import main; main(sys.argv[1:])"
    done = run_python(code, "app", "--no-browser", hidden=["shiny"], folder=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'maskmeter[app]'" in done.stderr


def test_a_missing_file_and_a_taken_port_are_refused(page, tmp_path):
    missing = run("app", "nowhere.sav", "--no-browser", folder=tmp_path)
    taken = run("app", "--no-browser", "--port", page.port, folder=tmp_path)

    assert (missing.returncode, taken.returncode) == (1, 1)
    assert "There is no file 'nowhere.sav'" in missing.stderr
    assert f"Port {page.port} is taken" in taken.stderr
    assert "Traceback" not in missing.stderr + taken.stderr


def test_a_link_that_is_cut_leaves_the_page_to_others(page):
    link = http.client.HTTPConnection("127.0.0.1", page.port)
    link.connect()
    link.sock.sendall(b"GET / HTTP/1.1\r\nHost: ")
    link.close()

    assert page.ask("/")[0] == 200
