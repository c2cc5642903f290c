"""A team's server before somebody who has not signed in, and its own address."""

from __future__ import annotations

import asyncio
import json
import time
from secrets import token_hex

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    generate_xsrf_token_string,
)

from judgepanel.ui.access import SIGNED_IN_SECONDS
from judgepanel.ui.guard import ON_THIS_MACHINE, SIGN_IN_FIRST, Guard
from tests.browser.conftest import ROOT, free_port, serving
from tests.hostile.test_web import PUBLIC, ask

SECRET = token_hex(32)
HERE = {"Host": "judges.example.org"}
UPLOAD = "/_stcore/upload_file/session/file"
USER = "_streamlit_user"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A team's server behind https://judges.example.org; its provider is never asked."""
    secrets = tmp_path_factory.mktemp("secrets") / "secrets.toml"
    secrets.write_text(
        f'[auth]\nredirect_uri = "{PUBLIC}/oauth2callback"\ncookie_secret = "{SECRET}"\n'
        'client_id = "judgepanel"\nclient_secret = "x"\n'
        'server_metadata_url = "http://localhost:1/.well-known/openid-configuration"\n',
        encoding="utf-8",
    )
    env = {"JUDGEPANEL_ACCESS": "team", "STREAMLIT_SECRETS_FILES": str(secrets)}
    with serving(tmp_path_factory.mktemp("home"), ROOT / "app.py", env, free_port()) as running:
        yield running


def signed(secret=SECRET, name=USER, **changes):
    """The cookie of somebody's sign-in."""
    claims = {"iss": "https://login.example.org", "sub": "ann", "iat": time.time()}
    claims |= {"is_logged_in": True, "origin": PUBLIC, **changes}
    return create_signed_value(secret, name, json.dumps(claims)).decode()


def upload(server, method, **cookies):
    """The status and text of an upload by somebody with these cookies and a token of the site."""
    token = generate_xsrf_token_string()
    sent = {**cookies, "_streamlit_xsrf": token}
    jar = "; ".join(f"{name}={value}" for name, value in sent.items())
    status, _, body = ask(server, method, UPLOAD, **HERE, Cookie=jar, X_Xsrftoken=token)
    return status, body.decode()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
@pytest.mark.parametrize(
    "value",
    [
        *("", "chunks-9", signed(token_hex(32)), signed(name="_streamlit_user_tokens")),
        *(signed()[:-1], signed(iat=time.time() - SIGNED_IN_SECONDS - 60), signed(sub="")),
        create_signed_value(SECRET, USER, "[]").decode(),
        create_signed_value(SECRET, USER, "no JSON").decode(),
        create_signed_value(SECRET, USER, "chunks-3").decode(),
    ],
    ids=range(10),
)
def test_who_has_not_signed_in_sends_no_file(server, method, value):
    assert upload(server, method, **({USER: value} if value else {})) == (403, SIGN_IN_FIRST)


def test_an_upload_without_sign_in_is_refused_however_its_path_is_written(server):
    for path in (UPLOAD.replace("upload_file", "upload%5ffile"), f"{UPLOAD}?x=1"):
        status, _, body = ask(server, "PUT", path, **HERE)
        assert (status, body.decode()) == (403, SIGN_IN_FIRST)


def test_who_has_signed_in_sends_files_to_sessions_that_exist(server):
    status, text = upload(server, "PUT", **{USER: signed()})
    assert status == 400
    assert "session_id" in text


def test_cookies_of_an_address_with_tls_never_leave_without(server):
    for path in ("/_stcore/health", "/auth/logout"):
        _, headers, _ = ask(server, path=path, **HERE)
        cookies = headers.get_all("Set-Cookie")
        assert cookies
        assert all(cookie.endswith("; Secure") for cookie in cookies)
    _, headers, _ = ask(server, path="/_stcore/health")
    assert "Secure" not in headers["Set-Cookie"], "on the machine itself there is no TLS"


def test_how_busy_the_server_is_is_told_on_its_machine_alone(server):
    status, _, body = ask(server, path="/_stcore/metrics", **HERE)
    assert (status, body.decode()) == (404, ON_THIS_MACHINE)
    status, _, body = ask(server, path="/_stcore/metrics")
    assert status == 200
    assert b"active_sessions" in body


def test_no_page_around_ours_may_steer_it(server):
    _, _, body = ask(server, path="/_stcore/host-config", **HERE)
    assert json.loads(body)["allowedOrigins"] == []


def test_a_page_that_opened_ours_has_no_hold_on_it(server):
    for path in ("/", "/panel_curve", "/nope"):
        _, headers, _ = ask(server, path=path, **HERE)
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


def through_the_guard(*sent):
    """What a websocket's application receives of these messages, and what is sent back."""
    incoming = [{"type": "websocket.receive", **message} for message in sent]
    received, answers = [], []

    async def receive():
        return incoming.pop(0) if incoming else {"type": "websocket.disconnect", "code": 1000}

    async def send(message):
        answers.append(message)

    async def app(scope, receive, send):
        while (message := await receive())["type"] == "websocket.receive":
            received.append(message["bytes"])

    scope = {"type": "websocket", "path": "/_stcore/stream", "headers": [(b"host", b"localhost")]}
    asyncio.run(Guard(app)(scope, receive, send))
    return received, answers


def in_bytes(name, value=True):
    message = BackMsg()
    setattr(message, name, value)
    return {"bytes": message.SerializeToString()}


@pytest.mark.parametrize(
    "name",
    [
        *("load_git_info", "clear_cache", "set_run_on_save"),
        *("debug_disconnect_websocket", "debug_shutdown_runtime"),
    ],
)
def test_nobody_asks_for_the_folder_of_the_server_or_acts_on_all_sessions(name):
    wanted = in_bytes("stop_script")
    behind = {"bytes": wanted["bytes"] + in_bytes(name)["bytes"]}
    assert through_the_guard(in_bytes(name), behind, wanted) == ([wanted["bytes"]], [])


def test_a_text_ends_a_websocket_and_bytes_that_are_no_message_are_for_streamlit():
    broken = {"bytes": b"\xff" * 9}
    received, answers = through_the_guard(broken, {"text": "hello"}, in_bytes("stop_script"))
    assert received == [broken["bytes"]]
    assert answers == [{"type": "websocket.close", "code": 1003}]
