// What kernels call that OpenCL C does not have, or leaves undefined; for that the meaning of a
// function is the row of the same name in runelift/ir/meaning.py.
//
// Programs are linked from pieces of this file (prelude.py), which empty lines separate.  What a
// piece needs comes before it.  Pieces after a line "//// FAMILY" are templates: there is one for
// each member of the family.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#ifndef CONTRACT
#pragma OPENCL FP_CONTRACT OFF
#endif
#ifdef SHUFFLES_KHR
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#elif defined(SHUFFLES_INTEL)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif

#if defined(cl_nv_pragma_unroll) || defined(__NV_CL_C_VERSION)
#define NVIDIA
#endif

// PARTLY_UNROLLED: short loops without branches; GPUs have no other means to overlap their loads.
// LARGELY_UNROLLED: those whose iterations are counted when the kernel is built.
#if defined(NVIDIA) && !defined(PLAIN)
#define PARTLY_UNROLLED _Pragma("unroll 4")
#define LARGELY_UNROLLED _Pragma("unroll 8")
#else
#define PARTLY_UNROLLED
#define LARGELY_UNROLLED
#endif

// IN_MEMORY: private arrays that are not in registers.  NVIDIA's compiler takes wrong elements of
// some of them in one of 400 random kernels (driver 580.159, H200, 2026-11-30), unless their accesses
// stay as they are written.  Kernels are as fast so.
#ifdef NVIDIA
#define IN_MEMORY volatile
#else
#define IN_MEMORY
#endif

// NVIDIA's compiler takes time that grows with the square of the code that it sees at once: what
// comes before is apart from what comes after for it (and no instruction for the device).
#ifdef NVIDIA
#define NEXT_PIECE asm volatile("" ::: "memory")
#else
#define NEXT_PIECE
#endif

// OpenCL C 1.2 orders memory within a work-group only; NVIDIA's mem_fence does no more than that.
#ifdef NVIDIA
inline void fence_device() { asm volatile("membar.gl;" ::: "memory"); }
#else
inline void fence_device() { mem_fence(CLK_GLOBAL_MEM_FENCE); }
#endif

// It promises no other read of a whole word that is being written than an atomic one, NVIDIA does.
#ifdef NVIDIA
inline ulong peek(volatile __global ulong *p) { return *p; }
#else
inline ulong peek(volatile __global ulong *p) { return atom_add(p, 0UL); }
#endif

// A word that others change meanwhile, which a compare-and-swap is then sure of.
#if defined(NVIDIA) || defined(POCL_DEVICE_ADDRESS_BITS)
#define GLANCE_int(P) (*(P))
#define GLANCE_long(P) (*(P))
#else
#define GLANCE_int(P) atomic_cmpxchg(P, 0, 0)
#define GLANCE_long(P) atom_cmpxchg(P, 0L, 0L)
#endif

// The sum of a float in global memory and another, indivisibly.  NVIDIA's instruction takes an f32
// below 2^-126 for 0, which changes no rounded sum with a number of at least 2^-100.
inline void swap_add_f32(volatile __global float *p, float x) {
    volatile __global int *word = (volatile __global int *)p;
    int seen, found = GLANCE_int(word);
    do {
        seen = found;
        int sum = as_int(as_float(seen) + x);
        if (sum == seen) return;
        found = atomic_cmpxchg(word, seen, sum);
    } while (found != seen); }

inline void swap_add_f64(volatile __global double *p, double x) {
    volatile __global long *word = (volatile __global long *)p;
    long seen, found = GLANCE_long(word);
    do {
        seen = found;
        long sum = as_long(as_double(seen) + x);
        if (sum == seen) return;
        found = atom_cmpxchg(word, seen, sum);
    } while (found != seen); }

#ifdef NVIDIA
inline void atomic_add_f32(volatile __global float *p, float x) {
    if (x >= 0x1p-100f || x <= -0x1p-100f)
        asm volatile("red.global.add.f32 [%0], %1;" :: "l"((ulong)p), "f"(x) : "memory");
    else swap_add_f32(p, x); }
#else
#define atomic_add_f32 swap_add_f32
#endif

#ifdef NVIDIA
inline void atomic_add_f64(volatile __global double *p, double x) {
    asm volatile("red.global.add.f64 [%0], %1;" :: "l"((ulong)p), "d"(x) : "memory"); }
#else
#define atomic_add_f64 swap_add_f64
#endif

