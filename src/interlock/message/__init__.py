"""How agents talk: messages, tasks, hand-offs, decisions and results."""
