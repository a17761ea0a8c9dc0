"""Branches, tags and positions."""

import pytest

from anabranch.catalog import Catalog
from anabranch.errors import AlreadyExists, InvalidName, NotFound, Refused
from anabranch.model.history import Position, Segment
from tests.catalog.writer import Writer

ODD_NAMES = ["a b", "'; DROP TABLE branch; --", '"quoted"', "ß-straße", "日本", "feature/x.y", "100%s :name"]


def test_a_branch_continues_its_parents_versions(writer: Writer) -> None:
    writer.database("d")
    made = writer.catalog.create_branch("dev", writer.head)
    assert (made.parent_id, made.fork, made.head) == (1, 1, 1)
    assert writer.on("dev").commit() == Position(made.id, 2)
    assert writer.catalog.branch("dev").head == 2
    assert writer.catalog.head(made.id) == 2
    assert writer.catalog.branch("main").head == 1


def test_lineages_go_through_parents(writer: Writer) -> None:
    writer.commit()
    dev = writer.fork("dev")
    dev.commit()
    dev.commit()
    feature = dev.fork("feature", Position(dev.head.branch_id, 2))
    feature.commit()
    early = dev.fork("early", Position(dev.head.branch_id, 1))  # on dev's name, but of main's history
    b = {name: writer.catalog.branch(name).id for name in ("main", "dev", "feature", "early")}
    lineage = writer.catalog.lineage
    assert lineage(feature.head) == (Segment(b["feature"], 2, 3), Segment(b["dev"], 1, 2), Segment(1, -1, 1))
    assert lineage(early.head) == (Segment(1, -1, 1),)
    assert lineage(Position(b["feature"], 0)) == (Segment(1, -1, 0),)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_just_names(catalog: Catalog, name: str) -> None:
    made = catalog.create_branch(name, Position(1, 0))
    assert catalog.branch(name) == made
    catalog.create_tag(name + "!", Position(1, 0))
    assert catalog.resolve(name + "!") == Position(1, 0)
    catalog.drop_branch(name)
    assert [branch.name for branch in catalog.branches()] == ["main"]


def test_a_name_is_a_branch_or_a_tag_and_case_does_not_count(catalog: Catalog) -> None:
    at = Position(1, 0)
    catalog.create_branch("Dev", at)
    catalog.create_tag("V1", at)
    for name in ("dev", "v1", "MAIN"):
        with pytest.raises(AlreadyExists):
            catalog.create_branch(name, at)
        with pytest.raises(AlreadyExists):
            catalog.create_tag(name, at)
    assert catalog.branch("DEV").name == "Dev"
    with pytest.raises(NotFound, match="'V1' is a tag"):
        catalog.branch("v1")
    with pytest.raises(NotFound, match="'Dev' is a branch"):
        catalog.drop_tag("dev")
    with pytest.raises(AlreadyExists):
        catalog.rename_branch("dev", "v1")
    with pytest.raises(AlreadyExists):
        catalog.rename_tag("v1", "dev")
    assert len(catalog.branches()) == 2  # what failed left nothing


@pytest.mark.parametrize("name", ["", " ", "a@b", "12", "x" * 300, "a\nb", "-x", "--", "-"])
def test_names_that_cannot_be(catalog: Catalog, name: str) -> None:
    at = Position(1, 0)
    catalog.create_branch("dev", at)
    catalog.create_tag("v-1", at)
    for create in (catalog.create_branch, catalog.create_tag):
        with pytest.raises(InvalidName):
            create(name, at)
    for rename, old in ((catalog.rename_branch, "dev"), (catalog.rename_tag, "v-1")):
        with pytest.raises(InvalidName):
            rename(old, name)


def test_unknown_names_offer_the_nearest(catalog: Catalog) -> None:
    catalog.create_branch("develop", Position(1, 0))
    catalog.create_tag("release", Position(1, 0))
    with pytest.raises(NotFound, match=r"branch or tag \'devlop'.*'develop'"):
        catalog.resolve("devlop")
    with pytest.raises(NotFound, match=r"branch \'developp'.*'develop'"):
        catalog.branch("developp")
    with pytest.raises(NotFound, match=r"tag \'relase'.*'release'"):
        catalog.drop_tag("relase")
    for unlike, listed in ((catalog.resolve, "SHOW BRANCHES and SHOW TAGS"), (catalog.branch, "SHOW BRANCHES")):
        with pytest.raises(NotFound, match=rf"'nope' does not exist\. {listed} \(`anabranch branch`"):
            unlike("nope")
    with pytest.raises(NotFound, match=r"'nope' does not exist\. SHOW TAGS \(`anabranch tag`\) lists them\."):
        catalog.drop_tag("nope")
    for unknown in (catalog.head, catalog.branch_by_id):
        with pytest.raises(NotFound):
            unknown(77)


def test_renaming(writer: Writer) -> None:
    catalog = writer.catalog
    dev = writer.fork("dev")
    dev.commit()
    catalog.rename_branch("dev", "Work")
    assert catalog.branch("work").head == 1
    catalog.rename_branch("work", "WORK")  # its case alone
    assert [branch.name for branch in catalog.branches()] == ["main", "WORK"]
    with pytest.raises(NotFound):
        catalog.resolve("dev")
    catalog.create_tag("one", Position(1, 0))
    catalog.rename_tag("one", "zero")
    assert [(tag.name, tag.branch_id, tag.version) for tag in catalog.tags()] == [("zero", 1, 0)]


def test_main_stays(catalog: Catalog) -> None:
    with pytest.raises(Refused):
        catalog.drop_branch("main")
    with pytest.raises(Refused):
        catalog.rename_branch("Main", "trunk")


def test_a_dropped_branch_keeps_its_history_for_those_who_need_it(writer: Writer) -> None:
    catalog = writer.catalog
    dev = writer.fork("dev")
    database = dev.database("d")
    tagged = dev.head
    catalog.create_tag("kept", tagged)
    child = dev.fork("child")
    catalog.drop_branch("dev")
    assert catalog.branch_by_id(tagged.branch_id).dropped
    assert catalog.database_by_id(child.head, database.id) == database
    assert catalog.databases(catalog.resolve("kept")) == [database]
    again = writer.fork("dev")  # the name is free, the branch another one
    assert again.head.branch_id != tagged.branch_id
    assert catalog.databases(again.head) == []
    again.commit()
    assert [commit.operation for commit in catalog.log(child.head)] == ["TEST", "create lake"]
    catalog.drop_tag("kept")
    assert catalog.tags() == []


def test_versions_are_checked(writer: Writer) -> None:
    catalog = writer.catalog
    writer.commit()
    catalog.check(Position(1, 0))
    catalog.check(Position(1, 1))
    for version in (-1, 2):
        for call in (catalog.check, catalog.commit_at):
            with pytest.raises(NotFound, match=f"version '{version}'.*versions 0 to 1"):
                call(Position(1, version))
        with pytest.raises(NotFound):
            catalog.create_branch("b", Position(1, version))
        with pytest.raises(NotFound):
            catalog.create_tag("b", Position(1, version))


def test_other_processes_heads_are_seen(writer: Writer, reopen) -> None:
    other = Writer(reopen())
    assert writer.head.version == 0
    other.commit()
    assert writer.head.version == 1
    writer.catalog.check(Position(1, 1))
