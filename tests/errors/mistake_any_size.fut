type csr = {values: []f32, starts: []i64}
def f (a: csr) = a.values
