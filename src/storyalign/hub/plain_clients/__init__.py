"""Scripts that load a release back the way its users do: they import the public libraries and nothing of the kit.

Each is run by its path in a process of its own, takes JSON as its one argument and prints JSON on its last line.
"""
