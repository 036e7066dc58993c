// The count of elements that differ by more than rounding can explain, the greatest distance of
// all others, and the greatest element.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#ifdef HALF
#define AT(XS, I) vload_half(I, (const __global half *)XS)
#else
#define AT(XS, I) XS[I]
#endif
__kernel void compare(const __global STORED *xs, const __global STORED *ys, const long count,
                      __global uint *found, const long place)
{
    uint odd = 0;
    float apart = 0.0f, greatest = 0.0f;
    for (long i = get_global_id(0); i < count; i += get_global_size(0)) {
        TYPE x = AT(xs, i), y = AT(ys, i);
        if (isfinite(x)) greatest = fmax(greatest, (float)fabs(x));
        if (isfinite(y)) greatest = fmax(greatest, (float)fabs(y));
        if (x == y || (isnan(x) && isnan(y))) continue;
        TYPE distance = fabs(x - y);
        if (!isfinite(distance)) odd++;
        else if (distance > RELATIVE * fmax(fabs(x), fabs(y)))
            apart = fmax(apart, fmax((float)distance, FLT_MIN));
    }
    if (odd) atomic_add(found + place, odd);
    if (apart > 0.0f) atomic_max(found + place + 1, as_uint(fmin(apart, FLT_MAX)));
    if (greatest > 0.0f) atomic_max(found + place + 2, as_uint(fmin(greatest, FLT_MAX)));
}
