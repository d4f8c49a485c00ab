"""Methods that learn a constraint, and the agents they are compared with: one record each."""
