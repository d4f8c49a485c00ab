"""Other methods: the paper's binary classifier and GAIL-style constraint (Section 4),
and greedy inference."""
