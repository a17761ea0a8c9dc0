"""NOT NULL inside columns: the paths that require a value, and the rows that lack it."""

import pyarrow as pa
import pytest

from anabranch.execution.required import lacking, required
from anabranch.model.schema import Column
from anabranch.model.types import parse_type


@pytest.mark.parametrize(
    ("type_", "paths"),
    [
        ("int", []),
        ("struct<a:int,b:int not null>", ["c.b"]),
        ("struct<s:struct<x:int not null> not null>", ["c.s", "c.s.x"]),
        ("array<struct<a:int not null>>", ["c.element.a"]),
        ("map<struct<a:int not null>,array<struct<b:int not null>>>", ["c.key.a", "c.value.element.b"]),
    ],
)
def test_paths_that_require_a_value(type_, paths):
    assert [".".join(path) for path in required(Column("c", parse_type(type_), "c"))] == paths
    assert [".".join(path) for path in required(Column("c", parse_type(type_), "c", nullable=False))] == ["c", *paths]


STRUCT = pa.struct([("a", pa.int32()), ("value", pa.int32())])
FULL, LACKS = {"a": 1, "value": None}, {"a": None, "value": 1}


@pytest.mark.parametrize(
    ("type_", "values", "path", "found"),
    [
        (pa.int32(), [1, None], (), [False, True]),
        (STRUCT, [FULL, LACKS, None], ("A",), [False, True, False]),
        (STRUCT, [FULL, LACKS, None], ("value",), [True, False, False]),
        (pa.list_(STRUCT), [[FULL], [], None, [None, LACKS], [LACKS, LACKS]], ("element", "a"), [0, 0, 0, 1, 1]),
        (pa.list_(pa.list_(STRUCT)), [[[LACKS]], [None, [FULL]], [[]]], ("element", "element", "a"), [1, 0, 0]),
        (pa.map_(pa.string(), STRUCT), [[("k", LACKS)], None, [("k", FULL), ("n", None)]], ("value", "a"), [1, 0, 0]),
        (pa.map_(STRUCT, pa.int32()), [[(LACKS, 1)], [(FULL, None)]], ("key", "a"), [1, 0]),
    ],
)
def test_rows_that_lack_a_value(type_, values, path, found):
    array = pa.array(values, type_)
    assert lacking(array, path).tolist() == found
    assert lacking(array.slice(1), path).tolist() == found[1:]
    assert lacking(pa.chunked_array([array, array.slice(1)]), path).tolist() == [*found, *found[1:]]
    assert lacking(pa.chunked_array([], type_), path).tolist() == []
