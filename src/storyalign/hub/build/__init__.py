"""Dataset folders: Parquet, a card, and the checks between rows."""
