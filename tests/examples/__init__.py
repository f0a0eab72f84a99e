"""Tests of the examples: runnable companies that users start from."""
