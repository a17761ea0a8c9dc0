"""What Python's API is given of a wrong type, for every parameter: an error of ours that says so, and nothing changed.

A table has, for each method, arguments that are right, and for each parameter those of VALUES that are of a right type.
"""

import inspect
import reprlib

import pytest

import anabranch
from anabranch.errors import AnabranchError, InvalidOption, NotALake, Refused
from anabranch.lake import Lake
from anabranch.merge_builder import MergeBuilder, WhenClause
from anabranch.options import Limits
from anabranch.table import Table
from tests.stories.telling import rows

THING = object()
VALUES = (None, 5, b"x", [], {}, THING, True, 2.5, [5], {5: 5}, [None], {"x": THING})
FLAGS = {"if_exists", "if_not_exists", "dropped", "dry_run", "extended", "first", "drop_default", "create"}
"""What Python takes for true is true."""

LAKE = {
    "sql": ({"text": "SHOW TABLES"}, {"text": (), "args": (None, [], {}, [5], [None])}),
    "set_options": ({}, {"options": ({},)}),
    "unset_options": ({}, {"names": ([],)}),
    "on": ({}, {"branch": ()}),
    "use": ({}, {"branch": ()}),
    "create_branch": ({"name": "new"}, {"name": (), "from_": (None, 5), "version": (None, 5)}),
    "drop_branch": ({}, {"name": ()}),
    "rename_branch": ({"name": "dev", "new_name": "new"}, {"name": (), "new_name": ()}),
    "branches": ({}, {}),
    "create_tag": ({"name": "new"}, {"name": (), "ref": (None, 5), "version": (None, 5)}),
    "drop_tag": ({}, {"name": ()}),
    "rename_tag": ({"name": "v1", "new_name": "new"}, {"name": (), "new_name": ()}),
    "tags": ({}, {}),
    "log": ({}, {"ref": (None, 5), "limit": (None, 5)}),
    "graph": ({}, {"ref": (None, 5), "limit": (None, 5)}),
    "describe_branches": ({}, {}),
    "merge": (
        {"theirs": "dev"},
        {
            "theirs": (),
            "into": (None,),
            "detect": (None,),
            "resolve": (None,),
            "resolve_tables": (None, {}),
            "resolutions": (None, {}),
        },
    ),
    "conflicts": ({"theirs": "dev"}, {"theirs": (), "into": (None,), "detect": (None,)}),
    "cherry_pick": ({"commit": 5}, {"commit": (5,), "resolve": (None,), "detect": (None,)}),
    "revert": ({"commit": 5}, {"commit": (5,), "resolve": (None,), "detect": (None,)}),
    "diff": ({"old": "dev"}, {"old": (None, 5), "new": (None, 5), "table": (None,)}),
    "sections": ({"table": "d.t"}, {"table": (), "against": (None, 5)}),
    "databases": ({}, {}),
    "create_database": ({"name": "e"}, {"name": (), "comment": (None,), "properties": (None, {})}),
    "drop_database": ({"name": "d", "cascade": True}, {"name": (), "cascade": (True,)}),
    "rename_database": ({"name": "d", "new_name": "e"}, {"name": (), "new_name": ()}),
    "set_database_properties": ({"name": "d", "properties": {"x": "y"}}, {"name": (), "properties": ({},)}),
    "unset_database_properties": ({"name": "d", "keys": ["x"]}, {"name": (), "keys": ([],)}),
    "describe_database": ({}, {"name": ()}),
    "create_table": (
        {"name": "d.new", "schema": "a INT, b INT"},
        {
            "name": (),
            "schema": ({},),
            "primary_key": (None, []),
            "partitioned_by": (None, []),
            "properties": (None, {}),
            "comment": (None,),
        },
    ),
    "table": ({"name": "d.t"}, {"name": (), "version": (None, 5)}),
    "tables": ({}, {"database": (None,)}),
    "drop_table": ({}, {"name": ()}),
    "optimize": ({}, {"table": ()}),
    "restore": ({"version": 5}, {"version": (5,), "table": (None,), "database": (None,)}),
    "close": ({}, {}),
}

