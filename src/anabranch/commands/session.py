"""A session: one user on one branch of one lake. Commands take it as their first argument."""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anabranch.branching.admit import Moved, admit
from anabranch.catalog import Catalog
from anabranch.commands.rerun import commits, followed, looks_at
from anabranch.errors import NeedsSpark, NotFound, Refused
from anabranch.execution.session import SparkHolder
from anabranch.forks import abandon, renew_after_fork
from anabranch.model.history import Commit, Position
from anabranch.model.names import qualified
from anabranch.model.part import Part
from anabranch.model.records import Change, CommitRequest, DatabaseRecord, TableDelta, TableRecord
from anabranch.model.schema import Column, Schema
from anabranch.model.types import TIMESTAMP, quote_identifier, structs_in
from anabranch.options import Limits, option
from anabranch.texts import is_number

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.commands.compact import Compactor
    from anabranch.engines import EngineSpec
    from anabranch.execution.key_index import KeyIndex
    from anabranch.execution.plan import Keyed, TableView
    from anabranch.execution.slots import Slots
    from anabranch.storage.files import Files
    from anabranch.storage.parquet import Destination

_FRAMES = 64


@dataclass(frozen=True)
class Ref:
    """What a user may write to name a position; nothing at all is the session's head."""

    name: str | None = None
    version: int | None = None
    time_us: int | None = None


HEAD = Ref()


@dataclass(frozen=True)
class OpenTable:
    """A table as it stands at a position."""

    database: DatabaseRecord
    record: TableRecord
    schema: Schema
    position: Position

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def name(self) -> str:
        return qualified(self.database.name, self.record.name)

    @property
    def engine(self) -> EngineSpec:
        """How the records of a key become a row; the table is keyed."""
        from anabranch.engines import engine_spec

        return engine_spec(self.schema, self.record.properties)


@dataclass
class FreeSlots:
    """Slots of a table that this process has reserved and not used yet."""

    slots: deque[int] = field(default_factory=deque)
    block: int = 4
    """How many were reserved the last time."""


@dataclass
class Shared:
    """What the sessions of one process have in common: connections, caches, reserved slots."""

    catalog: Catalog
    files: Files
    spark: SparkHolder
    author: str
    limits: Limits = field(default_factory=Limits)
    slots: dict[str, FreeSlots] = field(default_factory=dict)
    frames: OrderedDict[Any, Any] = field(default_factory=OrderedDict)
    keys: KeyIndex | None = None
    compactor: Compactor | None = None
    alone: dict[str, int] = field(default_factory=dict)
    """The tables that a statement of this process has to itself at the moment, and its thread: no other may walk in."""
    frames_lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    """Never held for long; also where `keys` and `compactor` are made, once."""

    def __post_init__(self) -> None:
        renew_after_fork(self)

    def start_anew(self) -> None:
        """The slots were reserved by the parent, for itself; its frames are objects of its JVM."""
        abandon(self.frames)
        self.slots, self.frames, self.alone = {}, OrderedDict(), {}
        self.frames_lock = threading.Lock()

    def apart(self) -> Shared:
        """The same lake for another thread, which reserves and remembers for itself."""
        return replace(self, slots={}, frames=OrderedDict(), alone={})

    def close(self) -> None:
        if self.compactor is not None:
            self.compactor.close()
        if self.keys is not None:
            self.keys.close()
        self.catalog.close()


@dataclass
class JobSlots:
    catalog: Catalog
    table_id: str
    used: Sequence[Part] = ()
    _last: Slots | None = None

    def reserve(self, tasks: int, layers: int) -> Slots:
        from anabranch.execution.slots import Slots

        self._last = Slots(self.catalog.reserve_slots(self.table_id, tasks * layers), tasks, layers)
        return self._last

    def give_back(self) -> None:
        if self._last is not None:
            highest = max((part.slot for part in self.used), default=self._last.first - 1)
            self.catalog.return_slots(self.table_id, highest + 1, self._last.end)


