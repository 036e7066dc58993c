def numbers: []i32 = [1; 2; 3]
def diagonal [n] (a: [n][n]f32): [n]f32 = map (\i -> a[i; i]) (iota n)
def lambda [n] (ps: [n](i32, i32)): [n]i32 = map (\x, y -> x + y) ps
def last (x: i32): i32 = match x case 0 -> 1 default -> 2
def open_ended (n: i64): []i64 = 1..n
def sizes (xs: [n]i32)[n] = xs
def slice (xs: [:]f32): f32 = xs[0]
def inner (x: i32): i32 =
  type t = i32
  in x
def counter (x: i32) = for (int i = 0; i < x; i++) x
@noinline
def attribute (x: i32): i32 = x
import "std/sort" as s
