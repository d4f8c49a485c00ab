"""The forward step: an agent trained under a given cost (Section 3.3 of the paper)."""
