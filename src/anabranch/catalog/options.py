"""The lake's own options: rows of `meta`, which hold on all branches and are no part of any version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import bindparam, select

from anabranch.catalog.opened import Opened
from anabranch.catalog.tables import meta
from anabranch.catalog.upserts import replacing

_PREFIX = "option."
_OPTIONS = select(meta.c.key, meta.c.value).where(meta.c.key.startswith(_PREFIX, autoescape=True))
_UNSET = meta.delete().where(meta.c.key == bindparam("old"))


class LakeOptions(Opened):
    """Read anew each time: another process may have changed them."""

    def options(self) -> dict[str, str]:
        """Those that were set."""
        return {row.key.removeprefix(_PREFIX): row.value for row in self._db.rows(_OPTIONS, {})}

    def set_options(self, options: Mapping[str, str]) -> None:
        with self._db.writing() as link:
            for name, value in options.items():
                statement = replacing(link.dialect, meta, "value")
                link.write(statement, {"key": _PREFIX + name, "value": value})

    def unset_options(self, names: Iterable[str]) -> None:
        with self._db.writing() as link:
            for name in names:
                link.write(_UNSET, {"old": _PREFIX + name})
