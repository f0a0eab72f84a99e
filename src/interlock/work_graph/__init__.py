"""A work graph: the parts of one run's work, what each needs of the others, and what is to be done next (WG-1)."""
