def newton (a: f64): f64 =
  let (x, _) =
    loop (x, k) = (a, 0i32) while f64.abs (x * x - a) > 1e-9 && k < 50 {
      (0.5 * (x + a / x), k + 1)
    }
  in x

def doubled (n: i64): i64 =
  loop x = 1 for _i < n {
    x * 2
  }

def product [n] (xs: [n]i64): i64 =
  loop x = 1 for y in xs {
    let z = x * y
    in z
  }

def without_do (a: f64): f64 =
  loop x = a while f64.abs (x * x - a) > 1e-9 && x < 50
    0.5 * (x + a / x)

def in_a_line (a: f64): f64 =
  loop x = a while f64.abs (x * x - a) > 1e-9 (0.5 * (x + a / x))

def of_a_record (a: f64): {x: f64} =
  loop r = {x = a} while f64.abs (r.x * r.x - a) > 1e-9 {x = r.x / 2}

def with_two_mistakes (a: f64): f64 =
  loop x = a while f64.abs (x * x - a) > 1e-9 && x < 9 { (0.5 * (x + )) }
