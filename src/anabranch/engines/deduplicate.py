"""deduplicate: the last record wins. first-row: the first add wins.

Without set rows and tombstones `reduce` picks whole rows; here are the rare windows that have them.
"""

from __future__ import annotations

import numpy as np

from anabranch.engines.feed import FieldRule
from anabranch.engines.kinds import INSERT, check_retracts
from anabranch.engines.picking import first_value, last_value
from anabranch.engines.window import Merged, Window

_WHOLE_ROW = FieldRule("last_value")


def deduplicate(window: Window) -> Merged:
    """Every field from the last record that has it: a full row has all, a set row those that it sets."""
    fields = {n: last_value(window.feed(n, _WHOLE_ROW, window.live(n))) for n in window.spec.fields}
    return Merged(np.full(window.count, INSERT, dtype=np.int8), fields)


def first_row(window: Window) -> Merged:
    check_retracts(window.rows, window.kinds, window.spec)
    fields = {n: first_value(window.feed(n, _WHOLE_ROW, window.live(n))) for n in window.spec.fields}
    return Merged(np.full(window.count, INSERT, dtype=np.int8), fields)
