"""CREATE, ALTER, DROP DATABASE (SCHEMA and NAMESPACE are the same word)."""

from __future__ import annotations

from anabranch.sql import clauses
from anabranch.sql import statements as st
from anabranch.sql.cursor import Cursor
from anabranch.sql.refs import database_name

_PROPERTIES = ("DBPROPERTIES", "PROPERTIES")


def create(cursor: Cursor) -> st.CreateDatabase:
    if_not_exists = clauses.if_not_exists(cursor)
    name = database_name(cursor)
    comment: str | None = None
    properties: dict[str, str] = {}
    while True:
        if cursor.take("COMMENT"):
            comment = cursor.string("a comment")
        elif cursor.take_any("WITH DBPROPERTIES", "WITH PROPERTIES"):
            properties = clauses.properties(cursor)
        elif cursor.at_any("LOCATION", "MANAGED LOCATION"):
            raise clauses.refuse("LOCATION of a database", "the lake decides where files are")
        else:
            return st.CreateDatabase(name, if_not_exists, comment, properties)


def alter(cursor: Cursor) -> st.Statement:
    name = database_name(cursor)
    if cursor.take("RENAME TO"):
        return st.RenameDatabase(name, database_name(cursor))
    if cursor.at("SET LOCATION"):
        raise clauses.refuse("LOCATION of a database", "the lake decides where files are")
    if cursor.take("SET"):
        cursor.expect(*_PROPERTIES)
        return st.SetDatabaseProperties(name, clauses.properties(cursor))
    if cursor.take("UNSET"):
        cursor.expect(*_PROPERTIES)
        if_exists = clauses.if_exists(cursor)
        return st.UnsetDatabaseProperties(name, clauses.property_keys(cursor), if_exists)
    return cursor.fail("RENAME TO, SET DBPROPERTIES or UNSET DBPROPERTIES")


def drop(cursor: Cursor) -> st.DropDatabase:
    if_exists = clauses.if_exists(cursor)
    name = database_name(cursor)
    cascade = cursor.take_any("CASCADE", "RESTRICT") == "CASCADE"
    return st.DropDatabase(name, if_exists, cascade)
