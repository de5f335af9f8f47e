// Clipped sums of per-example gradients on CUDA, built on demand by cuda.py. numbers/clipping.py is the model, in Python integers.
//
//   r  = rint(g 2^-(a+e))                  e = 0 unless the example's largest |g| needs more than 29 bits
//   N  = sum r^2                           exact, as low + 2^32 high
//   q  = r                                 if N <= K^2
//      = floor(m r / 2^(31+h)) + [r < 0]   otherwise, m = floor(K 2^(31+h) / sqrt N) in [2^30, 2^31)
//   S += q                                 int64
//
// After the first rounding everything is an integer, so nothing depends on the order or the grid of thread blocks. All
// tensors of one type go through one launch: a table of them is passed by value, and a thread block finds its own.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>
typedef unsigned long long u64;
typedef unsigned int u32;

constexpr int THREADS = 256, FLUSH = 32, ROUNDS = 8;  // a thread sees FLUSH * ROUNDS elements of one row
constexpr int ROWS = 32, ROWS_AT_ONCE = 8;            // |q| <= K <= 2^25 (clipping.py, BITS), so 32 are at most 2^30
constexpr int PARTS = 120;                            // of 32 bytes: kernel parameters have 4096

struct Part {
    const void* data;
    u64* out;
    int64_t columns;
    u32 first, block;  // the thread block it starts at; the block of parameters that is clipped together with it
};
struct Parts {
    Part part[PARTS];
    int count;
};
__device__ __forceinline__ int find(const Parts& parts, u32 block) {
    int low = 0, high = parts.count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (parts.part[middle].first <= block) low = middle; else high = middle - 1;
    }
    return low;
}

// Numbers are read in words of 32 bits: one float, or two of 16 bits. `open` gives a word's floats; `larger` keeps the larger
// magnitude at each place of a word, as bits, and `largest` is the largest of them as a float's bits.
template <class T> struct Of;
template <> struct Of<float> {
    typedef u32 Bits;
    static constexpr int PER_WORD = 1;
    static __device__ __forceinline__ void open(u32 w, float* x) { x[0] = __uint_as_float(w); }
    static __device__ __forceinline__ u32 larger(u32 most, u32 w) { return max(most, w & 0x7fffffffu); }
    static __device__ __forceinline__ u32 largest(u32 most) { return most; }
};
__device__ __forceinline__ u32 larger_of_each(u32 most, u32 w) { return __vmaxu2(most, w & 0x7fff7fffu); }
__device__ __forceinline__ u32 larger_half(u32 most) { return max(most & 0xffffu, most >> 16); }
template <> struct Of<__nv_bfloat16> {
    typedef unsigned short Bits;
    static constexpr int PER_WORD = 2;
    static __device__ __forceinline__ void open(u32 w, float* x) { x[0] = __uint_as_float(w << 16); x[1] = __uint_as_float(w & 0xffff0000u); }
    static __device__ __forceinline__ u32 larger(u32 most, u32 w) { return larger_of_each(most, w); }
    static __device__ __forceinline__ u32 largest(u32 most) { return larger_half(most) << 16; }
};
template <> struct Of<__half> {
    typedef unsigned short Bits;
    static constexpr int PER_WORD = 2;
    static __device__ __forceinline__ void open(u32 w, float* x) {
        const float2 f = __half22float2(*reinterpret_cast<const __half2*>(&w));
        x[0] = f.x; x[1] = f.y;
    }
    static __device__ __forceinline__ u32 larger(u32 most, u32 w) { return larger_of_each(most, w); }
    static __device__ __forceinline__ u32 largest(u32 most) { return __float_as_uint(__half2float(__ushort_as_half((unsigned short)larger_half(most)))); }
};
// Rows that all start at a multiple of 16 bytes are read 16 bytes at a time.
template <class T> __host__ __device__ inline bool in_vectors(const Part& p) {
    return p.columns * sizeof(T) % 16 == 0 && (uintptr_t)p.data % 16 == 0;
}

