def kernels (x: f64) = map (\k -> k x) [\t -> f64.exp (-t), \t -> 1 / (1 + t)]
