"""Statements: what a sentence says once its words, quantities, dates, names and negations are read."""
