"""aggregation: every field by its function. The result is an add, whatever the records were."""

from __future__ import annotations

import numpy as np

from anabranch.engines.functions import FUNCTIONS
from anabranch.engines.kinds import INSERT
from anabranch.engines.window import Merged, Window


def aggregation(window: Window) -> Merged:
    fields = {}
    for name, rule in window.spec.rules.items():
        live, retract = window.checked_retracts(name, rule, window.live(name))
        fields[name] = FUNCTIONS[rule.function].reduce(window.feed(name, rule, live, retract=retract))
    return Merged(np.full(window.count, INSERT, dtype=np.int8), fields)
