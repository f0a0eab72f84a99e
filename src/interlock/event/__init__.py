"""The event package: what an event carries, who hears it, and how far a chain of events may go. Pure."""
