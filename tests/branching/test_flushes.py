"""Flush lists merged three ways: by slots alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.branching.flushes import displaced, merge_flushes

CASES = {
    "nothing new": ("ab", "ab", "ab", "ab"),
    "theirs come after ours'": ("ab", "abo", "abt", "abot"),
    "what theirs removed goes": ("abc", "abco", "ac", "aco"),
    "what ours removed stays away": ("abc", "ac", "abct", "act"),
    "removed on both sides": ("abc", "ac", "ac", "ac"),
    "added on both sides": ("a", "axo", "axt", "axot"),
    "ours did not move: theirs as it is": ("ab", "ab", "tab", "tab"),
    "ours did not move, nor is anything kept": ("ab", "ab", "", ""),
    "ours moved: what comes below stands last": ("b", "bo", "ab", "boa"),
}


def slots(text):
    return [ord(name) for name in text]


def names(found):
    return "".join(chr(slot) for slot in found)


@pytest.mark.parametrize("name", CASES)
def test_order(name):
    base, ours, theirs, merged = CASES[name]
    assert names(merge_flushes([slots(base)], slots(ours), slots(theirs)).order) == merged


def test_what_each_side_touched():
    found = merge_flushes([slots("abc")], slots("acxo"), slots("abxt"))
    assert names(sorted(found.ours)) == "bo"
    assert names(sorted(found.theirs)) == "ct"
    assert names(found.bases[0]) == "abcx"


def test_an_overwritten_scope_takes_ours_along():
    found = merge_flushes([slots("ab")], slots("abop"), slots("at"), slots("bo"))
    assert names(found.order) == "apt"
    assert names(sorted(found.ours)) == "p"


def test_criss_cross():
    found = merge_flushes([slots("ao"), slots("at")], slots("aotm"), slots("atod"))
    assert names(found.order) == "aotmd"
    assert not found.disputed
    undone = merge_flushes([slots("ao"), slots("at")], slots("aot"), slots("at"))
    assert names(undone.disputed) == "o"


@pytest.mark.parametrize(
    ("bases", "ours", "theirs", "first"),
    [
        ([""], "ot", "to", "o t"),  # picks in both directions
        (["o", "t"], "ot", "to", "o t"),
        (["ot", "to"], "ot", "to", "o t"),
        (["to"], "ot", "to", " "),  # theirs left the order as it was
        (["ot"], "ot", "to", "o t"),
        (["a"], "aot", "aot", " "),
        (["a"], "aox", "aty", " "),  # none that both have
    ],
)
def test_flushes_that_the_heads_have_in_another_order(bases, ours, theirs, first):
    found = merge_flushes([slots(base) for base in bases], slots(ours), slots(theirs))
    assert " ".join(names(sorted(side)) for side in found.crossed) == first


def test_what_both_brought_is_put_into_both_orders():
    found = merge_flushes([slots("a")], slots("aopt"), slots("atpo"), born=slots("pot"))
    assert [names(base) for base in (*found.bases, *found.mirrored)] == ["atpo", "aopt"]
    assert names(sorted(found.brought[0])) == "opt"


def test_what_one_base_has_comes_before_what_came_later():
    """o and t are each one base's, and p came to both sides since: behind them, as both have it."""
    found = merge_flushes([slots("ao"), slots("at")], slots("aotp"), slots("atop"), born=slots("p"))
    assert [names(base) for base in found.bases] == ["aotp", "atop"]


LISTS = st.lists(st.integers(0, 5), unique=True)


@given(LISTS, LISTS)
def test_every_pair_out_of_order_has_one_that_is_displaced(reference, order):
    found = displaced(reference, order)
    common = [slot for slot in order if slot in reference]
    wrong = {
        (one, other)
        for at, one in enumerate(common)
        for other in common[at + 1 :]
        if reference.index(one) > reference.index(other)
    }
    assert found == {one for one, _ in wrong}


@given(LISTS, LISTS, LISTS)
def test_as_sets(base, ours, theirs):
    """A flush is there if two of the three have it, or if one side alone has brought it."""
    merged = merge_flushes([base], ours, theirs)
    for slot in range(6):
        here, there, was = slot in ours, slot in theirs, slot in base
        assert (slot in merged.order) == ((here or there) if not was else (here and there))
    assert len(set(merged.order)) == len(merged.order)
    assert [slot for slot in merged.order if slot in ours] == [slot for slot in ours if slot in merged.order] or (
        ours == base
    )
