"""Foreign names and pages on a real server: DNS rebinding, origins, frames."""

import base64
import http.client
import os
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from judgepanel.ui.guard import WRONG_NAME, WRONG_PAGE, Guard, host_name
from judgepanel.ui.server import public_origins
from tests.browser.conftest import ROOT, free_port, serving

TOKEN = "t" * 43
PUBLIC = "https://judges.example.org"
LONG = 180


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of one user, which people also open at a public address."""
    home = tmp_path_factory.mktemp("home")
    with serving(home, ROOT / "app.py", {"JUDGEPANEL_PUBLIC_URL": f"{PUBLIC}/"}) as running:
        yield running


def port_of(server):
    return urlsplit(server.url).port


def handshake(server, host, origin, *more):
    """The status of a websocket's handshake, as sent byte by byte."""
    lines = ["GET /_stcore/stream HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}"]
    lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: streamlit"]
    lines += [f"Host: {host}"] if host is not None else []
    lines += [f"Origin: {origin}"] if origin is not None else []
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=LONG) as connection:
        connection.sendall("\r\n".join([*lines, *more, "", ""]).encode())
        return int(connection.recv(4096).split(b" ", 2)[1])


def ask(server, method="GET", path="/", **headers):
    """Status, headers and body of an answer; names of headers with `_` for `-`."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=LONG)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers={"Host": "localhost", **named})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def test_the_own_page_has_its_websocket(server):
    port = port_of(server)
    for name in ("localhost", "127.0.0.1", "[::1]"):
        assert handshake(server, f"{name}:{port}", f"http://{name}:{port}") == 101
    assert handshake(server, "judges.example.org", PUBLIC) == 101
    assert handshake(server, "localhost", None) == 101, "no browser leaves the origin out"


@pytest.mark.parametrize("suffix", ["", ":{port}", ".", ":{port}.localhost"])
def test_a_name_that_was_pointed_here_opens_no_websocket(server, suffix):
    host = "evil.example" + suffix.format(port=port_of(server))
    assert handshake(server, host, f"http://{host}") in (400, 403)


@pytest.mark.parametrize(
    "host",
    [
        *("", "localhost.evil.example", "evil.example#localhost", "localhost@evil.example"),
        *("evil.example/localhost", "evil.example?localhost", "localhost:port", "127.0.0.1.nip.io"),
        *("xn--lcalhost-43b", "0.0.0.1", "judges.example.org.evil.example"),
    ],
)
def test_no_trick_makes_a_name_ours(server, host):
    assert handshake(server, host, None) in (400, 403)


def test_two_names_or_two_origins_are_none(server):
    port = port_of(server)
    two = handshake(server, f"localhost:{port}", None, "Host: evil.example")
    assert two in (400, 403)
    own = f"http://localhost:{port}"
    two = handshake(server, f"localhost:{port}", own, "Origin: http://evil.example")
    assert two in (400, 403)


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "null", "", "http://localhost:1", "https://127.0.0.1:{port}"),
        *(
            "http://localhost:{port}.evil.example",
            "file://",
            "http://localhost:{port}@evil.example",
        ),
        *("http://evil.example:{port}", "chrome-extension://localhost:{port}", PUBLIC),
    ],
)
def test_a_page_of_another_site_opens_no_websocket(server, origin):
    port = port_of(server)
    assert handshake(server, f"localhost:{port}", origin.format(port=port)) == 403


def test_the_public_address_is_opened_by_its_own_pages_alone(server):
    host = "judges.example.org"
    for origin in (f"http://{host}", f"https://{host}:8443", "https://other.example.org"):
        assert handshake(server, host, origin) == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", "/"), ("GET", "/panel_curve"), ("GET", "/_stcore/health")),
        *(("PUT", "/_stcore/upload_file/a/b"), ("GET", "/media/0.csv"), ("GET", "/auth/login")),
        *(("GET", "/_stcore/metrics"), ("OPTIONS", "/_stcore/health")),
    ],
)
def test_nothing_is_given_to_or_taken_from_others(server, method, path):
    status, headers, body = ask(server, method, path, Host="evil.example")
    assert (status, body.decode()) == (421, WRONG_NAME)
    for foreign in ({"Origin": "http://evil.example"}, {"Origin": "null"}):
        status, headers, body = ask(server, method, path, **foreign)
        assert (status, body.decode()) == (403, WRONG_PAGE)
        assert "Access-Control-Allow-Origin" not in headers
    for site in ("cross-site", "same-site"):
        status, _, _ = ask(server, method, path, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")
        assert status == 403


def test_a_link_on_another_page_leads_here_and_a_form_does_not(server):
    follows = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert ask(server, path="/panel_curve", **follows)[0] == 200
    assert ask(server, "POST", "/panel_curve", **follows)[0] == 403
    assert ask(server, Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors")[0] == 200
    assert ask(server, Sec_Fetch_Site="none", Sec_Fetch_Mode="navigate")[0] == 200


@pytest.mark.parametrize(
    "path", ["/", "/panel_curve", "/_stcore/health", "/media/none", "/nope.js"]
)
def test_every_answer_has_the_headers_that_protect_it(server, path):
    _, headers, _ = ask(server, path=path)
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Content-Security-Policy"].endswith("frame-ancestors 'none'")


@pytest.mark.parametrize(
    ("query", "framed"),
    [
        (f"share={TOKEN}&embed=true", True),
        (f"embed=true&share={TOKEN}&embed_options=dark_theme", True), ("embed=true", False),
        (f"share={TOKEN}", False), ("share=&embed=true", False), ("share=short&embed=true", False),
        (f"share={TOKEN}&share={TOKEN}&embed=true", False), (f"share={TOKEN}&embed=false", False),
        (f"analysis={TOKEN}&embed=true", False),
    ],
)  # fmt: skip
def test_a_frame_shows_a_share_link_that_asks_for_it_and_nothing_else(server, query, framed):
    _, headers, _ = ask(server, path=f"/?{query}")
    assert ("X-Frame-Options" in headers) is not framed
    wanted = "*" if framed else "'none'"
    assert headers["Content-Security-Policy"].endswith(f"frame-ancestors {wanted}")


def test_what_lies_before_the_port_is_the_name():
    assert host_name("LocalHost.:8501") == "localhost"
    assert host_name("[::1]:8501") == "::1"
    assert host_name("localhost:99999") is None


def test_names_below_a_name_can_be_allowed_and_their_pages_stay_their_own():
    guard = Guard(None, names=("*.example.org",))
    assert guard._is_our_name(["team.example.org"])
    assert not guard._is_our_name(["example.org.evil.example"])
    assert not guard._is_our_name(["evilexample.org"])


def test_a_team_is_known_by_where_its_people_come_back_to(monkeypatch, tmp_path):
    monkeypatch.setattr("judgepanel.ui.server.is_team", lambda: True)
    auth = {"redirect_uri": "https://judges.example.org:443/oauth2callback", "client_id": "x"}
    monkeypatch.setattr("judgepanel.ui.server.auth_section", lambda: auth)
    assert public_origins() == (PUBLIC,)
    monkeypatch.setenv("JUDGEPANEL_PUBLIC_URL", "https://other.example.org:8443/")
    assert public_origins() == ("https://other.example.org:8443",)


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"JUDGEPANEL_PUBLIC_URL": "judges.example.org"},
            "JUDGEPANEL_PUBLIC_URL is not the address of a dashboard"),
        ({"JUDGEPANEL_ACCESS": "team"}, "nobody can sign in"),
        ({"JUDGEPANEL_ACCESS": "everyone"}, "it can be local or team"),
        ({"JUDGEPANEL_DATABASE_URL": "mysql://h/n"}, "is not the address of a database"),
    ],
)  # fmt: skip
def test_a_setting_that_is_refused_ends_the_start_with_one_sentence(tmp_path, environ, sentence):
    ran = start(tmp_path, STREAMLIT_SECRETS_FILES=str(tmp_path / "none.toml"), **environ)
    assert ran.returncode == 2
    assert sentence in ran.stderr
    assert "Traceback" not in ran.stderr


def start(folder, **environ):
    """A server that is to refuse to start."""
    command = ["-m", "streamlit", "run", "app.py", f"--server.port={free_port()}"]
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "JUDGEPANEL_HOME": str(folder), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )


def test_a_request_that_never_ends_keeps_no_server_from_ending(tmp_path):
    request = (
        "PUT /_stcore/upload_file/a/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n"
    )
    with (
        serving(tmp_path, ROOT / "app.py", {}) as running,
        socket.create_connection(("127.0.0.1", port_of(running))) as slow,
    ):
        slow.sendall(request.encode())
        running.process.send_signal(signal.SIGTERM)
        running.process.wait(timeout=LONG)