// Loops that LLVM 14 and 15 vectorise wrongly (wrapping.py), which it is told not to.
#if defined(__clang_major__) && __clang_major__ <= 15 && !defined(__NV_CL_C_VERSION)
#define GOES_ROUND _Pragma("clang loop vectorize(disable)")
#else
#define GOES_ROUND
#endif

// PoCL keeps one value for all work-items where all begin with the same one and change it alike,
// although some leave the loop before others do; so the beginning seems to differ.
#if defined(__clang_major__) && !defined(__NV_CL_C_VERSION) && !defined(__AMDGCN__)
#define DIFFERS(VALUE) VALUE = ((ulong)get_local_id(0) >> 40) ? 0 : VALUE
#else
#define DIFFERS(VALUE)
#endif

// For each barrier in a loop or in a branch, PoCL 3.0 puts another one where that loop or branch
// begins.  It looks for the place upwards from the barrier, along one way, and goes too far down if
// there is a block of nothing but a barrier and a branch (one that it has just put there, too): its
// barrier is then on one side of a branch that work-items take differently, and all of them do what
// the first one does.  So there is something else (but no instruction) beside barriers which no
// store is beside, and where a side of a branch with loops or barriers begins; it differs between
// the sides, or LLVM moves it in front of the branch.
#ifdef POCL_DEVICE_ADDRESS_BITS
#define JOINED __asm__ volatile("")
#define BEGUN_1 __asm__ volatile(" ")
#define BEGUN_2 __asm__ volatile("  ")
#define BEGUN(SIDE) BEGUN_##SIDE
#else
#define JOINED
#define BEGUN(SIDE)
#endif

// The places of a work-item, and local memory by the type of its elements.
#define GID ((long)get_global_id(0))

#define LID ((long)get_local_id(0))

#define FAILURE volatile __global int *failure_code, __global long *failure_args

// Arithmetic on i64, which wraps around.
#define ADD(A, B) ((long)((ulong)(A) + (ulong)(B)))

#define SUB(A, B) ((long)((ulong)(A) - (ulong)(B)))

#define MUL(A, B) ((long)((ulong)(A) * (ulong)(B)))

#define LOCAL_ARRAY(T, NAME) __local T *NAME = (__local T *)NAME##_cells

#define INSIDE(I, SIZE) (0L <= (I) && (I) < (SIZE))

// The first failure of a run counts: its code, and the values of its message.
#define FAIL(CODE) if (atomic_cmpxchg(failure_code, -1, CODE) == -1)
#define FAIL_0(CODE) FAIL(CODE) {}
#define FAIL_1(CODE, A) FAIL(CODE) failure_args[0] = A;
#define FAIL_2(CODE, A, B) FAIL(CODE) { failure_args[0] = A; failure_args[1] = B; }
#define FAIL_3(CODE, A, B, C) FAIL(CODE) { \
    failure_args[0] = A; failure_args[1] = B; failure_args[2] = C; }
#define FAIL_4(CODE, A, B, C, D) FAIL(CODE) { failure_args[0] = A; failure_args[1] = B; \
    failure_args[2] = C; failure_args[3] = D; }
#define FAIL_5(CODE, A, B, C, D, E) FAIL(CODE) { failure_args[0] = A; failure_args[1] = B; \
    failure_args[2] = C; failure_args[3] = D; failure_args[4] = E; }
#define FAIL_6(CODE, A, B, C, D, E, F) FAIL(CODE) { failure_args[0] = A; failure_args[1] = B; \
    failure_args[2] = C; failure_args[3] = D; failure_args[4] = E; failure_args[5] = F; }

#define MEET_ALL barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

// Sub-groups: work-items in a row that hand each other values and wait for each other only.
#if !defined(SUBGROUP)
#elif defined(SHUFFLES_PTX)
inline void meet_subgroup() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }
#else
inline void meet_subgroup() { sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
#endif

#if !defined(SUBGROUP)
#elif defined(SHUFFLES_PTX)
inline uint shuffle_uint(uint x, long source, long size) {
    uint y;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, %3, 0xffffffff;"
                 : "=r"(y) : "r"(x), "r"((uint)source), "r"((uint)((32 - size) << 8 | 31)));
    return y; }
#else
#ifdef SHUFFLES_KHR
#define VALUE_OF sub_group_shuffle
#else
#define VALUE_OF intel_sub_group_shuffle
#endif
inline uint shuffle_uint(uint x, long source, long size) {
    uint within = (uint)size - 1;
    return VALUE_OF(x, (get_sub_group_local_id() & ~within) | ((uint)source & within)); }
