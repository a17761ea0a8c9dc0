"""MERGE INTO: `merge` drives. Clauses are bound and a strategy picked before anything is read."""
