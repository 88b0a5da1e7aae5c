"""Keeps, tabulates and exports grades."""
