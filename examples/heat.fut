-- Heat in a rod that is not the same everywhere, and what its misfit says about start and material.
--
-- What to look at: the return sweep is the adjoint equation, backwards in time.  Each step is not
-- linear in the conductivity, so the loop keeps its states: `#[stripmine(1)]` keeps checkpoints.
-- ==
-- random input { 7i64 [11]f64 [11]f64 [11]f64 }
-- auto output
-- "small" notest random input { 200i64 [4096]f64 [4096]f64 [4096]f64 }
-- "large" notest random input { 400i64 [100000]f64 [100000]f64 [100000]f64 }

def flow [n] (conductivity: [n]f64) (heat: [n]f64): [n]f64 =
  tabulate n (\i -> if i + 1 < n then conductivity[i] * (heat[i + 1] - heat[i]) else 0)

def later [n] (steps: i64) (conductivity: [n]f64) (start: [n]f64): [n]f64 =
  #[stripmine(1)]
  loop heat = start for _i < steps do
    let flows = flow conductivity heat
    in tabulate n (\i -> heat[i] + 0.4 * (flows[i] - (if i > 0 then flows[i - 1] else 0)))

def squares [n] (steps: i64) (seen: [n]f64) (conductivity: [n]f64, start: [n]f64): f64 =
  f64.sum (map2 (\x y -> (x - y) ** 2) (later steps conductivity start) seen)

entry misfit [n] (steps: i64) (seen: [n]f64) (conductivity: [n]f64) (start: [n]f64): f64 =
  squares steps seen (conductivity, start)

entry main [n] (steps: i64) (seen: [n]f64) (conductivity: [n]f64) (start: [n]f64)
             : (f64, [n]f64, [n]f64) =
  let (value, (by_conductivity, by_start)) = vjp2 (squares steps seen) (conductivity, start) 1
  in (value, by_conductivity, by_start)