// How far the step is coarsened for a row whose largest |g| has these bits; -1 where it is infinite or NaN.
__device__ inline int coarsening(u32 bits, int a) {
    if (bits >= 0x7f800000u) return -1;
    const int e = (int)(bits >> 23) - 127 + 1 - a - 29;
    return e > 0 ? e : 0;
}
__device__ inline float power(int n) { return __int_as_float((n + 127) << 23); }  // 2^n, -126 <= n <= 127

// ---- the first read: the largest magnitude and the exact sum of squares; COARSER: once more for rows with a coarser step ----
template <class T, bool VECTORS>
__device__ __forceinline__ void measure_part(const T* x, int64_t d, int64_t first, float scale, u64& lows, u64& highs, u32& most) {
    typedef typename Of<T>::Bits Bits;
    constexpr int P = Of<T>::PER_WORD, WORDS = FLUSH / P;
    for (int round = 0; round < ROUNDS; ++round) {
        const int64_t from = first + (int64_t)round * THREADS * FLUSH;
        if (from >= d) break;
        u32 w[WORDS];
        if (VECTORS && from + THREADS * FLUSH <= d) {
#pragma unroll
            for (int i = 0; i < WORDS / 4; ++i) {
                const uint4 four = __ldcs(reinterpret_cast<const uint4*>(x + from) + i * THREADS + threadIdx.x);
                w[4 * i] = four.x; w[4 * i + 1] = four.y; w[4 * i + 2] = four.z; w[4 * i + 3] = four.w;
            }
        } else {
            const Bits* bits = reinterpret_cast<const Bits*>(x) + from + threadIdx.x;
            const int64_t room = d - from - threadIdx.x;
#pragma unroll
            for (int i = 0; i < WORDS; ++i) {
                w[i] = 0;
#pragma unroll
                for (int p = 0; p < P; ++p)
                    if ((i * P + p) * THREADS < room) w[i] |= (u32)bits[(i * P + p) * THREADS] << (16 * p);
            }
        }
        u64 sum[2] = {0, 0};  // 16 squares of at most 2^58 each; where a coarser step is needed, garbage that nobody reads
#pragma unroll
        for (int i = 0; i < WORDS; ++i) {
            float f[P];
            Of<T>::open(w[i], f);
            most = Of<T>::larger(most, w[i]);
#pragma unroll
            for (int p = 0; p < P; ++p) {
                const int r = __float2int_rn(f[p] * scale);
                sum[(i + p) % 2] += (u64)((int64_t)r * r);
            }
        }
        const u64 both = sum[0] + sum[1];
        lows += (u32)both; highs += both >> 32;
    }
}

// As many thread blocks run at once as the launch bounds say: they leave that many registers for each.
template <class T, bool COARSER>
__global__ void __launch_bounds__(THREADS, sizeof(T) == 2 ? 6 : 3) measure(const __grid_constant__ Parts parts, int64_t rows, int64_t from, int a, u32* top, u64* low, u64* high) {
    const Part& p = parts.part[find(parts, blockIdx.x)];
    const int64_t row = from + blockIdx.y, at = p.block * rows + row;
    int e = 0;
    if (COARSER) {
        e = coarsening(top[at], a);
        if (e <= 0) return;
    }
    const float scale = power(-(a + e));
    const T* x = (const T*)p.data + row * p.columns;
    const int64_t first = (int64_t)(blockIdx.x - p.first) * THREADS * FLUSH * ROUNDS;
    u64 lows = 0, highs = 0;
    u32 most = 0;
    if (in_vectors<T>(p)) measure_part<T, true>(x, p.columns, first, scale, lows, highs, most);
    else measure_part<T, false>(x, p.columns, first, scale, lows, highs, most);
    most = Of<T>::largest(most);
#pragma unroll
    for (int s = 16; s; s >>= 1) {
        lows += __shfl_xor_sync(~0u, lows, s); highs += __shfl_xor_sync(~0u, highs, s);
        most = max(most, __shfl_xor_sync(~0u, most, s));
    }
    __shared__ u64 warp_lows[THREADS / 32], warp_highs[THREADS / 32];
    __shared__ u32 warp_mosts[THREADS / 32];
    if (threadIdx.x % 32 == 0) { warp_lows[threadIdx.x / 32] = lows; warp_highs[threadIdx.x / 32] = highs; warp_mosts[threadIdx.x / 32] = most; }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < THREADS / 32; ++i) { lows += warp_lows[i]; highs += warp_highs[i]; most = max(most, warp_mosts[i]); }
        atomicAdd(low + at, lows); atomicAdd(high + at, highs);
        if (!COARSER) atomicMax(top + at, most);
    }
}

