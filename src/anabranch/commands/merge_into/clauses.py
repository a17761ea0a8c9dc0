"""MERGE INTO's clauses bound to their columns. Pure: a request, a schema and the source's columns give a plan.

1. `new_columns` says which columns WITH SCHEMA EVOLUTION adds; whoever asks adds them to the schema.
2. `bind` checks every rule of the semantics, and turns every text into one over flat columns (names.py).
3. The conjuncts of ON are sorted: equalities of a target column with the source, conditions on the target alone, and
   the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from anabranch.commands.fields_set import FieldsSet
from anabranch.commands.merge_into.names import Names, Side, check_plain, read_by
from anabranch.errors import InvalidMerge, NotFound, SchemaError, SqlError, nearest
from anabranch.expressions import conjuncts, parse_expression
from anabranch.model import types
from anabranch.model.merge import KINDS, Clause, Kind, MergeRequest, Path, Verb
from anabranch.model.names import fold
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType

Labelled = Sequence[tuple[str, DataType | None]]
"""The source's columns; the type None is that of bare NULLs."""


@dataclass(frozen=True)
class Action:
    """A clause with flat texts. `values`: physical column -> text; an UPDATE leaves the others, an INSERT has all.

    `given`: the columns that the clause itself names, without defaults.
    """

    number: int
    kind: Kind
    verb: Verb
    condition: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    given: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        return f"clause {self.number} (WHEN {self.kind.upper()})"

    @property
    def texts(self) -> list[str]:
        return [*self.values.values(), *([self.condition] if self.condition is not None else [])]


@dataclass(frozen=True)
class Pair:
    """`target column = text over the source` (or `<=>`), a conjunct of ON."""

    target: int
    source: str
    null_safe: bool


@dataclass(frozen=True)
class BoundMerge:
    """All texts are over flat columns. `on` means the same as all of `pairs`, `on_target` and `residual` together."""

    schema: Schema
    names: Names
    on: str
    pairs: tuple[Pair, ...]
    on_target: tuple[str, ...]
    residual: tuple[str, ...]
    actions: tuple[Action, ...]

    def of(self, kind: Kind) -> tuple[Action, ...]:
        return tuple(action for action in self.actions if action.kind == kind)

    @property
    def one_match(self) -> bool:
        """Whether several source rows for one target row are an error."""
        matched = self.of("matched")
        lone_delete = len(matched) == 1 and matched[0].verb == "delete" and matched[0].condition is None
        return bool(matched) and not lone_delete

    @property
    def on_columns(self) -> frozenset[int]:
        """The target's columns that ON reads."""
        return read_by(self.on, self.names.target)

    @property
    def read_columns(self) -> frozenset[int]:
        """The target's columns that clauses read: in their texts, and what an UPDATE leaves as it is."""
        found: set[int] = set()
        for action in self.actions:
            for text in action.texts:
                found |= read_by(text, self.names.target)
            if action.verb == "update":
                found |= {p for p, c in enumerate(self.schema.columns) if c.physical not in action.values}
        return frozenset(found)

    def assigned(self) -> frozenset[str]:
        """The physical columns that an UPDATE may change."""
        return frozenset(name for action in self.actions if action.verb == "update" for name in action.values)


# --- schema evolution -------------------------------------------------------------------------------------------------


def new_columns(request: MergeRequest, schema: Schema, source: Labelled) -> list[tuple[Path, DataType]]:
    """The source's columns, and fields of its structs, that clauses assign and the table lacks, in its order."""
    if not request.evolves:
        return []
    wanted: set[str] = set()
    for clause in request.clauses:
        if clause.verb != "delete" and clause.columns is None:
            wanted |= {fold(label) for label, _ in source}
        elif clause.columns:
            wanted |= {fold(label) for path in clause.columns if (label := _whole(path, request, schema))}
    added: list[tuple[Path, DataType]] = []
    for label, type_ in source:
        if fold(label) in wanted and schema.find(label) is None:
            added.append(((label,), types.VOID if type_ is None else type_))
    for column, type_ in _assigned_whole(request, schema, source):
        added += [path for path in _new_fields(type_, column.type, (column.label,)) if path not in added]
    for path, type_ in added:
        if types.has_void(type_):
            what = f"the new column '{'.'.join(path)}' has no type: cast its NULLs."
            raise InvalidMerge("WITH SCHEMA EVOLUTION", what)
    return added


