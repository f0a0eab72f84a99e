"""The form package: what people write in files, read field by field, with every problem and its place."""
