"""The model package: providers behind one neutral form of request and answer."""
