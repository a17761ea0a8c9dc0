"""A PostgreSQL cluster of our own: in a temporary folder, on a unix socket only, gone afterwards.

with cluster() as pg:              # initdb, start ... stop, remove
    with pg.database() as url:     # CREATE DATABASE ... DROP DATABASE
        create_engine(url)
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

SUPERUSER = "anabranch"
ROOT = Path(__file__).resolve().parent.parent

SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
fsync = on
max_connections = 200
timezone = 'UTC'
"""


@dataclass(frozen=True)
class Cluster:
    """A running server; `folder` holds its socket, so it names the cluster as a host name would."""

    folder: Path
    _numbers: Iterator[int]

    def url(self, database: str = "postgres") -> str:
        return f"postgresql+psycopg://{SUPERUSER}@/{database}?host={quote(str(self.folder), safe='/')}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new, empty database, dropped on leaving even if connections are still open."""
        name = f"db{next(self._numbers)}"
        self._execute("CREATE DATABASE {}", name)
        try:
            yield self.url(name)
        finally:
            self._execute("DROP DATABASE {} WITH (FORCE)", name)

    def _execute(self, statement: str, name: str) -> None:
        with psycopg.connect(host=str(self.folder), user=SUPERUSER, dbname="postgres", autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))


@contextmanager
def cluster() -> Iterator[Cluster]:
    programs = server_programs()
    # Directly in /tmp: a socket's path may have 107 bytes at most, and temporary folders can be deep.
    folder = Path(tempfile.mkdtemp(prefix="anabranch-pg-", dir="/tmp"))
    data, log = folder / "data", folder / "log"
    identity = unprivileged()
    if identity:
        shutil.chown(folder, identity["user"], identity["group"])

    def run(program: str, *arguments: str) -> None:
        # In its own folder, because the unprivileged user may not enter the one that we are in.
        done = subprocess.run(
            [programs / program, "-D", data, *arguments],
            cwd=folder,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **identity,
        )
        if done.returncode:
            server_log = log.read_text() if log.exists() else ""
            raise RuntimeError(f"PostgreSQL's {program} failed:\n{done.stdout}{server_log}")

    try:
        run("initdb", "--auth=trust", f"--username={SUPERUSER}", "--encoding=UTF8", "--locale=C", "--no-sync")
        with (data / "postgresql.conf").open("a") as conf:
            conf.write(SETTINGS.format(folder=folder))
        run("pg_ctl", "start", "--wait", f"--log={log}")
        try:
            yield Cluster(folder, count(1))
        finally:
            run("pg_ctl", "stop", "--wait", "--mode=fast")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def server_programs() -> Path:
    """The folder of initdb and its kin, after installing PostgreSQL if need be."""
    script = ROOT / "scripts" / "postgres.sh"
    found = subprocess.run([script], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if found.returncode:
        raise RuntimeError(f"no PostgreSQL server, and {script.name} could not install one:\n{found.stderr}")
    return Path(found.stdout.strip())


def unprivileged() -> dict[str, Any]:
    """Who runs the server, as arguments of `subprocess.run`: PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
