"""A shop's orders on two branches, in about a minute: what `make demo` runs.

The lake lives in a temporary folder that is gone afterwards.
"""

import sys
import tempfile
import textwrap
import time

import anabranch
from anabranch.cli.progress import quiet

STORY = [
    (
        "A database and a table. A lake begins on the branch main.",
        "CREATE DATABASE shop",
        """CREATE TABLE shop.orders (
             id BIGINT NOT NULL, customer STRING, amount DECIMAL(10, 2), day DATE
           )""",
    ),
    (
        "A hundred thousand orders, written by Spark as one commit.",
        """INSERT INTO shop.orders
           SELECT id, concat('customer ', id % 500), id % 1000, date_add(DATE'2025-01-01', int(id % 365))
           FROM range(100000)""",
        "SELECT count(*) AS orders, sum(amount) AS amount FROM shop.orders",
        "CREATE TAG loaded",
    ),
    (
        "A branch to clean up on. It is one row in the catalog: no data is copied.",
        "CREATE BRANCH cleanup",
        "USE BRANCH cleanup",
    ),
    (
        "There, rows go, rows change, and the table gets a column. No file is rewritten for that:\n"
        "deleted rows are masked, and old rows read the new column's default.",
        "DELETE FROM shop.orders WHERE amount = 0",
        "ALTER TABLE shop.orders ADD COLUMN status STRING DEFAULT 'open'",
        "UPDATE shop.orders SET status = 'audit', amount = amount * 2 WHERE amount > 998",
        "SELECT status, count(*) AS orders, sum(amount) AS amount FROM shop.orders GROUP BY status ORDER BY status",
    ),
    (
        "Main has seen nothing of it. One query may read both branches.",
        """SELECT 'main' AS branch, count(*) AS orders, sum(amount) AS amount FROM shop.orders@main
           UNION ALL
           SELECT 'cleanup', count(*), sum(amount) FROM shop.orders@cleanup""",
        "DESCRIBE TABLE shop.orders@main",
    ),
    (
        "Meanwhile main moves on as well.",
        "USE BRANCH main",
        "INSERT INTO shop.orders VALUES (100001, 'customer 7', 12.50, DATE'2026-01-01')",
        "UPDATE shop.orders SET customer = 'customer 500' WHERE customer = 'customer 0' AND amount > 0",
        "DIFF main cleanup",
    ),
    (
        "Both sides have moved, and still they merge: first a preview, by files, which reads no rows;\n"
        "then by rows, since no row was changed on both sides. Schema and rows come as one commit.",
        "MERGE BRANCH cleanup DRY RUN",
        "MERGE BRANCH cleanup WITH (detect = 'row')",
        "SELECT status, count(*) AS orders, sum(amount) AS amount FROM shop.orders GROUP BY status ORDER BY status",
    ),
    (
        "A real conflict: one order, two opinions. It is refused, shown, and resolved.",
        "UPDATE shop.orders SET status = 'paid' WHERE id = 1999",
        "UPDATE shop.orders@cleanup SET status = 'fraud' WHERE id = 1999",
        "MERGE BRANCH cleanup WITH (detect = 'cell')",
        "SHOW CONFLICTS IN cleanup WITH (detect = 'cell')",
        "MERGE BRANCH cleanup RESOLVE USING THEIRS WITH (detect = 'cell')",
        "SELECT id, customer, amount, status FROM shop.orders WHERE id = 1999",
    ),
    (
        "Time travel, by version or by tag.",
        "SELECT count(*) AS orders FROM shop.orders VERSION AS OF 3",
        "SELECT count(*) AS orders FROM shop.orders VERSION AS OF 'loaded'",
    ),
    (
        "What a query would read. The statistics of the parts are in the catalog, so parts are skipped unopened.",
        "EXPLAIN SELECT * FROM shop.orders WHERE id < 100",
    ),
    (
        "A mistake, and the way back. A restore is a commit too: nothing is lost.",
        "DELETE FROM shop.orders WHERE day < DATE'2030-01-01'",
        "RESTORE TABLE shop.orders TO VERSION 8",
        "SELECT count(*) AS orders FROM shop.orders",
    ),
    (
        "What happened, and where the branches stand.",
        "SHOW LOG GRAPH",
        "SHOW BRANCHES",
    ),
]


def main() -> None:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="anabranch-demo-") as folder, anabranch.connect(folder) as lake:
        for told, *statements in STORY:
            print(f"\n{bold(told)}\n")
            for statement in statements:
                run(lake, statement)
    print(f"Done in {time.monotonic() - started:.0f} s. The same from a shell: anabranch --help")


def run(lake: anabranch.Lake, statement: str) -> None:
    """Echoes a statement, runs it, and shows what it gives."""
    first, *rest = statement.split("\n")
    echo = "\n".join([first, textwrap.dedent("\n".join(rest))]) if rest else first
    print(textwrap.indent(f"{echo};", "  ").replace("  ", "> ", 1), flush=True)
    try:
        answer = lake.sql(statement)
    except anabranch.MergeConflict as conflict:
        print(textwrap.indent(f"refused: {conflict}", "    "), end="\n\n", flush=True)
        return
    if not isinstance(answer, anabranch.Result):  # a query gives a Spark DataFrame
        answer = anabranch.Result(answer.columns, answer.collect())
    text = str(answer.first()[0]) if answer.columns == ["status"] else str(answer)
    print(textwrap.indent(text, "    "), end="\n\n", flush=True)


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    with quiet():  # the JVM greets with a warning about itself
        main()
