// What C leaves undefined, made total.  The meaning of each function is the row of the same
// name in runelift/ir/meaning.py.  One function per integer type.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#ifndef CONTRACT
#pragma OPENCL FP_CONTRACT OFF
#endif

// QUICK_ROOTS: whether div_sqrt has a quick way, see below.
// PARTLY_UNROLLED: short loops without branches; GPUs have no other means to overlap their loads.
// LARGELY_UNROLLED: those whose iterations are counted when the kernel is built.
// NEXT_PIECE: NVIDIA's compiler takes time that grows with the square of the code that it sees at
// once; what comes before is apart from what comes after for it (and no instruction for the device).
// GOES_ROUND: loops that LLVM 14 and 15 vectorise wrongly (wrapping.py), which it is told not to.
// DIFFERS: PoCL keeps one value for all work-items where all begin with the same one and change it
// alike, although some leave the loop before others do; so the beginning seems to differ.
// JOINED, BEGUN: for each barrier in a loop or in a branch, PoCL 3.0 puts another one where that loop
// or branch begins.  It looks for the place upwards from the barrier, along one way, and goes too far
// down if there is a block of nothing but a barrier and a branch (one that it has just put there, too):
// its barrier is then on one side of a branch that work-items take differently, and all of them do what
// the first one does.  So there is something else (but no instruction) beside barriers which no store
// is beside, and where a side of a branch with loops or barriers begins; it differs between the sides,
// or LLVM moves it in front of the branch.
// OpenCL C 1.2 orders memory within a work-group only; NVIDIA's mem_fence does no more than that.
// It promises no other read of a whole word that is being written than an atomic one, NVIDIA does.
#if defined(cl_nv_pragma_unroll) || defined(__NV_CL_C_VERSION)
#ifdef PLAIN
#define PARTLY_UNROLLED
#define LARGELY_UNROLLED
#else
#define PARTLY_UNROLLED _Pragma("unroll 4")
#define LARGELY_UNROLLED _Pragma("unroll 8")
#endif
#ifndef PLAIN
#define QUICK_ROOTS
#endif
#define NEXT_PIECE asm volatile("" ::: "memory")
inline float near_rsqrt(float x) { float y; asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
inline void fence_device() { asm volatile("membar.gl;" ::: "memory"); }
inline ulong peek(volatile __global ulong *p) { return *p; }
#else
#define NEXT_PIECE
inline float near_rsqrt(float x) { return rsqrt(x); }
#define PARTLY_UNROLLED
#define LARGELY_UNROLLED
inline void fence_device() { mem_fence(CLK_GLOBAL_MEM_FENCE); }
inline ulong peek(volatile __global ulong *p) { return atom_add(p, 0UL); }
#endif

#if defined(__clang_major__) && __clang_major__ <= 15 && !defined(__NV_CL_C_VERSION)
#define GOES_ROUND _Pragma("clang loop vectorize(disable)")
#else
#define GOES_ROUND
#endif
#if defined(__clang_major__) && !defined(__NV_CL_C_VERSION) && !defined(__AMDGCN__)
#define DIFFERS(VALUE) VALUE = ((ulong)get_local_id(0) >> 40) ? 0 : VALUE
#else
#define DIFFERS(VALUE)
#endif
#ifdef POCL_DEVICE_ADDRESS_BITS
#define JOINED __asm__ volatile("")
#define BEGUN_1 __asm__ volatile(" ")
#define BEGUN_2 __asm__ volatile("  ")
#define BEGUN(SIDE) BEGUN_##SIDE
#else
#define JOINED
#define BEGUN(SIDE)
#endif

// Sub-groups: work-items in a row that hand each other values and wait for each other only.
#define MEET_ALL barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#ifdef SUBGROUP
#ifdef SHUFFLES_PTX
inline void meet_subgroup() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }
inline uint shuffle_uint(uint x, long source, long size) {
    uint y;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, %3, 0xffffffff;"
                 : "=r"(y) : "r"(x), "r"((uint)source), "r"((uint)((32 - size) << 8 | 31)));
    return y; }
