// Rows dealt out by a hash of their person or text, so that each shard belongs to one thread and needs no locks; and the memory
// that a shard's hash table lies in. What is added up does not depend on which thread does it.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <new>
#include <type_traits>
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

// Bytes from the system, in large pages where it has them and one is filled, as they are met in any order.
class Memory {
  public:
    explicit Memory(std::size_t bytes = 0) : data_(nullptr), bytes_(bytes) {
        if (bytes == 0) return;
        const std::size_t unit = unit_of(bytes);
        bytes_ = (bytes + unit - 1) / unit * unit;
        data_ = ::operator new(bytes_, std::align_val_t{unit});
#if defined(__linux__)
        if (unit == page) madvise(data_, bytes_, MADV_HUGEPAGE);  // a wish: it may be refused
#endif
    }
    Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Memory& operator=(Memory&& other) noexcept {
        std::swap(data_, other.data_), std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Memory() {
        if (data_ != nullptr) ::operator delete(data_, std::align_val_t{unit_of(bytes_)});
    }
    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

    static constexpr std::size_t page = 1 << 21;

  private:
    static constexpr std::size_t line = 64;
    static std::size_t unit_of(std::size_t bytes) { return bytes < page ? line : page; }

    void* data_;
    std::size_t bytes_;
};

// Blocks of a few T for whoever needs them, carved out of memory that doubles, or grows by a large page at a time.
template <class T> class Pool {
  public:
    static constexpr std::size_t block = 64;  // of T

    T* take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) grow();
        T* const taken = free_.back();
        free_.pop_back();
        return taken;
    }
    void give_back(T* taken) {
        const std::lock_guard lock(mutex_);
        free_.push_back(taken);
    }
    void clear() {  // when all are back
        memory_.clear(), free_.clear(), free_.shrink_to_fit(), bytes_ = 0, blocks_ = 0;
    }
    std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t least = 1 << 16;

    void grow() {
        memory_.emplace_back(std::clamp(bytes_, least, Memory::page));
        const std::size_t more = memory_.back().bytes() / (block * sizeof(T));
        if (free_.capacity() < blocks_ + more) free_.reserve(2 * (blocks_ + more));  // giving one back never throws
        bytes_ += memory_.back().bytes(), blocks_ += more;
        T* const first = static_cast<T*>(memory_.back().data());
        for (std::size_t b = more; b-- > 0;) free_.push_back(first + b * block);
    }

    std::mutex mutex_;
    std::vector<Memory> memory_;
    std::vector<T*> free_;
    std::size_t bytes_ = 0, blocks_ = 0;  // of all memory
};

// An array of T in blocks of a pool: it grows without moving what is there, and many of them waste little.
template <class T> class Blocks {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  public:
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return blocks_[i / block][i % block]; }
    const T& operator[](std::size_t i) const { return blocks_[i / block][i % block]; }
    template <class Use> void each(Use&& use) const {
        for (std::size_t begin = 0; begin < size_; begin += block) {
            T* const own = blocks_[begin / block];
            for (std::size_t k = 0, end = std::min(block, size_ - begin); k < end; ++k) use(own[k]);
        }
    }
    void append(Pool<T>& pool, const T* from, std::size_t count) {
        while (count > 0) {
            if (size_ == blocks_.size() * block) blocks_.push_back(pool.take());
            const std::size_t some = std::min(count, block - size_ % block);
            std::memcpy(static_cast<void*>(&(*this)[size_]), from, some * sizeof(T));
            size_ += some, from += some, count -= some;
        }
    }
    void cut(Pool<T>& pool, std::size_t size) {
        size_ = size;
        for (; blocks_.size() > (size + block - 1) / block; blocks_.pop_back()) pool.give_back(blocks_.back());
    }

  private:
    static constexpr std::size_t block = Pool<T>::block;

    std::vector<T*> blocks_;
    std::size_t size_ = 0;
};

// A number of zeroed slots.
template <class Slot> class Slots {
  public:
    explicit Slots(std::size_t count = 0) : memory_(count * sizeof(Slot)), data_(static_cast<Slot*>(memory_.data())), size_(count) {
        if (count > 0) std::memset(memory_.data(), 0, memory_.bytes());
    }
    Slots& operator=(Slots&& other) noexcept {
        std::swap(memory_, other.memory_), std::swap(data_, other.data_), std::swap(size_, other.size_);
        return *this;
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
    Memory memory_;
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
