"""Long values: what is left out, and what is not."""

import pytest

from anabranch.cli.excerpts import differences, excerpt, widths


@pytest.mark.parametrize(
    ("needed", "room", "given"),
    [
        ([5, 5, 5], 100, [5, 5, 5]),
        ([5, 80, 80], 105, [5, 50, 50]),
        ([80, 20, 80], 90, [35, 20, 35]),
        ([80, 80, 80], 91, [30, 30, 31]),
        ([80, 4, 80], 10, [12, 4, 12]),  # it does not fit, but says something
        ([], 10, []),
    ],
)
def test_widths(needed: list[int], room: int, given: list[int]) -> None:
    assert widths(needed, room) == given


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        (["same", "same"], []),
        (["abc", "abd", "abc"], [2]),
        (["abc", "abcd"], [3]),
        (["abcd", "abXd", "abcY"], [2, 3]),
        (["", "a"], [0]),
    ],
)
def test_differences(texts: list[str], places: list[int]) -> None:
    assert differences(texts) == places


LETTERS = "abcdefghijklmnopqrstuvwxyz" * 4


@pytest.mark.parametrize(
    ("places", "shown"),
    [
        ([], "abcdefghijklmnopqrs…"),
        ([0], "abcdefghijklmnopqrs…"),
        ([12], "abcdefghijklmnopqrs…"),
        ([26 + 12], "…ghijklmnopqrstuvwx…"),  # the m is a third from the left
        ([26 + 12, 26 + 18], "…ghijklmnopqrstuvwx…"),
        ([103], "…ijklmnopqrstuvwxyz"),
        ([200], "…ijklmnopqrstuvwxyz"),  # it ends where the others go on
        ([0, 26 + 12], "abcdefgh…klmnopqr…"),
        ([26, 52 + 12], "…yzabcdef…klmnopqr…"),
        ([180, 200], "…stuvwxyz"),
    ],
)
def test_an_excerpt_shows_the_places(places: list[int], shown: str) -> None:
    assert excerpt(LETTERS, 20, places) == shown
    assert len(shown) <= 20


def test_what_fits_is_whole() -> None:
    assert excerpt("abc", 3, [2]) == "abc"
