"""How a test looks into a scan: its plan, the ways that its parts take, and the kernel's answer."""

from __future__ import annotations

from anabranch.execution.plan import ScanPlan, choose_paths, plan_scan
from anabranch.lake import Lake
from anabranch.sql.declare import table_name
from anabranch.sql.frames import open_use


def plan_of(lake: Lake, source: str) -> ScanPlan:
    """`source` as a query writes it: `d.t`, `d.t@dev`, `d.t VERSION AS OF 3`."""
    session = lake._session
    return plan_scan(session.view(open_use(session, table_name(source))))


def ways_of(lake: Lake, source: str) -> set[str]:
    """The ways that the parts of a scan take."""
    paths = choose_paths(plan_of(lake, source), lake._session.shared.limits, native=True)
    return {name for name in ("local", "bundled", "native", "masked") if getattr(paths, name)}
