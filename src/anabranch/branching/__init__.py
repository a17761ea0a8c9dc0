"""Pure: what fits together and what conflicts. Nothing here reads or writes."""
