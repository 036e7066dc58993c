def steps [n] (links: *[n]i64): i64 =
  let (_, _, count) =
    loop (cells, at, count) = (links, 0, 0) while links[at] >= 0 do
      let next = cells[at]
      let cells[at] = -1
      in (cells, next, count + 1)
  in count
