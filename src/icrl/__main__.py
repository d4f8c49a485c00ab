"""`python -m icrl` is the `icrl` command."""

from icrl.cli import main

main()
