"""The tests of bad input end to end, and the corpora that other tests read, too."""
