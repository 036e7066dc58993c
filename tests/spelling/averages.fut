-- Moving averages of five neighbours inside of rows.

entry slices [n][m] (xss: [n][m]f32): [n][]f32 =
  map (\xs -> tabulate (m - 4) (\j -> f32.sum (xs[j:j + 5] :> [5]f32) / 5)) xss

entry indices [n][m] (xss: [n][m]f32): [n][]f32 =
  tabulate_2d n (m - 4) (\i j -> f32.sum (tabulate 5 (\k -> xss[i, j + k])) / 5)

entry windows [n][m] (xss: [n][m]f32): [n][]f32 =
  let windows = map (\xs -> tabulate (m - 4) (\j -> xs[j:j + 5] :> [5]f32)) xss
  in map (map (\w -> reduce (+) 0 w / 5)) windows

entry shifted [n][m] (xss: [n][m]f32): [n][]f32 =
  let part (k: i64) (xs: [m]f32) = xs[k:k + (m - 4)] :> [m - 4]f32
  in map (\xs -> map5 (\a b c d e -> (a + b + c + d + e) / 5)
                      (part 0 xs) (part 1 xs) (part 2 xs) (part 3 xs) (part 4 xs)) xss

entry written_out [n][m] (xss: [n][m]f32): [n][]f32 =
  map (\xs -> map (\j -> (xs[j] + xs[j + 1] + xs[j + 2] + xs[j + 3] + xs[j + 4]) / 5)
                  (iota (m - 4))) xss

entry flat_points [n][m] (xss: [n][m]f32): [n][]f32 =
  unflatten (tabulate (n * (m - 4)) (\p ->
    let i = p / (m - 4)
    let j = p % (m - 4)
    in f32.sum (tabulate 5 (\k -> xss[i, j + k])) / 5))

entry looped_in_point [n][m] (xss: [n][m]f32): [n][]f32 =
  tabulate_2d n (m - 4) (\i j -> (loop s = 0 for k < 5 do s + xss[i, j + k]) / 5)

entry shifted_matrices [n][m] (xss: [n][m]f32): [n][]f32 =
  let part (k: i64) = xss[:, k:k + (m - 4)] :> [n][m - 4]f32
  let add = map2 (map2 (+))
  let sums = add (add (add (add (part 0) (part 1)) (part 2)) (part 3)) (part 4)
  in map (map (/ 5)) sums