def _assigned_whole(request: MergeRequest, schema: Schema, source: Labelled) -> Iterator[tuple[Column, DataType]]:
    """Target columns that a clause gives a column of the source, with its type."""
    types_of = {fold(label): type_ for label, type_ in source}
    for clause in request.clauses:
        if clause.verb == "delete" or clause.kind == "not matched by source":
            continue
        if clause.columns is None:
            pairs = [(column, fold(column.label)) for column in schema.columns]
        else:
            labels = [_whole(path, request, schema) for path in clause.columns] or schema.labels
            named = [None if label is None else schema.find(label) for label in labels]
            pairs = [
                (column, fold(tree.name))
                for column, text in zip(named, clause.values, strict=False)
                if column is not None and text is not None
                and isinstance(tree := parse_expression(text).unnest(), exp.Column) and len(tree.parts) <= 2
            ]  # fmt: skip
        for column, label in pairs:
            type_ = types_of.get(label)
            if type_ is not None:
                yield column, type_


def _new_fields(source: DataType, target: DataType, path: Path) -> Iterator[tuple[Path, DataType]]:
    if not isinstance(source, types.Struct) or not isinstance(target, types.Struct):
        return
    there = {fold(one.label): one for one in target.fields}
    for one in source.fields:
        known = there.get(fold(one.label))
        if known is None:
            yield (*path, one.label), one.type
        else:
            yield from _new_fields(one.type, known.type, (*path, one.label))


def _whole(path: Path, request: MergeRequest, schema: Schema) -> str | None:
    """The label of the column that a path of a clause names; None: it names a field."""
    names = _unqualified(path, Side("target", "t", request.target, ()), schema)
    return names[0] if len(names) == 1 else None


def _unqualified(path: Path, target: Side, schema: Schema) -> Path:
    """A column, or a field inside it. `d.t.c` and `t.c` first: a table's name hides a struct column of that name."""
    choices = [path[skipped:] for skipped in (2, 1, 0) if target.qualified_by(path[:skipped]) and path[skipped:]]
    return next((names for names in choices if schema.find(names[0]) is not None), choices[0])


# --- binding ----------------------------------------------------------------------------------------------------------


def bind(request: MergeRequest, schema: Schema, source: Labelled) -> BoundMerge:
    """Raises InvalidMerge for whatever the clauses cannot mean. `schema` has the columns that evolution adds."""
    target = Side("target", "t", request.target, schema.labels)
    given = Side("source", "s", request.source, tuple(label for label, _ in source))
    same = bool(request.source) and tuple(map(fold, request.target)) == tuple(map(fold, request.source))
    if same:
        raise InvalidMerge("USING", f"target and source are both called '{request.target[-1]}': give them aliases.")
    names = Names(target, given)
    _check_order(request.clauses)
    check_plain(request.on, "ON", condition=True)
    on = names.flat(request.on, (target, given), "ON")
    if isinstance(parse_expression(on).unnest(), exp.Null):
        on = "FALSE"  # true for no row, and Spark joins by a boolean alone
    binder = _Binder(names, schema, source, request)
    actions = tuple(binder.action(number, clause) for number, clause in enumerate(request.clauses, 1))
    return BoundMerge(schema, names, on, *_sorted_conjuncts(on, names), actions)


def _check_order(clauses: Sequence[Clause]) -> None:
    if not clauses:
        raise InvalidMerge("WHEN", "there is no clause. Say what happens to rows: WHEN MATCHED THEN …")
    for kind in KINDS:
        numbered = [(number, clause) for number, clause in enumerate(clauses, 1) if clause.kind == kind]
        for number, clause in numbered[:-1]:
            if clause.condition is None:
                raise InvalidMerge(
                    f"clause {number} ({clause.when})",
                    f"only the last {clause.when} clause may omit its condition: those after it would never act. "
                    "Give it AND …, or move it to the end.",
                )


