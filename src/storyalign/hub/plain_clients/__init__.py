"""Clients that load a release back the way its users do: they import the public libraries and nothing of the kit.

``several.py`` runs them in a process of its own.
"""
