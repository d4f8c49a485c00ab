"""Reading a constraint: short rules over named features, and slices through ζ.

NumPy only, and without the truth.
"""
