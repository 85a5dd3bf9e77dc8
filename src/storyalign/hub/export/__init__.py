"""The datasets in the formats of other tools."""
