"""The perspective package: how a prompt is put together from one agent's view, and kept as it left."""
