"""Texts and figures for people."""
