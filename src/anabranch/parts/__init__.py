"""Which parts stand for which: rewrites and what they cover."""
