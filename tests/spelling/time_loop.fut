-- Steps of a diffusion along a line whose ends stay as they are.

def new (left: f32) (centre: f32) (right: f32): f32 = 0.25 * left + 0.5 * centre + 0.25 * right

entry indices [n] (steps: i64) (xs: [n]f32): [n]f32 =
  loop xs for _i < steps do
    tabulate n (\i -> new xs[i64.max 0 (i - 1)] xs[i] xs[i64.min (n - 1) (i + 1)])

entry mapped_indices [n] (steps: i64) (xs: [n]f32): [n]f32 =
  loop xs for _i < steps do
    map2 (\i x -> new xs[i64.max 0 (i - 1)] x xs[i64.min (n - 1) (i + 1)]) (iota n) xs

entry shifted_arrays [n] (steps: i64) (xs: [n]f32): [n]f32 =
  loop xs for _i < steps do
    let left = map (\i -> xs[i64.max 0 (i - 1)]) (iota n)
    let right = map (\i -> xs[i64.min (n - 1) (i + 1)]) (iota n)
    in map3 new left xs right

entry branches [n] (steps: i64) (xs: [n]f32): [n]f32 =
  loop xs for _i < steps do
    tabulate n (\i -> new (if i == 0 then xs[0] else xs[i - 1]) xs[i]
                          (if i == n - 1 then xs[n - 1] else xs[i + 1]))

entry counted [n] (steps: i64) (xs: [n]f32): [n]f32 =
  let (xs, _) = loop (xs, i) = (xs, 0) while i < steps do
    (tabulate n (\i -> new xs[i64.max 0 (i - 1)] xs[i] xs[i64.min (n - 1) (i + 1)]), i + 1)
  in xs

entry of_records [n] (steps: i64) (xs: [n]f32): [n]f32 =
  let state = loop state = {cells = xs} for _i < steps do
    let xs = state.cells
    let rows = map (\i -> {left = i64.max 0 (i - 1), right = i64.min (n - 1) (i + 1)}) (iota n)
    in {cells = map2 (\row x -> new xs[row.left] x xs[row.right]) rows xs}
  in state.cells

entry zipped [n] (steps: i64) (xs: [n]f32): [n]f32 =
  loop xs for _i < steps do
    let left = map (\i -> xs[i64.max 0 (i - 1)]) (iota n)
    let right = map (\i -> xs[i64.min (n - 1) (i + 1)]) (iota n)
    in map (\(l, c, r) -> new l c r) (zip3 left xs right)
