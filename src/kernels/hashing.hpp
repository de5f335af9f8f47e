// Hashing with random tables, so that nobody who chooses ids can choose which of them meet.
//
// Simple tabulation: a table of random words for each byte of the key, and the words of its bytes added without carry. With
// linear probing it takes constant expected time whatever the keys (Patrascu and Thorup, The power of simple tabulation
// hashing, 2012). Tables are filled from the operating system's randomness (soundsum.randomness) and told to nobody.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "types.hpp"

namespace soundsum {

class Hashing {
  public:
    static constexpr std::size_t person_bytes = 8, group_bytes = 4, tables = person_bytes + group_bytes;
    static constexpr std::size_t seed_size = 8 * (256 * tables + 1);

    explicit Hashing(const std::uint8_t* seed) {
        std::memcpy(table_.data(), seed, sizeof table_);
        std::memcpy(&point_, seed + sizeof table_, sizeof point_);
        point_ %= prime;
    }

    std::uint64_t person(std::uint64_t x) const { return look_up<person_bytes>(x, table_.data()); }
    std::uint64_t group(std::uint64_t code) const { return look_up<group_bytes>(code, table_.data() + person_bytes); }

    // Bytes as a word: a polynomial in a random point, whose coefficients are their length and every four of them. Two texts
    // of n bytes have the same word with a chance of n / 2^63 or less, and are compared in full where they have.
    std::uint64_t word_of(const std::uint8_t* bytes, std::size_t size) const {
        std::uint64_t sum = size % prime;
        for (; size >= 4; bytes += 4, size -= 4) sum = step(sum, bytes, 4);
        return size ? step(sum, bytes, size) : sum;
    }

  private:
    using Table = std::array<std::uint64_t, 256>;
    static constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

    template <std::size_t Bytes> static SOUNDSUM_INLINE std::uint64_t look_up(std::uint64_t x, const Table* tables) {
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i < Bytes; ++i) hash ^= tables[i][(x >> (8 * i)) & 0xff];
        return hash;
    }
    // sum * point + the bytes, modulo the prime: 2^61 is 1 there, so the two ends of the product are added.
    SOUNDSUM_INLINE std::uint64_t step(std::uint64_t sum, const std::uint8_t* bytes, std::size_t size) const {
        std::uint32_t next = 0;
        std::memcpy(&next, bytes, size);
        const u128 product = u128{sum} * point_ + next;
        const std::uint64_t folded = static_cast<std::uint64_t>(product & prime) + static_cast<std::uint64_t>(product >> 61);
        return folded >= prime ? folded - prime : folded;
    }

    std::array<Table, tables> table_;
    std::uint64_t point_;
};

}  // namespace soundsum
