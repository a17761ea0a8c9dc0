"""What keeps an expression from being evaluated on a row alone, or from giving the same whenever it is evaluated.

By the text only: of functions that users register, and of those that are not listed, Spark knows.
"""

from __future__ import annotations

from sqlglot import exp

NONDETERMINISTIC = frozenset(
    {"rand", "randn", "random", "uuid", "shuffle", "monotonically_increasing_id", "spark_partition_id", "randstr",
     "input_file_name", "input_file_block_start", "input_file_block_length", "uniform", "sample"}
)  # fmt: skip
"""Another value every time, or by where a row stands."""

_OF_THE_MOMENT = frozenset(
    {"current_date", "current_time", "current_timestamp", "now", "localtime", "localtimestamp", "current_user", "user",
     "session_user", "current_database", "current_schema", "current_catalog", "current_timezone"}
)  # fmt: skip
"""One value for all rows of a statement, by when it runs and for whom."""


def function_name(node: exp.Func) -> str:
    """As SQL calls it, in lower case."""
    return (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()


def reads_more(tree: exp.Expression) -> str | None:
    """What of an expression other rows than the one that it is on decide, or chance; None: nothing."""
    if tree.find(exp.Query, exp.Subquery):
        return "a subquery"
    chance = sorted(set(map(function_name, tree.find_all(exp.Func))) & NONDETERMINISTIC)
    return f"{chance[0]}(), which gives another value every time" if chance else None


def is_of_the_moment(tree: exp.Expression) -> bool:
    """Whether it tells the time, or who asks."""
    return any(function_name(node) in _OF_THE_MOMENT for node in tree.find_all(exp.Func))
