"""Options of keyed tables: what is read from them, and what is refused, with the reason."""

from __future__ import annotations

import pytest

from anabranch.engines import check_change, engine_spec
from anabranch.engines.spec import EngineSpec, SequenceGroup
from anabranch.errors import InvalidOption, KindRefused, OptionConflict, UnknownOption
from anabranch.options import checked_properties
from tests.engines.tables import Records, schema_of

COLUMNS = [(name, "int") for name in ("k", "a", "b", "c", "g", "h")] + [("t", "string"), ("xs", "array<int>")]
PARTIAL = {"merge-engine": "partial-update"}
GROUPED = PARTIAL | {"fields.g.sequence-group": "a,b"}
AGGREGATION = {"merge-engine": "aggregation"}


def spec(options: dict[str, str]) -> EngineSpec:
    return engine_spec(schema_of(COLUMNS, ["k"]), checked_properties(options))


def test_everything_in_one_spec() -> None:
    found = spec(
        PARTIAL
        | {"fields.G,h.sequence-group": "A, b", "fields.a.aggregate-function": "sum"}
        | {"partial-update.remove-record-on-sequence-group": "g", "rowkind.field": "t", "sequence.field": "c"}
    )
    assert (found.engine, found.key, found.sequence, found.descending) == ("partial-update", ("k",), ("c",), False)
    assert found.groups == (SequenceGroup(("g", "h"), ("a", "b")),)
    assert {name: rule.function for name, rule in found.rules.items()} == {"a": "sum"}
    assert (found.remove_on_groups, found.rowkind) == (frozenset({"g"}), "t")


def test_every_field_of_an_aggregation_has_a_function() -> None:
    found = spec(AGGREGATION | {"sequence.field": "g", "fields.a.aggregate-function": "sum"})
    functions = {name: rule.function for name, rule in found.rules.items()}
    assert functions.pop("a") == "sum"
    assert functions.pop("g") == "last_value"
    assert set(functions.values()) == {"last_non_null_value"}


def test_keys_never_aggregate() -> None:
    assert spec(GROUPED | {"fields.k.aggregate-function": "listagg"}).rules == {}


REFUSED = [
    ({"merge-engine": "dedup"}, InvalidOption, "deduplicate"),
    ({"merge-engin": "deduplicate"}, UnknownOption, "'merge-engine'"),
    ({"fields.a.agregate-function": "sum"}, UnknownOption, "'fields.a.aggregate-function'"),
    ({"sequence.field": "q"}, OptionConflict, "no column 'q'"),
    ({"sequence.field": "xs"}, OptionConflict, "no order"),
    ({"sequence.field": "k"}, OptionConflict, "primary key"),
    ({"sequence.field": "a,,b"}, InvalidOption, "commas"),
    ({"sequence.field": "a,A"}, OptionConflict, "twice"),
    ({"rowkind.field": "a"}, OptionConflict, "kinds are strings"),
    ({"fields.a.aggregate-function": "sum"}, OptionConflict, "no aggregate functions"),
    ({"fields.g.sequence-group": "a"}, OptionConflict, "partial-update"),
    ({"aggregation.remove-record-on-delete": "true"}, OptionConflict, "'deduplicate'"),
    ({"merge-engine": "first-row", "sequence.field": "a"}, OptionConflict, "arrived first"),
    (PARTIAL | {"ignore-delete": "true", "partial-update.remove-record-on-delete": "true"}, OptionConflict, "drops"),
    (
        GROUPED | {"ignore-delete": "true", "partial-update.remove-record-on-sequence-group": "g"},
        OptionConflict,
        "drops every delete",
    ),
    (GROUPED | {"partial-update.remove-record-on-delete": "true"}, OptionConflict, "sequence groups"),
    (GROUPED | {"fields.h.sequence-group": "b"}, OptionConflict, "in 'fields.g.sequence-group' too"),
    (GROUPED | {"fields.h.sequence-group": "g"}, OptionConflict, "in 'fields.g.sequence-group' too"),
    (PARTIAL | {"fields.g.sequence-group": "a,g"}, OptionConflict, "twice in it"),
    (PARTIAL | {"fields.k.sequence-group": "a"}, OptionConflict, "primary key"),
    (GROUPED | {"fields.c.aggregate-function": "sum"}, OptionConflict, "needs 'c' in a sequence group"),
    (GROUPED | {"fields.default-aggregate-function": "sum"}, OptionConflict, "in a sequence group"),
    (AGGREGATION | {"fields.a.aggregate-function": "count"}, InvalidOption, "'sum'"),
    (AGGREGATION | {"fields.t.aggregate-function": "sum"}, OptionConflict, "takes numbers"),
    (AGGREGATION | {"fields.q.aggregate-function": "sum"}, OptionConflict, "no column 'q'"),
    (AGGREGATION | {"fields.q.distinct": "true"}, OptionConflict, "no column 'q'"),
    (AGGREGATION | {"fields.a.count-limit": "0"}, InvalidOption, "above 0"),
    (AGGREGATION | {"fields.xs.nested-key": "k"}, OptionConflict, "array of structs"),
    (
        AGGREGATION | {"aggregation.remove-record-on-delete": "true", "fields.a.ignore-retract": "true"},
        OptionConflict,
        "does not go with",
    ),
]


