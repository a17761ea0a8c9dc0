"""Incoming Arrow types as ours: NULLs of no type stay so until a column gives them its own."""

import pyarrow as pa
import pytest

from anabranch.errors import UnsupportedType
from anabranch.storage.arrow_types import canonical, from_arrow

NULL = pa.null()


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (NULL, NULL),
        (pa.large_string(), pa.string()),
        (pa.struct([("a", NULL), ("b", pa.timestamp("ns"))]), pa.struct([("a", NULL), ("b", pa.timestamp("us"))])),
        (pa.large_list(NULL), pa.list_(pa.field("element", NULL))),
        (pa.map_(pa.large_string(), NULL), pa.map_(pa.string(), NULL)),
    ],
    ids=str,
)
def test_the_type_that_holds_the_same_values(given, found):
    assert canonical(given) == found


def test_no_column_has_a_type_with_nulls_of_none():
    with pytest.raises(UnsupportedType, match=r"column 's'\.a"):
        from_arrow(pa.struct([("a", NULL)]), "column 's'")
