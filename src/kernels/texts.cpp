// A hash table of the texts met so far for each shard, linear probing. The word of a text is where it is kept: the shard in
// the lowest bits, and above it the place there.
#include "texts.hpp"

#include <cstring>
#include <stdexcept>

namespace soundsum {
namespace {

constexpr std::size_t ahead = 24, stretch = 1024;
constexpr std::size_t most_bytes = 0xffffffff, most_texts = (std::size_t{1} << 31) / shard_count - 1;  // codes have 31 bits

}  // namespace

void Texts::number(const std::int64_t* offsets, const std::uint8_t* data, const std::uint8_t* counts, std::size_t size,
                   std::uint64_t* out, std::int32_t* codes, unsigned threads) {
    const auto look = [&](std::size_t i) {
        out[i] = 0;
        if (codes) codes[i] = -1;
        const std::uint64_t word = hashing_.word_of(data + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
        const std::uint64_t hash = hashing_.person(word);
        return Looked{counts[i] != 0, shard_of(hash), hash};
    };
    const auto make = [](std::size_t i, std::uint64_t hash) { return Dealt{hash, i}; };
    deal_.each(size, threads, look, make, [&](std::size_t s, const Dealt* dealt, std::size_t count) {
        Shard& shard = shards_[s];
        for (std::size_t k = 0; k < count; ++k) {
            if (k % stretch == 0 && too_few_slots(shard.slots.size(), shard.texts + stretch)) grow(shard, stretch);
            if (k + ahead < count) shard.slots.fetch(dealt[k + ahead].hash);
            const std::size_t i = dealt[k].row;
            const std::uint64_t place =
                Texts::place(shard, dealt[k].hash, data + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
            out[i] = place * shard_count + s;
            if (codes) codes[i] = static_cast<std::int32_t>(Texts::header(shard, place).number * shard_count + s);
        }
    });
}

Texts::Header Texts::header(const Shard& shard, std::uint64_t place) {
    Header header;
    std::memcpy(&header, shard.kept.data() + place - 1, sizeof header);
    return header;
}

std::uint64_t Texts::place(Shard& shard, std::uint64_t hash, const std::uint8_t* text, std::size_t size) {
    std::size_t at = shard.slots.home(hash);
    for (; shard.slots[at].place; at = shard.slots.after(at)) {
        if (shard.slots[at].hash != hash) continue;
        const std::uint8_t* kept = shard.kept.data() + shard.slots[at].place - 1 + sizeof(Header);
        if (header(shard, shard.slots[at].place).size == size && (size == 0 || std::memcmp(kept, text, size) == 0))
            return shard.slots[at].place;
    }
    if (size > most_bytes || shard.texts >= most_texts) throw std::length_error("too many texts, or too long a one");
    const Header header{static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(shard.texts)};
    const std::uint64_t place = shard.kept.size() + 1;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&header);
    shard.kept.insert(shard.kept.end(), bytes, bytes + sizeof header);
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

Texts::Text Texts::text_from(const Shard& shard, std::uint64_t begin) {
    const std::vector<std::uint8_t>& kept = shard.kept;
    if (begin >= kept.size() || kept.size() - begin < sizeof(Header)) return {nullptr, 0};
    const std::size_t size = header(shard, begin + 1).size, left = kept.size() - begin - sizeof(Header);
    return size <= left ? Text{kept.data() + begin + sizeof(Header), size} : Text{nullptr, 0};
}

Texts::Text Texts::find(std::uint64_t word) const { return text_from(shards_[word % shard_count], word / shard_count - 1); }

std::size_t Texts::codes() const {
    std::size_t most = 0;
    for (const Shard& shard : shards_) most = shard.texts > most ? shard.texts : most;
    return most * shard_count;
}

void Texts::index() {
    for (Shard& shard : shards_) {
        std::uint64_t start = shard.starts.empty() ? 0 : shard.starts.back();
        if (!shard.starts.empty()) start += sizeof(Header) + header(shard, start + 1).size;
        for (shard.starts.reserve(shard.texts); start < shard.kept.size(); start += sizeof(Header) + header(shard, start + 1).size)
            shard.starts.push_back(start);
    }
}

Texts::Text Texts::at(std::uint32_t code) const {
    const Shard& shard = shards_[code % shard_count];
    return code / shard_count < shard.starts.size() ? text_from(shard, shard.starts[code / shard_count]) : Text{nullptr, 0};
}

std::size_t Texts::bytes() const {
    std::size_t bytes = 0;
    for (const Shard& shard : shards_)
        bytes += shard.slots.size() * sizeof(Slot) + shard.kept.capacity() + 8 * shard.starts.capacity();
    return bytes;
}

}  // namespace soundsum
