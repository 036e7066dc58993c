-- Random numbers by counting: number i of a seed does not depend on the others, so all of them are
-- made at once, and one seed gives the same numbers on any device.
--
-- Source of the generator: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2,
-- 3, SC 2011.  It is Philox with four words of 64 bits and ten rounds, the one of NumPy:
-- `uniform_f64 n seed` are the numbers of `Generator(Philox(key=seed)).random(n)`.

import "sort"

-- | The four random words of a counter and a key (Philox 4x64-10).
--
-- >>> let (word, _, _, _) = philox (0, 0, 0, 0) (0, 0) in word
-- 1609277786247541068u64
def philox (counter: (u64, u64, u64, u64)) (key: (u64, u64)): (u64, u64, u64, u64) =
  let (m0, m1) = (0xD2E7470EE14C6C93u64, 0xCA5A826395121157u64)
  let ((a, b, c, d), _) =
    loop ((a, b, c, d), (k, l)) = (counter, key) for _i < 10i32 do
      ((u64.mul_hi m1 c ^ b ^ k, m1 * c, u64.mul_hi m0 a ^ d ^ l, m0 * a),
       (k + 0x9E3779B97F4A7C15, l + 0xBB67AE8584CAA73B))
  in (a, b, c, d)

-- | Number i of the random words of a seed.
--
-- >>> random_word 7 0 == (random_words 3 7)[0]
-- true
def random_word (seed: u64) (i: i64): u64 =
  let (a, b, c, d) = philox (u64.i64 (i / 4) + 1, 0, 0, 0) (seed, 0)
  let k = i % 4
  in if k == 0 then a else if k == 1 then b else if k == 2 then c else d

-- | The first n random words of a seed, 64 bits each.
--
-- >>> length (random_words 3 7)
-- 3
def random_words (n: i64) (seed: u64): [n]u64 =
  let blocks = tabulate ((n + 3) / 4) (\i ->
                 let (a, b, c, d) = philox (u64.i64 i + 1, 0, 0, 0) (seed, 0)
                 in [a, b, c, d])
  in take n (flatten blocks)

-- | The seed of a part k of a computation, whose numbers have nothing to do with those of others.
--
-- >>> split_seed 7 0 == split_seed 7 1
-- false
def split_seed (seed: u64) (k: i64): u64 =
  let (word, _, _, _) = philox (u64.i64 k, 0, 0, 1) (seed, 0)
  in word

local def part_f64 (word: u64): f64 = f64.u64 (word >> 11) * (1 / 9007199254740992)
local def part_f32 (word: u64): f32 = f32.u64 (word >> 40) * (1 / 16777216)

-- | n numbers between 0 and 1, without 1, all equally likely.
--
-- >>> map (<= 1) (uniform_f64 2 7)
-- [true, true]
def uniform_f64 (n: i64) (seed: u64): [n]f64 = map part_f64 (random_words n seed)

-- | n numbers between 0 and 1, without 1, all equally likely.
--
-- >>> map (<= 1) (uniform_f32 2 7)
-- [true, true]
def uniform_f32 (n: i64) (seed: u64): [n]f32 = map part_f32 (random_words n seed)

-- | n integers from low to high, without high, all equally likely.
--
-- >>> uniform_i64 0 1 3 7
-- [0i64, 0i64, 0i64]
def uniform_i64 (low: i64) (high: i64) (n: i64) (seed: u64): [n]i64 =
  map (\word -> low + i64.u64 (u64.mul_hi word (u64.i64 (high - low)))) (random_words n seed)

-- Two normal numbers from two words (Box and Muller 1958).
local def normal_pair (v: u64, w: u64): (f64, f64) =
  let radius = f64.sqrt (-2 * f64.log (1 - part_f64 v))
  let angle = 2 * f64.pi * part_f64 w
  in (radius * f64.cos angle, radius * f64.sin angle)

-- | n normal numbers, with mean 0 and deviation 1.
--
-- >>> length (normal_f64 3 7)
-- 3
def normal_f64 (n: i64) (seed: u64): [n]f64 =
  let pairs = tabulate ((n + 1) / 2) (\i ->
                let (x, y) = normal_pair (random_word seed (2 * i), random_word seed (2 * i + 1))
                in [x, y])
  in take n (flatten pairs)

-- | n normal numbers, with mean 0 and deviation 1, computed by f64.
--
-- >>> length (normal_f32 3 7)
-- 3
def normal_f32 (n: i64) (seed: u64): [n]f32 = map f32.f64 (normal_f64 n seed)

-- | n waiting times with mean 1 between events at any time.
--
-- >>> map (>= 0) (exponential_f64 2 7)
-- [true, true]
def exponential_f64 (n: i64) (seed: u64): [n]f64 =
  map (\x -> -f64.log (1 - x)) (uniform_f64 n seed)

-- | n times true or false: true with a probability.
--
-- >>> bernoulli 1 2 7
-- [true, true]
def bernoulli (probability: f64) (n: i64) (seed: u64): [n]bool =
  map (< probability) (uniform_f64 n seed)

-- | The numbers 0 to n - 1 in an order of which all are equally likely.
--
-- >>> length (permutation 3 7)
-- 3
def permutation (n: i64) (seed: u64): [n]i64 =
  map (.1) (radix_sort_by_key 64 (.0) (zip (random_words n seed) (iota n)))

-- | The elements in an order of which all are equally likely.
--
-- >>> shuffle 7 [5, 5]
-- [5, 5]
def shuffle 'a [n] (seed: u64) (xs: [n]a): [n]a = map (\i -> xs[i]) (permutation n seed)

-- | k of the elements, each of them at any time with one probability.
--
-- >>> choice 2 7 [5]
-- [5, 5]
def choice 'a [n] (k: i64) (seed: u64) (xs: [n]a): [k]a =
  map (\i -> xs[i]) (uniform_i64 0 n k seed)
