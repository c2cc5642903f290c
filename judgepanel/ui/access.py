"""Sign-in: the one user of this machine, or the members of a team.

``JUDGEPANEL_ACCESS`` is ``local`` or ``team``. If it is unset, the mode is ``team`` when
Streamlit's secrets have an ``[auth]`` section, and ``local`` otherwise.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import streamlit as st
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.errors import StreamlitAPIException, StreamlitAuthError
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from judgepanel.service.basics import LOCAL, ServerProblem
from judgepanel.votes import InputError
from judgepanel.votes.errors import require

MODES = ("local", "team")
SIGNED_IN_SECONDS = 24 * 3600.0
"""A sign-in expires after this time, so whoever leaves the team loses access within a day."""
SKEW_SECONDS = 300.0
"""How far the provider's clock may be ahead of this one."""
_COOKIE = "_streamlit_xsrf"
_LOG = logging.getLogger(__name__)
SECRET_LENGTH = 32
SECRET_BITS = 90.0
"""The lowest estimate that passes; 32 random hexadecimal digits have about 115 bits."""
RANDOM_COMMAND = 'python3 -c "import secrets; print(secrets.token_hex(32))"'
_REPEATED = 5
_WORDS = (
    *("change", "cookie", "default", "example", "openssl", "passwor", "placeholder", "random"),
    *("replace", "secret", "test"),
)


class AccessProblem(ServerProblem):
    """The sign-in of this server is not set up correctly."""


@dataclass(frozen=True, slots=True)
class User:
    """A user who has signed in: ``owner`` is unique to them, ``name`` is untrusted text to show."""

    owner: str
    name: str


def is_team() -> bool:
    """Whether users have to sign in.

    Raises
    ------
    AccessProblem
        The setting has another value, a team has no sign-in or lacks the package for it, or cookies
        could be forged.
    """
    wanted = os.environ.get("JUDGEPANEL_ACCESS", "")
    if wanted not in ("", *MODES):
        raise AccessProblem(f"JUDGEPANEL_ACCESS is {wanted!r}; it can be {' or '.join(MODES)}.")
    if wanted == "local":
        return False
    team = bool(auth_section())
    if wanted == "team" and not team:
        raise AccessProblem(
            "JUDGEPANEL_ACCESS is 'team', but there is no readable secrets.toml with a section "
            "[auth], so nobody can sign in."
        )
    if team:
        try:
            require("authlib", "signing in")
        except InputError as error:
            raise AccessProblem(str(error)) from None
    if team and (weak := weakness(auth_section().get("cookie_secret"))) is not None:
        raise AccessProblem(
            f"The cookie_secret in the section [auth] of secrets.toml {weak}: anyone who guesses "
            "it can sign in as any user. Replace it with what this prints, and start again: "
            f"{RANDOM_COMMAND}"
        )
    return team


def user() -> User | None:
    """The user who has signed in; None if nobody has, or if the sign-in has expired."""
    return _user_of(_claims())


def user_of_cookies(cookies: Mapping[str, str]) -> User | None:
    """The user who sends these cookies, under the same rules as :func:`user`."""
    secret = str(auth_section().get("cookie_secret", ""))

    def decoded(name: str) -> bytes | None:
        value = cookies.get(name)
        return None if value is None else decode_signed_value(secret, name, value)

    try:
        claims = json.loads(get_cookie_with_chunks(decoded, USER_COOKIE_NAME) or b"{}")
    except ValueError:
        return None
    return _user_of(claims) if isinstance(claims, Mapping) else None


def _user_of(claims: Mapping[str, Any]) -> User | None:
    issuer, subject = claims.get("iss"), claims.get("sub")
    issued: Any = claims.get("iat")
    if claims.get("is_logged_in") is not True or type(issued) not in (int, float):
        return None
    if not (isinstance(issuer, str) and issuer and isinstance(subject, str) and subject):
        return None
    now = time.time()
    if not now - SIGNED_IN_SECONDS <= issued <= now + SKEW_SECONDS:
        return None
    name = next((claims[key] for key in ("name", "email") if claims.get(key)), subject)
    return User(json.dumps([issuer, subject]), str(name))


