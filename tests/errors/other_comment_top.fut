(* Celsius to Fahrenheit *)
entry main (c: f64): f64 = c * 1.8 + 32
