// What a kernel reads: an array (any stride, with or without an Arrow validity bitmap) or runs, as a series of blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "types.hpp"
#include "validity.hpp"

namespace soundsum {

// At most this many records are handed over at once: copied, to fit the first-level cache; in place, so that each of the
// 16 lanes of an exact sum gets no more than 2^11 (see exact.cpp).
constexpr std::size_t block_size = 2048, direct_block_size = 16 * block_size;

struct Records {
    const std::byte* data = nullptr;
    std::size_t size = 0;        // of the array; for runs, of all patterns together
    std::ptrdiff_t stride = 1;   // in elements
    Validity validity;
    bool nullable = false;  // whether records may be missing from the bitmap, so that it is looked at, even if there is none
    std::string type;
    bool aligned = true;  // whether the elements may be read in place
    bool is_runs = false;
    const std::int64_t* lengths = nullptr;  // runs: of each pattern,
    const std::int64_t* repeats = nullptr;  //       and how often it repeats
    std::size_t parts = 0;

    template <class T> T at(std::size_t i) const {
        T x;
        std::memcpy(&x, data + static_cast<std::ptrdiff_t>(i) * stride * static_cast<std::ptrdiff_t>(sizeof(T)), sizeof(T));
        return x;
    }
};

template <class T> bool is_aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0; }

template <class T> struct Block {
    const T* data;
    std::size_t size;
};

template <class T> SOUNDSUM_INLINE bool is_missing(T x) {
    if constexpr (is_float<T>) {
        const auto value = load(x);
        return value != value;
    } else {
        return false;
    }
}

// Copies with `fill` in place of records whose flag is 0 (masks.cpp).
void copy_masked(const std::uint8_t* from, std::size_t size, const std::uint8_t* flags, std::uint8_t fill, std::uint8_t* out);
void copy_masked(const std::uint16_t* from, std::size_t size, const std::uint8_t* flags, std::uint16_t fill, std::uint16_t* out);
void copy_masked(const std::uint32_t* from, std::size_t size, const std::uint8_t* flags, std::uint32_t fill, std::uint32_t* out);
void copy_masked(const std::uint64_t* from, std::size_t size, const std::uint8_t* flags, std::uint64_t fill, std::uint64_t* out);

template <std::size_t Size>
using Bits = std::conditional_t<Size == 8, std::uint64_t, std::conditional_t<Size == 4, std::uint32_t, std::conditional_t<Size == 2, std::uint16_t, std::uint8_t>>>;

// Blocks of an array, from `begin` to `end`. A contiguous, aligned array that is not nullable is read in place; otherwise a
// block is copied, with missing records as `fill`, or left out.
template <class T> class ArrayBlocks {
  public:
    ArrayBlocks(const Records& records, std::size_t begin, std::size_t end, T fill, bool drop)
        : records_(records), at_(begin), end_(end), fill_(fill), drop_(drop) {}

    Block<T> next() {
        while (at_ < end_) {
            const bool direct = records_.stride == 1 && records_.aligned && !records_.nullable && !(drop_ && is_float<T>);
            const std::size_t begin = at_, size = std::min(direct ? direct_block_size : block_size, end_ - at_);
            at_ += size;
            if (direct) return {reinterpret_cast<const T*>(records_.data) + begin, size};
            const std::size_t kept = drop_ ? copy_present(begin, size) : copy_filled(begin, size);
            if (kept) return {buffer_.data(), kept};
        }
        return {nullptr, 0};
    }

    // A flag for each record of a block that was not read in place.
    const std::uint8_t* flags() const { return flags_.data(); }

  private:
    std::size_t copy_filled(std::size_t begin, std::size_t size) {
        using B = Bits<sizeof(T)>;
        records_.validity.expand(begin, size, flags_.data());
        const T* from = buffer_.data();
        if (records_.stride == 1 && records_.aligned) from = reinterpret_cast<const T*>(records_.data) + begin;
        else
            for (std::size_t i = 0; i < size; ++i) buffer_[i] = records_.at<T>(begin + i);
        copy_masked(reinterpret_cast<const B*>(from), size, flags_.data(), std::bit_cast<B>(fill_), reinterpret_cast<B*>(buffer_.data()));
        return size;
    }
    std::size_t copy_present(std::size_t begin, std::size_t size) {
        std::size_t kept = 0;
        records_.validity.expand(begin, size, flags_.data());
        for (std::size_t i = 0; i < size; ++i) {
            const T x = records_.at<T>(begin + i);
            buffer_[kept] = x;
            kept += flags_[i] & !is_missing(x);
        }
        return kept;
    }

    const Records& records_;
    std::size_t at_, end_;
    T fill_;
    bool drop_;
    std::array<T, block_size> buffer_;
    std::array<std::uint8_t, block_size> flags_;
};

// Blocks of runs. A short pattern is written out once, as often as it fits, and that block handed over again and again.
template <class T> class RunBlocks {
  public:
    RunBlocks(const Records& records, bool drop)
        : records_(records), pattern_(reinterpret_cast<const T*>(records.data)), drop_(drop) {}

    Block<T> next() {
        while (left_ == 0) {
            if (part_ == records_.parts) return {nullptr, 0};
            begin_part();
        }
        if (kept_ > block_size) {  // a long pattern, straight from the patterns, piece by piece
            const Block<T> block{source_ + piece_, std::min(block_size, kept_ - piece_)};
            piece_ += block.size;
            if (piece_ == kept_) piece_ = 0, --left_;
            return block;
        }
        const std::uint64_t times = std::min<std::uint64_t>(left_, block_size / kept_);
        left_ -= times;
        return {buffer_.data(), static_cast<std::size_t>(times) * kept_};
    }

  private:
    void begin_part() {
        const auto length = static_cast<std::size_t>(records_.lengths[part_]);
        left_ = static_cast<std::uint64_t>(records_.repeats[part_]);
        ++part_;
        source_ = pattern_, kept_ = length, piece_ = 0;
        pattern_ += length;
        if (drop_) {
            kept_pattern_.clear();
            for (std::size_t i = 0; i < length; ++i)
                if (!is_missing(source_[i])) kept_pattern_.push_back(source_[i]);
            source_ = kept_pattern_.data(), kept_ = kept_pattern_.size();
        }
        if (kept_ == 0) left_ = 0;
        if (left_ && kept_ <= block_size) {
            const std::size_t times = std::min<std::uint64_t>(left_, block_size / kept_);
            for (std::size_t t = 0; t < times; ++t) std::copy_n(source_, kept_, buffer_.data() + t * kept_);
        }
    }

    const Records& records_;
    const T* pattern_;             // of the next part
    const T* source_ = nullptr;    // of this one
    std::size_t kept_ = 0, piece_ = 0, part_ = 0;
    std::uint64_t left_ = 0;       // repetitions to go
    bool drop_;
    std::vector<T> kept_pattern_;
    std::array<T, block_size> buffer_;
};

// Calls f with the blocks of all records in order.
template <class T, class F> decltype(auto) with_blocks(const Records& records, T fill, bool drop, F&& f) {
    if (records.is_runs) {
        RunBlocks<T> blocks(records, drop);
        return f(blocks);
    }
    ArrayBlocks<T> blocks(records, 0, records.size, fill, drop);
    return f(blocks);
}

}  // namespace soundsum
