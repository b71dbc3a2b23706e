"""Figures for people: statements and exports."""
