"""judges.toml: which judges are asked, where, how fast, at what price, and in which order.

The prompt of a judge: a template with three placeholders, filled in one pass.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from judgepanel.votes.cells import unshield
from judgepanel.votes.errors import InputError, first_repeated, quote_value, unopened
from judgepanel.votes.names import is_role_name

PLACES = ("instruction", "response_a", "response_b")
_PROMPTS = sorted((Path(__file__).parent / "prompts").glob("*.txt"))
BUILT_IN = {path.stem: path.read_text("utf-8").removesuffix("\n") for path in _PROMPTS}
_PLACE = re.compile(r"\{(instruction|response_a|response_b)\}")


def filled(template: str, instruction: str, response_a: str, response_b: str) -> str:
    """The prompt; braces in the texts are left unchanged."""
    texts = dict(zip(PLACES, (instruction, response_a, response_b), strict=True))
    return _PLACE.sub(lambda place: texts[place[1]], template)


def fingerprint(value: Any) -> str:
    """SHA-256 (16 digits) of a value's JSON."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


LONGEST_NAME = 200
LONGEST_PROMPT = 1_000_000
TOKENS_AROUND = 1_000
"""Most tokens that a server adds to a prompt."""
_TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}


def _within(default: float, low: float, high: float) -> Any:
    """A field that judges.toml sets to a number from ``low`` to ``high``."""
    return field(default=default, metadata={"bounds": (low, high)})


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge behind an OpenAI-compatible endpoint.

    ``key_variable`` names the environment variable with the key, which is in no file.
    ``max_tokens`` limits an output. At most ``concurrency`` calls run at once, and ``per_minute``
    start per minute. ``timeout`` is in seconds per call, ``attempts`` the number of tries per call,
    and prices are in dollars per million tokens. ``prompt`` is ``pairwise``, ``code``, or a file
    beside judges.toml. ``proxy`` is the address of an HTTP proxy, blank for none; the environment's
    proxy is ignored.
    """

    name: str
    model: str
    base_url: str
    key_variable: str = ""
    max_tokens: int = _within(1024, 1, 1_000_000)
    temperature: float = _within(0.0, 0, 2)
    concurrency: int = _within(8, 1, 1_000)
    per_minute: float = _within(600.0, 0.1, 1_000_000)
    timeout: float = _within(120.0, 0.1, 86_400)
    attempts: int = _within(6, 1, 100)
    price_in: float = _within(0.0, 0, 1_000_000)
    price_out: float = _within(0.0, 0, 1_000_000)
    prompt: str = "pairwise"
    family: str = ""
    proxy: str = ""
    template: str = field(default="", repr=False)

    def price(self, tokens_in: float, tokens_out: float) -> float:
        """Price in dollars of this many tokens."""
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6

    def most_dollars(self, prompt: str) -> float:
        """Upper bound in dollars on the cost of a call with this prompt.

        A token has at least one byte, a server adds at most ``TOKENS_AROUND`` tokens to the prompt,
        and the judge uses no more than its ``max_tokens``.
        """
        return self.price(len(prompt.encode()) + TOKENS_AROUND, self.max_tokens)


@dataclass(frozen=True, slots=True)
class Plan:
    """All judges, and the order shown to them: drawn from ``seed`` for each item, or both."""

    judges: tuple[Judge, ...]
    seed: int = 0
    both_orders: bool = False

    def fingerprint(self, judge: Judge) -> str:
        """SHA-256 (16 digits) of all that an output of this judge depends on, except the pair."""
        asked = (judge.model, judge.base_url, judge.max_tokens, judge.temperature, judge.template)
        return fingerprint([*asked, self.seed, self.both_orders])

    def calls(self, n_items: int) -> int:
        """Number of calls of one judge for this many items."""
        return n_items * (2 if self.both_orders else 1)

    def orders(self, item: str) -> tuple[str, ...]:
        """AB, BA or both, drawn from seed and id; AB shows the item's first response as A."""
        if self.both_orders:
            return ("AB", "BA")
        draw = hashlib.sha256(f"{self.seed}\0{item}".encode("utf-8", "surrogatepass")).digest()
        return ("AB",) if draw[0] % 2 == 0 else ("BA",)


def read_judges(path: Path) -> Plan:
    """A plan from a TOML file with a [[judge]] table for each judge.

    Raises
    ------
    InputError
        A setting is missing, unknown or out of range.
    """
    try:
        return _plan(tomllib.loads(_text_of(path)), path.parent)
    except OSError as error:
        raise unopened(error, path.name) from None
    except InputError as error:
        raise (error if error.file is not None else error.in_file(path.name)) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", file=path.name) from None
    except (ValueError, RecursionError):
        problem = "holds a number with too many digits, or is nested too deep"
        allowed = "a table [[judge]] of plain settings for each judge"
        raise InputError(problem, allowed, file=path.name) from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=path.name) from None


