"""Runs, suites of runs, and the statistics over them."""
