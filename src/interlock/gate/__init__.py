"""The gate package: what a proposal is, and the pure decision over it. Closed when unsure."""
