"""Which few features explain what agents do and demonstrations never do."""
