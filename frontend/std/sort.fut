-- Sorting.  All functions are stable: equal elements keep their order.
--
-- Arrays of numbers are sorted by radix, in time proportional to their length.  Functions that take
-- an order merge, in time n log n.

-- Elements that one work-item sorts or merges.
local def run: i64 = 32

-- Elements whose digits one work-item counts.
local def chunk: i64 = 1024

-- Each run of elements sorted, by insertion.
local def sorted_runs 'a [n] (leq: a -> a -> bool) (xs: [n]a): [n]a =
  let m = (n + run - 1) / run
  let sorted = tabulate m (\c ->
                 let start = c * run
                 let own = #[sequential] tabulate run (\i -> xs[i64.min (start + i) (n - 1)])
                 in loop own for i < i64.min run (n - start) do
                      let x = copy own[i]
                      let (own, j) =
                        loop (own, j) = (own, i) while j > 0 && !(leq own[j - 1] x) do
                          let y = copy own[j - 1]
                          in (own with [j] = y, j - 1)
                      in own with [j] = x)
  in take n (flatten sorted)

-- How many of the first k merged elements are from xs[a:b], where xs[b:c] is the other array.
local def split_of 'a [n] (leq: a -> a -> bool) (xs: [n]a) (a: i64) (b: i64) (c: i64)
                          (k: i64): i64 =
  let (low, _) =
    loop (low, high) = (i64.max 0 (k - (c - b)), i64.min k (b - a)) while low < high do
      let i = (low + high) / 2
      in if leq xs[a + i] xs[b + k - i - 1] then (i + 1, high) else (low, i)
  in low

-- Neighbours of sorted arrays, `width` long each, merged.
local def merged 'a [n] (leq: a -> a -> bool) (width: i64) (xs: [n]a): [n]a =
  let m = (n + run - 1) / run
  let pieces =
    #[unsafe] tabulate m (\p ->
                            let a = p * run / (2 * width) * (2 * width)
                            let b = i64.min n (a + width)
                            let c = i64.min n (a + 2 * width)
                            let start = split_of leq xs a b c (p * run - a)
                            let own = #[sequential] tabulate run (\_ -> xs[0])
                            let (own, _, _) =
                              loop (own, i, j) = (own, a + start, b + p * run - a - start)
                              for k < i64.min run (n - p * run) do
                                let x = xs[i64.min i (n - 1)]
                                let y = xs[i64.min j (n - 1)]
                                let first = j >= c || (i < b && leq x y)
                                let own = own with [k] = if first then x else y
                                in (own, i + i64.bool first, j + i64.bool (!first))
                            in own)
  in take n (flatten pieces)

-- | The elements in ascending order: `x <= y` says whether x may stand before y.
--
-- >>> sort (<=) [3, 1, 2]
-- [1, 2, 3]
def sort 'a [n] (leq: a -> a -> bool) (xs: [n]a): [n]a =
  let (sorted, _) =
    loop (xs, width) = (sorted_runs leq xs, run) while width < n do
      (merged leq width xs, 2 * width)
  in sorted

-- | The elements in ascending order of their keys.
--
-- >>> sort_by_key (.0) (<=) [(2, 10), (1, 20)]
-- [(1, 20), (2, 10)]
def sort_by_key 'a 'k [n] (key: a -> k) (leq: k -> k -> bool) (xs: [n]a): [n]a =
  sort (\x y -> leq (key x) (key y)) xs

-- | The places of the elements in ascending order: `map (\i -> xs[i])` of it sorts.
--
-- >>> argsort (<=) [3, 1, 2]
-- [1, 2, 0]
def argsort 'a [n] (leq: a -> a -> bool) (xs: [n]a): [n]i64 =
  map (.1) (sort_by_key (.0) leq (zip xs (iota n)))

