"""ALTER LAKE and SHOW LAKE OPTIONS."""

from __future__ import annotations

from anabranch.sql import clauses
from anabranch.sql import statements as st
from anabranch.sql.cursor import Cursor


def alter(cursor: Cursor) -> st.Statement:
    if cursor.take("SET"):
        cursor.expect("OPTIONS")
        return st.SetLakeOptions(clauses.properties(cursor))
    if cursor.take("UNSET"):
        cursor.expect("OPTIONS")
        return st.UnsetLakeOptions(clauses.property_keys(cursor))
    return cursor.fail("SET OPTIONS or UNSET OPTIONS")


def show_options(cursor: Cursor) -> st.ShowLakeOptions:
    return st.ShowLakeOptions()
