#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace soundsum