TABLE = {
    "to_arrow": ({}, {"columns": (None, []), "where": (None,)}),
    "lookup": ({"keys": [1]}, {"keys": ([], {}, [5], [None]), "columns": (None, [])}),
    "to_batches": ({}, {"columns": (None, []), "where": (None,)}),
    "to_pandas": ({}, {"columns": (None, []), "where": (None,)}),
    "to_spark": ({}, {"columns": (None, []), "where": (None,)}),
    "count": ({}, {}),
    "history": ({}, {"limit": (None, 5)}),
    "describe": ({}, {}),
    "partitions": ({}, {}),
    "write": ({}, {"data": ([], {})}),
    "overwrite": ({"data": []}, {"data": ([], {}), "partition": (None, {}), "dynamic": (None, [], {}, True)}),
    "delete": ({}, {"where": (None,)}),
    "update": ({"set": {"v": "1"}}, {"set": ({},), "where": (None,)}),
    "merge": ({"source": [], "on": ["k"]}, {"source": ([], {}), "on": ([],), "alias": (), "source_alias": ()}),
    "truncate": ({}, {"partition": (None, {})}),
    "add_column": (
        {"name": "z", "type": "int"},
        {
            "name": (),
            "type": (),
            "nullable": (True,),
            "default": VALUES,
            "comment": (None,),
            "after": (None,),
        },
    ),
    "drop_column": ({}, {"name": ()}),
    "rename_column": ({"name": "v", "new_name": "w"}, {"name": (), "new_name": ()}),
    "alter_column": (
        {"name": "v"},
        {
            "name": (),
            "type": (None,),
            "nullable": (None, True),
            "default": VALUES,
            "comment": (None,),
            "after": (None,),
        },
    ),
    "rename": ({}, {"new_name": ()}),
    "set_properties": ({}, {"properties": ({},)}),
    "unset_properties": ({}, {"keys": ([],)}),
    "set_comment": ({}, {"comment": (None,)}),
    "add_partition": ({}, {"values": ({},)}),
    "drop_partition": ({}, {"values": ({},)}),
}

BUILDER = {
    "when_matched": ({}, {"condition": (None,)}),
    "when_not_matched": ({}, {"condition": (None,)}),
    "when_not_matched_by_source": ({}, {"condition": (None,)}),
    "with_schema_evolution": ({}, {}),
    "execute": ({}, {}),
    "explain": ({}, {}),
}

CLAUSE = {"update": ({}, {"set": ({},)}), "insert": ({}, {"values": ({},)}), "delete": ({}, {})}

CONNECT = {
    "path_or_url": (),
    "catalog": (None,),
    "spark": (None,),
    "branch": (),
    "author": (None,),
    "durability": (),
    "storage_options": (None, {}, {"x": THING}),
    "limits": (None,),
}


TABLES = {"lake": LAKE, "table": TABLE, "builder": BUILDER, "clause": CLAUSE}


def parameters(method) -> set[str]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {name for name, one in inspect.signature(method).parameters.items() if one.kind not in kinds} - {"self"}


def cases(**tables):
    return [
        pytest.param(of, method, right, parameter, taken, id=f"{of}.{method}({parameter})")
        for of, table in tables.items()
        for method, (right, takes) in table.items()
        for parameter, taken in takes.items()
    ]


def is_taken(value, taken) -> bool:
    return any(value is one or (type(value) is type(one) and repr(value) == repr(one)) for one in taken)


def state(lake):
    heads = {branch.name: branch.head for branch in lake.branches(dropped=True)}
    return heads, [tag.name for tag in lake.tags()], lake.options, lake.branch


def refuses(lake, call, taken) -> None:
    before = state(lake)
    for value in VALUES:
        if not is_taken(value, taken):
            with pytest.raises(AnabranchError) as raised:
                pytest.fail(f"takes {value!r}: {call(value)!r}")
            inner = [*value, *value.values()] if isinstance(value, dict) else []
            said = [type(value).__name__, repr(value), *map(reprlib.repr, [value, *inner])]
            assert any(word in str(raised.value) for word in said), str(raised.value)
    assert state(lake) == before


@pytest.mark.parametrize(
    ("cls", "table"), [(Lake, LAKE), (Table, TABLE), (MergeBuilder, BUILDER), (WhenClause, CLAUSE)]
)
def test_every_parameter_is_in_the_table(cls, table):
    methods = {name: method for name, method in vars(cls).items() if callable(method) and not name.startswith("_")}
    assert {name: parameters(method) - FLAGS for name, method in methods.items()} == {
        name: set(takes) for name, (_, takes) in table.items()
    }


@pytest.mark.parametrize(("of", "method", "right", "parameter", "taken"), cases(**TABLES))
def test_a_wrong_type_is_refused_and_changes_nothing(lake, of, method, right, parameter, taken):
    def call(value):
        given = {**right, parameter: value}
        if of == "lake":
            return getattr(lake, method)(**given)
        table = keyed(lake) if method == "lookup" else lake.table("d.p")
        if of == "table":
            done = getattr(table, method)(**given)
            if isinstance(done, MergeBuilder):
                return done.when_not_matched().insert("*").execute()
            return list(done) if method == "to_batches" else done
        merge = table.merge([{"v": 1, "k": "a"}], ["k"])
        if of == "builder":
            return getattr(merge, method)(**given)
        return getattr(merge.when_not_matched() if method == "insert" else merge.when_matched(), method)(**given)

    if method == "lookup":
        keyed(lake)
    refuses(lake, call, taken)


