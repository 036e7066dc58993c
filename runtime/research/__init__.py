"""What only research needs: comparisons of strategies, algorithms to the letter, T4, Dask."""
