// The count of elements that differ by more than a slack.
__kernel void compare(const __global TYPE *xs, const __global TYPE *ys, const long count,
                      __global uint *found, const long place, const ulong slack)
{
    uint odd = 0;
    for (long i = get_global_id(0); i < count; i += get_global_size(0))
        odd += (ulong)abs_diff(xs[i], ys[i]) > slack;
    if (odd) atomic_add(found + place, odd);
}
