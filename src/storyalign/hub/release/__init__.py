"""Releases to the Hub and back: checks, commits, manifests, withheld rows."""
