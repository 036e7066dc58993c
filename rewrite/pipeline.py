"""tmp"""
def optimise(p, names): return p
def clean(p, names): return p