def _plan(content: dict[str, Any], folder: Path) -> Plan:
    entries = content.pop("judge", [])
    if not isinstance(entries, list) or not entries:
        raise InputError("names no judge", "a [[judge]] table for each judge")
    seed, both = content.pop("seed", 0), content.pop("both_orders", False)
    if type(seed) is not int or type(both) is not bool:
        raise InputError("seed or both_orders has another type", allowed="a whole number; a truth")
    if content:
        unknown = next(iter(content))
        raise InputError("there is no such setting", "seed, both_orders", value=unknown)
    judges = tuple(_judge(entry, folder) for entry in entries)
    twice = first_repeated([judge.name for judge in judges])
    if twice is not None:
        raise InputError("this judge is given twice", value=twice, allowed="every name once")
    return Plan(judges, seed, both)


def _judge(entry: Any, folder: Path) -> Judge:
    if not isinstance(entry, dict):
        raise InputError("a judge is not a table", value=entry, allowed="[[judge]]")
    for problem, value, is_right, allowed in _checks(entry):
        if not is_right:
            who = quote_value(entry.get("name", "without a name"))
            raise InputError(f"judge {who} has {problem}", value=value, allowed=allowed)
    judge = Judge(**entry)
    return replace(judge, template=BUILT_IN.get(judge.prompt) or _own_prompt(folder, judge.prompt))


def _checks(entry: dict[str, Any]) -> Iterator[tuple[str, object, bool, str]]:
    """Yield what a judge may have wrong, the value to show, if it is right, and what is allowed.

    A check relies on those before it.
    """
    settings = {setting.name: setting for setting in fields(Judge) if setting.name != "template"}
    in_words = "key_variable, the name of the environment variable with the key"
    for name, value in entry.items():
        yield "a key in the file", None, name != "api_key", in_words
        yield "an unknown setting", name, name in settings, ", ".join(settings)
        kind, bounds = str(settings[name].type), settings[name].metadata.get("bounds")
        typed = isinstance(value, _TYPES[kind]) and not isinstance(value, bool)
        yield f"another type for {name}", value, typed, kind
        if bounds is not None:
            low, high = bounds
            yield f"{name} out of range", value, low <= value <= high, f"{low:,} to {high:,}"
        if name in ("model", "family", "key_variable", "prompt"):
            printable = value.isprintable()
            yield f"a control character in {name}", None, printable, "printable characters"
    for name in ("name", "model", "base_url"):
        yield f"no {name}", None, entry.get(name, "").strip() != "", "name, model, base_url"
    name, problem = entry["name"], "a name that a file of votes would not give back"
    kept = name.isprintable() and len(name) <= LONGEST_NAME and unshield(name, is_role_name) == name
    plain = "no blanks around them, no apostrophe before a formula"
    yield problem, None, kept, f"at most {LONGEST_NAME} printable characters, {plain}"
    addresses = {"no address": entry["base_url"], "a proxy without an address": entry.get("proxy")}
    for problem, address in addresses.items():
        if address:
            yield problem, address, _is_address(address), "http:// or https:// and a host"
            # The part that is too much is usually a key, so it is not repeated.
            long = "an address with a user, a query or a fragment"
            bare = urlsplit(address).username is None and {"?", "#"}.isdisjoint(address)
            allowed = "http:// or https://, a host and a path; keys come from key_variable"
            yield long, None, bare, allowed


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return whole and text.isascii() and text.isprintable() and " " not in text


def _own_prompt(folder: Path, prompt: str) -> str:
    path = folder / prompt
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            problem, allowed = "this prompt is not beside the file", "a file in its folder"
        elif path.exists() and not path.is_file():
            problem, allowed = "this prompt is no file", "a file of text"
        elif path.stat().st_size > LONGEST_PROMPT:
            problem, allowed = "this prompt is too long", f"at most {LONGEST_PROMPT:,} bytes"
        else:
            text = _text_of(path)
            missing = [place for place in PLACES if f"{{{place}}}" not in text]
            if not missing:
                return text
            problem = f"the prompt has no place for {missing[0]}"
            allowed = "{instruction}, {response_a} and {response_b}, each at least once"
            raise InputError(problem, allowed, file=path.name)
    except OSError:
        problem, allowed = "there is no such prompt", "pairwise, code, or a file"
    raise InputError(problem, allowed, value=path.name)
