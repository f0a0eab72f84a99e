"""The scope package: where data may be. Values only; nothing here reads or writes anything."""