// ---- between the reads: scale, m and h of each row and block ----
// m^2 N <= K^2 4^(31+h), in 256 bits
__device__ bool fits(u64 m, u64 n0, u64 n1, u64 K, int h) {
    const u64 mm = m * m;
    u64 p0 = mm * n0, p1 = __umul64hi(mm, n0), p2 = __umul64hi(mm, n1);
    const u64 t = mm * n1;
    p1 += t; p2 += p1 < t;
    const int s = 62 + 2 * h, w = s / 64, b = s % 64;  // K^2 <= 2^50 and h < 64
    u64 k[5] = {0, 0, 0, 0, 0};
    k[w] = K * K << b;
    if (b) k[w + 1] = K * K >> (64 - b);
    if (k[3] | k[4]) return true;
    if (p2 != k[2]) return p2 < k[2];
    if (p1 != k[1]) return p1 < k[1];
    return p0 <= k[0];
}

constexpr int SMALL_FLAG = 256;  // a flag beside h: |r| <= 2^22, see `accumulate`

__global__ void factors(int64_t rows, int blocks, int a, const u32* limits, const u32* top, const u64* low, const u64* high, float* scale, int* m, int* h) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= rows * blocks) return;
    const int e = coarsening(top[i], a);
    const u64 K = limits[i];
    scale[i] = 0.f; m[i] = 0; h[i] = 0;
    for (int b = 0; b < blocks; ++b)
        if (coarsening(top[b * rows + i % rows], a) < 0) return;  // a gradient that is not finite counts as zero
    if (K == 0) return;
    scale[i] = power(-(a + e));
    const int is_small = (int)(top[i] >> 23) - 127 + 1 - a <= 22 ? SMALL_FLAG : 0;
    h[i] = is_small;
    const int64_t at = e > 0 ? rows * blocks + i : i;
    const u64 n0 = low[at] + (high[at] << 32), n1 = (high[at] >> 32) + (n0 < low[at]);
    if (n1 == 0 && n0 <= K * K) return;
    int shift = 0;
    double guess = (double)K / sqrt((double)n1 * 18446744073709551616.0 + (double)n0) * 2147483648.0;
    while (guess < 1073741824.0) { guess *= 2; ++shift; }
    u64 best;
    for (;;) {
        best = (u64)guess;
        while (!fits(best, n0, n1, K, shift)) --best;
        while (fits(best + 1, n0, n1, K, shift)) ++best;
        if (best >= 1073741824ull) break;
        guess *= 2; ++shift;
    }
    while (best >= 2147483648ull) {
        --shift; best >>= 1;
        while (!fits(best, n0, n1, K, shift)) --best;
        while (fits(best + 1, n0, n1, K, shift)) ++best;
    }
    m[i] = (int)best; h[i] = min(shift, 31) | is_small;
}

// ---- the second read: each row's integers are added ----
// Where |r| <= 2^22, x scale + 1.5 2^23 rounds to an integer, half to even, in its low bits.
template <class T, bool IS_SMALL, bool IS_CLIPPED, int WORDS>
__device__ __forceinline__ void accumulate(int* part, const u32* w, float scale, int m, int h) {
    constexpr int P = Of<T>::PER_WORD;
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        float f[P];
        Of<T>::open(w[i], f);
#pragma unroll
        for (int p = 0; p < P; ++p) {
            const int r = IS_SMALL ? __float_as_int(__fmaf_rn(f[p], scale, 12582912.f)) - 0x4B400000 : __float2int_rn(f[p] * scale);
            if constexpr (IS_CLIPPED) part[P * i + p] += (__mulhi(r << 1, m) >> h) + (int)((u32)r >> 31);
            else part[P * i + p] += r;
        }
    }
}
template <class T, int WORDS>
__device__ __forceinline__ void add_row(int* part, const u32* w, float scale, int m, int h) {
    if (scale == 0.f) return;   // the same for the whole thread block,
    const int shift = h & 255;  // and so is which of the four it is
    if (h & SMALL_FLAG && m) accumulate<T, true, true, WORDS>(part, w, scale, m, shift);
    else if (h & SMALL_FLAG) accumulate<T, true, false, WORDS>(part, w, scale, m, shift);
    else if (m) accumulate<T, false, true, WORDS>(part, w, scale, m, shift);
    else accumulate<T, false, false, WORDS>(part, w, scale, m, shift);
}