@dataclass
class Session:
    """One branch of a lake; reads see its head at the moment they start."""

    shared: Shared
    branch_id: int
    pinned: Position | None = None
    """A statement that reads several times reads one version."""

    @property
    def catalog(self) -> Catalog:
        return self.shared.catalog

    def on(self, branch_id: int) -> Session:
        return Session(self.shared, branch_id)

    # --- positions ----------------------------------------------------------------------------------------------------

    def at(self, position: Position) -> Session:
        return Session(self.shared, position.branch_id, position)

    def head(self) -> Position:
        if self.pinned is not None:
            return self.pinned
        branch = self.catalog.branch_by_id(self.branch_id)
        if branch.dropped:
            raise Refused(f"the branch '{branch.name}' of this session was dropped. USE another branch.")
        head = Position(self.branch_id, branch.head)
        looks_at(self.catalog, head)
        return head

    def resolve(self, ref: Ref | str | int | None) -> Position:
        """A position of this lake, checked to exist."""
        ref = as_ref(ref)
        position = self.head() if ref.name is None else self.catalog.resolve(ref.name)
        if ref.version is not None:
            position = Position(position.branch_id, ref.version)
            self.catalog.check(position)
        if ref.time_us is not None:
            position = self.catalog.position_at(position, ref.time_us)
        return position

    # --- names --------------------------------------------------------------------------------------------------------

    def find_database(self, name: str, position: Position | None = None) -> DatabaseRecord | None:
        position = position or self.head()
        found = self.catalog.database(position, name)
        return followed(self.catalog, position, [name], found, lambda id: self._database_of_id(position, id))

    def _database_of_id(self, position: Position, database_id: str) -> DatabaseRecord | None:
        found = self.catalog.database_by_id(position, database_id)
        return None if found is None or found.dropped else found

    def database(self, name: str, position: Position | None = None) -> DatabaseRecord:
        position = position or self.head()
        found = self.find_database(name, position)
        if found is None:
            known = [record.name for record in self.catalog.databases(position)]
            then = self._then(position)
            hint = "" if then else f"Create it with CREATE DATABASE {quote_identifier(name)}."
            raise NotFound("database", name, known, hint, then)
        return found

    def find_table(self, names: Sequence[str], position: Position | None = None) -> OpenTable | None:
        database_name, table_name = names
        position = position or self.head()
        database = self.catalog.database(position, database_name)
        record = self.catalog.table(position, database.id, table_name) if database else None
        found = self._opened(database, record, position)
        return followed(self.catalog, position, names, found, lambda id: self._table_of_id(position, id))

    def _table_of_id(self, position: Position, table_id: str) -> OpenTable | None:
        record = self.catalog.table_by_id(position, table_id)
        if record is None or record.dropped:
            return None
        return self._opened(self._database_of_id(position, record.database_id), record, position)

    def _opened(
        self, database: DatabaseRecord | None, record: TableRecord | None, position: Position
    ) -> OpenTable | None:
        if database is None or record is None:
            return None
        return OpenTable(database, record, self.catalog.schema(record.id, record.schema_id), position)

    def table(self, names: Sequence[str], position: Position | None = None) -> OpenTable:
        position = position or self.head()
        found = self.find_table(names, position)
        if found is None:
            database = self.database(names[0], position)
            known = [qualified(database.name, r.name) for r in self.catalog.tables(position, database.id)]
            raise NotFound("table", qualified(*names), known, when=self._then(position))
        return found

    def _then(self, position: Position) -> str:
        """Of a past version: that it is the past which lacks a name; it may be there now."""
        if position.version == self.catalog.head(position.branch_id):
            return ""
        branch = self.catalog.branch_by_id(position.branch_id).name
        return f"at version {position.version} of branch '{branch}'"

    def view(self, table: OpenTable) -> TableView:
        """Everything that a scan of the table needs."""
        from anabranch.execution.plan import TableView

        state = self.catalog.state(table.position, table.id)
        rewrites = self.catalog.rewrites(table.position, table.id)

        def make() -> TableView:
            rewritten = (part for rewrite in rewrites for part in rewrite.parts)
            ids = {part.schema_id for part in (*state.parts.values(), *rewritten)}
            written = {id: self.catalog.schema(table.id, id) for id in ids}
            keyed = self._keyed(table) if table.schema.primary_key else None
            return TableView(table.name, table.schema, state, written, self.folder(table.id), rewrites, keyed)

        # The view keeps the state's sets alive, so that their ids are not given to others.
        made = tuple(rewrite.id for rewrite in rewrites)
        key = ("view", table.name, table.schema.id, id(state.parts), id(state.dead), made)
        found: TableView = self.remember(key, make)
        return found

    def _keyed(self, table: OpenTable) -> Keyed:
        from anabranch.execution.key_index import KeyIndex
        from anabranch.execution.plan import Keyed

        with self.shared.frames_lock:
            keys = self.shared.keys = self.shared.keys or KeyIndex()
        return Keyed(table.engine, keys, self.shared.files.folder(f"cache/{table.id}"))

    def folder(self, table_id: str) -> Files:
        return self.shared.files.folder(f"data/{table_id}")

    def destination(self, table: OpenTable) -> Destination:
        """Where and how the table's new parts are written."""
        from anabranch.storage.parquet import Destination

        return Destination(self.folder(table.id), table.schema, option(table.record.properties, "write.compression"))

    def decides(self, schema: Schema, labels: Iterable[str]) -> bool:
        """Whether an expression over these columns means here what it means to Spark: not so for times in a session of
        another zone."""
        has_times = any(schema.column(label).type == TIMESTAMP for label in labels)
        return not has_times or self.shared.spark.reads_times_as_utc  # which asks the JVM

    def times(self) -> AbstractContextManager[None]:
        """Around what is evaluated here: what depends on the time zone raises NeedsSpark if Spark's is not UTC."""
        from anabranch.expressions import zone_of

        return zone_of(lambda: self.shared.spark.reads_times_as_utc)

    def constant(self, text: str, column: Column) -> pa.Scalar:
        """The value of a constant text as the column holds it; where it depends on the time zone, in that of the Spark
        session, if there is one."""
        from anabranch.execution.shape import constant_here

        try:
            with self.times():
                return constant_here(text, column)
        except NeedsSpark:
            constant_here(text, column)  # what only Spark knows for another reason is refused
        from anabranch.execution.assignable import constant_by_spark

        return constant_by_spark(self.shared.spark(), text, column)

    def default(self, column: Column) -> str:
        """The text that stands for a column's DEFAULT where values are assigned. Structs meet by label there, and a
        default by position, so that it lasts when fields are renamed: it is a literal under their labels of now."""
        text = column.write_default or "NULL"
        if not any(structs_in(column.type)):
            return text
        from anabranch.expressions import literal_sql

        return literal_sql(self.constant(text, column))

    # --- writing ------------------------------------------------------------------------------------------------------

    def commit(
        self,
        base: Position,
        operation: str,
        message: str,
        changes: Iterable[Change],
        admit: Callable[[CommitRequest, Moved], None] | None = None,
        replay: Callable[[Position], Mapping[str, Any]] | None = None,
        **written: Any,
    ) -> Commit:
        """Appends one commit to the session's branch, made against `base`. `replay`: what of it is another on a head
        that moved; it runs while the head is locked, and reads the catalog alone."""
        if base.branch_id != self.branch_id:
            raise Refused("a table opened at another branch or tag cannot be written. Open it on its branch.")
        commits(self.branch_id, operation)
        request = CommitRequest(
            id=str(uuid.uuid4()),
            base=base,
            operation=operation,
            author=self.shared.author,
            message=message,
            changes=tuple(changes),
            **written,
        )

        def replayed(request: CommitRequest, moved: Moved) -> CommitRequest | None:
            (admit or self.admit)(request, moved)
            if replay is None or not moved:
                return None
            return replace(request, **replay(Position(self.branch_id, moved[-1][0].version)))

        return self.catalog.commit(request, replayed)

    def admit(self, request: CommitRequest, moved: Moved, *, reads_rows: bool = True) -> None:
        """Runs while the head is locked, so what it reads is what the commit will stand on. `reads_rows`: under
        `serializable` the statements' conditions are evaluated on rows that others brought."""
        head = Position(self.branch_id, moved[-1][0].version) if moved else request.base

        def may_match(change: Change, since: Sequence[TableDelta]) -> bool:
            from anabranch.commands.unseen import may_match

            return reads_rows and may_match(self, change, request.base, head, since)

        deltas_of = lambda table_id: self.catalog.deltas(head, table_id, request.base.version)  # noqa: E731
        admit(request, moved, deltas_of, may_match)

    @contextmanager
    def turn(self, table: OpenTable) -> Iterator[None]:
        """Around the work of a statement that kills rows: beside others like it, or alone if that was asked for. One
        that holds the head needs no turn, and must not wait for one: those who have it may wait for the head."""
        if self._is_alone(table.id) or self.catalog.is_held:
            yield
        else:
            with self.catalog.turn(table.id, alone=False):
                yield

    @contextmanager
    def alone(self, table_ids: Iterable[str]) -> Iterator[None]:
        """Around a statement's last tries: nobody else kills rows of these tables, in this process or another."""
        alone = self.shared.alone
        with ExitStack() as stack:
            for table_id in sorted(id for id in set(table_ids) if not self._is_alone(id)):
                stack.enter_context(self.catalog.turn(table_id, alone=True))
                alone[table_id] = threading.get_ident()
                stack.callback(alone.pop, table_id)
            yield

    def _is_alone(self, table_id: str) -> bool:
        return self.shared.alone.get(table_id) == threading.get_ident()

    def next_slot(self, table_id: str) -> int:
        """A slot for a part written in this process. Blocks double, so that a busy writer rarely asks the catalog.

        No lock is held while it is asked: one who has the catalog to himself may want a slot, too."""
        free = self.shared.slots.setdefault(table_id, FreeSlots())
        try:
            return free.slots.popleft()
        except IndexError:
            count = min(free.block * 2, 1024)
        first = self.catalog.reserve_slots(table_id, count)
        free.block = count
        free.slots.extend(range(first + 1, first + count))
        return first

    @contextmanager
    def slots_for_jobs(self, table: OpenTable) -> Iterator[JobSlots]:
        """Blocks of slots for a Spark job; what it does not use goes back, if nobody has reserved since."""
        slots = JobSlots(self.catalog, table.id)
        try:
            yield slots
        finally:
            slots.give_back()

    def remember(self, key: Any, make: Any) -> Any:
        """What is made of an immutable state, made once: a view, a Spark frame."""
        frames, lock = self.shared.frames, self.shared.frames_lock
        with lock:
            if key in frames:
                frames.move_to_end(key)
                return frames[key]
        made = make()
        with lock:
            frames[key] = made
            while len(frames) > _FRAMES:
                frames.popitem(last=False)
        return made


