// Sums of integers, exactly: of integer records, and of float records put on a grid. Order does not matter to them, so
// they are vectorised and threaded, and give the same integer whatever the number of threads.
//
// A block is added in 64-bit lanes, then the blocks in 128 bits. Nothing branches on a record, so the time
// does not depend on the values.
#include "exact.hpp"

#include "environment.hpp"
#include "parallel.hpp"
#include "records.hpp"

namespace soundsum {
namespace {

// Adding 1.5 * 2^52 to a double y with |y| <= 2^51 puts it where doubles are spaced 1 apart: the sum is rounded to an
// integer, ties to even, and its bit pattern is that of 1.5 * 2^52 plus the integer. So the comparisons that follow are
// comparisons of integers, and whatever the record was (NaN included) the result is within [low, high].
constexpr double anchor = 0x1.8p52;
constexpr auto anchor_bits = std::bit_cast<std::uint64_t>(anchor);

// A missing record (NaN) fails every comparison, so it comes out of the clamp as the bound compared with first. Where that
// is what it counts as, it costs nothing; otherwise it is made 0 before.
enum class NaN { Low, High, Zero };

// Scaling by a power of two is exact (or underflows to what rounds to 0 in any case), so it makes no difference whether
// the compiler fuses it with the addition.
template <NaN Missing, bool Plain, class T>
SOUNDSUM_INLINE std::uint64_t anchored(T record, double base, double scale, double more_scale, double low, double high) {
    double x = static_cast<double>(load(record));
    if constexpr (Missing == NaN::Zero) x = x == x ? x : 0.0;
    double y = Plain ? x * scale + anchor : (x - base) * scale * more_scale + anchor;
    if constexpr (Missing == NaN::High) y = y < high ? y : high;
    y = y > low ? y : low;
    if constexpr (Missing != NaN::High) y = y < high ? y : high;
    return std::bit_cast<std::uint64_t>(y);
}

// The sum of a block in as many lanes as fill four registers or more, so that no addition waits for the one before. A
// lane adds at most 2^11 integers of at most 2^51: below 2^63, so its sum modulo 2^64, less the anchors, is its sum.
constexpr std::size_t lanes = direct_block_size / block_size;

template <NaN Missing, bool Plain, class T> SOUNDSUM_INLINE i128 grid_block(const T* data, std::size_t size, const Grid& grid) {
    const double base = grid.base, scale = grid.scale, more_scale = grid.more_scale;
    const double low = anchor + static_cast<double>(grid.low), high = anchor + static_cast<double>(grid.high);
    std::uint64_t lane[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= size; i += lanes)
        for (std::size_t j = 0; j < lanes; ++j)
            lane[j] += anchored<Missing, Plain>(data[i + j], base, scale, more_scale, low, high);
    const std::uint64_t anchors = i / lanes * anchor_bits;
    i128 sum = 0;
    for (std::size_t j = 0; j < lanes; ++j) sum += static_cast<std::int64_t>(lane[j] - anchors);
    for (; i < size; ++i)
        sum += static_cast<std::int64_t>(anchored<Missing, Plain>(data[i], base, scale, more_scale, low, high) - anchor_bits);
    return sum;
}

template <class T> SOUNDSUM_INLINE i128 grid_block_of(const T* data, std::size_t size, const Grid& grid) {
    if (grid.base != 0 || grid.more_scale != 1) return grid_block<NaN::Zero, false>(data, size, grid);
    if (grid.low >= 0) return grid_block<NaN::Low, true>(data, size, grid);
    if (grid.high <= 0) return grid_block<NaN::High, true>(data, size, grid);
    return grid_block<NaN::Zero, true>(data, size, grid);
}

// The integers of a block one by one, for sums by group; `fill` for a missing record.
template <class T>
SOUNDSUM_INLINE void grid_each(const T* data, std::size_t size, const Grid& grid, std::int64_t fill, std::int64_t* out) {
    const double base = grid.base, scale = grid.scale, more_scale = grid.more_scale;
    const double low = anchor + static_cast<double>(grid.low), high = anchor + static_cast<double>(grid.high);
    for (std::size_t i = 0; i < size; ++i) {
        const auto q = anchored<NaN::Zero, false>(data[i], base, scale, more_scale, low, high) - anchor_bits;
        const double x = static_cast<double>(load(data[i]));
        out[i] = x == x ? static_cast<std::int64_t>(q) : fill;
    }
}

// Integers up to 32 bits: a block's sum is below 2^48.
template <class T> SOUNDSUM_INLINE i128 wide_block(const T* data, std::size_t size, T lower, T upper) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += std::clamp(data[i], lower, upper);
    return sum;
}

// 64-bit integers, moved to the signed range in order (AVX2 compares signed only) and counted from `lower`. The two halves
// of each are added apart: below 2^47 each for a block of 2^15.
template <class T> SOUNDSUM_INLINE std::int64_t signed_order(T x) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) ^ (std::is_signed_v<T> ? 0 : std::uint64_t{1} << 63));
}
template <class T> SOUNDSUM_INLINE std::uint64_t above_lower(T record, std::int64_t low, std::int64_t high) {
    std::int64_t x = signed_order(record);
    x = x > low ? x : low;
    x = x < high ? x : high;
    return static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(low);
}
template <class T> SOUNDSUM_INLINE i128 wide_block_64(const T* data, std::size_t size, T lower, T upper) {
    const std::int64_t low = signed_order(lower), high = signed_order(upper);
    std::uint64_t lower_halves = 0, upper_halves = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const std::uint64_t x = above_lower(data[i], low, high);
        lower_halves += x & 0xffffffffu;
        upper_halves += x >> 32;
    }
    return static_cast<i128>(lower) * static_cast<i128>(size) + static_cast<i128>((u128{upper_halves} << 32) + lower_halves);
}

}  // namespace