@pytest.mark.parametrize(("options", "error", "reason"), REFUSED, ids=lambda value: str(value) if value else "")
def test_refused(options: dict[str, str], error: type[Exception], reason: str) -> None:
    with pytest.raises(error) as refused:
        spec(options)
    assert reason in str(refused.value)


CHANGES = [
    ({"ignore-delete": "true"}, {}, "cannot go back", "cannot go back"),
    ({"ignore-update-before": "true"}, {}, "cannot go back", "cannot go back"),
    ({}, {"ignore-delete": "true"}, "", ""),
    ({}, PARTIAL, "", "has parts"),
    ({"sequence.field": "a"}, {"sequence.field": "b"}, "", "has parts"),
    ({"sequence.field": "a"}, {"sequence.field": "a", "sequence.field.sort-order": "descending"}, "", "has parts"),
    (GROUPED, PARTIAL, "", "has parts"),
    (GROUPED, GROUPED | {"fields.a.aggregate-function": "sum"}, "", "has parts"),
    (PARTIAL, PARTIAL | {"ignore-delete": "true"}, "", ""),
]


@pytest.mark.parametrize(("old", "new", "empty", "filled"), CHANGES)
def test_change(old: dict[str, str], new: dict[str, str], empty: str, filled: str) -> None:
    for has_parts, reason in ((False, empty), (True, filled)):
        if reason:
            with pytest.raises(OptionConflict, match=reason):
                check_change(spec(old), spec(new), has_parts=has_parts)
        else:
            check_change(spec(old), spec(new), has_parts=has_parts)


def test_a_new_column_may_come_with_its_group() -> None:
    wider = engine_spec(schema_of([*COLUMNS, ("n", "int")], ["k"]), PARTIAL | {"fields.g.sequence-group": "a,b,n"})
    check_change(spec(GROUPED), wider, has_parts=True)


KINDS = [
    ({}, "+X", "kind '[+]X'"),
    ({}, None, "kind 'NULL'"),
    ({"merge-engine": "first-row"}, "-D", "first-row"),
    (PARTIAL, "-U", "takes no retracts"),
    (AGGREGATION | {"fields.a.aggregate-function": "max"}, "-D", "'max' of column 'a'"),
]


@pytest.mark.parametrize(("options", "kind", "reason"), KINDS)
def test_kinds_refused(options: dict[str, str], kind: str, reason: str) -> None:
    with pytest.raises(KindRefused, match=reason):
        Records(COLUMNS[:2], ["k"], options).write([("+I", [1, 1]), (kind, [2, 2])])


def test_kinds_ignored() -> None:
    before = Records(COLUMNS[:2], ["k"], {"ignore-update-before": "true"})
    assert before.read([before.write([("+I", [1, 1]), ("-U", [1, 1]), ("+I", [2, 2]), ("-D", [2, 2])])]) == [[1, 1]]
    both = Records(COLUMNS[:2], ["k"], {"ignore-delete": "true"})
    assert both.read([both.write([("+I", [1, 1]), ("-U", [1, 1]), ("-D", [1, 1])])]) == [[1, 1]]


@pytest.mark.parametrize("kind", ["+X", None])
def test_rowkind_field_refused(kind: str | None) -> None:
    table = Records([("k", "int"), ("r", "string")], ["k"], {"rowkind.field": "r"})
    with pytest.raises(KindRefused, match="column 'r'"):
        table.write([("+I", [1, kind])])
