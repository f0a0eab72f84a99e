"""The ledger package: streams of immutable steps, what is projected from them, and the content they name."""
