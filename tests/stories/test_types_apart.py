"""Types that grew apart: what the conflict says, which side RESOLVE can take, and what to do where it can take none."""

import pytest

from anabranch.errors import AnabranchError, MergeConflict
from tests.stories.telling import one, rows, told

# theirs' type, ours' type, a row of each, or none; the sides that settle it, and what the message says
CASES = {
    "rows of both": ("BIGINT", "DOUBLE", "1", "1.5", (), "RESTORE the table on one branch"),
    "rows of both, and a common type": ("BIGINT", "DECIMAL(12,2)", "1", "1.25", (), "TYPE decimal(22,2)"),
    "decimals": ("DECIMAL(15,2)", "DECIMAL(16,5)", "1.25", "1.25", (), "TYPE decimal(18,5)"),
    "rows of ours": ("BIGINT", "DOUBLE", None, "1.5", ("ours",), "Only RESOLVE USING OURS settles this"),
    "rows of theirs": ("BIGINT", "DOUBLE", "5", None, ("theirs",), "Only RESOLVE USING THEIRS settles this"),
    "no new rows": ("BIGINT", "DOUBLE", None, None, ("ours", "theirs"), "RESOLVE USING OURS or THEIRS"),
}
KINDS = {"append": "a INT", "keyed": "id INT PRIMARY KEY, a INT"}


@pytest.fixture(params=KINDS)
def columns(request):
    return KINDS[request.param]


def grown(lake, columns, theirs, ours, there, here):
    key = "1, " if "KEY" in columns else ""
    told(lake, f"CREATE TABLE d.t ({columns})", f"INSERT INTO d.t VALUES ({key}7)", "CREATE BRANCH dev")
    told(lake, f"ALTER TABLE d.t@dev ALTER COLUMN a TYPE {theirs}", f"ALTER TABLE d.t ALTER COLUMN a TYPE {ours}")
    for ref, value, id in (("d.t@dev", there, 2), ("d.t", here, 3)):
        if value is not None:
            told(lake, f"INSERT INTO {ref} VALUES ({f'{id}, ' if key else ''}{value})")


@pytest.mark.parametrize("case", CASES)
def test_the_sides_are_right_and_only_what_settles_it_is_offered(lake, columns, case):
    theirs, ours, there, here, settling, said = CASES[case]
    grown(lake, columns, theirs, ours, there, here)
    expected = ("a", "incompatible", ours.lower(), theirs.lower())
    before = lake.version
    with pytest.raises(MergeConflict) as refused:
        lake.merge("dev")
    assert [(c.column, c.rule, c.ours, c.theirs) for c in refused.value.conflicts] == [expected]
    assert (refused.value.settling, refused.value.way_out in str(refused.value)) == (settling, True)
    assert said in refused.value.way_out
    for side in {"ours", "theirs"} - set(settling):
        with pytest.raises(MergeConflict, match=f"RESOLVE USING {side.upper()} does not settle this") as refused:
            lake.merge("dev", resolve=side)
        assert [(c.column, c.rule, c.ours, c.theirs) for c in refused.value.conflicts] == [expected]
    assert lake.version == before


@pytest.mark.parametrize("case", [case for case, (*_, settling, _) in CASES.items() if settling])
def test_the_side_that_reads_all_rows_passes(lake, columns, case):
    theirs, ours, there, here, settling, _ = CASES[case]
    grown(lake, columns, theirs, ours, there, here)
    lake.merge("dev", resolve=settling[0])
    types = {row[0]: row[1] for row in told(lake, "DESCRIBE d.t")}
    assert types["a"] == (ours if settling[0] == "ours" else theirs).lower()
    values = sorted(lake.table("d.t").to_arrow().column("a").to_pylist())
    assert values == sorted([7, *(float(value) for value in (there, here) if value is not None)])


def test_a_common_type_on_both_branches_lets_it_pass(lake):
    grown(lake, "a INT", "BIGINT", "DECIMAL(12,2)", "1", "1.25")
    for ref in ("d.t", "d.t@dev"):
        told(lake, f"ALTER TABLE {ref} ALTER COLUMN a TYPE DECIMAL(22,2)")
    lake.merge("dev")
    assert [float(value) for value in one(lake, "d.t")] == [1.0, 1.25, 7.0]


