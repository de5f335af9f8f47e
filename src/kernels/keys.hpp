#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hashing.hpp"
#include "shards.hpp"
#include "validity.hpp"

namespace soundsum {

// The place of each of `size` keys among `listed`, or listed.size() for one that is missing or not there; `out` has room.
class Places {
public:
    Places(const std::int64_t* listed, std::size_t count);
    void find(const std::int64_t* keys, const Validity&, std::size_t size, std::int32_t* out, unsigned threads) const;

private:
    struct Slot {
        std::int64_t key;
        std::int32_t place;  // the number of keys listed, if the slot is free
    };
    template <class Where, class Find>
    void find_with(const std::int64_t* keys, const Validity&, std::size_t size, std::int32_t* out, unsigned threads, const Where&,
                   const Find&) const;
    std::size_t distance(std::int64_t key) const {
        return std::min(static_cast<std::size_t>(static_cast<std::uint64_t>(key) - first), by_distance.size() - 1);
    }
    std::size_t home(std::int64_t key) const { return (static_cast<std::uint64_t>(key) * multiplier) >> shift; }

    static constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15u;  // 2^64 over the golden ratio
    unsigned shift = 0;
    std::int32_t none;
    std::vector<Slot> slots;
    std::uint64_t first = 0;  // the least key listed
    std::vector<std::int32_t> by_distance;  // from it; empty where keys lie far apart
};

// A small number for each integer met so far, for keys that nobody listed.
class IntegerCodes {
public:
    explicit IntegerCodes(const std::uint8_t* seed) : hashing_(seed), shards_(shard_count) {}
    IntegerCodes(const IntegerCodes&) = delete;

    // The code of each key, -1 for those that do not count.
    void number(const std::int64_t* keys, const std::uint8_t* counts, std::size_t size, std::int32_t* codes, unsigned threads);
    std::size_t codes() const;  // all codes given are below; some numbers below may be no code
    std::int64_t at(std::uint32_t code) const {  // the key of a code; 0 for other numbers
        const std::vector<std::int64_t>& keys = shards_[code % shard_count].keys;
        return code / shard_count < keys.size() ? keys[code / shard_count] : 0;
    }
    void fetch(std::uint32_t code) const {  // into a cache, for `at` soon
        const std::vector<std::int64_t>& keys = shards_[code % shard_count].keys;
        if (code / shard_count < keys.size()) __builtin_prefetch(&keys[code / shard_count]);
    }
    std::size_t bytes() const;

private:
    struct Dealt {
        std::uint64_t hash;
        std::int64_t key;
        std::size_t row;
    };
    struct Slot {
        std::int64_t key;
        std::uint64_t number;  // one after it, 0 if the slot is free
    };
    struct Shard {
        Slots<Slot> slots;
        std::vector<std::int64_t> keys;
    };
    void grow(Shard&, std::size_t more) const;

    Hashing hashing_;
    std::vector<Shard> shards_;
    Deal<Dealt> deal_;
};

}  // namespace soundsum
