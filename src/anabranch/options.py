"""Every option, declared once: its type, default and a sentence.

A table property whose name has a dot or a hyphen is an option and must be known. Plain words, and names that start with
`user.`, are the user's own and mean nothing here; a plain word that looks like a misspelt option is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.errors import InvalidOption, Refused, UnknownOption, nearest


@dataclass(frozen=True)
class Option:
    """A table option; `choices` empty means any text."""

    name: str
    default: str
    sentence: str
    choices: tuple[str, ...] = ()

    def check(self, value: str) -> None:
        if self.choices and value not in self.choices:
            raise InvalidOption(self.name, value, "one of " + ", ".join(f"'{choice}'" for choice in self.choices))


TABLE_OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option("isolation", "snapshot", "What concurrent statements may not see.", ("snapshot", "serializable")),
        Option("merge.detect", "file", "What a branch merge compares: files, rows or cells.", ("file", "row", "cell")),
        Option("merge.on-conflict", "fail", "Which side a conflict of rows goes to.", ("fail", "ours", "theirs")),
        Option("write.compression", "snappy", "How Parquet pages are compressed.", ("snappy", "zstd", "lz4", "none")),
    )
}


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
        option = TABLE_OPTIONS.get(name)
        if option is not None:
            option.check(value)
        elif not name.startswith("user.") and ("." in name or "-" in name or nearest(name, TABLE_OPTIONS)):
            raise UnknownOption(name, TABLE_OPTIONS)
    return dict(properties)


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes at which the way of reading changes."""

    small_part: int = 8 << 20
    """Smaller parts are read by kernels in bundles, larger ones by Spark's own reader."""
    local_scan: int = 4 << 20
    """A scan up to this size is read in this process and given to Spark as a local relation."""
    local_work: int = 64 << 20
    """DELETE and UPDATE of up to this size run in this process, without Spark."""
    bundle: int = 32 << 20
    """What one task reads of small parts."""
