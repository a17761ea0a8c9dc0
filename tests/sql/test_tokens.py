"""Tokens slice the original text, whatever is in it."""

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as some

from anabranch.errors import SqlError
from anabranch.model.strings import literal
from anabranch.sql import parse, split
from anabranch.sql.refs import Name
from anabranch.sql.strings import aligned
from anabranch.sql.tokens import Kind, tokenize

SPLITS = {
    "": [],
    " ; ;; -- x": [],
    "SELECT 1": ["SELECT 1"],
    "SELECT ';' ; SHOW TABLES LIKE 'a;b'; -- c; d\nRENAME BRANCH `a;b` TO c /* ; */": [
        "SELECT ';'",
        "SHOW TABLES LIKE 'a;b'",
        "RENAME BRANCH `a;b` TO c",
    ],
    "BEGIN; SHOW LOG; COMMIT;": ["BEGIN", "SHOW LOG", "COMMIT"],
    "SELECT 'it''s;' \"a\"\";b\"": ["SELECT 'it''s;' \"a\"\";b\""],
}


@pytest.mark.parametrize("text", SPLITS)
def test_split(text):
    assert split(text) == SPLITS[text]


words = some.text(min_size=1, max_size=8).filter(lambda text: "\0" not in text)
pieces = some.one_of(
    words.map(lambda text: "`" + text.replace("`", "``") + "`"),
    words.map(literal),
    words.map(lambda text: "'" + text.replace("\\", "").replace("'", "''") + "'"),
    some.sampled_from(
        ["d", "é", "日本", "😀", "12", "1.5e3", "12L", "@", ".", "(", ")", "<=>", "-- c\n", "/* 'x */", "\r\n"]
    ),
)


@given(some.lists(pieces, max_size=12))
def test_offsets_slice_the_original(parts):
    text = " ".join(parts)
    tokens = tokenize(text)
    written = [part for part in parts if not part.startswith(("--", "/*")) and part.strip()]
    assert "".join(text[token.start : token.end] for token in tokens) == "".join(written)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)
    assert len(aligned(text, tokens)) == len(text)


@given(words, words)
def test_any_name_survives_backquotes(database, table):
    text = ".".join("`" + name.replace("`", "``") + "`" for name in (database, table))
    assert parse(f"DROP TABLE {text}").name == Name((database, table))


@given(some.text().filter(lambda text: "\0" not in text))
def test_any_value_survives_as_a_literal(value):
    token, _ = tokenize(literal(value))
    assert (token.kind, token.value) == (Kind.STRING, value)


@given(some.text(alphabet="abS ELCT`'\"/*-;@.,()<>{}\\\n1é😀"))
def test_no_text_breaks_the_parser_but_with_an_error_of_ours(text):
    with contextlib.suppress(SqlError):
        parse(text)


def test_sql_needs_neither_spark_nor_arrow():
    code = (
        "import sys, anabranch.sql as sql; sql.parse('SELECT 1'); sql.splice(sql.prepare('SELECT 1'), []);"
        "print([name for name in ('pyspark', 'pyarrow') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
