// Clipped sums of per-example gradients. After the first rounding everything is an integer, so nothing depends on the order,
// the blocks or the number of threads; and the first rounding looks at one coordinate, so neither does that.
#include "gradients.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "environment.hpp"
#include "parallel.hpp"
#include "types.hpp"

namespace soundsum {
namespace {

// Columns that are measured in one go: they stay in the first-level cache.
constexpr std::size_t chunk = 512;

// Columns that are added in one go: their sums stay in the second-level cache, and a row is read in stretches long enough for
// the processor to see them coming.
constexpr std::size_t strip = 16384;

// Rows that are added in one loop, as long as there are so many: their sum stays in a register, and a processor that waits for
// one of them reads ahead in the others.
using Together = std::index_sequence<8, 4, 1>;

// Rows that are added in 31 bits before they go to 64: |q| <= K <= 2^25, so 32 are at most 2^30.
constexpr std::size_t rows_in_31_bits = 32;

// Below this many steps a float is rounded by adding 1.5 * 2^23 (spaced 1 apart, ties to even), and the bits less those of
// 1.5 * 2^23 are the integer. Above, the same in doubles.
constexpr double small = 0x1p22;

// Magnitudes as bits of their own type, in order; infinities and NaN are the largest. Those of a double stand for any of them.
SOUNDSUM_INLINE std::uint16_t magnitude_bits(Half x) { return x.bits & 0x7fffu; }
SOUNDSUM_INLINE std::uint16_t magnitude_bits(Brain x) { return x.bits & 0x7fffu; }
SOUNDSUM_INLINE std::uint32_t magnitude_bits(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu; }
SOUNDSUM_INLINE std::uint64_t magnitude_bits(double x) { return std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffu; }
template <class T, class Bits> SOUNDSUM_INLINE std::uint64_t double_bits(Bits bits) { return std::bit_cast<std::uint64_t>(double{load(std::bit_cast<T>(bits))}); }

// The product with a power of two is exact, or so small that the integer is 0: fused with the addition it gives the same.
template <bool Small, class T> SOUNDSUM_INLINE std::int32_t rounded(T value, double scale) {
    const auto x = load(value);
    if constexpr (Small && std::is_same_v<decltype(x), const float>) {
        const float y = x * static_cast<float>(scale) + 0x1.8p23f;
        return std::bit_cast<std::int32_t>(y) - 0x4b400000;
    } else {
        const double y = static_cast<double>(x) * scale + 0x1.8p52;
        return static_cast<std::int32_t>(std::bit_cast<std::int64_t>(y) - std::bit_cast<std::int64_t>(0x1.8p52));
    }
}

// The squares of a chunk: below 2^9 * 2^44 where the integers are small, otherwise added as two halves.
template <class T> SOUNDSUM_INLINE void measure_chunk(const T* x, std::size_t n, double scale, std::uint64_t* top, std::uint64_t* low, std::uint64_t* high) {
    decltype(magnitude_bits(T{})) most = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, magnitude_bits(x[i]));
    *top = std::max(*top, double_bits<T>(most));
    const double largest = std::bit_cast<double>(double_bits<T>(most)) * scale;
    if (largest < small) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t r = rounded<true>(x[i], scale);
            sum += static_cast<std::uint64_t>(std::int64_t{r} * r);
        }
        *low += sum & 0xffffffffu, *high += sum >> 32;
    } else if (largest < 0x1p30) {
        std::uint64_t lows = 0, highs = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t r = rounded<false>(x[i], scale);
            const auto square = static_cast<std::uint64_t>(r * r);
            lows += square & 0xffffffffu, highs += square >> 32;
        }
        *low += lows, *high += highs;
    }
}

// floor(2 r m / 2^32) is floor(r m / 2^31), and the floor of that over 2^h is the floor of the whole.
template <bool Small, bool Clip, class T> SOUNDSUM_INLINE std::int32_t clipped(T x, double scale, std::int32_t m, int h) {
    const std::int32_t r = rounded<Small>(x, scale);
    if constexpr (!Clip) return r;
    return (static_cast<std::int32_t>((std::int64_t{r * 2} * m) >> 32) >> h) + static_cast<std::int32_t>(static_cast<std::uint32_t>(r) >> 31);
}

// Rows that are added in the same way: whether all their integers are small, and whether they are clipped.
template <class T> struct Rows {
    std::vector<const T*> x;
    std::vector<double> scale;
    std::vector<std::int32_t> m, h;
    void clear() { x.clear(), scale.clear(), m.clear(), h.clear(); }
};
template <bool Small, bool Clip, class T, std::size_t... I>
SOUNDSUM_INLINE void add_rows(const Rows<T>& rows, std::size_t first, std::size_t n, std::int32_t* sum, std::index_sequence<I...>) {
    const T* const x[] = {rows.x[first + I]...};
    const double scale[] = {rows.scale[first + I]...};
    const std::int32_t m[] = {rows.m[first + I]...}, h[] = {rows.h[first + I]...};
    for (std::size_t j = 0; j < n; ++j) sum[j] += (clipped<Small, Clip>(x[I][j], scale[I], m[I], h[I]) + ...);
}
template <bool Small, bool Clip, class T, std::size_t... Width>
SOUNDSUM_INLINE void add_all(const Rows<T>& rows, std::size_t n, std::int32_t* sum, std::index_sequence<Width...>) {
    std::size_t first = 0;
    const auto add = [&]<std::size_t W>(std::index_sequence<W>) SOUNDSUM_LAMBDA_INLINE {
        for (; first + W <= rows.x.size(); first += W) add_rows<Small, Clip>(rows, first, n, sum, std::make_index_sequence<W>{});
    };
    (add(std::index_sequence<Width>{}), ...);
}

