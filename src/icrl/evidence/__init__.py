"""Which trajectories need explaining, and how much (fidelity F15; docs/decisions/0017)."""
