"""Every option, declared once: its type, default and a sentence.

A table property whose name has a dot or a hyphen is an option and must be known. Plain words, and names that start with
`user.`, are the user's own and mean nothing here; a plain word that looks like a misspelt option is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch import given
from anabranch.errors import InvalidOption, Refused, UnknownOption, nearest
from anabranch.texts import is_number


@dataclass(frozen=True)
class Option:
    """A table option; `choices` empty means any text."""

    name: str
    default: str
    sentence: str
    choices: tuple[str, ...] = ()
    number: int | None = None
    """A whole number of this size at least; empty where the default is."""

    def check(self, value: str) -> None:
        if self.number is not None and value != self.default and not (is_number(value) and int(value) >= self.number):
            raise InvalidOption(self.name, value, f"a whole number, {self.number} or more")
        if self.choices and value not in self.choices:
            raise InvalidOption(self.name, value, "one of " + ", ".join(f"'{choice}'" for choice in self.choices))


_SWITCH = ("false", "true")

TABLE_OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option(
            "aggregation.remove-record-on-delete", "false", "Whether -D removes the row of an aggregation.", _SWITCH
        ),
        Option(
            "changelog-producer",
            "none",
            "What `changes` of a keyed table are made of.",
            ("none", "input", "lookup", "full-compaction"),
        ),
        Option(
            "changelog-producer.row-deduplicate",
            "false",
            "Whether `changes` leave out updates that change nothing.",
            _SWITCH,
        ),
        Option("fields.default-aggregate-function", "", "The function of fields that name none."),
        Option("ignore-delete", "false", "Whether writes drop -D and -U.", _SWITCH),
        Option("ignore-update-before", "false", "Whether writes drop -U.", _SWITCH),
        Option("isolation", "snapshot", "What concurrent statements may not see.", ("snapshot", "serializable")),
        Option(
            "compaction.max-size-amplification-percent",
            "200",
            "How much larger than its oldest run all newer runs may be before everything is merged.",
            number=0,
        ),
        Option("compaction.size-ratio", "1", "By how many percent a run may be larger and still be merged.", number=0),
        Option("num-sorted-run.compaction-trigger", "5", "The number of runs at which they are compacted.", number=2),
        Option(
            "num-sorted-run.stop-trigger",
            "",
            "The number of runs above which a writer compacts; 3 above the trigger.",
            number=2,
        ),
        Option("sort-engine", "vectorized", "How runs are merged.", ("vectorized", "loser-tree", "min-heap")),
        Option("merge.detect", "file", "What a branch merge compares: files, rows or cells.", ("file", "row", "cell")),
        Option(
            "merge.mode",
            "merge-on-read",
            "What MERGE INTO does with parts whose rows it changes: hide the rows, or rewrite the parts.",
            ("merge-on-read", "copy-on-write"),
        ),
        Option("merge.on-conflict", "fail", "Which side a conflict of rows goes to.", ("fail", "ours", "theirs")),
        Option(
            "merge-engine",
            "deduplicate",
            "How the records of one primary key become one row.",
            ("deduplicate", "first-row", "partial-update", "aggregation"),
        ),
        Option(
            "partial-update.remove-record-on-delete",
            "false",
            "Whether -D removes the row of a partial update.",
            _SWITCH,
        ),
        Option(
            "partial-update.remove-record-on-sequence-group", "", "The sequence fields on which -D removes the row."
        ),
        Option("primary-key.nullable", "false", "Whether NULL may be the value of a key column.", _SWITCH),
        Option("rowkind.field", "", "The column that holds each row's kind: '+I', '-U', '+U' or '-D'."),
        Option("sequence.field", "", "The columns that order the records of a key, before their arrival does."),
        Option(
            "sequence.field.sort-order", "ascending", "Which way `sequence.field` orders.", ("ascending", "descending")
        ),
        Option("write.compression", "lz4", "How Parquet pages are compressed.", ("lz4", "snappy", "zstd", "none")),
    )
}

FIELD_OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option("aggregate-function", "", "The function that combines the field's values."),
        Option("count-limit", "", "The most rows that nested_update keeps in one value."),
        Option("distinct", "false", "Whether collect and listagg keep an element once.", _SWITCH),
        Option("ignore-retract", "false", "Whether -U and -D leave the field alone.", _SWITCH),
        Option("list-agg-delimiter", ",", "What listagg puts between two texts."),
        Option("nested-key", "", "The fields that identify a row of a nested table."),
        Option("nested-sequence-field", "", "The fields whose larger value wins among rows of a nested key."),
        Option("sequence-group", "", "The fields that change only with these sequence fields."),
    )
}
"""Options of one field, set as `fields.<field>.<option>`; a sequence group may name several fields."""


def field_option(name: str) -> tuple[str, Option] | None:
    """The field, or comma list of fields, and the option that `fields.<field>.<option>` names."""
    head, _, rest = name.partition(".")
    field, _, suffix = rest.rpartition(".")
    found = FIELD_OPTIONS.get(suffix)
    return (field, found) if head == "fields" and field and found else None


def known_option(name: str) -> Option | None:
    """The option of this name; None: there is none, and the name may be the user's own."""
    found = TABLE_OPTIONS.get(name)
    if found is None and (of_field := field_option(name)):
        found = of_field[1]
    return found


