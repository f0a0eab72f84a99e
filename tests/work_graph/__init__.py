"""Tests of work graphs as values: reading, admission, and what is to be done next."""
