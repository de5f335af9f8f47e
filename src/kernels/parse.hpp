#pragma once

#include <cstddef>
#include <cstdint>

#include "validity.hpp"

namespace soundsum {

// Cells of text, each between two offsets into the data.
struct Cells {
    const std::int32_t* offsets;
    const std::uint8_t* data;
    Validity validity;
    std::size_t size;
};

// The number each cell spells between white space, and a flag of 0 for those that are missing or spell none. A float beyond
// the range of its type is an infinity or 0, an integer not within [low, high] is missing.
template <class Float> void parse_floats(const Cells&, Float* out, std::uint8_t* flags, unsigned threads);
void parse_integers(const Cells&, std::int64_t low, std::int64_t high, std::int64_t* out, std::uint8_t* flags, unsigned threads);

// A flag of 0 for cells that are missing or not UTF-8.
void check_texts(const Cells&, std::uint8_t* flags, unsigned threads);

}  // namespace soundsum
