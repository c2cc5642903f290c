"""Column roles of a file, guessed from names and content; callers can override them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import pandas as pd

from judgepanel.votes.errors import InputError
from judgepanel.votes.remedies import COLUMN_LISTS, ONE_ROLE_EACH, Role, name_column
from judgepanel.votes.roles import (
    CHOSEN,
    ColumnKind,
    ColumnRole,
    check_chosen,
    is_descriptive_name,
    model_columns,
    roles_of,
    second_labels,
)
from judgepanel.votes.table import RawTable, find_column, no_column, plain_name
from judgepanel.votes.words import distinct, is_missing, is_verdict

Layout = Literal["wide", "long"]

FEATURE_PREFIX = "feat_"
ID_NAMES = (
    *("item_id", "id", "item", "itemid", "example_id", "example", "question_id", "question"),
    *("sample_id", "sample", "instance_id", "instance", "task_id", "pair_id", "row_id"),
    *("uid", "uuid", "index", "idx", "key", "__index_level_0__"),
)
LABEL_NAMES = (
    *("label", "labels", "gold", "gold_label", "gold_standard", "truth", "true_label"),
    *("ground_truth", "groundtruth", "target", "y", "y_true", "z"),
)
GROUP_NAMES = ("group_id", "group", "prompt_id")
LONG_ITEM_NAMES = (*ID_NAMES, "task", "unit", "document", "prompt", "prompt_id")
LONG_JUDGE_NAMES = (
    *("judge", "judge_id", "judge_name", "rater", "rater_id", "annotator", "annotator_id"),
    *("model", "model_name", "worker", "worker_id", "labeler", "labeller", "labeler_id"),
    *("evaluator", "grader", "reviewer", "coder", "performer"),
)
LONG_VERDICT_NAMES = (
    *("verdict", "vote", "answer", "rating", "judgment", "judgement", "decision"),
    *("preference", "choice", "winner", "response", "prediction", "score"),
)
TEXT_NAMES = ("text", "raw_text", "output", "raw_output", "transcript", "completion", "content")
"""Columns that hold what judges wrote, see ``judgepanel.votes.transcripts``."""
_VERDICTS = LONG_VERDICT_NAMES[:2]
_LONG_NAMES = frozenset(
    map(plain_name, (*LONG_ITEM_NAMES, *LONG_JUDGE_NAMES, *LONG_VERDICT_NAMES, *TEXT_NAMES))
)
_LABEL_NAMES_ONLY = frozenset(map(plain_name, LABEL_NAMES)) - {"target", "y", "z"}
"""Names of labels that no judge is likely to have."""
_ROLE_NAMES = frozenset(map(plain_name, (*ID_NAMES, *LABEL_NAMES, *GROUP_NAMES)))


@dataclass(frozen=True, slots=True)
class Mapping:
    """The role of each column of a file, by its name in the file.

    A wide file has one row per item and one column per judge (``judge_columns``); without an
    ``id_column`` the items are numbered from 1. A long file has one row per vote (``item_column``,
    ``judge_column``, ``verdict_column``), and its ``id_column`` is the ``item_column``.
    ``label_column``, ``group_column`` and ``feature_columns`` mean the same in both. ``roles``
    gives each column's role and the reason; ``chosen`` are the options (name, column) that made
    columns judges, features or ignored.
    """

    layout: Layout
    id_column: str | None = None
    label_column: str | None = None
    group_column: str | None = None
    judge_columns: tuple[str, ...] = ()
    feature_columns: tuple[str, ...] = ()
    item_column: str | None = None
    judge_column: str | None = None
    verdict_column: str | None = None
    roles: tuple[ColumnRole, ...] = field(default=(), compare=False)
    chosen: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def used(self) -> tuple[str, ...]:
        """All columns with a role, repeated for each role they have."""
        item = self.item_column if self.layout == "long" else self.id_column
        single = (item, self.label_column, self.group_column)
        votes = (self.judge_column, self.verdict_column) if self.layout == "long" else ()
        judges = self.judge_columns if self.layout == "wide" else ()
        named = tuple(column for column in (*single, *votes) if column is not None)
        return (*named, *judges, *self.feature_columns)


def is_role_name(name: str) -> bool:
    """Whether a column of this name would be read as an id, a label, a group or a feature."""
    plain = name.strip()
    return (
        plain_name(plain) in _ROLE_NAMES
        or plain.startswith(FEATURE_PREFIX)
        or is_descriptive_name(plain.lower())
    )


def guess_mapping(
    table: RawTable,
    *,
    id_column: str | None = None,
    label_column: str | None = None,
    group_column: str | None = None,
    judge_columns: Sequence[str] = (),
    features: Sequence[str] = (),
    ignore: Sequence[str] = (),
    need_label: bool = True,
) -> Mapping:
    """Return the column roles of a file, guessed from names and, if needed, from content.

    A file is long if it has an item, a judge and a verdict column and the judge column holds names
    rather than verdicts. In a wide file a column without another role is a judge, unless its name
    or content shows that it is a feature or not counted (see ``judgepanel.votes.roles``), or its
    name is typical of a long file (annotator, model, output, ...) and it holds no verdicts. With
    ``judge_columns`` the file is wide and no other column is a judge. A group column is guessed
    only if it does not hold verdicts. Columns given by name are used as given.

    Raises
    ------
    InputError
        A named column that does not exist or has two roles, no judges, or no label column although
        one is needed.
    """
    roles: dict[Role, str | None] = {
        "id": id_column,
        "label": label_column,
        "group": group_column,
    }
    given = {role: column for role, column in roles.items() if column is not None}
    for role, column in given.items():
        if column not in table.columns:
            raise _no_column(table, column, name_column(role))
    chosen = dict(zip(COLUMN_LISTS, (judge_columns, features, ignore), strict=True))
    check_chosen(table, chosen.items(), roles.values())
    named = {*judge_columns, *features, *ignore}
    rest = table
    if named:
        remaining = [column for column in table.columns if column not in named]
        rest = replace(table, frame=table.frame[remaining])
    guesser = _Guesser(rest, set(given.values()))
    mapping = None if judge_columns else guesser.long(id_column, label_column, group_column)
    if mapping is None:
        mapping = guesser.wide(id_column, label_column, group_column, tuple(judge_columns))
    feature_names = {*mapping.feature_columns, *features}
    mapping = replace(
        mapping,
        feature_columns=tuple(column for column in table.columns if column in feature_names),
        chosen=tuple((option, column) for option, names in chosen.items() for column in names),
    )
    check_mapping(table, mapping, need_label=need_label)
    return replace(mapping, roles=_all_roles(table, mapping))


def _all_roles(table: RawTable, mapping: Mapping) -> tuple[ColumnRole, ...]:
    """Return every column with its role and the reason, in file order."""
    reasons = {role.column: role for role in mapping.roles}
    chosen = {column for _, column in mapping.chosen}
    places: tuple[tuple[ColumnKind, str | None], ...] = (
        ("item" if mapping.layout == "long" else "id", mapping.item_column or mapping.id_column),
        ("label", mapping.label_column),
        ("group", mapping.group_column),
        ("judge name", mapping.judge_column),
        ("verdict", mapping.verdict_column),
    )
    kinds: dict[str, ColumnKind] = {column: kind for kind, column in places if column is not None}
    kinds |= dict.fromkeys(mapping.feature_columns, "feature")
    kinds |= dict.fromkeys(mapping.judge_columns, "judge")
    roles = []
    for column in table.columns:
        kind = kinds.get(column)
        known = reasons.get(column)
        if column in chosen:
            roles.append(ColumnRole(column, kind or "ignore", CHOSEN))
        elif known is not None and kind in (None, known.role):
            roles.append(known)
        else:
            reason = "no other role fits" if kind is None else f"read as the {kind}"
            if kind == "label" and table.labels is not None:
                reason = "read from the other file"
            roles.append(ColumnRole(column, kind or "ignore", reason))
    return tuple(roles)


def check_mapping(table: RawTable, mapping: Mapping, *, need_label: bool) -> None:
    """Refuse a mapping that does not fit the table (see ``guess_mapping``)."""
    seen: set[str] = set()
    existing = set(table.columns)
    for column in mapping.used:
        if column not in existing:
            raise _no_column(table, column, "name a column that is in the file")
        if column in seen:
            raise InputError(
                "this column has two roles",
                file=table.name,
                column=column,
                allowed="one role per column",
                remedy=ONE_ROLE_EACH,
            )
        seen.add(column)
    if need_label and mapping.label_column is None:
        raise InputError(
            "there is no label column",
            file=table.name,
            row=table.header_row,
            allowed="a column named label, gold, truth, target or y",
            remedy=name_column("label"),
        )
    if mapping.layout == "wide" and not mapping.judge_columns:
        raise InputError(
            "there are no judge columns",
            file=table.name,
            row=table.header_row,
            allowed="one column of verdicts per judge, beside the id, the label and feat_ columns",
            remedy="add the judges' columns; or, if one of them was taken for another role, "
            + ONE_ROLE_EACH,
        )
    if mapping.layout == "long" and None in (
        mapping.item_column,
        mapping.judge_column,
        mapping.verdict_column,
    ):
        raise InputError(
            "a long table needs an item, a judge and a verdict column",
            file=table.name,
            remedy="rename those three columns to item, judge and verdict",
        )


def holds_verdicts(cells: pd.Series) -> bool:
    """Whether every cell is a verdict word or missing."""
    return all(is_verdict(word) for word in distinct(cells)[1])


def judges_beside(table: RawTable, item: str, others: set[str]) -> tuple[str, ...]:
    """Return the verdict columns of a file with one row per item; () if items repeat.

    Columns whose name is a role name or typical of a long file are left out, as are ``others``.
    """
    if table.frame[item].duplicated().any():
        return ()
    return _Guesser(table, set()).judges({item, *others})


def _few_verdicts(cells: pd.Series) -> bool:
    """Whether most distinct values are not verdicts; a single bad word counts as a mistake."""
    words = [word for word in distinct(cells)[1] if word.strip()]
    return 2 * sum(is_verdict(word) for word in words) < len(words)


def _bracketed(cells: pd.Series) -> bool:
    """Whether verdicts are written as ``[[A]]``, which suggests outputs of judges."""
    return any(word.strip().startswith("[[") for word in distinct(cells)[1])


class _Guesser:
    """The columns of a file without a role so far, by lower-case name."""

    def __init__(self, table: RawTable, given: set[str]) -> None:
        self.table = table
        pair = model_columns(table) or ()
        self.models = {
            word.strip()
            for column in pair
            for word in distinct(table.frame[column])[1]
            if not is_missing(word)
        }
        self.free = [name for name in table.columns if name not in given]

    def readable(self, column: str) -> bool:
        """Whether a column holds verdicts in any form: words, 1 and 2, or model names."""
        words = {word.strip() for word in distinct(self.table.frame[column])[1]}
        return all(
            is_verdict(word) or word in ("2", "2.0") or word in self.models for word in words
        )

    def find(self, *names: str) -> str | None:
        return find_column(self.free, names)

    def item_id(self) -> str | None:
        """The column with the ids of the items; one that is only named alike has no repeats."""
        frame = self.table.frame
        return find_column(self.free, ID_NAMES, lambda name: not frame[name].duplicated().any())

    def features(self, taken: set[str | None]) -> tuple[str, ...]:
        return tuple(
            name
            for name in self.table.columns
            if name.startswith(FEATURE_PREFIX) and name not in taken
        )

    def group(self, taken: set[str | None]) -> str | None:
        for name in GROUP_NAMES:
            column = self.find(name)
            if column is None or column in taken:
                continue
            if not holds_verdicts(self.table.frame[column]):
                return column
        return None

    def long(self, item: str | None, label: str | None, group: str | None) -> Mapping | None:
        item = item or self.find(*LONG_ITEM_NAMES)
        judge = self.find(*LONG_JUDGE_NAMES)
        # Crowdsourcing files call the worker's answer "label" and the truth "gold".
        verdict = self.find(*LONG_VERDICT_NAMES) or self.find("label", "labels")
        if item is None or judge is None or verdict is None:
            return None
        truths = [name for name in LABEL_NAMES if self.find(name) != verdict]
        truth = label or self.find(*truths)
        if not self.table.frame[item].duplicated().any():
            doubtful = truth is None or not holds_verdicts(self.table.frame[verdict])
            if self.all_verdicts({item, label, group}):
                return None
            if doubtful and self.judges({item, verdict, truth, group}):
                return None
        elif (
            truth is None
            and self.judges({item, verdict, group})
            and not self.table.frame.drop_duplicates()[item].duplicated().any()
        ):
            # The label next to judges, in a file with duplicate rows.
            return None
        label = truth
        group = group or self.group({item, judge, verdict, label})
        role_columns = {item, judge, verdict, label, group}
        return Mapping(
            layout="long",
            id_column=item,
            label_column=label,
            group_column=group,
            feature_columns=self.features(role_columns),
            item_column=item,
            judge_column=judge,
            verdict_column=verdict,
        )

    def all_verdicts(self, taken: set[str | None]) -> bool:
        """Whether every column without a role in wide files holds verdicts."""
        taken |= {self.item_id(), self.find(*LABEL_NAMES), self.group(taken)}
        frame = self.table.frame
        rest = [name for name in frame.columns if name not in {*taken, *self.features(taken)}]
        return all(holds_verdicts(frame[name]) for name in rest)

    def judges(self, taken: set[str | None]) -> tuple[str, ...]:
        """Return the verdict columns whose names suggest neither a role nor a long file."""
        taken |= {self.item_id(), self.find(*LABEL_NAMES), self.group(taken)}
        return tuple(
            name
            for name in self.table.columns
            if name not in {*taken, *self.features(taken)}
            and plain_name(name) not in _LONG_NAMES
            and self.readable(name)
        )

    def named_as_long(self, taken: set[str | None]) -> set[str]:
        """Return the columns of a wide file with names typical of a long file and no verdicts."""
        return {
            name
            for name in self.table.columns
            if name not in taken
            and plain_name(name) in _LONG_NAMES
            and _few_verdicts(self.table.frame[name])
        }

    def refuse_half_a_long_file(self, taken: set[str | None]) -> None:
        """Refuse judge names without verdicts, and texts without judge names."""
        for names, missing, allowed in (
            (LONG_JUDGE_NAMES, "none with verdicts or outputs", (*_VERDICTS, *TEXT_NAMES)),
            (TEXT_NAMES, "none with the names of judges", LONG_JUDGE_NAMES[:4]),
        ):
            column = self.find(*names)
            if column is None or column in taken:
                continue
            cells = self.table.frame[column]
            if holds_verdicts(cells) and not _bracketed(cells):
                continue
            raise InputError(
                f"one row per vote, it seems, but there is {missing}",
                file=self.table.name,
                row=self.table.header_row,
                column=column,
                allowed=f"a column named {', '.join(allowed)}",
                remedy=f"rename that column to {allowed[0]}; or, with one column per judge, put "
                f"{FEATURE_PREFIX} before the name of this one or take it out",
            )

    def wide(
        self, item: str | None, label: str | None, group: str | None, chosen: tuple[str, ...]
    ) -> Mapping:
        item = item or self.item_id()
        is_given = label is not None
        label = label or self.find(*LABEL_NAMES) or self.outcome({item, group})
        group = group or self.group({item, label})
        features = self.features({item, label, group})
        role_columns = {item, label, group, *features}
        if chosen:
            rest = [name for name in self.table.columns if name not in role_columns]
            roles = tuple(
                ColumnRole(name, "ignore", "not a judge that was chosen") for name in rest
            )
            return Mapping("wide", item, label, group, chosen, features, roles=roles)
        unused: set[str] = set()
        judges = self.judges({item, label, group})
        if len(judges) > 1 or (judges and not _bracketed(self.table.frame[judges[0]])):
            unused = self.named_as_long(role_columns)
        else:
            self.refuse_half_a_long_file(role_columns)
        named = [name for name in self.free if plain_name(name) in _LABEL_NAMES_ONLY]
        named = [name for name in named if name not in role_columns and self.readable(name)]
        spare = second_labels(self.table, label, named, is_given=is_given)
        role_columns |= {role.column for role in spare}
        columns = [name for name in self.table.columns if name not in {*role_columns, *unused}]
        readable = {name: self.readable(name) for name in columns}
        roles = (*roles_of(self.table, columns, readable), *spare)
        roles += tuple(
            ColumnRole(name, "ignore", "named as in a file with one row per vote")
            for name in self.table.columns
            if name in unused
        )
        return Mapping(
            "wide",
            item,
            label,
            group,
            tuple(role.column for role in roles if role.role == "judge"),
            (*features, *(role.column for role in roles if role.role == "feature")),
            roles=roles,
        )

    def outcome(self, taken: set[str | None]) -> str | None:
        """Return the column named winner or preference, the label if no other column is."""
        names = [self.find(name) for name in ("winner", "preference")]
        names = [name for name in names if name and name not in taken and self.readable(name)]
        return names[0] if len(names) == 1 else None


def _no_column(table: RawTable, column: str, remedy: str) -> InputError:
    return no_column(table.columns, column, remedy, file=table.name, row=table.header_row)
