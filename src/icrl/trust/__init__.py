"""How far a learned constraint can be trusted, said without the truth (docs/trust.md)."""
