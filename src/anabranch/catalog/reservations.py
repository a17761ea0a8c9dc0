"""Numbers and names that are unique in a table on all branches, and are given out before a commit.

What is reserved and never committed is a gap, and gaps cost nothing. A table needs no record for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, select

from anabranch.catalog.links import Link
from anabranch.catalog.opened import Opened
from anabranch.catalog.tables import counter, physical_name
from anabranch.catalog.upserts import adding
from anabranch.errors import Refused
from anabranch.model.names import RESERVED_COLUMNS, ROW_INDEX, fold
from anabranch.model.part import MAX_SLOT

FIRST = 1
_NEVER = RESERVED_COLUMNS | {"slot", ROW_INDEX}  # `slot` is the folder that Spark reads as a column

_GIVE_BACK = counter.update().where(
    counter.c.table_id == bindparam("table"), counter.c.name == bindparam("counter"), counter.c.next == bindparam("end")
)
_TAKEN = select(physical_name.c.folded).where(
    physical_name.c.table_id == bindparam("table"), physical_name.c.scope == bindparam("scope")
)
_TAKE = physical_name.insert()


class Reservations(Opened):
    """What writers reserve."""

    def reserve_slots(self, table_id: str, count: int) -> int:
        """The first of `count` slots that nobody else has; slots begin at 1."""
        first = self._reserve(table_id, "slot", count)
        if first + count - 1 > MAX_SLOT:
            raise Refused(
                f"the table {table_id!r} has no slots left: it has had {MAX_SLOT} parts. Copy it to a new one."
            )
        return first

    def return_slots(self, table_id: str, first_unused: int, end: int) -> None:
        """Gives the tail [first_unused, end) of a reservation back, unless somebody has reserved after it."""
        with self._db.writing(relaxed=True) as link:
            values = {"table": table_id, "counter": "slot", "end": end, "next": first_unused}
            link.write(_GIVE_BACK, values)

    def reserve_schema_id(self, table_id: str) -> int:
        return self._reserve(table_id, "schema", 1)

    def reserve_names(self, table_id: str, wanted: Sequence[str], scopes: Sequence[str] = ("",)) -> list[str]:
        """Physical names for these labels: the label itself for its first holder, then label_2, label_3, …

        `scopes`: the struct that they stand in, under all names that files have for it; "" is the table itself."""
        if not wanted:
            return []
        with self._db.writing(relaxed=True) as link:
            _add(link, table_id, "names", len(wanted))  # its row's lock is what two reservers queue on
            held = [row for scope in scopes for row in link.rows(_TAKEN, {"table": table_id, "scope": scope})]
            taken = {row.folded for row in held} | _NEVER
            names = []
            for label in wanted:
                name, number = label, 1
                while fold(name) in taken:
                    number += 1
                    name = f"{label}_{number}"
                taken.add(fold(name))
                names.append(name)
            places = [(scope, fold(name)) for scope in scopes for name in names]
            link.write(_TAKE, [{"table_id": table_id, "scope": scope, "folded": name} for scope, name in places])
        return names

    def _reserve(self, table_id: str, name: str, count: int) -> int:
        if count < 1:
            raise ValueError(f"cannot reserve {count} numbers")
        with self._db.writing(relaxed=True) as link:
            return _add(link, table_id, name, count) - count


def _add(link: Link, table_id: str, name: str, count: int) -> int:
    """Counts up and gives the next free number."""
    statement = adding(link.dialect, counter, "next")
    values = {"table_id": table_id, "name": name, "first": FIRST, "step": count}
    reached: int = link.rows(statement, values)[0][0]
    return reached