@dataclass(frozen=True)
class _Binder:
    names: Names
    schema: Schema
    source: Labelled
    request: MergeRequest

    def action(self, number: int, clause: Clause) -> Action:
        place = f"clause {number} ({clause.when})"
        target, source = self.names.target, self.names.source
        sees = {"matched": (target, source), "not matched": (source,), "not matched by source": (target,)}[clause.kind]
        condition = None
        if clause.condition is not None:
            check_plain(clause.condition, place, condition=True)
            condition = self.names.flat(clause.condition, sees, place)
        if clause.verb == "delete":
            return Action(number, clause.kind, "delete", condition)
        values = self._star(clause, place) if clause.columns is None else self._listed(clause, sees, place)
        given = frozenset(values)
        if clause.verb == "insert":
            values = {column.physical: values.get(column.physical, _default(column)) for column in self.schema.columns}
            self._check_required(values, given, place)
        return Action(number, clause.kind, clause.verb, condition, values, given)

    def _check_required(self, values: Mapping[str, str], given: frozenset[str], place: str) -> None:
        for column in self.schema.columns:
            if not column.nullable and column.write_default is None and column.physical not in given:
                raise InvalidMerge(
                    place,
                    f"INSERT leaves out the column '{column.label}', which is NOT NULL and has no default. "
                    "Give it a value, or set a DEFAULT.",
                )

    def _star(self, clause: Clause, place: str) -> dict[str, str]:
        """By name: extra columns of the source are ignored, missing ones an error unless the schema may evolve."""
        values, missing = {}, []
        for column in self.schema.columns:
            at = self.names.source.places(column.label)
            if len(at) > 1:
                raise InvalidMerge(
                    place, f"the column '{column.label}' is ambiguous: the source has it more than once."
                )
            if at:
                values[column.physical] = self._stored(self.names.source.flat(at[0]), at[0], column, place)
            else:
                missing.append(column.label)
        if missing and not self.request.evolves:
            verb = "UPDATE SET *" if clause.verb == "update" else "INSERT *"
            raise InvalidMerge(
                place,
                f"{verb} finds no source column for {', '.join(map(repr, missing))}. Add it to the source, list the "
                "columns instead of *, or use MERGE WITH SCHEMA EVOLUTION INTO.",
            )
        return values

    def _listed(self, clause: Clause, sees: Sequence[Side], place: str) -> dict[str, str]:
        named = [self._column(path, place) for path in clause.columns or ()]
        if not clause.columns:
            named = [(column, ()) for column in self.schema.columns]
            if len(named) != len(clause.values):
                raise InvalidMerge(
                    place,
                    f"INSERT has {len(clause.values)} values, the table {len(named)} columns. List the columns.",
                )
        values: dict[str, FieldsSet] = {}
        pairs = [
            (column, fields, self._value(column, fields, text, sees, place))
            for (column, fields), text in zip(named, clause.values, strict=True)
        ]
        try:
            for column, fields, text in pairs:
                if fields and clause.verb == "insert":
                    raise SqlError(f"'{'.'.join((column.label, *fields))}' is a field: INSERT takes whole columns")
                values.setdefault(column.physical, FieldsSet(column)).add(fields, text)
            before = dict(zip(self.schema.columns, self.names.target.columns, strict=True))
            return {name: found.text(before[found.column]) for name, found in values.items()}
        except (NotFound, SchemaError, SqlError) as error:
            raise InvalidMerge(place, f"{str(error).rstrip('.')}.") from error

    def _value(self, column: Column, fields: Path, text: str | None, sees: Sequence[Side], place: str) -> str:
        if text is None:
            return "NULL" if fields else _default(column)
        check_plain(text, f"{place}, column '{column.label}'", condition=False)
        flat = self.names.flat(text, sees, f"{place}, column '{column.label}'")
        bare = flat.strip().strip("()")
        if bare in self.names.source.columns and not fields:
            return self._stored(flat, self.names.source.columns.index(bare), column, place)
        return flat

    def _column(self, path: Path, place: str) -> tuple[Column, Path]:
        """A column, and the field inside it, if a path names one."""
        names = _unqualified(path, self.names.target, self.schema)
        column = self.schema.find(names[0])
        if column is None:
            guess = nearest(names[0], self.schema.labels)
            tail = f"Did you mean '{guess}'?" if guess else f"Its columns are {', '.join(self.schema.labels)}."
            if not self.request.evolves and self.names.source.places(names[0]):
                tail = "It is a column of the source: MERGE WITH SCHEMA EVOLUTION INTO adds it to the target."
            raise InvalidMerge(place, f"the target has no column '{'.'.join(path)}' to assign. {tail}")
        return column, names[1:]

    def _stored(self, text: str, at: int, column: Column, place: str) -> str:
        """A source column on its way to a target column: structs meet by the names of their fields."""
        type_ = self.source[at][1]
        if isinstance(type_, types.Struct) and isinstance(column.type, types.Struct):
            return self._struct(text, type_, column.type, f"{place}, column '{column.label}'")
        return text

    def _struct(self, text: str, source: types.Struct, target: types.Struct, place: str) -> str:
        there = {fold(one.label): one for one in source.fields}
        if _same_fields(source, target):
            return text
        extra = sorted(set(there) - {fold(one.label) for one in target.fields})
        if extra:
            raise InvalidMerge(
                place,
                f"the source's struct has the field '{extra[0]}', which the target lacks. Add it by ALTER TABLE … ADD "
                "COLUMN, or use MERGE WITH SCHEMA EVOLUTION INTO.",
            )
        pieces = []
        for one in target.fields:
            found = there.get(fold(one.label))
            if found is None and not self.request.evolves:
                raise InvalidMerge(
                    place,
                    f"the source's struct lacks the field '{one.label}'. Add it, or use MERGE WITH SCHEMA EVOLUTION.",
                )
            value = f"CAST(NULL AS {one.type})" if found is None else f"{text}.{types.quote_identifier(found.label)}"
            if found is not None and isinstance(found.type, types.Struct) and isinstance(one.type, types.Struct):
                value = self._struct(value, found.type, one.type, place)
            pieces.append(f"'{one.label}', {value}")
        return f"CASE WHEN {text} IS NULL THEN NULL ELSE named_struct({', '.join(pieces)}) END"


