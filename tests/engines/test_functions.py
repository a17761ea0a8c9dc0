"""Every aggregate function against its oracle: in an aggregation, and in a sequence group where records come late."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.engines import Reach, admitted
from anabranch.engines.functions import FUNCTIONS
from anabranch.errors import KindRefused, ValueOutOfRange
from tests.engines import oracle
from tests.engines.oracle import Rec
from tests.engines.tables import Records

TEXTS = st.sampled_from(["", " ", "a", "b", "a,b", "b,,c", ",", "c"])
ROWS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {
            "k": st.one_of(st.none(), st.integers(0, 2)),
            "s": st.one_of(st.none(), st.integers(0, 2)),
            "v": st.sampled_from([None, "x", "y"]),
        }
    ),
)
TABLE = "array<struct<k:int,s:int,v:string>>"
KEYED = {"nested-key": "k"}


def unordered(found: Any) -> Any:
    """A list whose order means nothing; nor does that of a struct's fields."""
    return None if found is None else sorted(repr(sorted(v.items()) if isinstance(v, dict) else v) for v in found)


@dataclass(frozen=True)
class Case:
    function: str
    type: str
    values: st.SearchStrategy[Any]
    options: dict[str, str] = field(default_factory=dict)
    ordered: bool = True

    def table(self, *, grouped: bool) -> Records:
        options = {f"fields.v.{name}": text for name, text in self.options.items()}
        options["fields.v.aggregate-function"] = self.function
        engine = {"merge-engine": "partial-update", "fields.g.sequence-group": "v"}
        options |= engine if grouped else {"merge-engine": "aggregation"}
        return Records([("k", "int"), ("g", "int"), ("v", self.type)], ["k"], options)


SMALL = st.integers(-3, 3).filter(bool)
LISTS = st.lists(st.one_of(st.none(), st.integers(0, 2)), max_size=4)
LARGE = st.integers(-(10**33), 10**33).map(lambda cents: Decimal(f"{cents}e-2"))
MONEY = st.integers(-500, 500).filter(bool).map(lambda cents: Decimal(cents) / 100)
CASES = {
    "sum": Case("sum", "bigint", st.integers(-(2**60), 2**60)),
    "sum of tinyint": Case("sum", "tinyint", st.integers(-5, 5)),
    "sum of decimals": Case("sum", "decimal(38,2)", LARGE),
    "product": Case("product", "bigint", SMALL),
    "product of decimals": Case("product", "decimal(38,2)", MONEY),
    "max": Case("max", "string", st.text("ab\0é", max_size=12)),
    "max of doubles": Case("max", "double", st.floats(-2, 2).map(lambda x: x + 0.0)),
    "min": Case("min", "binary", st.binary(max_size=9)),
    "min of decimals": Case("min", "decimal(38,2)", LARGE),
    "bool_and": Case("bool_and", "boolean", st.booleans()),
    "bool_or": Case("bool_or", "boolean", st.booleans()),
    "last_value": Case("last_value", "string", TEXTS),
    "last_non_null_value": Case("last_non_null_value", "int", SMALL),
    "first_value": Case("first_value", "array<int>", LISTS),
    "first_non_null_value": Case("first_non_null_value", "string", TEXTS),
    "listagg": Case("listagg", "string", TEXTS),
    "listagg, each once": Case("listagg", "string", TEXTS, {"distinct": "true"}),
    "listagg, other delimiter": Case("listagg", "string", TEXTS, {"list-agg-delimiter": ";"}),
    "collect": Case("collect", "array<int>", LISTS, ordered=False),
    "collect, each once": Case("collect", "array<int>", LISTS, {"distinct": "true"}, ordered=False),
    "collect of structs": Case("collect", TABLE, st.lists(ROWS, max_size=3), {"distinct": "true"}, ordered=False),
    "merge_map": Case(
        "merge_map", "map<int,string>", st.dictionaries(st.integers(0, 3), TEXTS).map(lambda d: [*d.items()]), {}, False
    ),
    "nested_update": Case("nested_update", TABLE, st.lists(ROWS, max_size=3), ordered=False),
    "nested_update by key": Case("nested_update", TABLE, st.lists(ROWS, max_size=3), KEYED, ordered=False),
    "nested_update by sequence": Case(
        "nested_update", TABLE, st.lists(ROWS, max_size=3), KEYED | {"nested-sequence-field": "s"}, ordered=False
    ),
    "nested_partial_update": Case("nested_partial_update", TABLE, st.lists(ROWS, max_size=3), KEYED, ordered=False),
}
LIMITED = {
    "nested_update, two rows": Case("nested_update", TABLE, st.lists(ROWS, max_size=3), {"count-limit": "2"}),
    "nested_update, two keys": Case(
        "nested_update", TABLE, st.lists(ROWS, max_size=3), KEYED | {"count-limit": "2"}, ordered=False
    ),
}
"""What comes first counts here, so nothing is taken back and nothing comes late."""


