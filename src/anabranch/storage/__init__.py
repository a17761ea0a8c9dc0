"""Files: where they are, how rows become Parquet and come back. Nothing above knows which file system it is."""
