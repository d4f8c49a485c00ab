"""Many runs: suites, sweeps, and the statistics over them."""
