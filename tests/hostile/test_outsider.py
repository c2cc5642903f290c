"""A team's server towards a visitor who has not signed in, its own address, and its secrets."""

import asyncio
import json
import random
import re
import string
import subprocess
import sys
import time
import tomllib
from secrets import token_hex

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    generate_xsrf_token_string,
)
from websockets.asyncio.client import connect

from judgepanel.ui import access, guard
from tests.browser.conftest import ROOT, free_port, serving
from tests.hostile.test_web import PUBLIC, ask, port_of, start

SECRET = token_hex(32)
HERE = {"Host": "judges.example.org"}
UPLOAD = "/_stcore/upload_file/session/file"
USER = "_streamlit_user"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A team's server behind https://judges.example.org; its provider is never asked."""
    env = team(tmp_path_factory.mktemp("secrets"), SECRET)
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
        *(signed()[:-1], signed(iat=time.time() - access.SIGNED_IN_SECONDS - 60), signed(sub="")),
        create_signed_value(SECRET, USER, "[]").decode(),
        create_signed_value(SECRET, USER, "no JSON").decode(),
        create_signed_value(SECRET, USER, "chunks-3").decode(),
    ],
    ids=range(10),
)
def test_who_has_not_signed_in_sends_no_file(server, method, value):
    assert upload(server, method, **({USER: value} if value else {})) == (403, guard.SIGN_IN_FIRST)


def test_an_upload_without_sign_in_is_refused_however_its_path_is_written(server):
    for path in (UPLOAD.replace("upload_file", "upload%5ffile"), f"{UPLOAD}?x=1"):
        status, _, body = ask(server, "PUT", path, **HERE)
        assert (status, body.decode()) == (403, guard.SIGN_IN_FIRST)


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


def test_files_that_were_made_are_kept_by_no_proxy_and_no_browser(server):
    assert ask(server, path="/media/none.csv", **HERE)[1]["Cache-Control"] == "no-store"
    assert ask(server, path="/", **HERE)[1]["Cache-Control"] != "no-store"


def test_how_busy_the_server_is_is_told_on_its_machine_alone(server):
    status, _, body = ask(server, path="/_stcore/metrics", **HERE)
    assert (status, body.decode()) == (404, guard.ON_THIS_MACHINE)
    status, _, body = ask(server, path="/_stcore/metrics")
    assert status == 200
    assert b"active_sessions" in body


def test_no_page_around_ours_may_steer_it(server):
    _, _, body = ask(server, path="/_stcore/host-config", **HERE)
    assert json.loads(body)["allowedOrigins"] == []


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
    asyncio.run(guard.Guard(app)(scope, receive, send))
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


def operation(payload):
    message = BackMsg()
    getattr(message.backend_operation_request, payload).SetInParent()
    return {"bytes": message.SerializeToString()}


def test_a_page_asks_for_its_files_and_nobody_has_files_written_on_the_server():
    wanted = [operation("deferred_file"), operation("dataframe_chunk")]
    others = [operation("install_skills"), operation("dismiss_skills_nudge"), {"bytes": b""}]
    received, answers = through_the_guard(*others, *wanted)
    assert received == [message["bytes"] for message in wanted]
    assert answers == []


def test_nobody_has_a_million_addresses_made():
    few, many = BackMsg(), BackMsg()
    few.file_urls_request.file_names.append("votes.csv")
    many.file_urls_request.file_names.extend(["votes.csv"] * 1_000)
    sent = [{"bytes": message.SerializeToString()} for message in (many, few)]
    assert through_the_guard(*sent) == ([few.SerializeToString()], [])


@pytest.mark.parametrize(
    ("message", "code"), [({"text": "hello"}, 1003), ({"bytes": b"\xff" * 9}, 1002)]
)
def test_what_is_no_message_ends_a_websocket_and_leaves_no_traceback(message, code):
    received, answers = through_the_guard(message, in_bytes("stop_script"))
    assert received == []
    assert answers == [{"type": "websocket.close", "code": code}]


def test_a_websocket_that_sends_too_much_waits_so_that_others_are_answered(monkeypatch):
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)

    monkeypatch.setattr("judgepanel.ui.guard.asyncio.sleep", sleep)
    monkeypatch.setattr("judgepanel.ui.guard.time.monotonic", lambda: 0.0)
    received, _ = through_the_guard(*[in_bytes("stop_script")] * (guard.MESSAGES_AT_ONCE + 40))
    assert len(received) == len(pauses) == guard.MESSAGES_AT_ONCE + 40
    assert pauses[: guard.MESSAGES_AT_ONCE] == pytest.approx([0.0] * guard.MESSAGES_AT_ONCE)
    assert pauses[-1] == pytest.approx(40 / guard.MESSAGES_PER_SECOND)


def test_what_a_page_asks_in_its_own_time_never_waits():
    pace = guard.Pace()
    waits = [pace.wait(n / guard.MESSAGES_PER_SECOND) for n in range(500)]
    assert waits == pytest.approx([0.0] * 500)