#define SOUNDSUM_GRID_KERNELS(T)                                                                                          \
    SOUNDSUM_VERSIONS i128 grid_sum_block(const T* data, std::size_t size, const Grid& grid) {                            \
        return grid_block_of(data, size, grid);                                                                           \
    }                                                                                                                     \
    SOUNDSUM_VERSIONS void grid_integers_block(const T* data, std::size_t size, const Grid& grid, std::int64_t fill,            \
                                         std::int64_t* out) {                                                             \
        grid_each(data, size, grid, fill, out);                                                                           \
    }
SOUNDSUM_GRID_KERNELS(double)
SOUNDSUM_GRID_KERNELS(float)
SOUNDSUM_GRID_KERNELS(Half)
SOUNDSUM_GRID_KERNELS(Brain)

#define SOUNDSUM_WIDE_KERNEL(T, BODY)                                                                                     \
    SOUNDSUM_VERSIONS i128 wide_sum_block(const T* data, std::size_t size, T lower, T upper) {                            \
        return BODY(data, size, lower, upper);                                                                            \
    }
SOUNDSUM_WIDE_KERNEL(std::int8_t, wide_block)
SOUNDSUM_WIDE_KERNEL(std::int16_t, wide_block)
SOUNDSUM_WIDE_KERNEL(std::int32_t, wide_block)
SOUNDSUM_WIDE_KERNEL(std::uint8_t, wide_block)
SOUNDSUM_WIDE_KERNEL(std::uint16_t, wide_block)
SOUNDSUM_WIDE_KERNEL(std::uint32_t, wide_block)
SOUNDSUM_WIDE_KERNEL(std::int64_t, wide_block_64)
SOUNDSUM_WIDE_KERNEL(std::uint64_t, wide_block_64)

