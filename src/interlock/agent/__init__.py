"""The agent package: declarations, and what is checked when one is published. Nothing here runs anything."""