def test_a_restored_side_lets_it_pass(lake):
    grown(lake, "a INT", "BIGINT", "DOUBLE", "1", "1.5")
    told(lake.on("dev"), "RESTORE TABLE d.t TO VERSION 3", "ALTER TABLE d.t ALTER COLUMN a TYPE DOUBLE")
    told(lake, "INSERT INTO d.t@dev VALUES (1)")
    lake.merge("dev")
    assert one(lake, "d.t") == [1.0, 1.5, 7.0]


@pytest.mark.parametrize(("side", "value"), [("ours", 5.5), ("theirs", 9007199254740993)])
@pytest.mark.parametrize("detect", ["file", "row", "cell"])
def test_a_row_that_both_wrote_in_their_own_types_goes_to_the_side_that_is_chosen(lake, detect, side, value):
    told(lake, "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (7)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN a TYPE BIGINT", "ALTER TABLE d.t ALTER COLUMN a TYPE DOUBLE")
    told(lake, "UPDATE d.t@dev SET a = 9007199254740993", "UPDATE d.t SET a = 5.5")
    lake.merge("dev", detect=detect, resolve=side)
    assert one(lake, "d.t") == [value]


def test_theirs_statements_are_not_run_on_rows_that_its_type_does_not_hold(lake):
    told(lake, "CREATE TABLE d.t (id INT, a INT)", "INSERT INTO d.t VALUES (1, 7)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN a TYPE BIGINT", "ALTER TABLE d.t ALTER COLUMN a TYPE DOUBLE")
    told(lake, "UPDATE d.t@dev SET a = a + 1 WHERE id > 0", "INSERT INTO d.t VALUES (2, 1.5)")
    with pytest.raises(MergeConflict) as refused:
        lake.merge("dev", detect="row", resolve="theirs")
    assert [(c.rule, c.ours, c.theirs) for c in refused.value.conflicts] == [("incompatible", "double", "bigint")]


def test_rows_of_an_undone_widening_are_named(lake):
    """Ours wrote wide rows and has the narrow type again; theirs brings such rows back."""
    told(lake, "CREATE TABLE d.t (a INT)", "ALTER TABLE d.t ALTER COLUMN a TYPE BIGINT", "CREATE BRANCH dev")
    told(lake, "INSERT INTO d.t@dev VALUES (5000000000)", "REVERT 3")
    (found,) = lake.conflicts("dev")
    assert (found.rule, found.ours, found.theirs) == ("narrow", "int", "bigint")


# the table, the place that is widened, and a row with a value there
WIDENED = {
    "column": ("k INT, v INT", "v", "({0}, {1})"),
    "keyed": ("k INT PRIMARY KEY, v INT", "v", "({0}, {1})"),
    "field": ("k INT, s STRUCT<a:INT>", "s.a", "({0}, named_struct('a', {1}))"),
}


def undone_by_restore(lake, widen, narrow_row, wide_row):
    at = lake.version
    told(lake, widen.format("d.t@dev"), "MERGE BRANCH dev", f"RESTORE TABLE d.t TO VERSION {at}")
    told(lake, f"INSERT INTO d.t VALUES {narrow_row}", f"INSERT INTO d.t@dev VALUES {wide_row}")
    return "MERGE BRANCH dev WITH (detect = 'row')"


def left_out_by_pick(lake, widen, narrow_row, wide_row):
    told(lake, widen.format("d.t@dev"), f"INSERT INTO d.t VALUES {narrow_row}")
    told(lake, f"INSERT INTO d.t@dev VALUES {wide_row}")
    return f"CHERRY PICK dev@{lake.on('dev').version}"


