"""The run package: the fold of a trail, the next move, and the worker that makes it."""
