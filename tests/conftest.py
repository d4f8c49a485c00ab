"""This file puts `tests/` on the import path, so that test files find the oracles and the probe worlds beside it."""
