def f = 12ab
