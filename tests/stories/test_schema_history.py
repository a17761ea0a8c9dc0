"""Merges keep the schemas that theirs' rows were written with, in a history of their own that nobody goes back to."""

import pytest

from tests.stories.telling import labels, rows, told


class History:
    """What the catalog knows of the schemas of a table of main, each named by its columns."""

    def __init__(self, lake, table="d.t"):
        self.lake, self.catalog = lake, lake._session.catalog
        self.id = lake.table(table).id

    def at(self, branch):
        return self.lake.on(branch)._session.head()

    @property
    def visible(self):
        """(version, columns) of each, oldest first."""
        return [(version, self.columns(id)) for version, _, id in self.catalog.schema_history(self.at("main"), self.id)]

    @property
    def hidden(self):
        return [(version, self.columns(id)) for version, id in self.catalog.hidden_schemas(self.at("main"), self.id)]

    @property
    def parts(self):
        """The columns that each part of main was written with, and the histories that hold this schema."""
        visible = {id for *_, id in self.catalog.schema_history(self.at("main"), self.id)}
        hidden = {id for _, id in self.catalog.hidden_schemas(self.at("main"), self.id)}
        found = {}
        for part in self.catalog.state(self.at("main"), self.id).parts.values():
            held = [name for name, ids in (("visible", visible), ("hidden", hidden)) if part.schema_id in ids]
            found[self.columns(part.schema_id)] = (part.rows, held)
        return found

    def columns(self, schema_id):
        return " ".join(self.catalog.schema(self.id, schema_id).labels)


@pytest.fixture
def forked(any_lake):
    """S0 is `id`. dev alters it to S1 without a row, to S2 and to S3 with one each; main has a row of its own."""
    told(any_lake, "CREATE TABLE d.t (id INT)", "INSERT INTO d.t VALUES (0)", "CREATE BRANCH dev")
    told(any_lake, "ALTER TABLE d.t@dev ADD COLUMN one INT")
    told(any_lake, "ALTER TABLE d.t@dev ADD COLUMN two INT", "INSERT INTO d.t@dev VALUES (2, 1, 2)")
    told(any_lake, "ALTER TABLE d.t@dev ADD COLUMN three INT", "INSERT INTO d.t@dev VALUES (3, 1, 2, 3)")
    told(any_lake, "INSERT INTO d.t VALUES (1)")
    return any_lake


S0, S2, S3 = "id", "id one two", "id one two three"


def test_a_merge_hides_the_schemas_on_the_way(forked):
    inserted = forked.version
    told(forked, "MERGE BRANCH dev")
    merged, history = forked.version, History(forked)
    assert history.visible == [(2, S0), (merged, S3)]
    assert history.hidden == [(merged, S2), (merged, S3)]  # S1 has no rows
    times = {version: time for version, time, _ in history.catalog.schema_history(history.at("main"), history.id)}
    assert times[merged] == forked.log(limit=1)[0].time_us
    assert history.parts == {S0: (1, ["visible"]), S2: (1, ["hidden"]), S3: (1, ["visible", "hidden"])}
    assert rows(forked, "d.t") == [(0, None, None, None), (1, None, None, None), (2, 1, 2, None), (3, 1, 2, 3)]

    told(forked, f"RESTORE TABLE d.t TO VERSION {inserted}")
    assert labels(forked, "d.t") == ["id"]
    assert rows(forked, "d.t") == [(0,), (1,)]
    told(forked, f"RESTORE TABLE d.t TO VERSION {merged}")
    assert labels(forked, "d.t") == S3.split()
    assert rows(forked, "d.t") == rows(forked, "d.t", merged)
    assert [columns for _, columns in history.visible] == [S0, S3, S0, S3]
    assert history.hidden == [(merged, S2), (merged, S3)]


@pytest.mark.parametrize("restore", ["RESTORE TABLE d.t", "RESTORE DATABASE d", "RESTORE BRANCH main"])
def test_going_back_never_lands_on_the_way(forked, restore):
    """Whatever version of main one goes to, its columns are those that main had there."""
    told(forked, "MERGE BRANCH dev")
    for version in range(2, forked.version + 1):
        told(forked, f"{restore} TO VERSION {version}")
        assert labels(forked, "d.t") == forked.table("d.t", version=version).schema.names
        assert labels(forked, "d.t") in (["id"], S3.split())
        assert rows(forked, "d.t") == rows(forked, "d.t", version)


