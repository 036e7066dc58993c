def both (x: i32): bool = x > 0 andalso x < 3
def three: i32 = 3
def four = three () + 1
def text = "ab" ^ "cd"
def strict [n] (xs: [n]i32): i32 = foldl' (+) 0 xs
def pairs [n] (xs: [n]i32) (ys: [n]i32) = map2 (,) xs ys
def sign (x: i32): i32
  | x > 0 = 1
  | otherwise = 0
def sum2 (x: i32): i32 =
  let a = x
  and b = x + 1
  in a + b
module M = struct
  def one = 1i32
end
