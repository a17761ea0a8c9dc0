"""The cases of `cases.py` on a real lake: the outcomes written by hand, with the model beside it."""

import pytest

from . import statements as s
from .cases import CASES, Case
from .law import Undecided
from .pair import Pair, database_properties, steps, supported
from .test_model import pairs, read_table
from .told import CALLED, IN_IT


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    script = steps(case.script)
    missing = {type(statement).__name__ for _, statement in script if not supported(statement)}
    if missing:
        pytest.skip(f"the library cannot {', '.join(sorted(missing))} yet")
    with Pair(case.base) as pair:
        *before, (branch, last) = script[len(pair.script) :]
        rewrote = []
        for on, statement in before:
            version = pair.lake.on(on).version
            assert pair.run(on, statement, compare=False), f"{statement} was refused"
            rewrote += [pair.lake.on(on).version > version] if isinstance(statement, s.Rewrite) else []
        assert not rewrote or any(rewrote), "a compaction that had nothing to do shows nothing"
        try:
            accepted = pair.run(branch, last)
        except Undecided:
            pytest.skip("the model does not decide this")
        assert accepted == (case.conflict is None)
        rules = {record.rule.partition(" of ")[0] for record in pair.conflicts if record.theirs != IN_IT}
        wanted = [{rule} | CALLED.get(rule, {rule}) for rule in (case.conflict or "").split()]
        assert rules <= set().union(*wanted)
        assert all(rules & names for names in wanted)
        for on in pair.model.branches:
            pair.compare(on)
        lake = pair.lake.on(branch)
        if case.conflict is None:
            for name, expected in case.tables:
                assert (name in lake.tables()) == (expected is not None)
                if expected is not None:
                    labels, _, rows = read_table(expected)
                    found = lake.table(name).to_arrow(columns=labels).to_pylist()
                    assert sorted((tuple(row[label] for label in labels) for row in found), key=repr) == rows
            for name, expected in case.properties:
                assert properties(lake, name) == pairs(expected)
            for name, expected in case.parts:
                assert parts(lake, name) == expected
            if case.databases is not None:
                assert sorted(lake.databases()) == case.databases.split()
            if case.version is not None:
                assert lake.version == case.version


def properties(lake, name: str) -> dict[str, str]:
    if "." in name:
        return lake.table(name).properties
    return database_properties(lake, name)


def parts(lake, name: str) -> int:
    return int(dict(tuple(row)[:2] for row in lake.sql(f"DESCRIBE EXTENDED {name}").collect())["# parts"])
