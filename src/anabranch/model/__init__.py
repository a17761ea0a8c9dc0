"""What everything is made of: frozen dataclasses without I/O. Nothing here imports Spark, Arrow or SQL."""