-- Elements in ascending order of the given eight bits of their keys.
local def radix_pass 'a [n] (key: a -> u64) (shift: i32) (xs: [n]a): [n]a =
  let m = (n + chunk - 1) / chunk
  let digit x = i64.u64 ((key x >> u64.i32 shift) & 255)
  let counts = tabulate m (\c ->
                 loop own =
                     #[sequential] replicate 256 0i32 for i < i64.min chunk (n - c * chunk) do
                   let d = digit xs[c * chunk + i]
                   in own with [d] = own[d] + 1)
  let flat = flatten (transpose counts)
  let starts = transpose (unflatten (map2 (-) (scan (+) 0 flat) flat))
  let places = tabulate m (\c ->
                 let (_, own) =
                   loop (next, own) = (copy starts[c], #[sequential] replicate chunk (-1i32))
                   for i < i64.min chunk (n - c * chunk) do
                     let d = digit xs[c * chunk + i]
                     let place = next[d]
                     in (next with [d] = place + 1, own with [i] = place)
                 in own)
  in scatter (copy xs) (map i64.i32 (take n (flatten places))) xs

-- | The elements in ascending order of the lowest bits of their keys, which are unsigned integers.
--
-- >>> radix_sort_by_key 8 (\x -> u64.i32 x) [3i32, 1, 2]
-- [1, 2, 3]
def radix_sort_by_key 'a [n] (bits: i32) (key: a -> u64) (xs: [n]a): [n]a =
  loop xs for round < (bits + 7) / 8 do radix_pass key (8 * round) xs

-- Keys that are in the order of the numbers: of floats, NaN is the greatest, and -0 is 0.
local def key_i32 (x: i32): u64 = u64.u32 (u32.i32 x ^ 0x80000000)
local def key_u32 (x: u32): u64 = u64.u32 x
local def key_i64 (x: i64): u64 = u64.i64 x ^ 0x8000000000000000
local def key_f32 (x: f32): u64 =
  let b = if f32.isnan x then 0x7fffffff else f32.to_bits (x + 0)
  in u64.u32 (if b >> 31 == 1 then !b else b | 0x80000000)
local def key_f64 (x: f64): u64 =
  let b = if f64.isnan x then 0x7fffffffffffffff else f64.to_bits (x + 0)
  in if b >> 63 == 1 then !b else b | 0x8000000000000000

local def radix_argsort 'a [n] (bits: i32) (key: a -> u64) (xs: [n]a): [n]i64 =
  map (.1) (radix_sort_by_key bits (.0) (zip (map key xs) (iota n)))

-- | The numbers in ascending order.
--
-- >>> sort_i32 [3i32, -1, 2]
-- [-1, 2, 3]
def sort_i32 [n] (xs: [n]i32): [n]i32 = radix_sort_by_key 32 key_i32 xs

-- | The numbers in ascending order.
--
-- >>> sort_u32 [3u32, 1, 2]
-- [1u32, 2u32, 3u32]
def sort_u32 [n] (xs: [n]u32): [n]u32 = radix_sort_by_key 32 key_u32 xs

-- | The numbers in ascending order.
--
-- >>> sort_i64 [3i64, -1, 2]
-- [-1i64, 2i64, 3i64]
def sort_i64 [n] (xs: [n]i64): [n]i64 = radix_sort_by_key 64 key_i64 xs

-- | The numbers in ascending order, with NaN at the end.
--
-- >>> sort_f32 [3f32, -1, 2]
-- [-1.0f32, 2.0f32, 3.0f32]
def sort_f32 [n] (xs: [n]f32): [n]f32 = radix_sort_by_key 32 key_f32 xs

-- | The numbers in ascending order, with NaN at the end.
--
-- >>> sort_f64 [3f64, -1, 2]
-- [-1.0f64, 2.0f64, 3.0f64]
def sort_f64 [n] (xs: [n]f64): [n]f64 = radix_sort_by_key 64 key_f64 xs

-- | The places of the numbers in ascending order.
--
-- >>> argsort_i32 [3i32, 1, 2]
-- [1, 2, 0]
def argsort_i32 [n] (xs: [n]i32): [n]i64 = radix_argsort 32 key_i32 xs

-- | The places of the numbers in ascending order.
--
-- >>> argsort_u32 [3u32, 1, 2]
-- [1, 2, 0]
def argsort_u32 [n] (xs: [n]u32): [n]i64 = radix_argsort 32 key_u32 xs

-- | The places of the numbers in ascending order.
--
-- >>> argsort_i64 [3i64, 1, 2]
-- [1, 2, 0]
def argsort_i64 [n] (xs: [n]i64): [n]i64 = radix_argsort 64 key_i64 xs

-- | The places of the numbers in ascending order.
--
-- >>> argsort_f32 [3f32, 1, 2]
-- [1, 2, 0]
def argsort_f32 [n] (xs: [n]f32): [n]i64 = radix_argsort 32 key_f32 xs

-- | The places of the numbers in ascending order.
--
-- >>> argsort_f64 [3f64, 1, 2]
-- [1, 2, 0]
def argsort_f64 [n] (xs: [n]f64): [n]i64 = radix_argsort 64 key_f64 xs

-- | Whether no element stands before one that must stand in front of it.
--
-- >>> is_sorted (<=) [1, 2, 2]
-- true
def is_sorted 'a [n] (leq: a -> a -> bool) (xs: [n]a): bool =
  all (\i -> leq xs[i] xs[i + 1]) (iota (i64.max 0 (n - 1)))

-- | The number of elements of a sorted array that are before x; there x can be inserted.
--
-- >>> lower_bound (<=) [1, 3, 3, 5] 3
-- 1
def lower_bound 'a [n] (leq: a -> a -> bool) (xs: [n]a) (x: a): i64 =
  let (low, _) =
    loop (low, high) = (0, n) while low < high do
      let middle = (low + high) / 2
      in if leq x xs[middle] then (low, middle) else (middle + 1, high)
  in low

-- | The number of elements of a sorted array that are before x or equal to it.
--
-- >>> upper_bound (<=) [1, 3, 3, 5] 3
-- 3
def upper_bound 'a [n] (leq: a -> a -> bool) (xs: [n]a) (x: a): i64 =
  let (low, _) =
    loop (low, high) = (0, n) while low < high do
      let middle = (low + high) / 2
      in if leq xs[middle] x then (middle + 1, high) else (low, middle)
  in low

-- | Of neighbours that are equal, the first; of a sorted array, each value once.
--
-- >>> unique (==) [1, 1, 2, 3, 3]
-- [1, 2, 3]
def unique 'a [n] (equal: a -> a -> bool) (xs: [n]a): []a =
  map (\i -> xs[i]) (filter (\i -> i == 0 || !(equal xs[i - 1] xs[i])) (iota n))
