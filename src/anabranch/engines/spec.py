"""What a keyed table's options say: an `EngineSpec`, read from the table's properties and checked against its schema.

Options name columns by label; the spec names them as files do, by physical name, so that it fits the rows of any part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from anabranch.engines.feed import FieldRule
from anabranch.engines.functions import FUNCTIONS
from anabranch.errors import InvalidOption, NotFound, OptionConflict, nearest
from anabranch.model import types
from anabranch.model.names import fold
from anabranch.model.schema import Column, Schema
from anabranch.options import FIELD_OPTIONS, field_option, option
from anabranch.texts import is_number

DEFAULT_FUNCTION = "last_non_null_value"
_CHANGELOG = "changelog-producer"


@dataclass(frozen=True)
class SequenceGroup:
    """Fields that change only together with their sequence fields; no field is in two groups."""

    sequence: tuple[str, ...]
    fields: tuple[str, ...]


@dataclass(frozen=True)
class EngineSpec:
    """How the records of a key become one row; every combination that is refused has been refused.

    `rules` holds the fields that a function combines; under partial-update the others keep their last non-null value,
    or follow their group.
    """

    engine: str
    key: tuple[str, ...]
    fields: tuple[str, ...]
    sequence: tuple[str, ...] = ()
    descending: bool = False
    groups: tuple[SequenceGroup, ...] = ()
    rules: Mapping[str, FieldRule] = field(default_factory=dict)
    ignore_delete: bool = False
    ignore_update_before: bool = False
    remove_on_delete: bool = False
    remove_on_groups: frozenset[str] = frozenset()
    rowkind: str | None = None
    nullable_key: bool = False


def engine_spec(schema: Schema, properties: Mapping[str, str]) -> EngineSpec:
    """The spec of a keyed table; raises `OptionConflict`, `InvalidOption` or `NotFound` with the reason."""
    return _Reader(schema, properties).spec()


def is_engine_option(name: str) -> bool:
    """Whether the option says something of keyed tables alone."""
    return name in _KEYED_ONLY or bool(field_option(name))


def check_unkeyed(properties: Mapping[str, str]) -> None:
    """Refuses options of merge engines on a table without a primary key."""
    for name in properties:
        if is_engine_option(name):
            raise OptionConflict(name, "the table has no primary key")


def check_change(old: EngineSpec, new: EngineSpec, *, has_parts: bool) -> None:
    """Whether ALTER may turn one spec into the other: what stored records mean must not change under them."""
    for name, was, becomes in (
        ("ignore-delete", old.ignore_delete, new.ignore_delete),
        ("ignore-update-before", old.ignore_update_before, new.ignore_update_before),
    ):
        if was and not becomes:
            raise OptionConflict(name, "it cannot go back to 'false': the records that it dropped are gone")
    if not has_parts:
        return
    kept = {name: rule for name, rule in new.rules.items() if name in old.fields}
    for name, was, becomes in (  # type: ignore[assignment]  # tuples of other types than above
        ("primary-key.nullable", old.nullable_key, new.nullable_key),
        ("merge-engine", old.engine, new.engine),
        ("sequence.field", old.sequence, new.sequence),
        ("sequence.field.sort-order", old.descending, new.descending),
        ("fields.<field>.sequence-group", _of_old(old.groups, old), _of_old(new.groups, old)),
        ("fields.<field>.aggregate-function", {n: r for n, r in old.rules.items() if n in new.fields}, kept),
    ):
        if was != becomes:
            raise OptionConflict(name, "the table has parts already, whose records would mean something else")


def _of_old(groups: tuple[SequenceGroup, ...], old: EngineSpec) -> set[tuple[tuple[str, ...], frozenset[str]]]:
    """Groups as far as they govern fields of the old spec: a new column may join a group, or bring one."""
    known = set(old.fields)
    return {(g.sequence, shared) for g in groups if (shared := frozenset(g.fields) & known)}


_KEYED_ONLY = frozenset(
    {
        "aggregation.remove-record-on-delete",
        _CHANGELOG,
        "fields.default-aggregate-function",
        "ignore-delete",
        "ignore-update-before",
        "merge-engine",
        "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group",
        "compaction.max-size-amplification-percent",
        "changelog-producer.row-deduplicate",
        "compaction.size-ratio",
        "num-sorted-run.compaction-trigger",
        "num-sorted-run.stop-trigger",
        "primary-key.nullable",
        "rowkind.field",
        "sort-engine",
        "sequence.field",
        "sequence.field.sort-order",
    }
)


class _Reader:
    """Reads one table's properties; each method answers for one option."""

    def __init__(self, schema: Schema, properties: Mapping[str, str]) -> None:
        self.schema, self.properties = schema, properties
        self.engine = option(properties, "merge-engine")
        self.key = schema.primary_key
        self.fields = tuple(c.physical for c in schema.columns if c.physical not in self.key)

    def spec(self) -> EngineSpec:
        if not self.key:
            check_unkeyed(self.properties)
            raise OptionConflict("merge-engine", "the table has no primary key")
        self._refuse_foreign_options()
        sequence, groups = self._sequence(), self._groups()
        rules = self._rules(sequence, groups)
        spec = EngineSpec(
            self.engine,
            self.key,
            self.fields,
            sequence,
            option(self.properties, "sequence.field.sort-order") == "descending",
            groups,
            rules,
            self._on("ignore-delete"),
            self._on("ignore-update-before"),
            self._on(f"{self.engine}.remove-record-on-delete")
            if self.engine in ("partial-update", "aggregation")
            else False,
            self._removing(groups),
            self._rowkind(),
            any(column.nullable for column in self.schema.columns if column.physical in self.key),
        )
        self._check_deletes(spec)
        self._check_triggers()
        return spec

    def _on(self, name: str) -> bool:
        return option(self.properties, name) == "true"

    def _column(self, name: str, label: str) -> Column:
        found = self.schema.find(label)
        if found is None:
            guess = nearest(label, self.schema.labels)
            hint = f"; did you mean '{guess}'?" if guess else ""
            raise OptionConflict(name, f"the table has no column '{label}'{hint}")
        return found

    def _columns(self, name: str, text: str) -> tuple[str, ...]:
        """The columns that a comma list names, once each."""
        labels = [part.strip() for part in text.split(",")]
        if not all(labels):
            raise InvalidOption(name, text, "a list of columns, with commas between them")
        found = tuple(self._column(name, label).physical for label in labels)
        if len(set(found)) < len(found):
            raise OptionConflict(name, "it names a column twice")
        return found

    def _of_fields(self, suffix: str) -> Iterator[tuple[str, str, str]]:
        """Full name, field and value of every `fields.<field>.<suffix>`."""
        for name, value in self.properties.items():
            found = field_option(name)
            if found and found[1].name == suffix:
                yield name, found[0], value

    def _refuse_foreign_options(self) -> None:
        """An option of another engine would be silently without effect."""
        for name, value in self.properties.items():
            of_field = field_option(name)
            suffix = of_field[1].name if of_field else ""
            owner = name.partition(".")[0]
            if owner in ("partial-update", "aggregation") and owner != self.engine and value not in ("false", ""):
                raise OptionConflict(name, f"the merge engine is '{self.engine}'")
            if suffix == "sequence-group" and self.engine != "partial-update":
                raise OptionConflict(name, "sequence groups need the merge engine 'partial-update'")
            takes_functions = self.engine in ("partial-update", "aggregation")
            if (of_field or name == "fields.default-aggregate-function") and not takes_functions:
                raise OptionConflict(name, f"the merge engine '{self.engine}' has no aggregate functions")
        if self.engine == "first-row":
            if "sequence.field" in self.properties:
                raise OptionConflict("sequence.field", "the merge engine 'first-row' keeps what arrived first")
            if self.properties.get(_CHANGELOG, "none") not in ("none", "lookup"):
                raise OptionConflict(_CHANGELOG, "the merge engine 'first-row' takes only 'none' and 'lookup'")

    def _sequence(self) -> tuple[str, ...]:
        text = option(self.properties, "sequence.field")
        if not text:
            return ()
        found = self._columns("sequence.field", text)
        for physical in found:
            if physical in self.key:
                raise OptionConflict("sequence.field", f"'{self._label(physical)}' is part of the primary key")
            self._orderable("sequence.field", physical)
        return found

    def _orderable(self, name: str, physical: str) -> None:
        column = self.schema.physical(physical)
        if column is not None and not types.is_atomic(column.type):
            raise OptionConflict(name, f"values of type {column.type} have no order")

    def _label(self, physical: str) -> str:
        column = self.schema.physical(physical)
        return column.label if column else physical

    def _groups(self) -> tuple[SequenceGroup, ...]:
        groups, owner = [], dict[str, str]()
        for name, fields, value in self._of_fields("sequence-group"):
            group = SequenceGroup(self._columns(name, fields), self._columns(name, value))
            for physical in (*group.sequence, *group.fields):
                if physical in self.key:
                    raise OptionConflict(name, f"'{self._label(physical)}' is part of the primary key")
                if physical in owner:
                    which = "twice in it" if owner[physical] == name else f"in '{owner[physical]}' too"
                    raise OptionConflict(name, f"'{self._label(physical)}' is {which}")
                owner[physical] = name
            for physical in group.sequence:
                self._orderable(name, physical)
            groups.append(group)
        return tuple(groups)

    def _rules(self, sequence: tuple[str, ...], groups: tuple[SequenceGroup, ...]) -> dict[str, FieldRule]:
        named: dict[str, str] = {}
        for name, label, function in self._of_fields("aggregate-function"):
            physical = self._column(name, label).physical
            if physical in sequence:
                raise OptionConflict(name, f"'{label}' is a sequence field, which always has its last value")
            named[physical] = function
            self._known(name, function)
        default = option(self.properties, "fields.default-aggregate-function")
        if default:
            self._known("fields.default-aggregate-function", default)
        rules = {}
        ordering = {*sequence, *(s for group in groups for s in group.sequence)}
        protected = {f for group in groups for f in group.fields}
        for physical in self.fields:
            function = named.get(physical) or default
            if self.engine == "aggregation":
                function = "last_value" if physical in ordering else function or DEFAULT_FUNCTION
            elif not function or physical in ordering:
                continue
            elif physical not in protected:
                if function != DEFAULT_FUNCTION:
                    label = self._label(physical)
                    raise OptionConflict(
                        f"fields.{label}.aggregate-function", f"'{function}' needs '{label}' in a sequence group"
                    )
                continue
            rules[physical] = self._rule(physical, function)
        self._check_field_names()
        return rules

    def _known(self, name: str, function: str) -> None:
        if function not in FUNCTIONS:
            raise InvalidOption(name, function, "one of " + ", ".join(f"'{known}'" for known in FUNCTIONS))

    def _check_field_names(self) -> None:
        for name in self.properties:
            of_field = field_option(name)
            if of_field and of_field[1].name != "sequence-group":
                self._column(name, of_field[0])

    def _field(self, label: str, suffix: str) -> tuple[str, str]:
        """Full name and value, or default, of a field's option, whatever the case it is written in."""
        for name, field_, value in self._of_fields(suffix):
            if fold(field_) == fold(label):
                return name, value
        return f"fields.{label}.{suffix}", FIELD_OPTIONS[suffix].default

    def _rule(self, physical: str, function: str) -> FieldRule:
        column = self.schema.physical(physical)
        assert column is not None
        label, entry = column.label, FUNCTIONS[function]
        if not entry.takes(column.type):
            raise OptionConflict(
                f"fields.{label}.aggregate-function",
                f"'{function}' takes {entry.types}, and '{label}' is {column.type}",
            )
        name, limit = self._field(label, "count-limit")
        if limit and not (is_number(limit) and int(limit) > 0):
            raise InvalidOption(name, limit, "a number above 0")
        nested_key = self._nested(column, "nested-key")
        nested_sequence = self._nested(column, "nested-sequence-field")
        if not nested_key and (nested_sequence or function == "nested_partial_update"):
            raise OptionConflict(
                f"fields.{label}.aggregate-function", f"'{function}' needs 'fields.{label}.nested-key'"
            )
        return FieldRule(
            function,
            self._field(label, "ignore-retract")[1] == "true",
            self._field(label, "list-agg-delimiter")[1],
            self._field(label, "distinct")[1] == "true",
            nested_key,
            nested_sequence,
            int(limit) if limit else None,
        )

    def _nested(self, column: Column, suffix: str) -> tuple[str, ...]:
        name, text = self._field(column.label, suffix)
        if not text:
            return ()
        if not (isinstance(column.type, types.Array) and isinstance(column.type.element, types.Struct)):
            raise OptionConflict(name, f"'{column.label}' is {column.type}, not an array of structs")
        inside = {fold(f.label): f.physical for f in column.type.element.fields}
        labels = [part.strip() for part in text.split(",")]
        for label in labels:
            if fold(label) not in inside:
                raise OptionConflict(name, str(NotFound("field", label, inside)).rstrip("."))
        return tuple(inside[fold(label)] for label in labels)

    def _removing(self, groups: tuple[SequenceGroup, ...]) -> frozenset[str]:
        name = "partial-update.remove-record-on-sequence-group"
        text = option(self.properties, name)
        if not text:
            return frozenset()
        found = frozenset(self._columns(name, text))
        for physical in found:
            if not any(physical in group.sequence for group in groups):
                raise OptionConflict(name, f"'{self._label(physical)}' is not a sequence field of a sequence group")
        return found

    def _rowkind(self) -> str | None:
        label = option(self.properties, "rowkind.field")
        if not label:
            return None
        column = self._column("rowkind.field", label)
        if column.type != types.STRING:
            raise OptionConflict("rowkind.field", f"'{label}' is {column.type}, and kinds are strings")
        return column.physical

    def _check_deletes(self, spec: EngineSpec) -> None:
        on_delete = f"{self.engine}.remove-record-on-delete"
        if spec.ignore_delete and spec.remove_on_delete:
            raise OptionConflict(on_delete, "'ignore-delete' drops every delete")
        if spec.ignore_delete and spec.remove_on_groups:
            raise OptionConflict("partial-update.remove-record-on-sequence-group", "'ignore-delete' drops every delete")
        if self.engine == "partial-update" and spec.remove_on_delete and spec.groups:
            raise OptionConflict(on_delete, "it does not go with sequence groups")
        if self.engine == "aggregation" and spec.remove_on_delete:
            for physical, rule in spec.rules.items():
                if rule.ignore_retract:
                    name = f"fields.{self._label(physical)}.ignore-retract"
                    raise OptionConflict(name, f"it does not go with '{on_delete}'")

    def _check_triggers(self) -> None:
        name, trigger = "num-sorted-run.stop-trigger", "num-sorted-run.compaction-trigger"
        stop, least = option(self.properties, name), option(self.properties, trigger)
        if stop and int(stop) < int(least):
            raise OptionConflict(name, f"it is below '{trigger}', which is {least}")
