// Rows dealt out by a hash of their person or text, so that each shard belongs to one thread and needs no locks; and the memory
// that a shard's hash table lies in. What is added up does not depend on which thread does it.
#pragma once

#include <array>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "parallel.hpp"
#include "types.hpp"

namespace soundsum {

constexpr std::size_t shard_count = 16;
inline std::size_t shard_of(std::uint64_t hash) { return hash % shard_count; }

struct Looked {
    bool counts;
    std::size_t shard;
    std::uint64_t hash;
};

// The rows of a batch by shard. Those that do not count are dealt out too, to a shard of their own that nobody looks at, so
// that it makes no difference how many there are.
template <class Dealt, std::size_t shard_count = soundsum::shard_count> class Deal {
  public:
    // `look(row)` says whether a row counts, and its shard and hash; `make(row, hash)` is what the shard gets of it, and
    // use(shard, rows, count) is called for every stretch of a shard's rows, all of them on one thread. A few rows are dealt
    // out at a time, so that they are still in a cache when they are used.
    template <class Look, class Make, class Use>
    void each(std::size_t size, unsigned threads, Look&& look, Make&& make, Use&& use) {
        for (std::size_t begin = 0; begin < size; begin += most_dealt) {
            out(begin, std::min(size, begin + most_dealt), threads, look, make);
            in_parallel(threads, threads, [&](unsigned thread, std::size_t, std::size_t) {
                for (std::size_t shard = thread; shard < shard_count; shard += threads)
                    for (const Part& part : parts_)
                        use(shard, part.rows.data() + part.starts[shard], part.starts[shard + 1] - part.starts[shard]);
            });
        }
    }

  private:
    static constexpr std::size_t most_dealt = 1 << 17;

    struct Part {
        std::vector<Dealt> rows;
        std::vector<std::uint64_t> hashes;
        std::vector<std::uint16_t> shards;
        std::array<std::size_t, shard_count + 2> starts{};
    };

    template <class Look, class Make> void out(std::size_t first, std::size_t last, unsigned threads, Look&& look, Make&& make) {
        parts_.resize(threads);
        in_parallel(last - first, threads, [&](unsigned thread, std::size_t begin, std::size_t end) {
            Part& part = parts_[thread];
            part.rows.resize(end - begin), part.hashes.resize(end - begin), part.shards.resize(end - begin);
            std::array<std::size_t, shard_count + 2> next{};
            for (std::size_t i = begin; i < end; ++i) {
                const Looked looked = look(first + i);
                part.hashes[i - begin] = looked.hash;
                part.shards[i - begin] = static_cast<std::uint16_t>(looked.counts ? looked.shard : shard_count);
                ++next[part.shards[i - begin] + 1];
            }
            for (std::size_t s = 0; s <= shard_count; ++s) next[s + 1] += next[s];
            part.starts = next;
            for (std::size_t i = begin; i < end; ++i)
                part.rows[next[part.shards[i - begin]]++] = make(first + i, part.hashes[i - begin]);
        });
    }

    std::vector<Part> parts_;
};

// A number of zeroed slots; from the system in large pages where it has them, as they are met in any order.
template <class Slot> class Slots {
  public:
    explicit Slots(std::size_t count = 0) : data_(nullptr), size_(count) {
        if (count == 0) return;
        const std::size_t unit = unit_of(count), bytes = (count * sizeof(Slot) + unit - 1) / unit * unit;
        data_ = static_cast<Slot*>(::operator new(bytes, std::align_val_t{unit}));
#if defined(__linux__)
        if (unit == page) madvise(data_, bytes, MADV_HUGEPAGE);  // a wish: it may be refused
#endif
        std::memset(static_cast<void*>(data_), 0, bytes);
    }
    Slots(Slots&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Slots& operator=(Slots&& other) noexcept {
        std::swap(data_, other.data_), std::swap(size_, other.size_);
        return *this;
    }
    ~Slots() {
        if (data_ != nullptr) ::operator delete(data_, std::align_val_t{unit_of(size_)});
    }

    std::size_t size() const { return size_; }
    Slot& operator[](std::size_t i) { return data_[i]; }
    const Slot& operator[](std::size_t i) const { return data_[i]; }
    Slot* begin() { return data_; }
    Slot* end() { return data_ + size_; }
    const Slot* begin() const { return data_; }
    const Slot* end() const { return data_ + size_; }
    void fetch(std::uint64_t hash) const {
        const auto* words = reinterpret_cast<const std::uint64_t*>(data_ + home(hash));
        __builtin_prefetch(words, 1), __builtin_prefetch(words + sizeof(Slot) / 8 - 1, 1);
    }
    std::size_t home(std::uint64_t hash) const { return static_cast<std::size_t>((u128{hash} * size_) >> 64); }
    std::size_t after(std::size_t i) const { return i + 1 == size_ ? 0 : i + 1; }

  private:
    static constexpr std::size_t line = 64, page = 1 << 21;
    static std::size_t unit_of(std::size_t count) { return count * sizeof(Slot) < page ? line : page; }

    Slot* data_;
    std::size_t size_;
};

// How many slots there must be for so many entries: at most 5 in 8 are taken, and they double. Where an entry belongs
// goes up with its hash, so that growing reads the old slots and writes the new ones from end to end.
inline bool too_few_slots(std::size_t slots, std::size_t entries) { return entries > slots / 8 * 5; }
inline std::size_t more_slots(std::size_t slots, std::size_t entries) {
    std::size_t grown = slots < 64 ? 64 : slots;
    while (too_few_slots(grown, entries)) grown *= 2;
    return grown;
}

}  // namespace soundsum
