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

void Places::find(const std::int64_t* keys, const Validity& validity, std::size_t size, std::int32_t* out, unsigned threads) const {
    constexpr std::size_t ahead = 16, block = 1024;
    in_parallel(size, threads, [&](unsigned, std::size_t begin, std::size_t end) {
        std::array<std::uint8_t, block> flags;
        for (std::size_t start = begin; start < end; start += block) {
            const std::size_t stop = std::min(end, start + block);
            validity.expand(start, stop - start, flags.data());
            for (std::size_t i = start; i < stop; ++i) {
                if (i + ahead < end) __builtin_prefetch(&slots[home(keys[i + ahead])]);
                std::size_t at = home(keys[i]);
                while (slots[at].place != none && slots[at].key != keys[i]) at = (at + 1) & (slots.size() - 1);
                out[i] = flags[i - start] ? slots[at].place : none;
            }
        }
    });
}

}  // namespace soundsum