def test_what_main_altered_makes_a_schema_of_its_own(forked):
    told(forked, "ALTER TABLE d.t ADD COLUMN own INT", "INSERT INTO d.t VALUES (4, 4)", "MERGE BRANCH dev")
    history, both = History(forked), "id one two three own"
    assert [columns for _, columns in history.visible] == [S0, "id own", both]
    assert history.hidden == [(forked.version, S2), (forked.version, S3)]
    assert history.parts[S3] == (1, ["hidden"])
    told(forked, "INSERT INTO d.t@dev VALUES (5, 1, 2, 3)", "MERGE BRANCH dev")
    assert history.hidden[2:] == []  # S3 is there already
    told(forked, "ALTER TABLE d.t@dev ADD COLUMN four INT", "MERGE BRANCH dev")
    assert history.hidden[2:] == []  # it came without rows
    assert set(labels(forked, "d.t")) == {*both.split(), "four"}


def test_the_next_merge_hands_hidden_schemas_on(forked):
    """A branch of main that takes the merge has rows of S2, and its history says so."""
    told(
        forked, "CREATE BRANCH late", "INSERT INTO d.t@late VALUES (9)", "MERGE BRANCH dev", "MERGE BRANCH main TO late"
    )
    history = History(forked)
    hidden = history.catalog.hidden_schemas(history.at("late"), history.id)
    assert {history.columns(id) for _, id in hidden} == {S2, S3}
    assert (2, 1, 2, None) in rows(forked, "d.t@late")


def test_a_table_that_is_new_here_brings_the_schemas_of_its_rows(any_lake):
    """Rows of N0 and N2 came with the merge, under N3; whatever is altered then, they are read as they were written."""
    told(any_lake, "CREATE BRANCH dev", "CREATE TABLE d.new@dev (id INT, a INT)", "INSERT INTO d.new@dev VALUES (0, 5)")
    told(any_lake, "ALTER TABLE d.new@dev ADD COLUMN b INT DEFAULT 7", "ALTER TABLE d.new@dev RENAME COLUMN a TO aa")
    told(any_lake, "INSERT INTO d.new@dev VALUES (2, 2, 2)", "ALTER TABLE d.new@dev DROP COLUMN b", "MERGE BRANCH dev")
    merged, history = any_lake.version, History(any_lake, "d.new")
    N0, N2, N3 = "id a", "id aa b", "id aa"
    assert history.visible == [(merged, N3)]
    assert history.hidden == [(merged, N0), (merged, N2)]
    assert history.parts == {N0: (1, ["hidden"]), N2: (1, ["hidden"])}

    told(any_lake, "ALTER TABLE d.new ALTER COLUMN aa TYPE BIGINT", "ALTER TABLE d.new ADD COLUMN b STRING DEFAULT 'x'")
    told(any_lake, "INSERT INTO d.new VALUES (4, 4, 'y')", "ALTER TABLE d.new DROP COLUMN aa")
    states = {
        merged: (N3, [(0, 5), (2, 2)]),
        merged + 3: ("id aa b", [(0, 5, "x"), (2, 2, "x"), (4, 4, "y")]),
        merged + 4: ("id b", [(0, "x"), (2, "x"), (4, "y")]),
    }
    for version in (*states, merged):
        columns, expected = states[version]
        assert rows(any_lake, "d.new", version) == expected
        told(any_lake, f"RESTORE TABLE d.new TO VERSION {version}")
        assert (labels(any_lake, "d.new"), rows(any_lake, "d.new")) == (columns.split(), expected)
    assert history.hidden == [(merged, N0), (merged, N2)]
    assert history.parts == {N0: (1, ["hidden"]), N2: (1, ["hidden"])}


def test_the_schemas_come_along_by_way_of_another_branch(any_lake):
    told(any_lake, "CREATE BRANCH dev", "CREATE BRANCH two", "CREATE TABLE d.new@dev (id INT)")
    told(any_lake, "INSERT INTO d.new@dev VALUES (1)", "ALTER TABLE d.new@dev ADD COLUMN a INT DEFAULT 3")
    told(any_lake, "MERGE BRANCH dev TO two", "MERGE BRANCH two")
    history = History(any_lake, "d.new")
    assert (history.visible, history.hidden) == ([(any_lake.version, "id a")], [(any_lake.version, "id")])
    assert rows(any_lake, "d.new") == [(1, 3)]


def test_a_table_that_was_dropped_here_comes_back_with_the_schemas_of_theirs(forked):
    told(forked, "DROP TABLE d.t", "MERGE BRANCH dev RESOLVE USING THEIRS")
    history = History(forked)
    assert history.visible == [(2, S0), (forked.version, S3)]
    assert history.hidden == [(forked.version, S2), (forked.version, S3)]
    assert rows(forked, "d.t") == [(0, None, None, None), (2, 1, 2, None), (3, 1, 2, 3)]
