-- Shortest paths between all nodes, by a loop over the nodes between (Floyd 1962).

-- sizes floyd: n=1; n=64; n=301; n=1000
entry floyd [n] (graph: [n][n]f32): [n][n]f32 =
  loop d = graph for k < n do
    tabulate_2d n n (\i j -> f32.min d[i, j] (d[i, k] + d[k, j]))

-- sizes batched: b=1,n=250; b=100,n=64; b=10000,n=16; b=3,n=5; b=1,n=17
entry batched [b][n] (graphs: [b][n][n]f32): [b][n][n]f32 =
  map (\graph -> loop d = graph for k < n do
         tabulate_2d n n (\i j -> f32.min d[i, j] (d[i, k] + d[k, j]))) graphs
