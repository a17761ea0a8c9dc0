"""sum and product. A result that does not fit its column is an error, never a wrap; on the way it may be larger.

Integers and decimals are summed in 32-bit limbs, so that no limb's sum can overflow 64 bits. Products of integers are
tried in floating point first: only those near the limits are computed exactly, one by one.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation, localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.engines.codes import decimal_words, fixed
from anabranch.engines.feed import Feed, Mask, Numbers, Picks, runs
from anabranch.errors import ValueOutOfRange

_LIMB = 32
_LOW = (1 << _LIMB) - 1
_CERTAIN = float(1 << 62)


def total(feed: Feed) -> pa.Array:
    """sum: NULLs are nothing, retracts subtract."""
    rows = feed.rows(retracts=True)
    owner = feed.owner[rows]
    starts = runs(owner)
    present = np.zeros(feed.count, dtype=bool)
    present[owner[starts]] = True
    sign = None if feed.retract is None else np.where(feed.retract[rows], -1, 1)
    values = feed.values.take(pa.array(rows))
    type_ = values.type
    if pa.types.is_decimal(type_):
        return _decimal_sums(feed, values, sign, starts, present)
    numbers = fixed(values)
    if pa.types.is_floating(type_):
        signed = numbers.astype(np.float64) * (1 if sign is None else sign)
        return _placed(np.add.reduceat(signed, starts) if len(rows) else signed, present, type_)
    return _placed(_integer_sums(feed, numbers.astype(np.int64), sign, starts), present, type_)


def _placed(results: Numbers, present: Mask, type_: pa.DataType) -> pa.Array:
    """One value for each segment, NULL where nothing is present."""
    values = np.zeros(len(present), dtype=type_.to_pandas_dtype())
    values[present] = results.astype(values.dtype)
    return pa.array(values, type=type_, mask=~present)


def _refuse(feed: Feed, what: str) -> None:
    raise ValueOutOfRange(feed.column, feed.values.type, f"overflow of its {what}")


def _integer_sums(feed: Feed, numbers: Numbers, sign: Numbers | None, starts: Picks) -> Numbers:
    if not len(numbers):
        return numbers
    limbs = [numbers & _LOW, numbers >> _LIMB]
    low, high = (np.add.reduceat(limb if sign is None else limb * sign, starts) for limb in limbs)
    high, low = high + (low >> _LIMB), low & _LOW
    bits = feed.values.type.bit_width
    if bool(np.any((high < -(1 << 31)) | (high >= 1 << 31))):
        _refuse(feed, "sum")
    sums = (high << _LIMB) | low
    if bits < 64 and bool(np.any((sums < -(1 << (bits - 1))) | (sums >= 1 << (bits - 1)))):
        _refuse(feed, "sum")
    return np.asarray(sums)


def _decimal_sums(feed: Feed, values: pa.Array, sign: Numbers | None, starts: Picks, present: Mask) -> pa.Array:
    type_ = values.type
    low, high = decimal_words(values)
    limbs = [low & _LOW, low >> np.uint64(_LIMB), high & _LOW, high >> _LIMB]
    words = np.zeros((len(present), 2), dtype=np.int64)
    if len(starts):
        sums = []
        carry: Any = 0
        for limb in limbs:
            whole = limb.astype(np.int64)
            summed = np.add.reduceat(whole if sign is None else whole * sign, starts) + carry
            sums.append(summed & _LOW)
            carry = summed >> _LIMB
        # `carry` is what is left above 128 bits: the sign alone, if the sum fits.
        words[present, 0] = sums[0] | (sums[1] << _LIMB)
        words[present, 1] = sums[2] | (sums[3] << _LIMB)
        if bool(np.any(carry != (words[present, 1] >> 63))) or bool(np.any(_beyond(words[present], type_.precision))):
            _refuse(feed, "sum")
    validity = pa.array(present).buffers()[1]
    return pa.Array.from_buffers(type_, len(present), [validity, pa.py_buffer(words)], int(np.sum(~present)))


def _beyond(words: Numbers, precision: int) -> Mask:
    """Which 128-bit numbers have more digits than `precision`."""
    bound = 10**precision
    low, high = words[:, 0].view(np.uint64), words[:, 1]

    def less(than: int) -> Mask:
        top, bottom = than >> 64, np.uint64(than & ((1 << 64) - 1))
        return np.asarray((high < top) | ((high == top) & (low < bottom)))

    return ~less(bound) | less(1 - bound)


def product(feed: Feed) -> pa.Array:
    """product: NULLs are nothing, retracts divide, and leave NULL where nothing was multiplied."""
    type_ = feed.values.type
    rows = feed.rows(retracts=True)
    owner = feed.owner[rows]
    starts = runs(owner)
    exactly = np.zeros(len(starts), dtype=bool)
    if feed.retract is not None and len(rows):
        exactly = np.logical_or.reduceat(feed.retract[rows], starts)
    values = feed.values.take(pa.array(rows))
    if pa.types.is_decimal(type_):
        exactly[:] = True
        results: Numbers = np.empty(len(starts), dtype=object)
    elif not len(rows):
        results = np.zeros(0)
    else:
        numbers = fixed(values)
        with np.errstate(over="ignore", invalid="ignore"):
            floating = np.multiply.reduceat(numbers.astype(np.float64), starts)
            results = floating
            if not pa.types.is_floating(type_):
                results = np.multiply.reduceat(numbers.astype(np.int64), starts)
                exactly |= ~(np.abs(floating) < _CERTAIN)
    results = results.astype(object) if exactly.any() else results
    ends = np.append(starts, len(rows))
    for segment in np.flatnonzero(exactly):
        # Only products near the limits, of decimals, or with retracts, where each step rounds.
        part = slice(ends[segment], ends[segment + 1])
        taken = feed.retract[rows[part]] if feed.retract is not None else np.zeros(part.stop - part.start, dtype=bool)
        results[segment] = _product(feed, values[part].to_pylist(), taken)
    return _products(feed, results, owner[starts])


def _product(feed: Feed, values: list[Any], taken: Mask) -> Any:
    """Step by step, as the record that came first is multiplied by the next."""
    result: Any = None
    for value, retracts in zip(values, taken, strict=True):
        if result is None:
            result = None if retracts else value
        elif isinstance(value, Decimal):
            result = _rounded(feed, result, value, divide=bool(retracts))
        elif not retracts:
            result = result * value
        elif isinstance(value, float):
            result = (
                float(np.divide(result, value))
                if value
                else math.nan
                if not result
                else math.copysign(math.inf, result)
            )
        elif value == 0:
            raise ValueOutOfRange(feed.column, feed.values.type, "a retract divides its product by 0")
        else:
            quotient = abs(result) // abs(value)
            result = quotient if (result < 0) == (value < 0) else -quotient
    return result


def _rounded(feed: Feed, result: Decimal, value: Decimal, *, divide: bool) -> Decimal:
    type_ = feed.values.type
    with localcontext(Context(prec=80, rounding=ROUND_HALF_UP)):
        if divide and not value:
            raise ValueOutOfRange(feed.column, type_, "a retract divides its product by 0")
        exact = result / value if divide else result * value
        try:
            rounded = exact.quantize(Decimal(1).scaleb(-type_.scale))
        except InvalidOperation:
            rounded = exact
        if abs(rounded) >= Decimal(10) ** (type_.precision - type_.scale):
            _refuse(feed, "product")
    return rounded


def _products(feed: Feed, results: Numbers, owner: Picks) -> pa.Array:
    type_ = feed.values.type
    if results.dtype != object:
        if pa.types.is_integer(type_) and type_.bit_width < 64:
            limit = 1 << (type_.bit_width - 1)
            if bool(np.any((results < -limit) | (results >= limit))):
                _refuse(feed, "product")
        present = np.zeros(feed.count, dtype=bool)
        present[owner] = True
        return _placed(results, present, type_)
    every: Numbers = np.full(feed.count, None, dtype=object)
    every[owner] = results
    try:
        return pa.array(every, type=type_, from_pandas=False)
    except (pa.ArrowInvalid, OverflowError):
        _refuse(feed, "product")
        raise
