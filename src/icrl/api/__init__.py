"""In Python what the verbs of the command line do: `icrl.run`, `evaluate`, `explain`, `suite`.

Each returns what it found; the verbs print it.
"""
