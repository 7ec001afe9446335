"""The page of evaluations: a matrix of settings over a suite, and its results."""
