"""Small worlds where everything is exact: MaxEnt quantities and greedy
constraint inference (Section 3.1)."""
