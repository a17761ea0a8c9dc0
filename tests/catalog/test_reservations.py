"""Slots, schema ids and physical names."""

from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest

from anabranch.catalog import Catalog
from anabranch.errors import Refused


def test_slots_are_given_once(catalog: Catalog) -> None:
    assert [catalog.reserve_slots("t", count) for count in (1, 5, 2)] == [1, 2, 7]
    assert catalog.reserve_slots("u", 3) == 1
    assert [catalog.reserve_schema_id("t") for _ in range(3)] == [1, 2, 3]
    with pytest.raises(ValueError, match="cannot reserve"):
        catalog.reserve_slots("t", 0)


def test_a_tail_goes_back_if_nobody_came_after(catalog: Catalog) -> None:
    first = catalog.reserve_slots("t", 10)
    catalog.return_slots("t", first + 4, first + 10)
    assert catalog.reserve_slots("t", 1) == first + 4
    catalog.return_slots("t", first, first + 4)  # not the tail any more
    assert catalog.reserve_slots("t", 1) == first + 5
    catalog.return_slots("no such table", 1, 2)


def test_slots_run_out_with_a_word(catalog: Catalog) -> None:
    with patch("anabranch.catalog.reservations.MAX_SLOT", 10):
        assert catalog.reserve_slots("t", 10) == 1
        with pytest.raises(Refused, match="no slots left"):
            catalog.reserve_slots("t", 1)


def test_names_are_never_given_twice(catalog: Catalog) -> None:
    assert catalog.reserve_names("t", ["id", "Value", "ID"]) == ["id", "Value", "ID_2"]
    assert catalog.reserve_names("t", ["value", "id", "id_2", "new"]) == ["value_2", "id_3", "id_2_2", "new"]
    assert catalog.reserve_names("u", ["id"]) == ["id"]
    assert catalog.reserve_names("t", ["id"], scopes=["address"]) == ["id"]
    assert catalog.reserve_names("t", ["id", "zip"], scopes=["home", "address"]) == ["id_2", "zip"]
    assert catalog.reserve_names("t", ["zip"], scopes=["home"]) == ["zip_2"]
    assert catalog.reserve_names("t", []) == []


def test_reserved_and_odd_names(catalog: Catalog) -> None:
    assert catalog.reserve_names("t", ["slot", "SLOT", "_row_id"]) == ["slot_2", "SLOT_3", "_row_id_2"]
    assert catalog.reserve_names("t", ["_tmp_metadata_row_index"]) == ["_tmp_metadata_row_index_2"]
    odd = ["STRASSE", "straße", "'; DROP TABLE counter; --", "日本", "%s", "x" * 255]
    assert catalog.reserve_names("t", odd) == [odd[0], "straße_2", *odd[2:]]


def test_reservers_at_once_share_nothing(catalog: Catalog) -> None:
    with ThreadPoolExecutor(8) as pool:
        firsts = list(pool.map(lambda _: catalog.reserve_slots("t", 3), range(60)))
        names = list(pool.map(lambda _: catalog.reserve_names("t", ["a", "b"]), range(40)))
    assert sorted(firsts) == list(range(1, 181, 3))
    assert len({name for pair in names for name in pair}) == 80
