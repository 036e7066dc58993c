module type rng = { type state val seed: u32 -> state val next: state -> state val value: state -> f32 }
module lcg: rng = {
  type state = u32
  def seed (s: u32) = s
  def next (s: u32) = s * 1664525 + 1013904223
  def value (s: u32) = f32.u32 s
}
def walk (seed: u32): f32 = f32.u32 (lcg.seed seed)
def shifted (seed: u32) = lcg.next (lcg.seed seed) >> 8u32
