"""The paper's two baselines: a binary classifier and a GAIL-style constraint (Section 4)."""
