#pragma once

#include <cstdint>
#include <vector>

#include "hashing.hpp"
#include "shards.hpp"

namespace soundsum {

// Texts, or any bytes, as words: equal for equal bytes alone, which are kept and compared in full.
class Texts {
  public:
    explicit Texts(const std::uint8_t* seed) : hashing_(seed), shards_(shard_count) {}
    Texts(const Texts&) = delete;

    // offsets[i] and offsets[i + 1] say where text i lies in `data`; those that do not count get any word.
    void number(const std::int64_t* offsets, const std::uint8_t* data, const std::uint8_t* counts, std::size_t size,
                std::uint64_t* out, unsigned threads);
    // The text of a word that `number` gave; nothing for other words.
    struct Text {
        const std::uint8_t* data;
        std::size_t size;
    };
    Text find(std::uint64_t word) const;
    std::size_t bytes() const;

  private:
    struct Dealt {
        std::uint64_t hash;
        std::size_t row;
    };
    struct Slot {
        std::uint64_t hash, place;  // one after where it lies, 0 if the slot is free
    };
    struct Shard {
        Slots<Slot> slots;
        std::size_t texts = 0;
        std::vector<std::uint8_t> kept;  // of each text its length, in 8 bytes, and itself
    };
    static std::uint64_t place(Shard&, std::uint64_t hash, const std::uint8_t* text, std::size_t size);
    static void grow(Shard&, std::size_t more);

    Hashing hashing_;
    std::vector<Shard> shards_;
    Deal<Dealt> deal_;
};

}  // namespace soundsum