@pytest.mark.parametrize("place", WIDENED)
@pytest.mark.parametrize("way", [undone_by_restore, left_out_by_pick])
@pytest.mark.parametrize("resolve", ["", " RESOLVE USING OURS", " RESOLVE USING THEIRS"])
def test_where_the_type_is_narrower_the_message_says_how_to_widen_it(lake, place, way, resolve):
    columns, path, row = WIDENED[place]
    told(lake, f"CREATE TABLE d.t ({columns})", f"INSERT INTO d.t VALUES {row.format(1, 1)}", "CREATE BRANCH dev")
    widen = f"ALTER TABLE {{}} ALTER COLUMN {path} TYPE bigint"
    asked = way(lake, widen, row.format(5, 5), row.format(6, 6_000_000_000))
    asked = asked.replace(" WITH", f"{resolve} WITH") if " WITH" in asked else asked + resolve
    with pytest.raises(MergeConflict, match="the type is narrower here") as refused:
        told(lake, asked)
    assert [(c.column, c.rule, c.ours, c.theirs) for c in refused.value.conflicts] == [
        (path, "narrow", "int", "bigint")
    ]
    assert f"widen the column here first ({widen.format('d.t')})" in refused.value.way_out
    told(lake, widen.format("d.t"), asked)
    assert "6000000000" in repr(rows(lake, "d.t"))
    assert [row[0] for row in rows(lake, "d.t")] == [1, 5, 6]


# --- REVERT of a widening ---------------------------------------------------------------------------------------------


def widened(lake, place):
    """Gives the REVERT of it; the table has changed since."""
    columns, path, row = WIDENED[place]
    told(lake, f"CREATE TABLE d.t ({columns})", f"INSERT INTO d.t VALUES {row.format(1, 1)}")
    told(lake, f"ALTER TABLE d.t ALTER COLUMN {path} TYPE BIGINT")
    asked = f"REVERT {lake.version}"
    told(lake, "ALTER TABLE d.t ADD COLUMN z INT")
    return asked


def types_of(lake):
    return {row[0]: row[1] for row in told(lake, "DESCRIBE d.t")}


@pytest.mark.parametrize("place", WIDENED)
def test_a_widening_is_undone_by_theirs_where_rows_fit(lake, place):
    _, path, row = WIDENED[place]
    asked = widened(lake, place)
    before = lake.version
    with pytest.raises(MergeConflict, match="Only RESOLVE USING THEIRS settles this") as refused:
        told(lake, asked)
    assert [(c.column, c.rule, c.ours, c.theirs) for c in refused.value.conflicts] == [(path, "A6.1", "bigint", "int")]
    assert refused.value.settling == ("theirs",)
    assert told(lake, f"{asked} RESOLVE USING OURS")[0][-1] == "up to date"
    assert lake.version == before
    told(lake, f"{asked} RESOLVE USING THEIRS")
    assert types_of(lake)[path[0]] in ("int", "struct<a:int>")
    assert types_of(lake)["z"] == "int"
    told(lake, f"INSERT INTO d.t VALUES {row.format(2, 2)[:-1]}, 3)")
    assert [found[0] for found in rows(lake, "d.t")] == [1, 2]
    with pytest.raises(AnabranchError):
        told(lake, f"INSERT INTO d.t VALUES {row.format(3, 5_000_000_000)[:-1]}, 3)")


@pytest.mark.parametrize("place", WIDENED)
def test_a_widening_stays_while_rows_of_the_wide_type_do(lake, place):
    _, path, row = WIDENED[place]
    asked = widened(lake, place)
    told(lake, f"INSERT INTO d.t VALUES {row.format(2, 5_000_000_000)[:-1]}, 3)")
    before = lake.version
    for resolve, failed in (("", "No RESOLVE settles"), (" RESOLVE USING THEIRS", "THEIRS does not settle")):
        with pytest.raises(MergeConflict, match=f"{failed} this: the widening cannot be undone while rows") as refused:
            told(lake, asked + resolve)
        expected = (path, "A6.1", "bigint", "int")
        assert [(c.column, c.rule, c.ours, c.theirs) for c in refused.value.conflicts] == [expected]
        assert refused.value.settling == ()
    assert lake.version == before
    if place != "keyed":  # where a deleted row leaves its record
        told(lake, "DELETE FROM d.t WHERE k = 2", f"{asked} RESOLVE USING THEIRS")
        assert types_of(lake)[path[0]] in ("int", "struct<a:int>")