namespace {

template <class T, class Sum> i128 sum_of_blocks(const Records& records, T fill, unsigned threads, Sum&& sum) {
    std::vector<i128> totals(threads, 0);
    in_parallel(records.size, threads, [&](unsigned thread, std::size_t begin, std::size_t end) {
        FloatEnvironment environment(Rounding::Nearest);
        ArrayBlocks<T> blocks(records, begin, end, fill, false);
        i128 total = 0;
        for (auto block = blocks.next(); block.size; block = blocks.next()) total += sum(block);
        totals[thread] = total;
    });
    i128 total = 0;
    for (const i128 part : totals) total += part;
    return total;
}

// Codes are looked at as they are used, so a caller who changes them meanwhile gets wrong sums and nothing worse.
template <class T, class Each>
std::optional<std::int64_t> add_by_group(const Records& records, const Codes& codes, Sums sums, T fill, unsigned threads, Each&& each) {
    std::vector<std::vector<i128>> others(threads - 1, std::vector<i128>(sums.groups, 0));
    std::vector<std::optional<std::int64_t>> strange(threads);
    in_parallel(records.size, threads, [&](unsigned thread, std::size_t begin, std::size_t end) {
        FloatEnvironment environment(Rounding::Nearest);
        ArrayBlocks<T> blocks(records, begin, end, fill, false);
        i128* total = thread ? others[thread - 1].data() : sums.data;
        std::size_t at = begin;
        for (auto block = blocks.next(); block.size; at += block.size, block = blocks.next())
            each(block, records.nullable ? blocks.flags() : nullptr, at, [&](std::size_t i, i128 value) SOUNDSUM_LAMBDA_INLINE {
                if (i + 16 < end) {  // groups are met in any order; the address may be anything, but it is not read from
                    const auto ahead = static_cast<std::uintptr_t>(codes[i + 16]) * sizeof(i128);
                    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(total) + ahead));
                }
                const auto code = static_cast<std::uint64_t>(codes[i]);
                if (code < sums.groups) total[code] += value;
                else strange[thread] = codes[i];
            });
    });
    for (const auto& other : others)
        for (std::size_t g = 0; g < sums.groups; ++g) sums.data[g] += other[g];
    for (const auto& code : strange)
        if (code) return code;
    return std::nullopt;
}

}  // namespace

i128 grid_sum(const Records& records, const Grid& grid, unsigned threads) {
    return with_float_type(records.type, [&]<class T>(T) {
        return sum_of_blocks<T>(records, missing_value<T>(), threads,
                                [&](Block<T> block) { return grid_sum_block(block.data, block.size, grid); });
    });
}

i128 wide_sum(const Records& records, i128 lower, i128 upper, unsigned threads) {
    return with_integer_type(records.type, [&]<class T>(T) {
        const auto low = static_cast<T>(lower), high = static_cast<T>(upper);
        return sum_of_blocks<T>(records, std::clamp(T{0}, low, high), threads,
                                [&](Block<T> block) { return wide_sum_block(block.data, block.size, low, high); });
    });
}

// Squares of 64-bit integers have up to 128 bits, so their sum is carried into a third word.
u192 square_sum(const Records& records, i128 lower, i128 upper) {
    return with_integer_type(records.type, [&]<class T>(T) {
        const auto low = static_cast<T>(lower), high = static_cast<T>(upper);
        ArrayBlocks<T> blocks(records, 0, records.size, std::clamp(T{0}, low, high), false);
        u128 sum = 0;
        std::uint64_t carries = 0;
        for (auto block = blocks.next(); block.size; block = blocks.next()) {
            for (std::size_t i = 0; i < block.size; ++i) {
                const i128 x = std::clamp(block.data[i], low, high);
                const auto magnitude = static_cast<u128>(x < 0 ? -x : x);  // unsigned: (2^64 - 1)^2 has 128 bits
                carries += __builtin_add_overflow(sum, magnitude * magnitude, &sum);
            }
        }
        return u192{static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(sum >> 64), carries};
    });
}

