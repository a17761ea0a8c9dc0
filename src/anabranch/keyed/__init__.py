"""Keyed tables without files: the order of keys, sections and runs, sorted merge, superseded rows, what to compact."""