#else
#ifdef SHUFFLES_KHR
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define VALUE_OF sub_group_shuffle
#else
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define VALUE_OF intel_sub_group_shuffle
#endif
inline void meet_subgroup() { sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
inline uint shuffle_uint(uint x, long source, long size) {
    uint within = (uint)size - 1;
    return VALUE_OF(x, (get_sub_group_local_id() & ~within) | ((uint)source & within)); }
#endif
inline ulong shuffle_ulong(ulong x, long source, long size) {
    return (ulong)shuffle_uint((uint)(x >> 32), source, size) << 32
        | shuffle_uint((uint)x, source, size); }
#define MEET_TEAM(ITEMS) do { if ((ITEMS) <= SUBGROUP) meet_subgroup(); else MEET_ALL; } while (0)
#else
#define MEET_TEAM(ITEMS) MEET_ALL
#endif
#ifdef REQUIRED_SUBGROUP
#define IN_SUBGROUPS __attribute__((intel_reqd_sub_group_size(SUBGROUP)))
#else
#define IN_SUBGROUPS
#endif

// LIBM: what clang and the C library have for processors.  PoCL's own functions take two to ten times
// as long, most of them because loops that call them are not vectorised; the results are as near.
#ifdef LIBM
#define OVERLOADED __attribute__((overloadable))
#define OF_ONE(F) \
    inline float OVERLOADED libm_##F(float x) { return __builtin_##F##f(x); } \
    inline double OVERLOADED libm_##F(double x) { return __builtin_##F(x); }
#define OF_TWO(F) \
    inline float OVERLOADED libm_##F(float x, float y) { return __builtin_##F##f(x, y); } \
    inline double OVERLOADED libm_##F(double x, double y) { return __builtin_##F(x, y); }
#define COMPARING(T) \
    inline T OVERLOADED libm_fmin(T x, T y) { return (x < y) | (y != y) ? x : y; } \
    inline T OVERLOADED libm_fmax(T x, T y) { return (x > y) | (y != y) ? x : y; } \
    inline int OVERLOADED libm_isnan(T x) { return x != x; } \
    inline int OVERLOADED libm_isinf(T x) { return libm_fabs(x) == INFINITY; } \
    inline int OVERLOADED libm_isfinite(T x) { return libm_fabs(x) < INFINITY; }
OF_ONE(ceil) OF_ONE(cos) OF_ONE(exp) OF_ONE(fabs) OF_ONE(floor) OF_ONE(log) OF_ONE(log10)
OF_ONE(log2) OF_ONE(rint) OF_ONE(sin) OF_ONE(sqrt) OF_ONE(trunc) OF_TWO(copysign) OF_TWO(pow)
COMPARING(float)
COMPARING(double)
#define ceil libm_ceil
#define copysign libm_copysign
#define cos libm_cos
#define exp libm_exp
#define fabs libm_fabs
#define floor libm_floor
#define fmax libm_fmax
#define fmin libm_fmin
#define isfinite libm_isfinite
#define isinf libm_isinf
#define isnan libm_isnan
#define log libm_log
#define log10 libm_log10
#define log2 libm_log2
#define pow libm_pow
#define rint libm_rint
#define sin libm_sin
#define sqrt libm_sqrt
#define trunc libm_trunc
#endif

#define SIGNED(NAME, T, U, BITS) \
    inline T quot_##NAME(T x, T y) { return y == -1 ? (T)(0 - (U)x) : (T)(x / y); } \
    inline T rem_##NAME(T x, T y) { return y == -1 ? (T)0 : (T)(x % y); } \
    inline T div_##NAME(T x, T y) { \
        T q = quot_##NAME(x, y), r = rem_##NAME(x, y); \
        return (r != 0 && ((r < 0) != (y < 0))) ? (T)(q - 1) : q; } \
    inline T mod_##NAME(T x, T y) { \
        T r = rem_##NAME(x, y); \
        return (r != 0 && ((r < 0) != (y < 0))) ? (T)(r + y) : r; } \
    inline T shr_##NAME(T x, T y) { return (U)y >= BITS ? (T)(x < 0 ? -1 : 0) : (T)(x >> y); } \
    inline T sgn_##NAME(T x) { return (T)((x > 0) - (x < 0)); } \
    inline T abs_##NAME(T x) { U sign = (U)(x < 0); return (T)(((U)x ^ (U)(0 - sign)) + sign); } \
    BOTH(NAME, T, U, BITS)

#define UNSIGNED(NAME, T, BITS) \
    inline T quot_##NAME(T x, T y) { return (T)(x / y); } \
    inline T rem_##NAME(T x, T y) { return (T)(x % y); } \
    inline T div_##NAME(T x, T y) { return (T)(x / y); } \
    inline T mod_##NAME(T x, T y) { return (T)(x % y); } \
    inline T shr_##NAME(T x, T y) { return y >= BITS ? (T)0 : (T)(x >> y); } \
    inline T sgn_##NAME(T x) { return (T)(x != 0); } \
    inline T abs_##NAME(T x) { return x; } \
    BOTH(NAME, T, T, BITS)

#define BOTH(NAME, T, U, BITS) \
    inline T min_##NAME(T x, T y) { return x < y ? x : y; } \
    inline T max_##NAME(T x, T y) { return x > y ? x : y; } \
    inline T shl_##NAME(T x, T y) { return (U)y >= BITS ? (T)0 : (T)((U)x << y); } \
    inline T lshr_##NAME(T x, T y) { return (U)y >= BITS ? (T)0 : (T)((U)x >> (U)y); } \
    inline T ctz_##NAME(T x) { return x == 0 ? (T)BITS : (T)popcount((U)((x & (T)(0 - (U)x)) - 1)); } \
    inline T pow_##NAME(T x, T y) { \
        if (y < 0) return (T)0; \
        U base = (U)x, result = 1; \
        while (y > 0) { if (y & 1) result *= base; base *= base; y >>= 1; } \
        return (T)result; }