#endif

#ifdef SUBGROUP
inline ulong shuffle_ulong(ulong x, long source, long size) {
    return (ulong)shuffle_uint((uint)(x >> 32), source, size) << 32
        | shuffle_uint((uint)x, source, size); }
#endif

#ifdef SUBGROUP
#define MEET_TEAM(ITEMS) do { if ((ITEMS) <= SUBGROUP) meet_subgroup(); else MEET_ALL; } while (0)
#else
#define MEET_TEAM(ITEMS) MEET_ALL
#endif

#ifdef REQUIRED_SUBGROUP
#define IN_SUBGROUPS __attribute__((intel_reqd_sub_group_size(SUBGROUP)))
#else
#define IN_SUBGROUPS
#endif

inline uchar min_bool(uchar x, uchar y) { return x & y; }

inline uchar max_bool(uchar x, uchar y) { return x | y; }

// With LIBM, processors have what clang and the C library have.  PoCL's own functions take two to
// ten times as long, most of them because loops that call them are not vectorised; the results are
// as near.
#define OVERLOADED __attribute__((overloadable))

//// OF_ONE

#ifdef LIBM
inline float OVERLOADED libm_$F(float x) { return __builtin_${F}f(x); }
inline double OVERLOADED libm_$F(double x) { return __builtin_$F(x); }
#define $F libm_$F
#endif

//// OF_TWO

#ifdef LIBM
inline float OVERLOADED libm_$F(float x, float y) { return __builtin_${F}f(x, y); }
inline double OVERLOADED libm_$F(double x, double y) { return __builtin_$F(x, y); }
#define $F libm_$F
#endif

//// FLOAT

#ifdef LIBM
inline $T OVERLOADED libm_fmin($T x, $T y) { return (x < y) | (y != y) ? x : y; }
#define fmin libm_fmin
#endif

#ifdef LIBM
inline $T OVERLOADED libm_fmax($T x, $T y) { return (x > y) | (y != y) ? x : y; }
#define fmax libm_fmax
#endif

#ifdef LIBM
inline int OVERLOADED libm_isnan($T x) { return x != x; }
#define isnan libm_isnan
#endif

#ifdef LIBM
inline int OVERLOADED libm_isinf($T x) { return fabs(x) == INFINITY; }
#define isinf libm_isinf
#endif

#ifdef LIBM
inline int OVERLOADED libm_isfinite($T x) { return fabs(x) < INFINITY; }
#define isfinite libm_isfinite
#endif

//// ALL

// ARE_SHORT: integers of 64 bits of which 32 bits are enough, as sizes and indices mostly are.  GPUs
// divide those several times as fast.
#ifdef NVIDIA
#define SHORT_QUOTIENTS
#endif
#ifdef SHORT_QUOTIENTS
#define ARE_SHORT(X, Y) ((((ulong)(X) | (ulong)(Y)) >> 32) == 0)
#else
#define ARE_SHORT(X, Y) 0
#endif

//// SIGNED

inline $T quot_$NAME($T x, $T y) {
    if ($SHORT) return ($T)((uint)x / (uint)y);
    return y == -1 ? ($T)(0 - ($U)x) : ($T)(x / y); }

inline $T rem_$NAME($T x, $T y) {
    if ($SHORT) return ($T)((uint)x % (uint)y);
    return y == -1 ? ($T)0 : ($T)(x % y); }

inline $T div_$NAME($T x, $T y) {
    if ($SHORT) return ($T)((uint)x / (uint)y);
    $T q = quot_$NAME(x, y), r = rem_$NAME(x, y);
    return (r != 0 && ((r < 0) != (y < 0))) ? ($T)(q - 1) : q; }

inline $T mod_$NAME($T x, $T y) {
    if ($SHORT) return ($T)((uint)x % (uint)y);
    $T r = rem_$NAME(x, y);
    return (r != 0 && ((r < 0) != (y < 0))) ? ($T)(r + y) : r; }

inline $T shr_$NAME($T x, $T y) { return ($U)y >= $BITS ? ($T)(x < 0 ? -1 : 0) : ($T)(x >> y); }

inline $T sgn_$NAME($T x) { return ($T)((x > 0) - (x < 0)); }