def keyed(lake):
    return lake.create_table("d.keyed", "id INT", primary_key=["id"], if_not_exists=True)


@pytest.mark.parametrize("parameter", CONNECT)
def test_a_lake_is_not_opened_with_a_wrong_type(lake, folder, parameter):
    assert parameters(anabranch.connect) - FLAGS == set(CONNECT)
    right = {"path_or_url": folder}
    refuses(lake, lambda value: anabranch.connect(**{**right, parameter: value}), CONNECT[parameter])


def test_nothing_is_made_where_a_lake_is_not_opened(tmp_path):
    with pytest.raises(Refused, match=r"limits is an anabranch\.Limits, not 5"):
        anabranch.connect(tmp_path / "new", limits=5)
    with pytest.raises(NotALake, match="does not exist"):  # a new lake has main alone
        anabranch.connect(tmp_path / "new", branch="dev")
    assert not (tmp_path / "new").exists()
    with pytest.raises(Refused, match="local_work is a whole number, not '64 MB'"):
        Limits(local_work="64 MB")


@pytest.mark.parametrize("statement", ["SELECT * FROM d.t WHERE id = {}", "DELETE FROM d.t WHERE id = {}"])
@pytest.mark.parametrize(
    ("args", "said"),
    [({"id": THING}, "is no value"), ([THING], "is no value"), ("1", "not '1'"), (b"", "not b''"), ({1}, "not {1}")],
    ids=["a thing by name", "a thing by place", "a text", "bytes", "a set"],  # (an address in one differs by process)
)
def test_what_cannot_be_bound_is_refused(lake, statement, args, said):
    """Queries, which Spark would bind, start none for it."""
    with pytest.raises(AnabranchError, match=said):
        lake.sql(statement.format(":id" if isinstance(args, dict) else "?"), args)
    assert not lake._session.shared.spark.running


def test_one_text_is_one_name_and_not_its_letters(lake):
    lake.set_options({"merge.detect": "row"})
    lake.unset_options("merge.detect")
    assert lake.options["merge.detect"] == "file"
    lake.set_database_properties("d", {"owner": "ann"})
    lake.unset_database_properties("d", "owner")
    table = lake.create_table("d.new", "id INT, name STRING, day INT", primary_key="id", properties={"note": "x"})
    table.unset_properties("note")
    assert table.properties == {}
    assert lake.create_table("d.parted", {"id": "int", "day": "int"}, partitioned_by="day").partitions() == []
    assert lake.table("d.t").to_arrow(columns="name").column_names == ["name"]


def test_numbers_and_truths_are_properties_as_in_sql(lake):
    table = lake.create_table("d.new", "id INT", primary_key="id", properties={"ignore-delete": True, "n": 5})
    table.set_properties({"num-sorted-run.compaction-trigger": 7})
    assert table.properties == {"ignore-delete": "true", "n": "5", "num-sorted-run.compaction-trigger": "7"}
    with pytest.raises(InvalidOption, match="'5'"):
        lake.set_options({"merge.detect": 5})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda table: table.drop_partition({}), "values names no partition"),
        (lambda table: table.truncate({}), "partition names no partition"),
        (lambda table: table.overwrite([{"v": 9}], {}), "partition names no partition"),
        (lambda table: table.add_partition({"k": THING}), "is no value that a table can hold"),
        (lambda table: table.update({"v": {5: 5}}), "{5: 5} is no value that a table can hold"),
        (lambda table: table.add_column("z", "int", default=THING), "is no value that a table can hold"),
        (lambda table: table.alter_column("v", default=b"x"), "DEFAULT X'78' does not fit column 'v'"),
        (lambda table: table.add_column("z", int), "<class 'int'> is not a type"),
        (lambda table: table.write([{5: 1}]), "5 names no column"),
        (
            lambda table: table.set_properties({"x": None}),
            "properties is a mapping from names to texts, not {'x': None}",
        ),
        (lambda table: table.set_comment(b"x"), "comment is text, not b'x'"),
    ],
)
def test_what_is_inside_may_be_wrong_too(lake, call, said):
    before = state(lake), rows(lake, "d.p")
    with pytest.raises(AnabranchError) as raised:
        call(lake.table("d.p"))
    assert said in str(raised.value)
    assert (state(lake), rows(lake, "d.p")) == before


def test_a_default_is_sql_or_a_value_that_is_not_text(lake):
    table = lake.table("d.p")
    table.add_column("n", "int", default=5)
    table.add_column("s", "string", default="upper('x')")
    table.alter_column("v", default=7)
    table.write([{"k": "b"}])
    assert table.to_arrow(where="k = 'b'").to_pylist() == [{"v": 7, "k": "b", "n": 5, "s": "X"}]
