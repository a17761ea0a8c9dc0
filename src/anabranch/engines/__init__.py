"""Merge engines: how the records of one primary key become one row. Pure reductions over sorted Arrow rows."""

from anabranch.engines.kinds import KIND, SETS, admitted
from anabranch.engines.order import segment_starts, sort_order
from anabranch.engines.reduce import ENGINES, Reach, Reduced, reduce
from anabranch.engines.spec import EngineSpec, check_change, check_unkeyed, engine_spec, is_engine_option

__all__ = [
    "ENGINES",
    "KIND",
    "SETS",
    "EngineSpec",
    "Reach",
    "Reduced",
    "admitted",
    "check_change",
    "check_unkeyed",
    "engine_spec",
    "is_engine_option",
    "reduce",
    "segment_starts",
    "sort_order",
]
