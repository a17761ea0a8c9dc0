"""listagg: texts joined with a delimiter. Blank texts are ignored; where all are blank, the first of them stands."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engines.codes import identities
from anabranch.engines.feed import Feed, Mask, Picks, gather

_WHITESPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2008\u2009\u200a\u2028\u2029\u205f\u3000"
)
"""What Java calls whitespace: no-break spaces are text."""


def listagg(feed: Feed) -> pa.Array:
    rows = feed.rows()
    said = rows[~_blank(feed.values.take(pa.array(rows)))]
    said = feed.ordered(said)
    if feed.rule.distinct:
        texts, owner = _distinct_tokens(feed, said)
    else:
        texts, owner = feed.values.take(pa.array(said)), feed.owner[said]
    offsets = np.searchsorted(owner, np.arange(feed.count + 1)).astype(np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), texts), feed.rule.delimiter)
    silent = ~feed.any(said)
    if not silent.any():
        return joined
    return pc.if_else(pa.array(silent), gather(feed.values, feed.first(feed.ordered(rows))), joined)


def _blank(texts: pa.Array) -> Mask:
    blank: Mask = pc.equal(pc.utf8_trim(texts, characters=_WHITESPACE), "").to_numpy(zero_copy_only=False)
    return blank


def _distinct_tokens(feed: Feed, rows: Picks) -> tuple[pa.Array, Picks]:
    """The first text of each segment as it is, and from the others each token that was not there before."""
    lists = pc.split_pattern(feed.values.take(pa.array(rows)), feed.rule.delimiter)
    tokens = lists.flatten()
    source = pc.list_parent_indices(lists).to_numpy()
    owner = feed.owner[rows][source]
    leading = np.zeros(len(feed.owner), dtype=bool)
    first = feed.first(rows)
    leading[first[first >= 0]] = True
    code = identities(tokens)
    place = owner * (int(code.max(initial=0)) + 1) + code
    new = np.zeros(len(tokens), dtype=bool)
    new[np.unique(place, return_index=True)[1]] = True
    kept = leading[rows[source]] | (new & ~_blank(tokens))
    return tokens.filter(pa.array(kept)), owner[kept]
