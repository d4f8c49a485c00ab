"""Runs and what comes of many: `directory` (what lies on disk), `run` (one run),
`engine` (where runs run), `suite` (many runs), `bench` (how fast)."""
