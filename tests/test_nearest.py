"""What a mistyped word is taken for."""

import pytest

from anabranch.errors import nearest

KNOWN = ("d", "use", "log", "tag", "dev", "select", "merge", "name")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("mrge", "merge"),
        ("SELEC", "select"),
        ("lgo", "log"),
        ("gat", "tag"),
        ("dv", "dev"),
        ("dd", "d"),
        ("nam", "name"),
        ("set", None),
        ("lag", None),
        ("checkout", None),
        ("", None),
    ],
)
def test_a_word_is_taken_for_the_nearest_or_for_none(word: str, meant: str | None) -> None:
    assert nearest(word, KNOWN) == meant
