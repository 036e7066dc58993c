-- The words of a text that read the same backwards.
--
-- What to look at: words have different lengths, and a word is decided when two letters differ;
-- without nests, all pairs of all words are compared.
-- ==
-- entry: main by_hand
-- input { "anna met otto and a  fox" }
-- output { [true, false, true, false, true, false] }
-- input { "" }
-- output { empty([0]bool) }
-- input { " level" }
-- output { [true] }
-- script input { text ($ragged "50 geometric 64") }
-- auto output
-- "short" notest script input { text ($ragged "1000000 uniform 8") }
-- "mixed" notest script input { text ($ragged "100000 power 100000") }

import "lib/segments"

-- Words of given lengths with a blank behind each; they read the same backwards, but some do not.
def text [w] (len: [w]i64): []u8 =
  map (\(i, j) -> if j == len[i] then ' '
                  else u8.i64 (97 + i64.min j (len[i] - 1 - j + i64.bool (i % 5 == 0)) % 26))
      (expand (map (+ 1) len))

-- The first letter of each word, and the number of its letters.
def words [c] (text: [c]u8): ?[w].([w]i64, [w]i64) =
  let letter i = i >= 0 && i < c && text[i] != ' '
  let [w] (first: [w]i64) = filter (\i -> letter i && !(letter (i - 1))) (iota c)
  let last = filter (\i -> letter i && !(letter (i + 1))) (iota c)
  in (first, map2 (\a b -> b - a + 1) first (sized w last))

entry main [c] (text: [c]u8): []bool =
  let (start, len) = words text
  in map2 (\o l -> all (\j -> text[o + j] == text[o + l - 1 - j]) (iota (l / 2))) start len

entry by_hand [c] (text: [c]u8): []bool =
  let (start, len) = words text
  let pairs = map (/ 2) len
  let (rows, places) = unzip (expand pairs)
  let equal = map2 (\i j -> text[start[i] + j] == text[start[i] + len[i] - 1 - j]) rows places
  in segmented_reduce (&&) true pairs places equal