inline $T abs_$NAME($T x) { $U sign = ($U)(x < 0); return ($T)((($U)x ^ ($U)(0 - sign)) + sign); }

//// UNSIGNED

inline $T quot_$NAME($T x, $T y) {
    return $SHORT ? ($T)((uint)x / (uint)y) : ($T)(x / y); }

inline $T rem_$NAME($T x, $T y) {
    return $SHORT ? ($T)((uint)x % (uint)y) : ($T)(x % y); }

inline $T div_$NAME($T x, $T y) {
    return $SHORT ? ($T)((uint)x / (uint)y) : ($T)(x / y); }

inline $T mod_$NAME($T x, $T y) {
    return $SHORT ? ($T)((uint)x % (uint)y) : ($T)(x % y); }

inline $T shr_$NAME($T x, $T y) { return y >= $BITS ? ($T)0 : ($T)(x >> y); }

inline $T sgn_$NAME($T x) { return ($T)(x != 0); }

inline $T abs_$NAME($T x) { return x; }

//// INTEGER

inline $T min_$NAME($T x, $T y) { return x < y ? x : y; }

inline $T max_$NAME($T x, $T y) { return x > y ? x : y; }

inline $T shl_$NAME($T x, $T y) { return ($U)y >= $BITS ? ($T)0 : ($T)(($U)x << y); }

inline $T lshr_$NAME($T x, $T y) { return ($U)y >= $BITS ? ($T)0 : ($T)(($U)x >> ($U)y); }

inline $T ctz_$NAME($T x) {
    return x == 0 ? ($T)$BITS : ($T)popcount(($U)((x & ($T)(0 - ($U)x)) - 1)); }

inline $T pow_$NAME($T x, $T y) {
    if (y < 0) return ($T)0;
    $U base = ($U)x, result = 1;
    while (y > 0) { if (y & 1) result *= base; base *= base; y >>= 1; }
    return ($T)result; }

// A float truncated to a type whose bits $T has; the least number of that where it does not fit, 0
// for NaN and the infinities.  Two choices between values, and no branch: then processors compute
// this for several work-items at once.
inline $T ${NEAR}_of_f32(float x) {
    $T whole = ($T)($SIGNED)x, near = fabs(x) < (float)$LIMIT ? whole : ($T)$LEAST;
    return x - x == 0 ? near : ($T)0; }

inline $T ${NEAR}_of_f64(double x) {
    $T whole = ($T)($SIGNED)x, near = fabs(x) < $LIMIT ? whole : ($T)$LEAST;
    return x - x == 0 ? near : ($T)0; }

//// ALL

// Numbers of type f16, which are floats here (docs/design/half.md).  A pointer to half is the one
// use of that type which every device allows.
// PoCL's conversions are not vectorised, so that processors compute them with floats.  A sum with a
// large enough power of two has no digits beyond those of an f16.
#ifdef LIBM
inline float f16_of_bits(ushort bits) {
    float x = as_float((uint)(bits & 0x7fff) << 13) * 0x1p112f;
    uint special = x >= 0x1p16f ? 0x7f800000u : 0u;
    return as_float(as_uint(x) | special | (uint)(bits & 0x8000) << 16); }
inline ushort bits_of_f16(float x) {
    float size = fabs(x);
    uint bits = size < 0x1p16f ? as_uint(size * 0x1p-112f) >> 13 : size != size ? 0x7e00u : 0x7c00u;
    return (ushort)(bits | (as_uint(x) >> 16 & 0x8000u)); }
inline float near_f16(float x) {
    float size = fabs(x);
    uint power = as_uint(size) & 0x7f800000u;
    power = power < 0x38800000u ? 0x38800000u : power > 0x47800000u ? 0x47800000u : power;
    float large = as_float(power + (13u << 23));
    size = (size + large) - large;
    return copysign(size >= 0x1p16f ? INFINITY : size, x); }
#else
inline float f16_of_bits(ushort bits) { return vload_half(0, (const half *)&bits); }
inline ushort bits_of_f16(float x) { ushort bits; vstore_half_rte(x, 0, (half *)&bits); return bits; }
inline float near_f16(float x) { return f16_of_bits(bits_of_f16(x)); }
#endif

// A float between the numbers next to it, of which the odd one stands for both: rounding it to f16
// gives what rounding the exact number gives (Boldo and Melquiond 2008, "Emulation of FMA and
// correctly rounded sums").  "rest" is the exact number less x.
inline float made_odd(float x, float rest) {
    uint bits = as_uint(x);
    if (rest == 0 || (bits & 1) || !isfinite(x)) return x;
    return as_float((rest > 0) == (x > 0) ? bits + 1 : bits - 1); }

