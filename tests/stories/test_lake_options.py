"""Options of a lake: what holds for tables that say nothing themselves."""

import pytest

import anabranch
from anabranch.errors import InvalidOption, MergeConflict, Refused, SqlError, UnknownOption
from tests.stories.telling import rows, told


@pytest.fixture
def apart(any_lake):
    """Both sides updated rows of one file, and different ones: a conflict under `file` alone."""
    told(any_lake, "CREATE TABLE d.t (id INT, v INT)", "INSERT INTO d.t VALUES (1, 1), (2, 2)", "CREATE BRANCH dev")
    told(any_lake, "UPDATE d.t SET v = 10 WHERE id = 1", "UPDATE d.t@dev SET v = 20 WHERE id = 2")
    return any_lake


def test_the_lake_says_what_conflicts(apart):
    with pytest.raises(MergeConflict):
        told(apart, "MERGE BRANCH dev")
    version = apart.version
    told(apart, "ALTER LAKE SET OPTIONS ('merge.detect' = 'row')")
    assert apart.version == version  # no part of any version
    assert apart.options == apart.on("dev").options == {"merge.detect": "row"}
    told(apart, "MERGE BRANCH dev")
    assert rows(apart, "d.t") == [(1, 10), (2, 20)]


def test_the_most_specific_wins(apart):
    apart.set_options({"merge.detect": "row"})
    told(apart, "ALTER TABLE d.t SET TBLPROPERTIES ('merge.detect' = 'file')")
    with pytest.raises(MergeConflict):
        told(apart, "MERGE BRANCH dev")
    assert told(apart, "SHOW CONFLICTS IN dev WITH (detect = 'row')") == []
    told(apart, "ALTER TABLE d.t UNSET TBLPROPERTIES ('merge.detect')")
    assert told(apart, "SHOW CONFLICTS IN dev") == []
    with pytest.raises(MergeConflict):
        told(apart, "MERGE BRANCH dev WITH (detect = 'file')")


def test_they_are_kept_shown_and_unset(lake, tmp_path):
    told(lake, "ALTER LAKE SET OPTIONS ('merge.detect' = 'row')", "ALTER LAKE SET OPTIONS ('merge.detect' = 'cell')")
    with anabranch.connect(tmp_path / "lake", create=False) as again:
        assert again.options == {"merge.detect": "cell"}
        again.unset_options(["merge.detect"])
    assert lake.options == {"merge.detect": "file"}
    ((name, value, is_set, _),) = told(lake, "SHOW LAKE OPTIONS")
    assert (name, value, is_set) == ("merge.detect", "file", False)
    told(lake, "ALTER LAKE UNSET OPTIONS ('merge.detect')")  # not set: nothing to do


@pytest.mark.parametrize(
    ("statement", "error", "said"),
    [
        ("ALTER LAKE SET OPTIONS ('merge.detect' = 'rows')", InvalidOption, "'file', 'row', 'cell'"),
        ("ALTER LAKE SET OPTIONS ('merge.detekt' = 'row')", UnknownOption, "Did you mean 'merge.detect'"),
        ("ALTER LAKE UNSET OPTIONS ('owner')", UnknownOption, "'owner' does not exist"),
        ("ALTER LAKE SET OPTIONS ('isolation' = 'serializable')", Refused, "ALTER TABLE"),
        ("ALTER LAKE SET OPTIONS ('merge.detect' = 'row', 'nope' = '1')", UnknownOption, "'nope'"),
        ("ALTER LAKE RENAME TO x", SqlError, "SET OPTIONS"),
    ],
)
def test_what_no_lake_has(lake, statement, error, said):
    with pytest.raises(error) as caught:
        told(lake, statement)
    assert said in str(caught.value)
    assert lake.options == {"merge.detect": "file"}
