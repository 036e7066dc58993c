import "std/sort"

def sorted [n] (xs: [n]f32): [n]f32 = sort xs

def places [n] (xs: [n]i32): [n]i64 = argsort xs

def kinds [n] (xs: [n]i32): []i32 = unique xs

def by_key [n] (ks: [n]i32) (vs: [n]f32): [n](i32, f32) = sort_by_key (.0) (zip ks vs)

-- Tuples have no order.
def pairs [n] (xs: [n](f32, i32)): [n](f32, i32) = sort xs
