// Clipped sums of per-example gradients (docs/theorems/gradients.md). numbers/clipping.py holds the same in Python integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace soundsum {

// The gradients of all examples with respect to one parameter: rows of `columns` floats, one after another.
struct Gradients {
    const void* data;
    std::size_t rows, columns;
    std::string type;
};

// Per row that is asked for: the bits of its largest magnitude as a double (at least infinity's where a value is infinite or
// NaN), and the sum of the squares of its integers, low + 2^32 high. Where the largest magnitude is 2^30 steps or more, the
// squares are not to be read: the row is measured again with a coarser step.
struct Measured {
    std::uint64_t *top, *low, *high;
};

// `rows` lists the rows asked for and `scale` the 1/step of each, a power of two.
void measure_gradients(const std::vector<Gradients>& tensors, const std::vector<std::int64_t>& rows, const double* scale,
                       const Measured& measured, unsigned threads);

// What each row's integers are: nothing where scale is 0; r where m is 0; otherwise floor(m r / 2^shift) + [r < 0], with m
// below 2^31 and a shift from 31 on. `top` as measured.
struct Factors {
    const double* scale;
    const std::uint64_t* top;
    const std::int32_t *m, *shift;
};

// Adds the integers of all rows to `out`, one array for each tensor. Each integer is below 2^25 in magnitude.
void add_gradients(const std::vector<Gradients>& tensors, const Factors& factors, const std::vector<std::int64_t*>& out, unsigned threads);

// Adds round(sigma G) to each integer modulo 2^64, with G standard normal: Karney's algorithm N (2016) on the words of
// ChaCha20, one stream for each coordinate, from number `first` on. gradients/normal.py has the same, and continues where 32
// or 64 bits decide nothing: the coordinates returned, which are left as they are.
struct Key {
    std::uint32_t words[8];
};
constexpr std::size_t normal_cells = 12;
std::vector<std::uint64_t> add_rounded_normal(const Key& key, const std::uint64_t* table, std::uint64_t sigma, std::uint64_t first,
                                              std::int64_t* out, std::size_t size, unsigned threads);

}  // namespace soundsum
