"""judges.toml: which judges are asked, where, how fast, at what price, and in which order.

The prompt of a judge: a template with three placeholders, filled in one pass.

The pairs shown to judges: an instruction and two responses per item.

The cost and duration of a run, estimated before it starts.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from judgepanel.votes import attributes, cells, companions, errors, load
from judgepanel.votes.errors import InputError, first_repeated, quote_value, unopened
from judgepanel.votes.table import RawTable

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
        raise InputError("there is no such setting", "seed, both_orders", value=next(iter(content)))
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
    is_short = name.isprintable() and len(name) <= LONGEST_NAME
    kept = is_short and cells.unshield(name, cells.is_role_name) == name
    plain = "no blanks around them, no apostrophe before a formula"
    yield problem, None, kept, f"at most {LONGEST_NAME} printable characters, {plain}"
    addresses = {"no address": entry["base_url"], "a proxy without an address": entry.get("proxy")}
    for problem, address in addresses.items():
        if address:
            yield problem, address, _is_address(address), "http:// or https:// and a host"
            # The part that is too much is usually a key, so it is not repeated.
            bare = urlsplit(address).username is None and {"?", "#"}.isdisjoint(address)
            allowed = "http:// or https://, a host and a path; keys come from key_variable"
            yield "an address with a user, a query or a fragment", None, bare, allowed


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


INSTRUCTION_NAMES = ("instruction", "prompt", "question", "input", "task")
FIRST_NAMES = ("response_a", "output_1", "response_1", "answer_a", "solution_a", "a")
SECOND_NAMES = ("response_b", "output_2", "response_2", "answer_b", "solution_b", "b")


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Items with their untrusted texts, and other columns about them.

    ``shown`` are the instructions, the first and the second responses. ``about`` has the columns
    that are copied into every output of the item: label, group, features.
    """

    ids: tuple[str, ...]
    shown: tuple[pd.Series, pd.Series, pd.Series]
    about: pd.DataFrame
    name: str

    def __len__(self) -> int:
        return len(self.ids)

    def texts(self, item: int) -> tuple[str, str, str]:
        """Instruction, first and second response of an item."""
        instruction, first, second = (str(column.iloc[item]) for column in self.shown)
        return instruction, first, second

    def fingerprint(self, item: int) -> str:
        """SHA-256 (16 digits) of the texts of an item."""
        return fingerprint(self.texts(item))

    def known(self, item: int) -> dict[str, str]:
        """Label, group and features of an item, by column."""
        return {str(name): str(value) for name, value in self.about.iloc[item].items()}


def read_pairs(source: str | Path | bytes, name: str | None = None) -> Pairs:
    """Read pairs from JSON Lines, CSV or Parquet.

    Raises
    ------
    InputError
        No id or text column, an empty or repeated id, an empty response, or a label, group or
        feature that reading the votes would refuse, after all judges had been paid.
    """
    table = load.open_table(source, name)
    with errors.in_file(table.name):
        instruction = _find(table.columns, INSTRUCTION_NAMES, "the instruction")
        first = _find(table.columns, FIRST_NAMES, "the first response")
        second = _find(table.columns, SECOND_NAMES, "the second")
        shown = [instruction, first, second]
        rest = [column for column in table.columns if column not in shown]
        ids = attributes.unique_ids(table, (_find(rest, cells.ID_NAMES, "the item's id"),))
        remedy = "fill it in, or remove the row"
        empty = InputError("the response is empty", "two responses per item", remedy)
        for column in (first, second):
            attributes.refuse_first(empty, ~attributes.filled(table, column), table, column)
        about = table.frame[_known_in(table)]
    texts = (table.frame[instruction], table.frame[first], table.frame[second])
    return Pairs(ids, texts, about, table.name)


def _find(columns: Sequence[str], wanted: tuple[str, ...], what: str) -> str:
    column = cells.find_column(columns, wanted)
    if column is None:
        remedy = "rename the column that has it to one of these"
        raise InputError(f"there is no column for {what}", ", ".join(wanted), remedy)
    return column


def _known_in(table: RawTable) -> list[str]:
    """The columns of labels, groups and features, which must be what reading the votes accepts."""
    rows = np.arange(table.n_rows)
    known = []
    for column in table.columns:
        if column.startswith(cells.FEATURE_PREFIX):
            attributes.feature_names(table, [column])
            attributes.typed_column(table, column, rows)
        elif column.lower() in cells.LABEL_NAMES[:5]:
            companions.check_label_words(table, column, (), cells.Vocabulary())
        elif column.lower() in cells.GROUP_NAMES[:2]:
            attributes.groups_in(table, column, rows)
        else:
            continue
        known.append(column)
    return known


CHARACTERS_A_TOKEN = 4.0
"""A rule of thumb for English; other scripts take more tokens."""
SECONDS_A_CALL = 3.0


def dollars(amount: float | None) -> str:
    """Dollars as text: two decimals from a dollar on, three significant digits below."""
    if not amount or amount >= 1.0:
        return f"${amount or 0.0:,.2f}"
    return f"${amount:.{max(2, 2 - math.floor(math.log10(amount)))}f}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one judge: remaining calls, about how many tokens in, dollars, and seconds.

    ``dollars`` assumes answers as long as the judge's ``max_tokens``.

    ``seconds`` assumes ``SECONDS_A_CALL`` per call within the judge's limits.
    """

    judge: str
    calls: int
    tokens_in: float
    dollars: float
    seconds: float


def estimate(pairs: Pairs, plan: Plan, by_name: dict[str, int]) -> tuple[Estimate, ...]:
    """One row per judge, for the calls left by those that are finished (``by_name``, counts)."""
    lengths = sum(column.astype(str).map(len) for column in pairs.shown)
    mean = float(np.mean(lengths)) if len(pairs) else 0.0
    rows = []
    for judge in plan.judges:
        calls = max(0, plan.calls(len(pairs)) - by_name.get(judge.name, 0))
        tokens = (len(judge.template) + mean) / CHARACTERS_A_TOKEN
        cost = calls * judge.price(tokens, judge.max_tokens)
        pace = min(judge.per_minute / 60.0, judge.concurrency / SECONDS_A_CALL)
        rows.append(Estimate(judge.name, calls, calls * tokens, cost, calls / pace))
    return tuple(rows)
