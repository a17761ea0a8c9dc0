"""The documents are true where a machine can tell: links and modules are there, and every statement is described."""

import re
from pathlib import Path

import pytest

from anabranch.options import FIELD_OPTIONS, TABLE_OPTIONS
from anabranch.sql.parser import STATEMENTS

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
UNSAID = re.compile("SCHEMA|NAMESPACE|REPLACE TABLE|(EXTERNAL|TEMPORARY|TEMP) TABLE|^RENAME")
"""Other words for the same, and what is only understood to be refused."""
TO_COME = ("changelog-producer", "changelog-producer.row-deduplicate")
"""Options of what is not there yet."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_modules_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not link.startswith("https://")]
    assert [link for link in links if not (page.parent / link).exists()] == []
    modules = set(re.findall(r"`([a-z_]+/[a-z_/]*\.py)`", text))
    places = (ROOT, ROOT / "src" / "anabranch", ROOT / "src" / "anabranch" / "commands")
    assert [module for module in modules if not any((place / module).exists() for place in places)] == []


def test_every_decision_is_linked_from_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    decisions = (ROOT / "docs" / "decisions").glob("*.md")
    assert [path.name for path in decisions if f"decisions/{path.name}" not in text] == []


def test_every_statement_is_in_the_reference() -> None:
    text = re.sub(r"\[[^\]]*\] ?", "", (ROOT / "docs" / "sql.md").read_text(encoding="utf-8"))
    assert [phrase for phrase in STATEMENTS if phrase not in text and not UNSAID.search(phrase)] == []


def test_every_option_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w-]+(?:\.[\w-]+)*", text))
    assert [name for name in TABLE_OPTIONS if name not in named and name not in TO_COME] == []
    assert [name for name in FIELD_OPTIONS if f".{name}" not in text] == []
