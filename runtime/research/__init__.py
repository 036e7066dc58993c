"""Parts for research: comparisons of strategies, algorithms to the letter, T4, Dask."""