def _same_fields(source: DataType, target: DataType) -> bool:
    """Structs whose fields have the same names in the same order, all the way down."""
    if not isinstance(source, types.Struct) or not isinstance(target, types.Struct):
        return True
    if [fold(one.label) for one in source.fields] != [fold(one.label) for one in target.fields]:
        return False
    return all(_same_fields(one.type, other.type) for one, other in zip(source.fields, target.fields, strict=True))


def _default(column: Column) -> str:
    return column.write_default or "NULL"


# --- ON ---------------------------------------------------------------------------------------------------------------


def _sorted_conjuncts(on: str, names: Names) -> tuple[tuple[Pair, ...], tuple[str, ...], tuple[str, ...]]:
    pairs: list[Pair] = []
    target: list[str] = []
    rest: list[str] = []
    for conjunct in conjuncts(parse_expression(on)):
        text = conjunct.sql(dialect="spark")
        found = next(_pairs(conjunct, names), None)
        if found is not None:
            pairs.append(found)
        elif read_by(text, names.target) and not read_by(text, names.source):
            target.append(text)
        else:
            rest.append(text)
    return tuple(pairs), tuple(target), tuple(rest)


def _pairs(conjunct: exp.Expression, names: Names) -> Iterator[Pair]:
    if not isinstance(conjunct, (exp.EQ, exp.NullSafeEQ)):
        return
    for one, other in ((conjunct.this, conjunct.expression), (conjunct.expression, conjunct.this)):
        column, text = one.unnest(), other.sql(dialect="spark")
        if not isinstance(column, exp.Column) or column.sql(dialect="spark") not in names.target.columns:
            continue
        if read_by(text, names.source) and not read_by(text, names.target):
            at = names.target.columns.index(column.sql(dialect="spark"))
            yield Pair(at, text, isinstance(conjunct, exp.NullSafeEQ))