template <class T, bool VECTORS>
__device__ __forceinline__ void add_part(const Part& p, int64_t block, int64_t begin, int64_t end, const float* scale, const int* m, const int* h,
                                         float* shared_scale, int* shared_m, int* shared_h, bool only_writer) {
    typedef typename Of<T>::Bits Bits;
    constexpr int WORDS = VECTORS ? 4 : 1, V = VECTORS ? 4 * Of<T>::PER_WORD : 1, U = ROWS_AT_ONCE;
    const int64_t d = p.columns, j = (block * THREADS + threadIdx.x) * V;
    const Bits* at = (const Bits*)p.data + begin * d + j;
    long long total[V];
#pragma unroll
    for (int v = 0; v < V; ++v) total[v] = 0;
    for (int64_t from = begin; from < end; from += ROWS) {
        const int count = (int)min((int64_t)ROWS, end - from);
        __syncthreads();
        if (threadIdx.x < count) {
            shared_scale[threadIdx.x] = scale[from + threadIdx.x];
            shared_m[threadIdx.x] = m[from + threadIdx.x]; shared_h[threadIdx.x] = h[from + threadIdx.x];
        }
        __syncthreads();
        if (j >= d) continue;
        int part[Of<T>::PER_WORD * WORDS];
#pragma unroll
        for (int v = 0; v < Of<T>::PER_WORD * WORDS; ++v) part[v] = 0;
        auto read = [&](u32* w) {
            if constexpr (VECTORS) {
                const uint4 four = __ldcs(reinterpret_cast<const uint4*>(at));
                w[0] = four.x; w[1] = four.y; w[2] = four.z; w[3] = four.w;
            } else {
                w[0] = *at;
            }
            at += d;
        };
        int i = 0;
        for (; i + U <= count; i += U) {
            u32 w[U][WORDS];
#pragma unroll
            for (int u = 0; u < U; ++u) read(w[u]);
#pragma unroll
            for (int u = 0; u < U; ++u) add_row<T, WORDS>(part, w[u], shared_scale[i + u], shared_m[i + u], shared_h[i + u]);
        }
        for (; i < count; ++i) {
            u32 w[WORDS];
            read(w);
            add_row<T, WORDS>(part, w, shared_scale[i], shared_m[i], shared_h[i]);
        }
#pragma unroll
        for (int v = 0; v < V; ++v) total[v] += part[v];
    }
    if (j >= d) return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
        if (only_writer) p.out[j + v] += (u64)total[v];
        else atomicAdd(p.out + j + v, (u64)total[v]);
    }
}

template <class T>
__global__ void __launch_bounds__(THREADS, 3) add(const __grid_constant__ Parts parts, int64_t rows, int64_t per_block, const float* scale, const int* m, const int* h) {
    __shared__ float shared_scale[ROWS];
    __shared__ int shared_m[ROWS], shared_h[ROWS];
    const Part& p = parts.part[find(parts, blockIdx.x)];
    const int64_t begin = blockIdx.y * per_block, end = min(rows, begin + per_block), at = p.block * rows, block = blockIdx.x - p.first;
    if (in_vectors<T>(p)) add_part<T, true>(p, block, begin, end, scale + at, m + at, h + at, shared_scale, shared_m, shared_h, gridDim.y == 1);
    else add_part<T, false>(p, block, begin, end, scale + at, m + at, h + at, shared_scale, shared_m, shared_h, gridDim.y == 1);
}