// To start a thread takes as long as tens of thousands of numbers; most of a model's tensors have fewer.
unsigned worthwhile(unsigned threads, std::size_t numbers) { return static_cast<unsigned>(std::clamp<std::size_t>(numbers >> 16, 1, threads)); }

}  // namespace

#define SOUNDSUM_GRADIENT_KERNELS(T)                                                                                        \
    SOUNDSUM_VERSIONS void measure_block(const T* x, std::size_t n, double scale, std::uint64_t* top, std::uint64_t* low,   \
                                         std::uint64_t* high) {                                                             \
        measure_chunk(x, n, scale, top, low, high);                                                                         \
    }                                                                                                                       \
    SOUNDSUM_VERSIONS void add_block(bool is_small, bool clip, const Rows<T>& rows, std::size_t n, std::int32_t* sum) {     \
        if (is_small && clip) add_all<true, true>(rows, n, sum, Together{});                                                \
        else if (is_small) add_all<true, false>(rows, n, sum, Together{});                                                  \
        else if (clip) add_all<false, true>(rows, n, sum, Together{});                                                      \
        else add_all<false, false>(rows, n, sum, Together{});                                                               \
    }
SOUNDSUM_GRADIENT_KERNELS(double)
SOUNDSUM_GRADIENT_KERNELS(float)
SOUNDSUM_GRADIENT_KERNELS(Half)
SOUNDSUM_GRADIENT_KERNELS(Brain)

void measure_gradients(const std::vector<Gradients>& tensors, const std::vector<std::int64_t>& rows, const double* scale,
                       const Measured& measured, unsigned threads) {
    std::mutex joining;
    for (const Gradients& g : tensors) {
        const std::size_t chunks = (g.columns + chunk - 1) / chunk;
        with_float_type(g.type, [&]<class T>(T) {
            in_parallel(rows.size() * chunks, worthwhile(threads, rows.size() * g.columns), [&](unsigned, std::size_t begin, std::size_t end) {
                FloatEnvironment environment(Rounding::Nearest);
                for (std::size_t at = begin; at < end;) {
                    const std::size_t i = at / chunks, last = std::min(end, (i + 1) * chunks);
                    const T* row = static_cast<const T*>(g.data) + static_cast<std::size_t>(rows[i]) * g.columns;
                    std::uint64_t top = 0, low = 0, high = 0;
                    for (; at < last; ++at) {
                        const std::size_t from = at % chunks * chunk;
                        measure_block(row + from, std::min(chunk, g.columns - from), scale[i], &top, &low, &high);
                    }
                    const std::lock_guard lock(joining);  // two threads may share a row
                    measured.top[i] = std::max(measured.top[i], top);
                    measured.low[i] += low, measured.high[i] += high;
                }
            });
        });
    }
}

void add_gradients(const std::vector<Gradients>& tensors, const Factors& factors, const std::vector<std::int64_t*>& out, unsigned threads) {
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const Gradients& g = tensors[t];
        with_float_type(g.type, [&]<class T>(T) {
            in_parallel((g.columns + strip - 1) / strip, worthwhile(threads, g.rows * g.columns), [&](unsigned, std::size_t begin, std::size_t end) {
                FloatEnvironment environment(Rounding::Nearest);
                std::vector<std::int32_t> sum(std::min(strip, g.columns));
                Rows<T> kinds[2][2];
                for (std::size_t c = begin; c < end; ++c) {
                    const std::size_t from = c * strip, n = std::min(strip, g.columns - from);
                    for (std::size_t first = 0; first < g.rows; first += rows_in_31_bits) {
                        for (auto& kind : kinds)
                            for (Rows<T>& rows : kind) rows.clear();
                        for (std::size_t i = first; i < std::min(g.rows, first + rows_in_31_bits); ++i) {
                            if (factors.scale[i] == 0) continue;
                            const bool is_small = std::bit_cast<double>(factors.top[i]) * factors.scale[i] < small;
                            Rows<T>& rows = kinds[is_small][factors.m[i] != 0];
                            rows.x.push_back(static_cast<const T*>(g.data) + i * g.columns + from), rows.scale.push_back(factors.scale[i]);
                            rows.m.push_back(factors.m[i]), rows.h.push_back(std::min(factors.shift[i] - 31, 31));
                        }
                        std::fill_n(sum.begin(), n, 0);
                        for (const bool is_small : {false, true})
                            for (const bool clip : {false, true}) add_block(is_small, clip, kinds[is_small][clip], n, sum.data());
                        std::int64_t* total = out[t] + from;
                        for (std::size_t j = 0; j < n; ++j) total[j] += sum[j];
                    }
                }
            });
        });
    }
}

}  // namespace soundsum
