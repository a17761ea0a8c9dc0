"""One contract, two databases: every test that asks for `catalog` runs on SQLite and on a real PostgreSQL."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.schema import CreateSchema, DropSchema

from anabranch.catalog import Catalog
from tests.catalog.writer import Writer
from tests.statements import watched

Reopen = Callable[[], Catalog]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a place that holds nothing yet: a file, or a schema of its own (a database takes half a second)."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/catalog.db"
        return
    server = request.getfixturevalue("postgres_url")
    schema = f"catalog_{uuid.uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(CreateSchema(schema))
        yield f"{server}&options=-csearch_path%3D{schema}"
        connection.execute(DropSchema(schema, cascade=True))
    engine.dispose()


@pytest.fixture
def reopen(url: str) -> Iterator[Reopen]:
    """Opens the catalog once more, with nothing remembered."""
    opened = []

    def again() -> Catalog:
        opened.append(Catalog.open(url, create=True, durability="process"))
        return opened[-1]

    yield again
    for catalog in opened:
        catalog.close()


@pytest.fixture
def catalog(reopen: Reopen) -> Catalog:
    return reopen()


@pytest.fixture
def writer(catalog: Catalog) -> Writer:
    return Writer(catalog)


@pytest.fixture
def statements() -> Iterator[list[str]]:
    seen: list[str] = []
    with watched(seen.append):
        yield seen
