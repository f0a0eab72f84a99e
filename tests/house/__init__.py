"""The house tests: they keep the project tidy, its words complete in both languages, and its pages true."""