async def first_of_a_session(server):
    """All that a websocket is told until the page's script has ended."""
    message = BackMsg()
    message.rerun_script.query_string = ""
    address = f"ws://127.0.0.1:{port_of(server)}/_stcore/stream"
    async with connect(address, subprotocols=["streamlit"], open_timeout=60) as websocket:
        await websocket.send(message.SerializeToString())
        while True:
            data = await websocket.recv(decode=False)
            forward = ForwardMsg.FromString(data)
            yield data, forward
            if forward.WhichOneof("type") == "script_finished":
                return


def test_nobody_is_told_where_the_app_lies_or_on_what_machine(server):
    async def told():
        return [each async for each in first_of_a_session(server)]

    messages = asyncio.run(told())
    (session,) = (m.new_session for _, m in messages if m.WhichOneof("type") == "new_session")
    assert session.main_script_path == "app.py"
    assert session.initialize.HasField("user_info")
    assert session.initialize.user_info.ByteSize() == 0
    assert session.initialize.environment_info.python_version == ""
    assert session.initialize.environment_info.server_os == ""
    assert str(ROOT).encode() not in b"".join(data for data, _ in messages)


def test_a_link_on_another_page_signs_nobody_out(server):
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", **HERE}
    assert ask(server, path="/auth/logout", **link)[0] == 403
    assert ask(server, path="/auth/logout", **{**link, "Sec_Fetch_Site": "same-origin"})[0] == 302
    assert ask(server, path="/oauth2callback", **link)[0] == 302, "the provider sends people back"


EXAMPLE = "64 random characters, as of: openssl rand -hex 32"
"""What docs/team.md once had as its example."""
WEAK = [
    *("", EXAMPLE, "x" * 64, "0123456789abcdef" * 4, "abcdefghijklmnopqrstuvwxyz0123456789"),
    *("please-change-me-to-something-long-1234", "correcthorsebatterystaplecorrecthorse"),
    *("qwertyuiopasdfghqwertyuiopasdfgh", "0123456789012345678901234567890123456789"),
    *("only-for-tests-0123456789abcdef0123456789", "deadbeef" * 8, "a1" * 32, "\u00e9" * 40),
    *("my very own phrase, which is not so short", "13579" * 8, "9549083c75325cf4"),
]


@pytest.mark.parametrize("secret", WEAK)
def test_a_secret_that_can_be_guessed_is_refused(secret):
    assert access.weakness(secret) is not None


@pytest.mark.parametrize("secret", [None, 5, ["a"], b"x" * 64])
def test_what_is_no_text_is_no_secret(secret):
    assert access.weakness(secret) == "is missing"


def test_no_random_secret_is_refused():
    chance = random.Random(0)
    letters = string.ascii_letters + string.digits
    for digits, length in (("0123456789abcdef", 64), (letters, 32), (letters + "-_", 43)):
        made = ["".join(chance.choices(digits, k=length)) for _ in range(1000)]
        assert [secret for secret in made if access.weakness(secret)] == []


def test_the_docs_have_no_secret_that_works_and_the_command_makes_one():
    text = (ROOT / "docs" / "team.md").read_text("utf-8")
    examples = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    given = [block["auth"]["cookie_secret"] for block in examples]
    assert given
    assert all(access.weakness(secret) for secret in given)
    assert access.RANDOM_COMMAND in text
    program = access.RANDOM_COMMAND.partition(' -c "')[2].removesuffix('"')
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert access.weakness(printed.strip()) is None


def team(folder, secret):
    file = folder / "secrets.toml"
    file.write_text(
        "[auth]\n"
        f'redirect_uri = "{PUBLIC}/oauth2callback"\n'
        f'cookie_secret = "{secret}"\n'
        'client_id = "judgepanel"\nclient_secret = "x"\n'
        'server_metadata_url = "http://localhost:1/.well-known/openid-configuration"\n'
    )
    return {"JUDGEPANEL_ACCESS": "team", "STREAMLIT_SECRETS_FILES": str(file)}


def test_a_team_server_does_not_start_with_the_example(tmp_path):
    ran = start(tmp_path, **team(tmp_path, EXAMPLE))
    assert ran.returncode != 0
    assert "The cookie_secret in the section [auth] of secrets.toml is a phrase" in ran.stderr
    assert access.RANDOM_COMMAND in ran.stderr
    assert EXAMPLE not in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_page_says_so_too_however_it_is_served(tmp_path, monkeypatch):
    for name, value in team(tmp_path, "short").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JUDGEPANEL_HOME", str(tmp_path))
    monkeypatch.setattr("judgepanel.ui.access.auth_section", lambda: {"cookie_secret": "short"})
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    assert "cookie_secret" in "".join(block.proto.body for block in page.get("html"))
    assert not page.button
