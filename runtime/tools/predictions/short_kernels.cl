// Short kernels whose times stand for the constants of a device.
__kernel void nothing(__global int *to) { }
__kernel void chase(__global int *to, __global const int *from) {
  int at = 0;
  for (int i = 0; i < STEPS; i++) at = from[at];
  to[0] = at;
}
__kernel void steps(__global int *to, const int factor) {
  int x = factor;
  for (int i = 0; i < STEPS; i++) x = x * factor + i;
  to[0] = x;
}
__kernel void cached(__global float *to, __global const float *from) {
  float total = 0;
  for (int i = 0; i < 64; i++)
    total += from[(get_global_id(0) + i * 4096) & (CACHED - 1)];
  if (total == 1.5f) to[0] = total;
}
__kernel void atomics(__global int *to) {
  for (int i = 0; i < 64; i++)
    atomic_add(&to[(get_global_id(0) * 17 + i * 4099) & (CACHED - 1)], 1);
}
__kernel void local_atomics(__global int *to, __local int *bins) {
  for (int i = 0; i < 256; i++) atomic_add(&bins[(get_local_id(0) * 5 + i) & 255], 1);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (bins[get_local_id(0) & 255] == -1) to[0] = 1;
}
__kernel void barriers(__global int *to, __local int *cells) {
  for (int i = 0; i < 1024; i++) { cells[get_local_id(0)] = i; barrier(CLK_LOCAL_MEM_FENCE); }
  if (cells[0] == -1) to[0] = 1;
}
