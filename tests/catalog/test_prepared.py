"""Statements that the driver runs give what SQLAlchemy's own execution gives, on both databases."""

from typing import Any

import pytest
from sqlalchemy import BindParameter, bindparam, create_engine, select, tuple_

from anabranch.catalog import Catalog
from anabranch.catalog.prepared import Statements
from anabranch.catalog.tables import branch, change, commit_log, dead_rows, meta, part, placement
from anabranch.errors import CatalogError
from tests.catalog.writer import Writer
from tests.catalog.writer import part as a_part

_list: BindParameter[Any] = bindparam("list", expanding=True)

CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "a value": (select(branch).where(branch.c.id == bindparam("id")), {"id": 1}),
    "a boolean, and constants": (select(branch).where(~branch.c.dropped).limit(2), {}),
    "a pattern": (select(meta).where(meta.c.key.startswith("lake_", autoescape=True)), {}),
    "a list": (select(placement).where(placement.c.slot.in_(_list)), {"list": [1]}),
    "a list that is padded": (select(placement).where(placement.c.slot.in_(_list)), {"list": [3, 1, 2]}),
    "a list of pairs": (select(part).where(tuple_(part.c.table_id, part.c.slot).in_(_list)),
                        {"list": [("t", 1), ("u", 1), ("t", 3)]}),
    "bytes": (select(dead_rows).order_by(dead_rows.c.slot), {}),
    "two columns of one name": (
        select(commit_log.c.version, commit_log.c.operation, change.c.operation, change.c.detail)
        .join(change, change.c.version == commit_log.c.version), {}),
}  # fmt: skip


@pytest.fixture
def filled(writer: Writer) -> Catalog:
    writer.rows("t", placed=[a_part(slot) for slot in (1, 2, 3)], killed={1: [0, 4], 2: [7]})
    return writer.catalog


@pytest.mark.parametrize(("statement", "values"), CASES.values(), ids=CASES)
def test_rows_are_those_of_sqlalchemy(filled: Catalog, url: str, statement: Any, values: dict[str, Any]) -> None:
    engine = create_engine(url)
    with engine.connect() as connection:
        expected = connection.execute(statement, values).all()
    engine.dispose()
    found = filled._db.rows(statement, values)
    assert len(found) == len(expected) > 0
    assert sorted(map(repr, map(tuple, found))) == sorted(map(repr, map(tuple, expected)))
    first = next(iter(statement.selected_columns)).name
    assert [getattr(row, first) for row in found] == [row[0] for row in found]


def test_few_texts_serve_lists_of_any_length() -> None:
    statement = select(placement).where(placement.c.slot.in_(_list))
    statements = Statements(create_engine("sqlite://").dialect)
    texts = {statements.prepared(statement, {"list": list(range(1, n))})[0].text for n in range(2, 129)}
    assert len(texts) == 8


def test_what_a_transaction_wrote_goes_with_it(filled: Catalog) -> None:
    insert = meta.insert()

    def write_twice() -> None:
        with filled._db.writing() as link:
            assert link.write(insert, [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]) == 2
            link.write(insert, {"key": "a", "value": "3"})

    with pytest.raises(CatalogError):
        write_twice()
    with filled._db.writing() as link:  # the link is as good as new
        assert link.rows(select(meta).where(meta.c.key.in_(["a", "b"]))) == []
