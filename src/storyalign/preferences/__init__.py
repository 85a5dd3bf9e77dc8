"""Building preference pairs."""
