"""Samples of an evaluation on the workers of a Dask cluster."""
