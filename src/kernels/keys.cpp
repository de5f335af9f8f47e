// Keys that lie close together, as the numbers of groups often do, have a table of their own range: one word each, at its
// distance from the least. All others have a hash table with linear probing, at most half full. Where a key is looked for is
// fetched a few keys ahead, as the table of a million groups is larger than the caches near the core. Keys that nobody listed
// are numbered in a hash table for each shard, whose seed is random, as whoever makes up records chooses them.
#include "keys.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include "parallel.hpp"

namespace soundsum {

namespace {

constexpr std::size_t fetched_ahead = 24, stretch = 1024, most_keys = (std::size_t{1} << 31) / shard_count - 1;  // codes have 31 bits
constexpr std::size_t most_per_key = 4;  // words of the table by distance; the other one takes four to eight times as many

}  // namespace

Places::Places(const std::int64_t* listed, std::size_t count) : none(static_cast<std::int32_t>(count)) {
    if (count) {
        const auto [least, most] = std::minmax_element(listed, listed + count);
        first = static_cast<std::uint64_t>(*least);
        const std::uint64_t span = static_cast<std::uint64_t>(*most) - first;
        if (span < most_per_key * count) {
            by_distance.assign(span + 2, none);  // the last for all that are further
            for (std::size_t place = count; place-- > 0;) by_distance[distance(listed[place])] = static_cast<std::int32_t>(place);
            return;
        }
    }
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
    if (by_distance.empty())
        find_with(keys, validity, size, out, threads, [&](std::int64_t key) { return &slots[home(key)]; }, [&](std::int64_t key) {
            std::size_t at = home(key);
            while (slots[at].place != none && slots[at].key != key) at = (at + 1) & (slots.size() - 1);
            return slots[at].place;
        });
    else
        find_with(keys, validity, size, out, threads, [&](std::int64_t key) { return &by_distance[distance(key)]; },
                  [&](std::int64_t key) { return by_distance[distance(key)]; });
}

template <class Where, class Find>
void Places::find_with(const std::int64_t* keys, const Validity& validity, std::size_t size, std::int32_t* out, unsigned threads,
                       const Where& where, const Find& found) const {
    constexpr std::size_t ahead = 16, block = 1024;
    in_parallel(size, threads, [&](unsigned, std::size_t begin, std::size_t end) {
        std::array<std::uint8_t, block> flags;
        for (std::size_t start = begin; start < end; start += block) {
            const std::size_t stop = std::min(end, start + block);
            validity.expand(start, stop - start, flags.data());
            for (std::size_t i = start; i < stop; ++i) {
                if (i + ahead < end) __builtin_prefetch(where(keys[i + ahead]));
                const std::int32_t place = found(keys[i]);
                out[i] = flags[i - start] ? place : none;
            }
        }
    });
}

void IntegerCodes::number(const std::int64_t* keys, const std::uint8_t* counts, std::size_t size, std::int32_t* codes, unsigned threads) {
    const auto look = [&](std::size_t i) {
        codes[i] = -1;
        const std::uint64_t hash = hashing_.person(static_cast<std::uint64_t>(keys[i]));
        return Looked{counts[i] != 0, shard_of(hash), hash};
    };
    const auto make = [&](std::size_t i, std::uint64_t hash) { return Dealt{hash, keys[i], i}; };
    deal_.each(size, threads, look, make, [&](std::size_t s, const Dealt* dealt, std::size_t count) {
        Shard& shard = shards_[s];
        for (std::size_t k = 0; k < count; ++k) {
            if (k % stretch == 0 && too_few_slots(shard.slots.size(), shard.keys.size() + stretch)) grow(shard, stretch);
            if (k + fetched_ahead < count) shard.slots.fetch(dealt[k + fetched_ahead].hash);
            std::size_t at = shard.slots.home(dealt[k].hash);
            while (shard.slots[at].number && shard.slots[at].key != dealt[k].key) at = shard.slots.after(at);
            if (!shard.slots[at].number) {
                if (shard.keys.size() >= most_keys) throw std::length_error("too many keys");
                shard.keys.push_back(dealt[k].key);
                shard.slots[at] = {dealt[k].key, shard.keys.size()};
            }
            codes[dealt[k].row] = static_cast<std::int32_t>((shard.slots[at].number - 1) * shard_count + s);
        }
    });
}

void IntegerCodes::grow(Shard& shard, std::size_t more) const {
    Slots<Slot> grown(more_slots(shard.slots.size(), shard.keys.size() + more));
    for (const Slot& slot : shard.slots) {
        if (!slot.number) continue;
        std::size_t at = grown.home(hashing_.person(static_cast<std::uint64_t>(slot.key)));
        while (grown[at].number) at = grown.after(at);
        grown[at] = slot;
    }
    shard.slots = std::move(grown);
}

std::size_t IntegerCodes::codes() const {
    std::size_t most = 0;
    for (const Shard& shard : shards_) most = std::max(most, shard.keys.size());
    return most * shard_count;
}

std::size_t IntegerCodes::bytes() const {
    std::size_t bytes = 0;
    for (const Shard& shard : shards_) bytes += shard.slots.size() * sizeof(Slot) + 8 * shard.keys.capacity();
    return bytes;
}

}  // namespace soundsum