def test_what_else_a_commit_did_is_undone_without_its_widening(lake):
    told(lake, "CREATE TABLE d.t (k INT, v INT)", "INSERT INTO d.t VALUES (1, 1)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN v TYPE BIGINT", "ALTER TABLE d.t@dev ADD COLUMN w INT")
    told(lake, "MERGE BRANCH dev")
    merged = lake.version
    told(lake, "INSERT INTO d.t VALUES (2, 5000000000, 3)")
    with pytest.raises(MergeConflict, match="Only RESOLVE USING OURS settles this: the widening cannot be") as refused:
        told(lake, f"REVERT {merged}")
    assert refused.value.settling == ("ours",)
    told(lake, f"REVERT {merged} RESOLVE USING OURS")
    assert (types_of(lake), rows(lake, "d.t")) == ({"k": "int", "v": "bigint"}, [(1, 1), (2, 5_000_000_000)])


@pytest.mark.parametrize("detect", ["file", "row", "cell"])
def test_a_row_that_was_updated_in_the_wide_type_is_not_written_anew_in_the_narrow_one(lake, detect):
    """The REVERT brings a column back, which such rows would be written anew for."""
    told(lake, "CREATE TABLE d.t (k INT, v INT, w INT)", "INSERT INTO d.t VALUES (1, 1, 1)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev ALTER COLUMN v TYPE BIGINT", "ALTER TABLE d.t@dev DROP COLUMN w")
    told(lake, "MERGE BRANCH dev")
    merged = lake.version
    told(lake, "UPDATE d.t SET v = 5000000000")
    with pytest.raises(MergeConflict, match="RESOLVE USING THEIRS does not settle this: USING OURS would"):
        lake.revert(merged, resolve="theirs", detect=detect)
    lake.revert(merged, resolve="ours", detect=detect)
    assert rows(lake, "d.t") == [(1, 5_000_000_000, 1)]


def test_a_default_goes_with_the_type(lake):
    asked = widened(lake, "column")
    told(lake, "ALTER TABLE d.t ALTER COLUMN v SET DEFAULT 5000000000", f"{asked} RESOLVE USING THEIRS")
    told(lake, "INSERT INTO d.t (k) VALUES (2)")
    assert rows(lake, "d.t") == [(1, 1, None), (2, None, None)]


# --- inside columns ---------------------------------------------------------------------------------------------------

# the column, the place in it, and a row with a value there
NESTED = {
    "a field": ("k INT, s STRUCT<a:INT, b:STRING>", "s.a", "({0}, named_struct('a', {1}, 'b', 'b'))"),
    "a field of a keyed table": ("k INT PRIMARY KEY, s STRUCT<a:INT>", "s.a", "({0}, named_struct('a', {1}))"),
    "a field in a field": ("k INT, s STRUCT<t:STRUCT<a:INT>>", "s.t.a",
                           "({0}, named_struct('t', named_struct('a', {1})))"),
    "an element": ("k INT, s ARRAY<INT>", "s.element", "({0}, array({1}))"),
    "a value of a map": ("k INT, s MAP<STRING, INT>", "s.value", "({0}, map('m', {1}))"),
}  # fmt: skip


@pytest.mark.parametrize("place", NESTED)
@pytest.mark.parametrize("side", [None, "ours", "theirs"])
def test_inside_a_column_the_place_is_named_and_can_be_widened(lake, place, side):
    columns, path, row = NESTED[place]
    told(lake, f"CREATE TABLE d.t ({columns})", f"INSERT INTO d.t VALUES {row.format(1, 1)}", "CREATE BRANCH dev")
    for ref, type_, value, key in (("d.t", "BIGINT", "2", 2), ("d.t@dev", "DECIMAL(12,2)", "3.5", 3)):
        told(lake, f"ALTER TABLE {ref} ALTER COLUMN {path} TYPE {type_}")
        told(lake, f"INSERT INTO {ref} VALUES {row.format(key, value)}")
    with pytest.raises(MergeConflict) as refused:
        lake.merge("dev", resolve=side)
    expected = (path, "incompatible", "bigint", "decimal(12,2)")
    assert [(c.column, c.rule, c.ours, c.theirs) for c in refused.value.conflicts] == [expected]
    wanted = f"ALTER TABLE d.t ALTER COLUMN {path} TYPE decimal(22,2)"
    assert f"({wanted})" in refused.value.way_out
    told(lake, wanted, wanted.replace("d.t", "d.t@dev"))
    lake.merge("dev", resolve=side)
    assert [f"Decimal('{n}')" in repr(rows(lake, "d.t")) for n in ("1.00", "2.00", "3.50")] == [True] * 3


