module type shape = { val area: f32 -> f32 }
module double (s: shape) = { def area (x: f32) = 2 * s.area x }
module wrong = { def volume (x: f32) = x }
module twice = double wrong
