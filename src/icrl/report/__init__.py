"""Figures and pages made from run directories."""