# --- columns that both added ------------------------------------------------------------------------------------------

# ours' type, theirs' type, rows of each, or none; the sides that settle it, and what the message says
ADDED = {
    "rows of both": ("BIGINT", "DOUBLE", "100", "2.5", (), "RENAME COLUMN {} TO"),
    "rows of both, and a common type": ("BIGINT", "DECIMAL(12,2)", "100", "2.5", (), "COLUMN {} TYPE decimal(22,2)"),
    "structs with other fields": ("STRUCT<x:INT>", "STRUCT<x:INT,z:INT>", "named_struct('x', 1)",
                                  "named_struct('x', 1, 'z', 2)", (), "RENAME COLUMN {} TO"),
    "rows of ours": ("BIGINT", "DOUBLE", "100", None, ("ours",), "Only RESOLVE USING OURS settles this"),
    "rows of theirs": ("BIGINT", "DOUBLE", None, "2.5", ("theirs",), "Only RESOLVE USING THEIRS settles this"),
    "no new rows": ("BIGINT", "STRING", None, None, ("ours", "theirs"), "RESOLVE USING OURS or THEIRS"),
}  # fmt: skip
# the table, a row of it before, the column or field that both add, and a row after
PLACES = {
    "column": ("k INT", "({0})", "c", "({0}, {1})"),
    "keyed": ("k INT PRIMARY KEY", "({0})", "c", "({0}, {1})"),
    "field": ("k INT, s STRUCT<a:INT>", "({0}, named_struct('a', 1))", "s.c", "({0}, named_struct('a', 2, 'c', {1}))"),
    "keyed field": ("k INT PRIMARY KEY, s STRUCT<a:INT>", "({0}, named_struct('a', 1))", "s.c",
                    "({0}, named_struct('a', 2, 'c', {1}))"),
    "in an array": ("k INT, s ARRAY<STRUCT<a:INT>>", "({0}, array(named_struct('a', 1)))", "s.element.c",
                    "({0}, array(named_struct('a', 2, 'c', {1})))"),
}  # fmt: skip


def both_added(lake, place, ours, theirs, here, there):
    columns, before, label, after = PLACES[place]
    told(lake, f"CREATE TABLE d.t ({columns})", f"INSERT INTO d.t VALUES {before.format(1)}", "CREATE BRANCH dev")
    for ref, type_, value, key in (("d.t", ours, here, 10), ("d.t@dev", theirs, there, 20)):
        told(lake, f"ALTER TABLE {ref} ADD COLUMN {label} {type_}")
        if value is not None:
            told(lake, f"INSERT INTO {ref} VALUES {after.format(key, value)}")
    return label


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", ADDED)
def test_of_two_added_columns_a_side_is_taken_only_if_no_row_has_the_other(lake, place, case):
    ours, theirs, here, there, settling, said = ADDED[case]
    label = both_added(lake, place, ours, theirs, here, there)
    expected = [(label, "added", ours.lower(), theirs.lower())]
    before = rows(lake, "d.t")
    with pytest.raises(MergeConflict) as refused:
        lake.merge("dev")
    assert [(c.column, c.rule, c.ours, c.theirs) for c in refused.value.conflicts] == expected
    assert (refused.value.settling, said.format(label) in refused.value.way_out) == (settling, True)
    for side in {"ours", "theirs"} - set(settling):
        with pytest.raises(MergeConflict, match=f"RESOLVE USING {side.upper()} does not settle this") as refused:
            lake.merge("dev", resolve=side)
        assert [(c.column, c.rule, c.ours, c.theirs) for c in refused.value.conflicts] == expected
    assert rows(lake, "d.t") == before
    if settling:
        lake.merge("dev", resolve=settling[0])
        keys = [1, *(key for key, value in ((10, here), (20, there)) if value is not None)]
        assert [row[0] for row in rows(lake, "d.t")] == keys
        assert repr(rows(lake, "d.t")).count("2.5" if there else "100") == (here is not None or there is not None)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("ref", ["d.t", "d.t@dev"])
