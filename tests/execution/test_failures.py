"""What users read when Spark's workers, or a value, are to blame."""

import sys

import pyarrow as pa
import pytest

import anabranch
from anabranch.errors import ExpressionError, Refused, ValueOutOfRange
from anabranch.execution.failures import translated
from anabranch.expressions import assign, shown

TRACE = (
    "Job aborted.\nTraceback (most recent call last):\n  File x\nModuleNotFoundError: No module named '{}'\n\n\tat org"
)


@pytest.mark.parametrize("module", ["numpy", "pyarrow", "anabranch", "pyarrow.compute"])
def test_workers_of_another_python_are_told_of_with_what_to_set(module):
    found = translated(Exception(TRACE.format(module)))
    assert isinstance(found, Refused)
    assert "PYSPARK_PYTHON" in str(found)
    assert sys.executable in str(found)


def test_a_module_that_a_function_of_the_user_lacks_is_theirs():
    assert isinstance(translated(Exception(TRACE.format("theirs"))), ExpressionError)


@pytest.mark.parametrize(
    ("value", "text"),
    [(float("inf"), "Infinity"), (float("-inf"), "-Infinity"), (float("nan"), "NaN"), (1.5, "1.5"), (None, "NULL"),
     (True, "true"), (b"\xff", "X'FF'"), (7, "7")],
)  # fmt: skip
def test_values_are_shown_as_sql_writes_them(value, text):
    assert shown(value) == text


def test_a_value_that_does_not_fit_is_shown_so():
    with pytest.raises(ValueOutOfRange, match=r"of type int: the value is Infinity\."):
        assign(pa.array([1.0, float("inf")]), pa.float64(), pa.int32(), "n")


def test_limits_are_public():
    assert anabranch.Limits(local_scan=1).local_scan == 1