def as_ref(ref: Ref | str | int | None, version: int | None = None) -> Ref:
    """What a user wrote, at a version of it if that is said apart."""
    return at_version(_as_ref(ref), version, ref)


def at_version(ref: Ref, version: int | None, written: object) -> Ref:
    """`written` is how the user named the ref."""
    if version is None:
        return ref
    if ref.version is not None:
        raise Refused(f"the version is given twice, by {written!r} and by {version!r}: leave one of them out.")
    return replace(ref, version=version)


def _as_ref(ref: Ref | str | int | None) -> Ref:
    """`'dev'`, `'dev@12'`, `12` or None (the session's head), as a Ref; anything else is refused."""
    if ref is None:
        return HEAD
    if isinstance(ref, Ref):
        return ref
    if isinstance(ref, int) and not isinstance(ref, bool):
        return Ref(version=ref)
    if not isinstance(ref, str) or names_nothing(ref):
        raise Refused(f"{ref!r} names no branch, tag or version: write 'dev', 'dev@12', or a version's number alone.")
    name, at, version = ref.partition("@")
    if at and not is_number(version):
        raise NotFound("version", version, hint="A version is a number.")
    return Ref(name, int(version) if at else None)


def names_nothing(ref: str) -> bool:
    """What is left out is never the session's own: an empty text is a variable that somebody forgot to set."""
    name, at, version = ref.partition("@")
    return not name.strip() or (at != "" and not version)


def checked_limit(limit: int | None) -> int | None:
    """The same, if it may say how many commits are wanted (None: all)."""
    if limit is not None and (type(limit) is not int or limit < 0):
        raise Refused(f"{limit!r} is no limit: write how many commits are wanted.")
    return limit


def table_change(table: OpenTable, operation: str, **detail: Any) -> Change:
    body = {"name": table.name, "database": table.database.id} | {k: v for k, v in detail.items() if v is not None}
    if is_serializable(table):
        body["serializable"] = True
    return Change("table", table.id, operation, body)  # type: ignore[arg-type]


def is_serializable(table: OpenTable) -> bool:
    return option(table.record.properties, "isolation") == "serializable"
