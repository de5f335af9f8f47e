// A hash table of the texts met so far for each shard, linear probing. The word of a text is where it is kept: the shard in
// the lowest bits, and above it the place there.
#include "texts.hpp"

#include <cstring>

namespace soundsum {
namespace {

constexpr std::size_t ahead = 24, stretch = 1024;

}  // namespace

void Texts::number(const std::int64_t* offsets, const std::uint8_t* data, const std::uint8_t* counts, std::size_t size,
                   std::uint64_t* out, unsigned threads) {
    const auto look = [&](std::size_t i) {
        out[i] = 0;
        const std::uint64_t word = hashing_.word_of(data + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
        const std::uint64_t hash = hashing_.person(word);
        return Looked{counts[i] != 0, shard_of(hash), hash};
    };
    deal_.out(size, threads, look, [](std::size_t i, std::uint64_t hash) { return Dealt{hash, i}; });
    deal_.each(threads, [&](std::size_t s, const Dealt* dealt, std::size_t count) {
        Shard& shard = shards_[s];
        for (std::size_t k = 0; k < count; ++k) {
            if (k % stretch == 0 && too_few_slots(shard.slots.size(), shard.texts + stretch)) grow(shard, stretch);
            if (k + ahead < count) shard.slots.fetch(dealt[k + ahead].hash);
            const std::size_t i = dealt[k].row;
            const std::uint64_t place =
                Texts::place(shard, dealt[k].hash, data + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
            out[i] = place * shard_count + s;
        }
    });
}

std::uint64_t Texts::place(Shard& shard, std::uint64_t hash, const std::uint8_t* text, std::size_t size) {
    std::size_t at = shard.slots.home(hash);
    for (; shard.slots[at].place; at = shard.slots.after(at)) {
        if (shard.slots[at].hash != hash) continue;
        const std::uint8_t* kept = shard.kept.data() + shard.slots[at].place - 1;
        std::uint64_t length;
        std::memcpy(&length, kept, sizeof length);
        if (length == size && (size == 0 || std::memcmp(kept + sizeof length, text, size) == 0)) return shard.slots[at].place;
    }
    const std::uint64_t length = size, place = shard.kept.size() + 1;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&length);
    shard.kept.insert(shard.kept.end(), bytes, bytes + sizeof length);
    shard.kept.insert(shard.kept.end(), text, text + size);
    shard.slots[at] = {hash, place};
    ++shard.texts;
    return place;
}

void Texts::grow(Shard& shard, std::size_t more) {
    Slots<Slot> grown(more_slots(shard.slots.size(), shard.texts + more));
    for (const Slot& slot : shard.slots) {
        if (!slot.place) continue;
        std::size_t at = grown.home(slot.hash);
        while (grown[at].place) at = grown.after(at);
        grown[at] = slot;
    }
    shard.slots = std::move(grown);
}

Texts::Text Texts::find(std::uint64_t word) const {
    const std::vector<std::uint8_t>& kept = shards_[word % shard_count].kept;
    const std::uint64_t begin = word / shard_count - 1;
    std::uint64_t length;
    if (begin >= kept.size() || kept.size() - begin < sizeof length) return {nullptr, 0};
    std::memcpy(&length, kept.data() + begin, sizeof length);
    const std::size_t left = kept.size() - begin - sizeof length;
    return length <= left ? Text{kept.data() + begin + sizeof length, length} : Text{nullptr, 0};
}

std::size_t Texts::bytes() const {
    std::size_t bytes = 0;
    for (const Shard& shard : shards_) bytes += shard.slots.size() * sizeof(Slot) + shard.kept.capacity();
    return bytes;
}

}  // namespace soundsum