// ---- noise: round(sigma G), Karney's algorithm N on ChaCha20, one stream per coordinate: normal.py defines the streams ----
__device__ __forceinline__ void quarter(u32& a, u32& b, u32& c, u32& d) {
    a += b; d ^= a; d = __funnelshift_l(d, d, 16); c += d; b ^= c; b = __funnelshift_l(b, b, 12);
    a += b; d ^= a; d = __funnelshift_l(d, d, 8);  c += d; b ^= c; b = __funnelshift_l(b, b, 7);
}
struct Key { u32 k[8]; };
__device__ __forceinline__ void chacha(const Key& key, u64 coordinate, u32 counter, u32* x) {
    const u32 s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, key.k[0], key.k[1], key.k[2], key.k[3],
                       key.k[4], key.k[5], key.k[6], key.k[7], counter, (u32)coordinate, (u32)(coordinate >> 32), 0};
#pragma unroll
    for (int i = 0; i < 16; ++i) x[i] = s[i];
#pragma unroll
    for (int i = 0; i < 10; ++i) {
        quarter(x[0], x[4], x[8], x[12]); quarter(x[1], x[5], x[9], x[13]); quarter(x[2], x[6], x[10], x[14]); quarter(x[3], x[7], x[11], x[15]);
        quarter(x[0], x[5], x[10], x[15]); quarter(x[1], x[6], x[11], x[12]); quarter(x[2], x[7], x[8], x[13]); quarter(x[3], x[4], x[9], x[14]);
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) x[i] += s[i];
}
constexpr int CELLS = 12;
struct Table { u64 at[CELLS]; };

// A thread that rejects a draw goes on with the next attempt at once, so that nobody waits for the slowest of a warp. Where 32
// or 64 bits decide nothing, the coordinate is left as it is and listed; the CPU draws it.
__global__ void __launch_bounds__(THREADS) noise(Key key, Table table, u64 sigma, u64 first, int64_t d, u64* out, u64* undecided, u32* count, u32 room) {
    __shared__ u32 pool[16][THREADS];
    __shared__ u32 lasts[CELLS];
    if (threadIdx.x < CELLS) { const u32 n = 2 * threadIdx.x + 2; lasts[threadIdx.x] = 0xffffffffu - (0xffffffffu % n + 1) % n; }
    __syncthreads();
    const int64_t stride = (int64_t)gridDim.x * THREADS;
    int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    u32 counter = 0;
    while (j < d) {
        u32 x[16];
        chacha(key, first + j, counter++, x);
#pragma unroll
        for (int i = 5; i < 16; ++i) pool[i][threadIdx.x] = x[i];
        int at = 5;
        auto next = [&]() -> u32 {
            if (at == 16) {
                u32 y[16];
                chacha(key, first + j, counter++, y);
#pragma unroll
                for (int i = 0; i < 16; ++i) pool[i][threadIdx.x] = y[i];
                at = 0;
            }
            return pool[at++][threadIdx.x];
        };
        const u64 u = (u64)x[0] << 32 | x[1], fraction = (u64)x[2] << 32 | x[3];
        const u32 leading = x[2];
        u32 k = 0;
        bool open = false, accept = true;
        for (int i = 0; i < CELLS && u >= table.at[i]; ++i) { ++k; open = u == table.at[i]; }
        open |= k == CELLS;
        const u32 cells = 2 * k + 2, last = lasts[k < CELLS ? k : 0];
        for (u32 i = 0; i <= k && accept && !open; ++i) {  // true with probability exp(-x (2k + x) / (2k + 2))
            u32 y = leading;
            bool even = true;
            for (;;) {
                const u32 z = next();
                if (z == y) open = true;
                if (z >= y) break;
                u32 cell;
                do cell = next(); while (cell > last);
                cell %= cells;
                if (cell == cells - 1) break;
                if (cell == cells - 2) {
                    const u32 t = next();
                    if (t == leading) open = true;
                    if (t >= leading) break;
                }
                y = z; even = !even;
            }
            accept = even;
        }
        if (!open && !accept) continue;
        if (!open) {
            const u64 low = sigma * fraction, high = __umul64hi(sigma, fraction), half = low + (1ull << 63);
            open = half + sigma < half;
            const u64 magnitude = sigma * k + high + (half < low);
            if (!open) out[j] += x[4] & 1 ? (u64)0 - magnitude : magnitude;
        }
        if (open) {
            const u32 place = atomicAdd(count, 1);
            if (place < room) undecided[place] = first + j;
        }
        j += stride; counter = 0;
    }
}

