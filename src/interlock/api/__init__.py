"""The HTTP interface: what comes in over the network reaches the runtime alone."""