SIGNED(i8, char, uchar, 8)
SIGNED(i16, short, ushort, 16)
SIGNED(i32, int, uint, 32)
SIGNED(i64, long, ulong, 64)
UNSIGNED(u8, uchar, 8)
UNSIGNED(u16, ushort, 16)
UNSIGNED(u32, uint, 32)
UNSIGNED(u64, ulong, 64)
inline uchar min_bool(uchar x, uchar y) { return x & y; }
inline uchar max_bool(uchar x, uchar y) { return x | y; }

// Of pi times a number, which OpenCL's own functions get wrong on some devices if it is large.
#define FLOAT(NAME, T) \
    inline T sinpi_##NAME(T x) { \
        T rest = fmod(x, (T)2), turns = rint(rest), y = sin((T)3.14159265358979323846 * (rest - turns)); \
        return y == 0 ? copysign((T)0, x) : fabs(turns) == 1 ? -y : y; } \
    inline T cospi_##NAME(T x) { \
        T rest = fmod(x, (T)2), turns = rint(rest); \
        T y = sin((T)3.14159265358979323846 * ((T)0.5 - fabs(rest - turns))); \
        return fabs(turns) == 1 ? -y : y; } \
    inline T tanpi_##NAME(T x) { return sinpi_##NAME(x) / cospi_##NAME(x); } \
    inline T ldexp_##NAME(T x, T y) { return ldexp(x, (int)fmin(fmax(y, (T)-5000), (T)5000)); } \
    inline T sgn_##NAME(T x) { return isnan(x) ? x : (T)((x > 0) - (x < 0)); }

FLOAT(f32, float)
FLOAT(f64, double)

// x / sqrt(y), and the same in a way that is quick, but only right if it is easy.
#define OVER_ROOT(NAME, T) \
    inline T div_sqrt_##NAME(T x, T y) { return x / sqrt(y); }
#define NO_QUICK_ROOT(NAME, T) \
    inline T div_sqrt_near_##NAME(T x, T y) { return x / sqrt(y); } \
    inline int div_sqrt_easy_##NAME(T x, T y) { return 1; }

OVER_ROOT(f32, float)
OVER_ROOT(f64, double)
NO_QUICK_ROOT(f64, double)

#ifdef QUICK_ROOTS
// NVIDIA's compiler makes a root r of an approximation of 1 / sqrt(y) by a step of Newton's method
// (in its remainder form), and begins a quotient with an approximation of 1 / r of its own, which
// is left out here: the first one is as near.  A correction of the quotient by its remainder,
// which an fma gives exactly, rounds it correctly (Markstein 1990, "Computation of elementary
// functions on the IBM RISC System/6000 processor"), unless r has ones only (y is 4 - 2^-21 or
// its successor, times a power of 4), or something becomes too small.
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
NO_QUICK_ROOT(f32, float)
#endif

// A float truncated to the signed type NEAR, whose bits T has; the least number of NEAR where it
// does not fit, 0 for NaN and the infinities.
#define TRUNCATION(NAME, T, NEAR, LEAST, LIMIT) \
    inline T NAME##_of_f32(float x) { \
        return fabs(x) < LIMIT##f ? (T)(NEAR)x : isfinite(x) ? (T)LEAST : (T)0; } \
    inline T NAME##_of_f64(double x) { \
        return fabs(x) < LIMIT ? (T)(NEAR)x : isfinite(x) ? (T)LEAST : (T)0; }

TRUNCATION(i8, char, int, INT_MIN, 0x1p31)
TRUNCATION(i16, short, int, INT_MIN, 0x1p31)
TRUNCATION(i32, int, int, INT_MIN, 0x1p31)
TRUNCATION(i64, long, long, LONG_MIN, 0x1p63)
TRUNCATION(u8, uchar, int, INT_MIN, 0x1p31)
TRUNCATION(u16, ushort, int, INT_MIN, 0x1p31)
TRUNCATION(u32, uint, long, LONG_MIN, 0x1p63)
TRUNCATION(near_u64, ulong, long, LONG_MIN, 0x1p63)

inline ulong u64_of_f32(float x) {
    return x >= 0x1p63f && x < 0x1p64f ? (ulong)x : near_u64_of_f32(x); }
inline ulong u64_of_f64(double x) {
    return x >= 0x1p63 && x < 0x1p64 ? (ulong)x : near_u64_of_f64(x); }
