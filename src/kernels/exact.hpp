#pragma once

#include <optional>

#include "types.hpp"

namespace soundsum {

struct Records;

// How a record becomes an integer: the nearest integer to (x - base) * scale, ties to even, brought into [low, high];
// scale is a power of two, in two factors because one may overflow. See grids.py.
struct Grid {
    double base, scale, more_scale;
    std::int64_t low, high;  // within [-2^51, 2^51]
};

struct u192 {
    std::uint64_t low, middle, high;
};

i128 grid_sum(const Records&, const Grid&, unsigned threads);
i128 wide_sum(const Records&, i128 lower, i128 upper, unsigned threads);
u192 square_sum(const Records&, i128 lower, i128 upper);
std::uint64_t missing_count(const Records&);

// 1 for each record that is there, 0 for NaN and those missing; here and below `out` has room for records.size.
void find_present(const Records&, std::uint8_t* out);

// The integer of each record, `fill` for a missing one.
void grid_integers(const Records&, const Grid&, std::int64_t fill, std::int64_t* out, unsigned threads);

// Each integer clamped, for a missing one the value within the bounds nearest 0; those of uint64 as their bits.
void wide_integers(const Records&, i128 lower, i128 upper, std::int64_t* out, unsigned threads);

// codes[i] is the group of record i, and each record is added to the sum of its group; `fill` is what a missing record
// adds. Records whose code is no group are left out, and one such code is returned.
struct Codes {
    const std::int64_t* wide;    // one of the two is null
    const std::int32_t* narrow;
    std::int64_t operator[](std::size_t i) const { return wide ? wide[i] : narrow[i]; }
};
struct Sums {
    i128* data;
    std::size_t groups;
};
std::optional<std::int64_t> grouped_grid_sum(const Records&, const Codes&, Sums, const Grid&, std::int64_t fill, unsigned threads);
std::optional<std::int64_t> grouped_wide_sum(const Records&, const Codes&, Sums, i128 lower, i128 upper, i128 fill, unsigned threads);

}  // namespace soundsum
