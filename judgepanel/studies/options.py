"""Options of a study's spec as text, for commands to read, write and explain.

A spec is a frozen dataclass, a :class:`StudySpec`; its fields besides ``settings`` are its options,
declared with :func:`option`. Names are checked against the ``Literal`` of the annotation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from types import NoneType
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np

from judgepanel.studies.contract import Settings, Spec, Study
from judgepanel.votes import InputError
from judgepanel.votes.cells import join_names, split_names

_EXAMPLES = {int: "3,5,10", float: "0.1,0.5"}
_WORDS = {int: "whole numbers", float: "numbers"}


HELP = {
    "aggregator": "how votes are summed",
    "calibrator": "calibrator of all panels",
    "calibrators": "calibrators of every panel",
    "panels": "panel sizes to compare with all judges",
    "ranking": "how judges are ranked",
}
"""Help of options that mean the same in all studies."""


def option(default: Any, help: str = "", **more: Any) -> Any:
    """Declare an option of a spec: its default and a short phrase about it.

    ``help`` may be omitted for the names of :data:`HELP`. ``check`` is called with a value and
    raises InputError, ``once`` refuses an empty list and a name given twice, ``flag`` is another
    name of the option, ``noun`` what one of its values is called, and ``words`` are words for
    values, such as ``every`` for the empty tuple.
    """
    return field(default=default, metadata={"help": help, **more})


def valid(
    problem: str, holds: Callable[[Any], bool], allowed: str | None = None
) -> Callable[[Any], None]:
    """Return a check that refuses a value, or one of several, that does not hold."""

    def check(value: Any) -> None:
        for part in value if isinstance(value, tuple) else (value,):
            if not holds(part):
                raise InputError(problem, value=part, allowed=allowed)

    return check


def check_share(problem: str) -> Callable[[Any], None]:
    """Return a check that refuses shares outside (0, 1)."""
    return valid(problem, lambda share: 0.0 < share < 1.0, "between 0 and 1")


def check_count(problem: str, least: int, most: int) -> Callable[[Any], None]:
    """Return a check that refuses numbers outside a range."""
    return valid(problem, lambda n: least <= n <= most, f"{least}..{most:,}")


check_panels = valid("a panel needs at least one judge", lambda k: k >= 1, "1 or more")


def check_known(kind: str, known: Sequence[str], given: Iterable[str]) -> None:
    """Refuse an unknown name and list the known ones."""
    valid(f"unknown {kind}", known.__contains__, ", ".join(known))(tuple(given))


def check_each_once(what: str, kind: str, known: Sequence[str], given: Sequence[str]) -> None:
    """Refuse an empty list, and a name given twice."""
    if not given or len(set(given)) < len(given):
        why = f"{what} needs one {kind} or more, each once"
        raise InputError(why, value=", ".join(given), allowed=", ".join(known))


@dataclass(frozen=True, slots=True)
class StudySpec:
    """The options of a study; subclasses declare them.

    ``chooses`` says what a study chooses by NLL, if it does: "panels are chosen".

    Raises
    ------
    InputError
        An unknown name, or a value that the check of an option refuses; the paper's protocol if
        the study chooses by NLL.
    """

    settings: Settings = Settings()
    chooses: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for declared in spec_options_of(type(self)):
            value = getattr(self, declared.field)
            if value is None:
                continue
            if declared.choices:
                names = value if declared.several else (value,)
                check_known(declared.noun, declared.choices, names)
            if declared.once:
                check_each_once("the study", declared.noun, declared.choices, value)
            if declared.check is not None:
                declared.check(value)
        if self.chooses and self.settings.protocol != "honest":
            why = f"{self.chooses} by NLL, which the paper's protocol takes from in-sample scores"
            raise InputError(why, value=self.settings.protocol, allowed="honest")


@dataclass(frozen=True, slots=True)
class SpecOption:
    """A field of a spec: ``kind`` is int, float, bool or str; ``several`` for a tuple of them.

    ``noun`` is what one of its values is called.
    """

    field: str
    flag: str
    kind: type
    several: bool
    default: Any
    choices: tuple[str, ...]
    help: str
    words: Mapping[str, Any]
    check: Callable[[Any], None] | None = None
    once: bool = False
    noun: str = ""

    def read(self, text: str) -> Any:
        """Return the value of an option's text.

        Raises
        ------
        InputError
            Text that is not a valid value; names are validated by the spec.
        """
        if text in self.words:
            return self.words[text]
        if not text and () in self.words.values():
            raise InputError(f"{self.flag} is empty", allowed="for instance 3,5,10, or a word")
        if not self.several:
            return self._single_value(text.strip(), text)
        if self.kind is str:
            return tuple(dict.fromkeys(split_names(text)))
        return tuple(self._single_value(part, text) for part in text.split(",")) if text else ()

    def value(self, given: Any) -> Any:
        """Return the value of an option given in Python; texts are parsed as on the command line.

        Raises
        ------
        InputError
            A value that the option does not accept.
        """
        if isinstance(given, str):
            return self.read(given)
        if given is None and None in (self.default, *self.words.values()):
            return None
        if not self.several or given is None or not isinstance(given, Iterable):
            return self.read(_text(given))
        parts = tuple(given)
        if self.kind is str and all(isinstance(part, str) for part in parts):
            return parts
        return self.read(",".join(map(_text, parts)))

    def written(self, value: Any) -> str:
        """Return the text that parses to this value."""
        for word, meant in self.words.items():
            if meant == value:
                return word
        if not self.several:
            return _text(value)
        return join_names(value) if self.kind is str else ",".join(map(str, value))

    def default_text(self) -> str:
        """Its default in words, empty if the help explains None."""
        if self.default is None:
            return ""
        return self.written(self.default) or "none"

    def _single_value(self, part: str, text: str) -> Any:
        if self.kind is bool:
            if part not in ("yes", "no"):
                raise InputError(f"{self.flag} is a yes or no", value=text, allowed="yes, no")
            return part == "yes"
        try:
            return self.kind(part)
        except ValueError:
            what = _WORDS[self.kind] if self.several else f"a {_WORDS[self.kind][:-1]}"
            example = ",".join(_EXAMPLES[self.kind].split(",")[: None if self.several else 1])
            allowed = ", ".join((f"for instance {example}", *self.words))
            raise InputError(f"{self.flag} takes {what}", value=text, allowed=allowed) from None


def spec_options_of(spec: type[Any]) -> tuple[SpecOption, ...]:
    """Return the options of a spec, in the order of its fields."""
    if spec not in _OPTIONS:
        hints = get_type_hints(spec)
        own = [declared for declared in fields(spec) if declared.name != "settings"]
        _OPTIONS[spec] = tuple(_option(declared, hints[declared.name]) for declared in own)
    return _OPTIONS[spec]


_OPTIONS: dict[type, tuple[SpecOption, ...]] = {}


def read_spec(study: Study[Any, Any, Any], settings: Any, given: Mapping[str, Any]) -> Any:
    """Return the spec of a study from texts or values by field, with defaults for the others."""
    known = spec_options_of(study.spec)
    values = {
        entry.field: entry.value(given[entry.field]) for entry in known if entry.field in given
    }
    return study.spec(settings=settings, **values)


def unknown_option(
    command: str, study: Study[Any, Any, Any], flag: str, value: object, others: Iterable[str] = ()
) -> InputError:
    """The refusal of an option unknown to a study, with its own options.

    ``others`` are flags that the command takes besides these.
    """
    own = [spec_option.flag for spec_option in spec_options_of(study.spec)]
    allowed = ", ".join(own) or "no such options"
    remedy = similar_option(flag, (*own, *others))
    return InputError(f"{command} takes no {flag}", value=value, allowed=allowed, remedy=remedy)


def similar_option(option: str, known: Iterable[str]) -> str | None:
    """The remedy for an unknown option that is written much like a known one."""
    near = get_close_matches(option, tuple(known), 1, cutoff=0.8)
    return f"perhaps {near[0]} is meant" if near else None


def written_options(spec: Spec) -> list[tuple[str, str]]:
    """Return the options and texts that differ from their defaults."""
    return [
        (option.flag, option.written(getattr(spec, option.field)))
        for option in spec_options_of(type(spec))
        if getattr(spec, option.field) != option.default
    ]


def _text(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return str(value)


def _option(field: Any, hint: Any) -> SpecOption:
    if field.default is MISSING:
        raise TypeError(f"the option {field.name} needs a default")
    inner = [part for part in get_args(hint) if part is not NoneType]
    if NoneType in get_args(hint):
        (hint,) = inner
    several = get_origin(hint) is tuple
    if several:
        hint = get_args(hint)[0]
    choices: tuple[str, ...] = get_args(hint) if get_origin(hint) is Literal else ()
    kind = str if choices else hint
    if kind not in (int, float, bool, str):
        raise TypeError(f"the option {field.name} is a {kind}, which has no text")
    name = field.metadata.get("flag") or field.metadata.get("option", field.name)
    return SpecOption(
        field=field.name,
        flag="--" + name.replace("_", "-"),
        kind=kind,
        several=several,
        default=field.default,
        choices=choices,
        help=field.metadata.get("help") or HELP.get(field.name, ""),
        words=field.metadata.get("words", {}),
        check=field.metadata.get("check"),
        once=field.metadata.get("once", False),
        noun=field.metadata.get("noun")
        or (field.name.removesuffix("s") if several else field.name),
    )