@pytest.mark.parametrize("case", ["rows of both", "structs with other fields"])
def test_a_renamed_one_lets_it_pass(lake, place, ref, case):
    ours, theirs, here, there, *_ = ADDED[case]
    label = both_added(lake, place, ours, theirs, here, there)
    told(lake, f"ALTER TABLE {ref} RENAME COLUMN {label} TO other")
    lake.merge("dev")
    found = {key: value for key, *values in rows(lake, "d.t") for value in [repr(values)]}
    if case == "rows of both":
        assert ("100" in found[10], "2.5" in found[20], sorted(found)) == (True, True, [1, 10, 20])
    else:
        assert ("{'x': 1}" in found[10], "{'x': 1, 'z': 2}" in found[20]) == (True, True)


@pytest.mark.parametrize("place", PLACES)
def test_a_common_type_of_both_lets_it_pass(lake, place):
    label = both_added(lake, place, "BIGINT", "DECIMAL(12,2)", "100", "2.5")
    for ref in ("d.t", "d.t@dev"):
        told(lake, f"ALTER TABLE {ref} ALTER COLUMN {label} TYPE DECIMAL(22,2)")
    lake.merge("dev")
    found = repr(rows(lake, "d.t"))
    assert ("Decimal('100.00')" in found, "Decimal('2.50')" in found) == (True, True)


def test_rows_of_the_other_column_that_do_not_stay_are_no_hindrance(lake):
    both_added(lake, "column", "BIGINT NOT NULL DEFAULT 7", "DOUBLE", "100", "2.5")
    told(lake, "DELETE FROM d.t WHERE k = 10")
    lake.merge("dev", resolve="theirs")
    assert rows(lake, "d.t") == [(1, None), (20, 2.5)]


@pytest.mark.parametrize(("side", "row"), [("ours", (3, 100)), ("theirs", (2, 2.5))])
def test_a_row_that_both_wrote_is_not_combined_of_two_columns(lake, side, row):
    """Each wrote the row with its own column, so a combined row would have lost one of the values."""
    told(lake, "CREATE TABLE d.t (k INT)", "INSERT INTO d.t VALUES (1)", "CREATE BRANCH dev")
    told(lake, "ALTER TABLE d.t@dev ADD COLUMN c DOUBLE", "ALTER TABLE d.t ADD COLUMN c BIGINT")
    told(lake, "UPDATE d.t@dev SET k = 2, c = 2.5", "UPDATE d.t SET k = 3, c = 100")
    lake.merge("dev", detect="cell", resolve=side)
    assert rows(lake, "d.t") == [row]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("ours", "theirs", "told_of"),
    [
        ("BIGINT NOT NULL DEFAULT 7", "STRING", ("NOT NULL", "2 rows without 'c'")),
        ("STRING", "BIGINT NOT NULL DEFAULT 7", ("3 rows without 'c'", "NOT NULL")),
    ],
)
def test_rows_that_break_a_not_null_are_told_beside_the_types(lake, kind, ours, theirs, told_of):
    """Each side's rows have its own column, and the other side's NOT NULL asks it of them."""
    key = " PRIMARY KEY" if kind == "keyed" else ""
    told(lake, f"CREATE TABLE d.t (k INT NOT NULL{key}, v INT)", "INSERT INTO d.t VALUES (1, 1), (2, 2)")
    told(
        lake, "CREATE BRANCH dev", f"ALTER TABLE d.t ADD COLUMN c {ours}", f"ALTER TABLE d.t@dev ADD COLUMN c {theirs}"
    )
    told(
        lake, f"INSERT INTO d.t VALUES (10, 10, {'NULL' if ours == 'STRING' else 1})", "INSERT INTO d.t (k) VALUES (11)"
    )
    told(lake, f"INSERT INTO d.t@dev VALUES (20, 20, {'NULL' if theirs == 'STRING' else 1})")
    told(lake, "INSERT INTO d.t@dev (k) VALUES (21)", "DELETE FROM d.t WHERE k = 2")
    with pytest.raises(MergeConflict) as refused:
        lake.merge("dev", detect="row")
    types, required = refused.value.conflicts
    assert (types.rule, types.column, required.rule, required.column) == ("added", "c", "A6.3", "c")
    assert [words in str(side) for words, side in zip(told_of, (required.ours, required.theirs), strict=True)] == [
        True
    ] * 2
