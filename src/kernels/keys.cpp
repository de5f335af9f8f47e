// A hash table with linear probing, at most half full. Where a key is looked for is fetched a few keys ahead, as the table
// of a million groups is larger than the caches near the core.
#include "keys.hpp"

#include <bit>

#include "parallel.hpp"

namespace soundsum {

Places::Places(const std::int64_t* listed, std::size_t count) : none(static_cast<std::int32_t>(count)) {
    const unsigned bits = std::bit_width(2 * count | 1);
    shift = 64 - bits;
    slots.assign(std::size_t{1} << bits, Slot{0, none});
    for (std::size_t place = 0; place < count; ++place) {
        std::size_t at = home(listed[place]);
        while (slots[at].place != none) at = (at + 1) & (slots.size() - 1);
        slots[at] = {listed[place], static_cast<std::int32_t>(place)};
    }
}

void Places::find(const std::int64_t* keys, std::size_t size, std::int32_t* out, unsigned threads) const {
    constexpr std::size_t ahead = 16;
    in_parallel(size, threads, [&](unsigned, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            if (i + ahead < end) __builtin_prefetch(&slots[home(keys[i + ahead])]);
            std::size_t at = home(keys[i]);
            while (slots[at].place != none && slots[at].key != keys[i]) at = (at + 1) & (slots.size() - 1);
            out[i] = slots[at].place;
        }
    });
}

}  // namespace soundsum