def owner() -> str | None:
    """The owner of the analyses that the visitor may see; None while nobody is signed in."""
    if not is_team():
        return LOCAL
    here = user()
    return None if here is None else here.owner


def signed_in() -> bool:
    """Whether the visitor has signed in; always False on a server for one user."""
    return is_team() and user() is not None


def sign_in(sentence: str) -> None:
    """Ask the visitor to sign in, with a button for each provider."""
    st.info(sentence)
    warn_without_cookies("nobody can sign in")
    auth = auth_section()
    named = [name for name, value in auth.items() if isinstance(value, Mapping)]
    providers = [*([None] if "client_id" in auth or not named else []), *named]
    for provider in providers:
        label = "Sign in" if provider is None else f"Sign in with {provider}"
        if st.button(label, type="primary", key=f"sign-in-{provider or ''}"):
            try:
                st.login(provider)
            except (StreamlitAuthError, StreamlitAPIException) as error:
                _LOG.error("signing in: %s", error)
                st.error(
                    "The sign-in of this server is not set up correctly; its log has the details."
                )


def warn_without_cookies(what: str) -> None:
    """If the browser refuses cookies, say that therefore ``what``, such as 'nobody can sign in'."""
    needed = st.get_option("server.enableXsrfProtection")
    if needed and st.context.headers and _COOKIE not in st.context.cookies:
        st.error(
            f"Your browser refuses the cookies of this site, so {what}: allow them for this "
            "address, then load the page again."
        )


def signed_in_as() -> None:
    """Show who is signed in, with a button to sign out."""
    here = user() if is_team() else None
    if here is not None:
        st.caption("Signed in as")
        st.text(here.name[:80])
        st.button("Sign out", key="sign-out", on_click=st.logout, width="stretch")


def auth_section() -> Mapping[str, Any]:
    """The section [auth] of the secrets; empty if it is missing or the secrets are damaged."""
    section = st.secrets.get("auth") if st.secrets.load_if_toml_exists() else None
    return section if isinstance(section, Mapping) else {}


def _claims() -> Mapping[str, Any]:
    return st.user.to_dict()


def weakness(secret: object) -> str | None:
    """Why a secret must not sign cookies, as the end of a sentence; None if it may.

    The estimated entropy is the lowest of three: that of the characters, that of the differences
    between consecutive characters, and that of the characters that neither repeat an earlier
    stretch nor continue a sequence such as abc or 123. It tells phrases and patterns from random
    characters, but cannot recognise random characters that were published elsewhere.
    """
    if not isinstance(secret, str) or not secret:
        return "is missing"
    if len(secret) < SECRET_LENGTH:
        return f"has {len(secret)} characters but needs at least {SECRET_LENGTH}"
    lowered = secret.lower()
    has_words = any(word in lowered for word in _WORDS) or any(char.isspace() for char in secret)
    if has_words or (secret == lowered and not any(char.isdigit() for char in secret)):
        return "is a phrase, not random characters"
    if estimated_bits(secret) < SECRET_BITS:
        return "is too regular to be random"
    return None


def estimated_bits(secret: str) -> float:
    """A rough estimate of the entropy of a text, in bits."""
    codes = [ord(char) for char in secret]
    steps = [after - before for before, after in pairwise(codes)]
    return min(_bits(codes), _bits(steps), _bits(codes) * _new_share(secret))


def _bits(values: Sequence[int]) -> float:
    """Shannon entropy of the values' frequencies times the number of values, in bits."""
    return -sum(n * math.log2(n / len(values)) for n in Counter(values).values())


def _new_share(text: str) -> float:
    """Share of characters that neither end a repeated stretch nor continue a run such as abc."""
    codes = [ord(char) for char in text]
    seen: set[str] = set()
    known = 0
    for end in range(1, len(text) + 1):
        stretch = text[max(0, end - _REPEATED) : end]
        last = codes[max(0, end - 3) : end]
        runs = len(last) == 3 and last[2] - last[1] == last[1] - last[0] in (-1, 0, 1)
        known += runs or stretch in seen
        if len(stretch) == _REPEATED:
            seen.add(stretch)
    return 1.0 - known / len(text)