void grid_integers(const Records& records, const Grid& grid, std::int64_t fill, std::int64_t* out, unsigned threads) {
    with_float_type(records.type, [&]<class T>(T) {
        in_parallel(records.size, threads, [&](unsigned, std::size_t begin, std::size_t end) {
            FloatEnvironment environment(Rounding::Nearest);
            ArrayBlocks<T> blocks(records, begin, end, missing_value<T>(), false);
            std::int64_t* at = out + begin;
            for (auto block = blocks.next(); block.size; at += block.size, block = blocks.next())
                grid_integers_block(block.data, block.size, grid, fill, at);
        });
    });
}

void wide_integers(const Records& records, i128 lower, i128 upper, std::int64_t* out, unsigned threads) {
    with_integer_type(records.type, [&]<class T>(T) {
        const auto low = static_cast<T>(lower), high = static_cast<T>(upper);
        in_parallel(records.size, threads, [&](unsigned, std::size_t begin, std::size_t end) {
            ArrayBlocks<T> blocks(records, begin, end, std::clamp(T{0}, low, high), false);
            std::int64_t* at = out + begin;
            for (auto block = blocks.next(); block.size; at += block.size, block = blocks.next())
                for (std::size_t i = 0; i < block.size; ++i) at[i] = static_cast<std::int64_t>(std::clamp(block.data[i], low, high));
        });
    });
}

std::uint64_t missing_count(const Records& records) {
    return with_type(records.type, [&]<class T>(T) {
        std::uint64_t missing = 0;
        ArrayBlocks<T> blocks(records, 0, records.size, T{}, false);
        for (auto block = blocks.next(); block.size; block = blocks.next()) {
            const std::uint8_t* flags = records.nullable ? blocks.flags() : nullptr;
            for (std::size_t i = 0; i < block.size; ++i) missing += is_missing(block.data[i]);
            if (flags)
                for (std::size_t i = 0; i < block.size; ++i) missing += !flags[i];
        }
        return missing;
    });
}

void find_present(const Records& records, std::uint8_t* out) {
    with_type(records.type, [&]<class T>(T) {
        ArrayBlocks<T> blocks(records, 0, records.size, T{}, false);
        for (auto block = blocks.next(); block.size; out += block.size, block = blocks.next()) {
            for (std::size_t i = 0; i < block.size; ++i) out[i] = !is_missing(block.data[i]);
            if (records.nullable)
                for (std::size_t i = 0; i < block.size; ++i) out[i] &= blocks.flags()[i];
        }
    });
}

std::optional<std::int64_t> grouped_grid_sum(const Records& records, const Codes& codes, Sums sums, const Grid& grid, std::int64_t fill, unsigned threads) {
    return with_float_type(records.type, [&]<class T>(T) {
        return add_by_group<T>(records, codes, sums, missing_value<T>(), threads, [&](Block<T> block, const std::uint8_t*, std::size_t at, auto&& add) {
            std::array<std::int64_t, direct_block_size> q;
            grid_integers_block(block.data, block.size, grid, fill, q.data());
            for (std::size_t i = 0; i < block.size; ++i) add(at + i, q[i]);
        });
    });
}

std::optional<std::int64_t> grouped_wide_sum(const Records& records, const Codes& codes, Sums sums, i128 lower, i128 upper, i128 fill, unsigned threads) {
    return with_integer_type(records.type, [&]<class T>(T) {
        const auto low = static_cast<T>(lower), high = static_cast<T>(upper);
        return add_by_group<T>(records, codes, sums, T{0}, threads, [&](Block<T> block, const std::uint8_t* flags, std::size_t at, auto&& add) {
            if (flags)
                for (std::size_t i = 0; i < block.size; ++i) add(at + i, flags[i] ? i128{std::clamp(block.data[i], low, high)} : fill);
            else
                for (std::size_t i = 0; i < block.size; ++i) add(at + i, i128{std::clamp(block.data[i], low, high)});
        });
    });
}

}  // namespace soundsum
