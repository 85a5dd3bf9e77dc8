"""The version of the kit; it stands in every signature and card."""

__version__ = "0.1.0"