// ---- the calls: they return CUDA's error code ----
template <class T> static int run_measure(const Parts* parts, u32 thread_blocks, int64_t rows, int a, u32* top, u64* low, u64* high, int64_t cells, cudaStream_t s) {
    for (int64_t from = 0; from < rows; from += 65535) {
        const dim3 grid(thread_blocks, (unsigned)(rows - from < 65535 ? rows - from : 65535));
        measure<T, false><<<grid, THREADS, 0, s>>>(*parts, rows, from, a, top, low, high);
    }
    return (int)cudaGetLastError();
}
template <class T> static int run_again(const Parts* parts, u32 thread_blocks, int64_t rows, int a, u32* top, u64* low, u64* high, int64_t cells, cudaStream_t s) {
    for (int64_t from = 0; from < rows; from += 65535) {
        const dim3 grid(thread_blocks, (unsigned)(rows - from < 65535 ? rows - from : 65535));
        measure<T, true><<<grid, THREADS, 0, s>>>(*parts, rows, from, a, top, low + cells, high + cells);
    }
    return (int)cudaGetLastError();
}
#define BY_TYPE(call, ...)                                        \
    if (type == 0) return call<float>(__VA_ARGS__);               \
    if (type == 1) return call<__nv_bfloat16>(__VA_ARGS__);       \
    return call<__half>(__VA_ARGS__);

template <class T> static int run_add(const Parts* parts, u32 thread_blocks, int64_t rows, int64_t per_block, const float* scale, const int* m, const int* h, cudaStream_t s) {
    const dim3 grid(thread_blocks, (unsigned)((rows + per_block - 1) / per_block));
    add<T><<<grid, THREADS, 0, s>>>(*parts, rows, per_block, scale, m, h);
    return (int)cudaGetLastError();
}

extern "C" {
int soundsum_most_parts() { return PARTS; }
int soundsum_measure(int type, const Parts* parts, u32 thread_blocks, int64_t rows, int a, u32* top, u64* low, u64* high, int64_t cells, int again, void* s) {
    if (again) { BY_TYPE(run_again, parts, thread_blocks, rows, a, top, low, high, cells, (cudaStream_t)s) }
    BY_TYPE(run_measure, parts, thread_blocks, rows, a, top, low, high, cells, (cudaStream_t)s)
}
int soundsum_factors(int64_t rows, int blocks, int a, const u32* limits, const u32* top, const u64* low, const u64* high, float* scale, int* m, int* h, void* s) {
    factors<<<(unsigned)((rows * blocks + 63) / 64), 64, 0, (cudaStream_t)s>>>(rows, blocks, a, limits, top, low, high, scale, m, h);
    return (int)cudaGetLastError();
}
int soundsum_add(int type, const Parts* parts, u32 thread_blocks, int64_t rows, int64_t per_block, const float* scale, const int* m, const int* h, void* s) {
    BY_TYPE(run_add, parts, thread_blocks, rows, per_block, scale, m, h, (cudaStream_t)s)
}
int soundsum_noise(const u32* key, const u64* table, u64 sigma, u64 first, int64_t d, u64* out, u64* undecided, u32* count, u32 room, void* s) {
    Key k; Table t;
    for (int i = 0; i < 8; ++i) k.k[i] = key[i];
    for (int i = 0; i < CELLS; ++i) t.at[i] = table[i];
    int device = 0, processors = 0, each = 0;  // as many thread blocks as run at once: every thread takes many coordinates
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, noise, THREADS, 0);
    noise<<<processors * each, THREADS, 0, (cudaStream_t)s>>>(k, t, sigma, first, d, out, undecided, count, room);
    return (int)cudaGetLastError();
}
}
