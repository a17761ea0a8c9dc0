"""What a row alone does not decide, told by the text."""

import pytest

from anabranch.expressions import is_of_the_moment, parse_expression, reads_more

MORE = {
    "a IN (SELECT b FROM u)": "a subquery",
    "EXISTS (SELECT 1)": "a subquery",
    "a = (SELECT max(b) FROM u) + rand()": "a subquery",
    "random() < 0.5": "rand()",
    "concat(uuid(), b) = a": "uuid()",
    "Monotonically_Increasing_Id() % 2 = 0": "monotonically_increasing_id()",
    "shuffle(array(a))[0] = 1": "shuffle()",
}
ALONE = ["a = 1", "exists(c, x -> x > a)", "soundex(b) = 'rand()'", "uuid = 'x'", "`rand` > 0", "f(a)"]

MOMENT = ["a < current_date", "a < current_timestamp()", "now() > a", "curdate() = a", "unix_timestamp() > a"]
MOMENT += ["owner = current_user()", "a < current_date() - INTERVAL 3 DAYS"]


@pytest.mark.parametrize("text", MORE)
def test_other_rows_or_chance(text):
    assert (reads_more(parse_expression(text)) or "").startswith(MORE[text])


@pytest.mark.parametrize("text", [*ALONE, *MOMENT])
def test_a_row_alone(text):
    assert reads_more(parse_expression(text)) is None


@pytest.mark.parametrize("text", [*ALONE, *MOMENT, *MORE])
def test_the_moment(text):
    assert is_of_the_moment(parse_expression(text)) == (text in MOMENT)
