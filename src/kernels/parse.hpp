#pragma once

#include <cstddef>
#include <cstdint>

#include "rows.hpp"

namespace soundsum {

// Cells of one column, each some bytes of the data.
struct Cells {
    const std::uint8_t* data;
    const Cell* first;
    std::size_t size, step;  // from one to the next, in cells
};

// A cell of more bytes spells nothing, so that the time one record takes is bounded.
constexpr std::size_t longest_cell = 4096;

// The number each cell spells between white space, and a flag of 0 for those that spell none. A float beyond the range of its
// type is an infinity or 0, an integer not within [low, high] is missing.
template <class Float> void parse_floats(const Cells&, Float* out, std::uint8_t* flags);
void parse_integers(const Cells&, std::int64_t low, std::int64_t high, std::int64_t* out, std::uint8_t* flags);

// 1 for each cell that is true or 1, 0 for false or 0, in any case, and a flag of 0 for others.
void parse_truths(const Cells&, std::uint8_t* out, std::uint8_t* flags);

// The second, since 1970, of each cell that spells a date, or a date and a time of day, perhaps with how far it is from UTC, and a
// flag of 0 for others: with `instants` for those that do not say how far, with `times` for those without a time of day.
void parse_moments(const Cells&, bool instants, bool times, std::int64_t* out, std::uint8_t* flags);

// The cells one after another, each between two offsets, and a flag of 0 for those that are empty; of texts, also for those
// that are not UTF-8. As many bytes of `out` are written as the cells have together.
void copy_cells(const Cells&, bool are_texts, std::int32_t* offsets, std::uint8_t* out, std::uint8_t* flags);
std::size_t bytes_of(const Cells&);

}  // namespace soundsum
