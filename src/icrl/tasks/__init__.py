"""Tasks: simulators with a known reward, named features,
and (for the evaluator alone) a true constraint."""
