// Which records are there: an Arrow bitmap, or none if all are. Both are used in the same way, a flag for each record, so
// that a column that may have missing records takes the same time with one as without.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace soundsum {

struct Validity {
    const std::uint8_t* bits = nullptr;  // bit i of byte i/8, least significant first; 1 is present
    std::size_t first_bit = 0;

    bool operator[](std::size_t i) const {
        const std::size_t bit = first_bit + i;
        return bits == nullptr || (bits[bit / 8] >> (bit % 8)) & 1;
    }

    // One byte of 0 or 1 for each of the records from `begin` on. No byte is read that has none of their bits.
    void expand(std::size_t begin, std::size_t size, std::uint8_t* flags) const {
        static constexpr std::uint8_t all_present[2] = {0xff, 0xff};
        const std::size_t bit = first_bit + begin, step = bits != nullptr;
        const std::uint8_t* byte = bits == nullptr ? all_present : bits + bit / 8;
        const unsigned shift = bit % 8;
        std::size_t i = 0;
        for (; i + 8 <= size; i += 8, byte += step) {
            const unsigned eight = shift ? byte[0] >> shift | byte[1] << (8 - shift) : byte[0];
            std::memcpy(flags + i, eight_flags[eight & 0xff].data(), 8);
        }
        for (; i < size; ++i) flags[i] = (*this)[begin + i];
    }

  private:
    static constexpr auto eight_flags = [] {
        std::array<std::array<std::uint8_t, 8>, 256> flags{};
        for (unsigned byte = 0; byte < 256; ++byte)
            for (unsigned bit = 0; bit < 8; ++bit) flags[byte][bit] = byte >> bit & 1;
        return flags;
    }();
};

}  // namespace soundsum