def _known_names(name: str) -> list[str]:
    """All option names, those of fields with the field that `name` speaks of."""
    field = name.split(".")[1] if name.startswith("fields.") and name.count(".") > 1 else "<field>"
    return [*TABLE_OPTIONS, *(f"fields.{field}.{suffix}" for suffix in FIELD_OPTIONS)]


LAKE_OPTIONS: dict[str, Option] = {name: TABLE_OPTIONS[name] for name in ("merge.detect",)}
"""Those that a lake may have for all tables which do not have them themselves."""


def option(properties: Mapping[str, str], name: str, lake: Mapping[str, str] | None = None) -> str:
    """The value of an option: the table's, else the lake's, else its default."""
    return properties.get(name) or (lake or {}).get(name) or TABLE_OPTIONS[name].default


def checked_lake_option(name: str) -> Option:
    """The option of that name, if a lake may have it."""
    if name in TABLE_OPTIONS and name not in LAKE_OPTIONS:
        raise Refused(f"'{name}' is an option of tables alone: ALTER TABLE … SET TBLPROPERTIES ('{name}' = '…').")
    if name not in LAKE_OPTIONS:
        raise UnknownOption(name, LAKE_OPTIONS)
    return LAKE_OPTIONS[name]


def checked_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties themselves, if every option among them exists and has a value it can have."""
    for name, value in properties.items():
        option = known_option(name)
        if option is not None:
            option.check(value)
        elif not name.startswith("user.") and ("." in name or "-" in name or nearest(name, TABLE_OPTIONS)):
            raise UnknownOption(name, _known_names(name))
    return dict(properties)


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes at which the way of reading or writing changes."""

    small_part: int = 1 << 20
    """Smaller parts are read by kernels in bundles, larger ones by Spark's own reader."""
    few_parts: int = 32
    """So many small parts beside larger ones are left to Spark, too: they cost less than the union of two scans, which
    makes Spark hand over every row."""
    local_scan: int = 4 << 20
    """A scan up to this size is read in this process and given to Spark as a local relation."""
    local_work: int = 64 << 20
    """DELETE and UPDATE of up to this size run in this process, without Spark."""
    local_insert: int = 4 << 20
    """A query's rows for a keyed table, if Spark takes them for no more than this, are brought to this process and
    written here: a job would shuffle them first."""
    bundle: int = 32 << 20
    """What one task reads of small parts."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int):
                raise given.refused(name, "a whole number", value)
