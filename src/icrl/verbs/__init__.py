"""The verbs of the command line: one file each, with what it takes and `run`.

Rooms are imported inside `run`.
"""
