"""Shapes: small worlds of many kinds of rules, each with features in honest units, a scripted
expert and the truth."""
