"""Spark SQL expressions over Arrow data, without a JVM: exactly Spark's answer, or "needs Spark"."""

from anabranch.expressions.alone import NONDETERMINISTIC, function_name, is_of_the_moment, reads_more
from anabranch.expressions.assign import assign, constant, is_deterministic
from anabranch.expressions.compile import Compiled, compile_expression, compile_predicate
from anabranch.expressions.labels import in_order
from anabranch.expressions.literals import literal_sql, shown
from anabranch.expressions.parse import parse_expression
from anabranch.expressions.pruning import Bound, ColumnStats, conjuncts, may_match, pushable, select_parts
from anabranch.expressions.types import spark_name
from anabranch.expressions.zones import may_ask_zone, zone_of

__all__ = [
    "NONDETERMINISTIC",
    "Bound",
    "ColumnStats",
    "Compiled",
    "assign",
    "compile_expression",
    "compile_predicate",
    "conjuncts",
    "constant",
    "function_name",
    "in_order",
    "is_deterministic",
    "is_of_the_moment",
    "literal_sql",
    "may_ask_zone",
    "may_match",
    "parse_expression",
    "pushable",
    "reads_more",
    "select_parts",
    "shown",
    "spark_name",
    "zone_of",
]