@st.composite
def records(draw: Any, case: Case, *, retracts: bool) -> list[Rec]:
    kinds = ("+I", "+U", "-U", "-D") if retracts and FUNCTIONS[case.function].retracts else ("+I",)
    found = []
    for _ in range(draw(st.integers(0, 9))):
        value = draw(st.one_of(st.none(), case.values))
        group = draw(st.one_of(st.none(), st.integers(0, 4)))
        found.append(Rec(draw(st.sampled_from(kinds)), {"k": draw(st.integers(0, 1)), "g": group, "v": value}))
    return found


def agree(case: Case, table: Records, parts: list[list[Rec]]) -> None:
    every = [record for part in parts for record in part]
    expected = {key[0]: row["v"] for key, row in oracle.read(every, table.spec).items()}
    tables = [stored(table, part) for part in parts]
    found = table.reduced(tables, Reach.ALL)
    got = dict(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True))
    if not case.ordered:
        expected, got = ({k: unordered(v) for k, v in side.items()} for side in (expected, got))
    assert got == expected


def stored(table: Records, part: list[Rec]) -> Any:
    rows = table.rows([(r.kind, [r.values[n] for n in ("k", "g", "v")]) for r in part])
    return admitted(rows, table.spec)


@pytest.mark.parametrize("grouped", [False, True], ids=["aggregation", "in a group"])
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_function(name: str, grouped: bool, data: Any) -> None:
    case = CASES[name]
    agree(case, case.table(grouped=grouped), [data.draw(records(case, retracts=True))])


@pytest.mark.parametrize("name", LIMITED)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_limits(name: str, data: Any) -> None:
    case = LIMITED[name]
    agree(case, case.table(grouped=False), [data.draw(records(case, retracts=False))])


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_adds_are_associative(name: str, data: Any) -> None:
    """Any neighbours may be reduced first; decimals are left out where each step rounds."""
    if name == "product of decimals":
        return
    case = CASES[name]
    table = case.table(grouped=False)
    found = data.draw(records(case, retracts=False))
    start = data.draw(st.integers(0, len(found)))
    end = data.draw(st.integers(start, len(found)))
    whole = table.reduced([stored(table, found)], Reach.ALL)
    middle = table.reduced([stored(table, found[start:end])], Reach.SOME)
    split = table.reduced([stored(table, found[:start]), middle, stored(table, found[end:])], Reach.ALL)
    assert split["k"] == whole["k"]
    left, right = split["v"].to_pylist(), whole["v"].to_pylist()
    assert left == right if case.ordered else [*map(unordered, left)] == [*map(unordered, right)]


LIMITS = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}


