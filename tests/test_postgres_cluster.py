from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from tests.postgres import Cluster


def ask(url: str, query: str) -> object:
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return connection.execute(text(query)).scalar_one()
    finally:
        engine.dispose()


def test_the_cluster_answers(postgres_url: str) -> None:
    assert ask(postgres_url, "SELECT 1") == 1


def test_its_version_is_supported(postgres_url: str) -> None:
    assert int(str(ask(postgres_url, "SHOW server_version_num"))) >= 130000


def test_it_listens_on_its_socket_only(postgres_url: str) -> None:
    assert ask(postgres_url, "SHOW listen_addresses") == ""
    assert ask(postgres_url, "SHOW fsync") == "on"


def test_a_fresh_database_is_empty(fresh_postgres_url: str) -> None:
    assert ask(fresh_postgres_url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


def test_a_fresh_database_is_dropped_even_while_in_use(postgres_cluster: Cluster) -> None:
    engine = create_engine(postgres_cluster.url("postgres"))
    with postgres_cluster.database() as url:
        held = create_engine(url).connect()
    held.invalidate()
    name = make_url(url).database
    with engine.connect() as connection:
        names = connection.execute(text("SELECT datname FROM pg_database")).scalars().all()
    engine.dispose()
    assert name not in names
