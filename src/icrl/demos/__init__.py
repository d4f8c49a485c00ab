"""Demonstrations: what they are, how they are checked, read and made."""