inline float f16_of_f64(double x) {
    float near = (float)x;
    if (fabs(near) < 0x1p-30f) return near_f16(near);
    return near_f16(made_odd(near, (float)(x - (double)near))); }

// The product is exact, and so is the rest of the sum (Knuth, "Seminumerical Algorithms", 4.2.2).
inline float fma_f16(float x, float y, float z) {
    float product = x * y, sum = product + z, part = sum - product;
    float rest = (product - (sum - part)) + (z - part);
    return near_f16(made_odd(sum, rest)); }

inline float nextafter_f16(float x, float y) {
    if (isnan(x) || isnan(y)) return NAN;
    if (x == y) return y;
    ushort bits = bits_of_f16(x);
    if (x == 0) return f16_of_bits((ushort)(y > 0 ? 1 : 0x8001));
    return f16_of_bits((ushort)((x < y) == (x > 0) ? bits + 1 : bits - 1)); }

//// FLOAT

inline ulong u64_of_$NAME($T x) {
    return x >= ($T)0x1p63 && x < ($T)0x1p64 ? (ulong)x : near_u64_of_$NAME(x); }

// Of pi times a number, which OpenCL's own functions get wrong on some devices if it is large.
inline $T sinpi_$NAME($T x) {
    $T rest = fmod(x, ($T)2), turns = rint(rest);
    $T y = sin(($T)3.14159265358979323846 * (rest - turns));
    return y == 0 ? copysign(($T)0, x) : fabs(turns) == 1 ? -y : y; }

inline $T cospi_$NAME($T x) {
    $T rest = fmod(x, ($T)2), turns = rint(rest);
    $T y = sin(($T)3.14159265358979323846 * (($T)0.5 - fabs(rest - turns)));
    return fabs(turns) == 1 ? -y : y; }

inline $T tanpi_$NAME($T x) { return sinpi_$NAME(x) / cospi_$NAME(x); }

inline $T ldexp_$NAME($T x, $T y) { return ldexp(x, (int)fmin(fmax(y, ($T)-5000), ($T)5000)); }

inline $T sgn_$NAME($T x) { return isnan(x) ? x : ($T)((x > 0) - (x < 0)); }

// x / sqrt(y), and the same in a way that is quick, but only right if it is easy.
inline $T div_sqrt_$NAME($T x, $T y) { return x / sqrt(y); }

//// ALL

#ifdef NVIDIA
inline float near_rsqrt(float x) {
    float y; asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
#else
inline float near_rsqrt(float x) { return rsqrt(x); }
#endif

#if defined(NVIDIA) && !defined(PLAIN)
#define QUICK_ROOTS
#endif

// NVIDIA's compiler makes a root r of an approximation of 1 / sqrt(y) by a step of Newton's method
// (in its remainder form), and begins a quotient with an approximation of 1 / r of its own, which
// is left out here: the first one is as near.  A correction of the quotient by its remainder,
// which an fma gives exactly, rounds it correctly (Markstein 1990, "Computation of elementary
// functions on the IBM RISC System/6000 processor"), unless r has ones only (y is 4 - 2^-21 or
// its successor, times a power of 4), or something becomes too small.
#ifdef QUICK_ROOTS
inline float div_sqrt_near_f32(float x, float y) {
    float near = near_rsqrt(y), root = y * near;
    root = fma(fma(-root, root, y), 0.5f * near, root);
    near = fma(near, fma(-root, near, 1.0f), near);
    float q = x * near;
    return fma(fma(-root, q, x), near, q); }
inline int div_sqrt_easy_f32(float x, float y) {  // 2^-80 to 2^74, and 2^-101 to 2^80
    return ((as_uint(x) & 0x7fffffffu) - 0x17800000u < 0x4d000000u)
        & (as_uint(y) - 0x0d000000u < 0x5a800000u) & ((as_uint(y) & 0x00fffffeu) != 0x007ffffeu); }
#else
inline float div_sqrt_near_f32(float x, float y) { return x / sqrt(y); }
inline int div_sqrt_easy_f32(float x, float y) { return 1; }
#endif

inline double div_sqrt_near_f64(double x, double y) { return x / sqrt(y); }

inline int div_sqrt_easy_f64(double x, double y) { return 1; }
