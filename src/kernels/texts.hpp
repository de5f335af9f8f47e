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

    // offsets[i] and offsets[i + 1] say where text i lies in `data`; those that do not count get any word. With `codes`, also
    // a small number for each text, below `codes()`; -1 for those that do not count.
    void number(const std::int64_t* offsets, const std::uint8_t* data, const std::uint8_t* counts, std::size_t size,
                std::uint64_t* out, std::int32_t* codes, unsigned threads);
    // The text of a word that `number` gave; nothing for other words.
    struct Text {
        const std::uint8_t* data;
        std::size_t size;
    };
    Text find(std::uint64_t word) const;
    std::size_t codes() const;         // all codes given are below; some numbers below may be no code
    void index();                      // needed before `at`, and again after more texts
    Text at(std::uint32_t code) const;  // the text of a code; nothing for other numbers
    void fetch(std::uint32_t code) const {  // where the text begins, into a cache
        const Shard& shard = shards_[code % shard_count];
        if (code / shard_count < shard.starts.size()) __builtin_prefetch(&shard.starts[code / shard_count]);
    }
    std::size_t bytes() const;

  private:
    struct Dealt {
        std::uint64_t hash;
        std::size_t row;
    };
    struct Slot {
        std::uint64_t hash, place;  // one after where it lies, 0 if the slot is free
    };
    struct Header {
        std::uint32_t size, number;  // among the texts of the shard
    };
    struct Shard {
        Slots<Slot> slots;
        std::size_t texts = 0;
        std::vector<std::uint8_t> kept;  // of each text a Header and itself
        std::vector<std::uint64_t> starts;  // of each text, where its header lies
    };
    static std::uint64_t place(Shard&, std::uint64_t hash, const std::uint8_t* text, std::size_t size);
    static void grow(Shard&, std::size_t more);
    static Header header(const Shard&, std::uint64_t place);
    static Text text_from(const Shard&, std::uint64_t begin);

    Hashing hashing_;
    std::vector<Shard> shards_;
    Deal<Dealt> deal_;
};

}  // namespace soundsum
