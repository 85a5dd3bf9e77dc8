"""Shortcuts and surface cues: what a scorer may be exploiting."""