@pytest.mark.parametrize("type_", LIMITS)
@pytest.mark.parametrize("function", ["sum", "product"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_overflow_of_integers(function: str, type_: str, data: Any) -> None:
    """A result is exact, or refused."""
    limit = LIMITS[type_]
    near = st.one_of(
        st.integers(-limit, limit - 1),
        st.sampled_from([-limit, limit - 1, -1, 0, 1, 2, 3, int(limit**0.5)]),
    )
    values = data.draw(st.lists(near, min_size=2, max_size=5))
    expected = oracle.agg_of(oracle.FieldRule(function))(oracle.START, values[0])
    for value in values[1:]:
        expected = oracle.agg_of(oracle.FieldRule(function))(expected, value)
    table = Case(function, type_, near).table(grouped=False)
    rows = [("+I", [1, 1, value]) for value in values]
    if -limit <= expected < limit:
        assert table.merged(rows) == [("+I", [1, 1, expected])]
    else:
        with pytest.raises(ValueOutOfRange, match="'v'"):
            table.merged(rows)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("decimal(5,2)", ["999.99", "0.01"]),
        ("decimal(38,0)", ["9" * 38, "1"]),
        ("decimal(38,0)", ["-" + "9" * 38, "-" + "9" * 38]),
    ],
)
def test_overflow_of_decimals(type_: str, values: list[str]) -> None:
    table = Case("sum", type_, MONEY).table(grouped=False)
    with pytest.raises(ValueOutOfRange, match="overflow"):
        table.merged([("+I", [1, 1, Decimal(value)]) for value in values])


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if not function.retracts])
def test_retract_refused_before_it_is_stored(name: str) -> None:
    """A lone record would pass, and every later read would fail."""
    types = {"listagg": "string", "bool_and": "boolean", "bool_or": "boolean", "nested_partial_update": TABLE}
    type_ = types.get(name, "binary" if "sketch" in name or "rbm" in name else "int")
    options = KEYED if name == "nested_partial_update" else {}
    case = Case(name, type_, st.none(), options)
    with pytest.raises(KindRefused, match="does not support retraction"):
        case.table(grouped=False).write([("-U", [1, 1, None])])
    with pytest.raises(KindRefused, match="ignore-retract"):
        case.table(grouped=True).write([("-D", [1, 1, None])])
    case.table(grouped=True).write([("-D", [1, None, None])])
    ignoring = Case(name, type_, st.none(), options | {"ignore-retract": "true"})
    ignoring.table(grouped=False).write([("-U", [1, 1, None])])


@pytest.mark.parametrize(("name", "kind"), [("rbm32", "BitMap"), ("rbm64", "BitMap64")])
def test_bitmaps(name: str, kind: str) -> None:
    pyroaring = pytest.importorskip("pyroaring")
    bitmap = getattr(pyroaring, kind)
    table = Case(name, "binary", st.none()).table(grouped=False)
    rows = [("+I", [1, 1, None]), *(("+I", [1, 1, bitmap(numbers).serialize()]) for numbers in ([1, 5], [5, 9]))]
    [(_, [_, _, united])] = table.merged(rows)
    assert list(bitmap.deserialize(united)) == [1, 5, 9]


def test_sketches() -> None:
    library = pytest.importorskip("datasketches")
    theta, hll = [], []
    for numbers in (range(100), range(50, 150)):
        one, other = library.update_theta_sketch(), library.hll_sketch(12)
        for number in numbers:
            one.update(number)
            other.update(number)
        theta.append(one.compact().serialize())
        hll.append(other.serialize_compact())
    [(_, [_, _, united])] = (
        Case("theta_sketch", "binary", st.none())
        .table(grouped=False)
        .merged([("+I", [1, 1, sketch]) for sketch in theta])
    )
    assert library.compact_theta_sketch.deserialize(united).get_estimate() == 150
    [(_, [_, _, united])] = (
        Case("hll_sketch", "binary", st.none()).table(grouped=False).merged([("+I", [1, 1, sketch]) for sketch in hll])
    )
    assert abs(library.hll_sketch.deserialize(united).get_estimate() - 150) < 5
