"""ALTER LAKE SET OPTIONS and the like: what holds for tables that say nothing themselves."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch import given
from anabranch.commands.result import Result
from anabranch.commands.session import Session
from anabranch.options import LAKE_OPTIONS, checked_lake_option


def set_options(session: Session, options: Mapping[str, str]) -> None:
    """All of them, or none if one does not exist or cannot have its value."""
    texts = given.properties("options", options)
    for name, value in texts.items():
        checked_lake_option(name).check(value)
    session.catalog.set_options(texts)


def unset_options(session: Session, names: given.Names) -> None:
    """Back to the defaults."""
    session.catalog.unset_options([checked_lake_option(name).name for name in given.names("names", names)])


def lake_options(session: Session) -> dict[str, str]:
    """Every option of the lake, set or by default."""
    found = session.catalog.options()
    return {name: found.get(name, option.default) for name, option in LAKE_OPTIONS.items()}


def show_options(session: Session) -> Result:
    found = session.catalog.options()
    rows = [
        [option.name, found.get(option.name, option.default), option.name in found, option.sentence]
        for option in LAKE_OPTIONS.values()
    ]
    return Result(["option", "value", "set", "meaning"], rows)
