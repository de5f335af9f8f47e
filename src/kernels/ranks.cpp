// Numbers are found by a table of equal buckets first: the bucket of a number, (x - lowest edge) * scale, rounded, never falls
// as x grows, so the edges of lower buckets are below x and those of higher ones above it.

#include "ranks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact.hpp"
#include "parallel.hpp"

namespace soundsum {
namespace {

constexpr std::size_t few = 8;  // edges of a bucket that are compared one by one

template <class T> class CellTable {
  public:
    CellTable(const T* edges, std::size_t count) : count_(count), edges_(edges, edges + count) {
        std::size_t buckets = 16;
        while (buckets < 4 * count && buckets < std::size_t{1} << 18) buckets *= 2;
        last_ = static_cast<double>(buckets - 1);
        lowest_ = count ? static_cast<double>(edges[0]) : 0;
        const double width = count ? static_cast<double>(edges[count - 1]) - lowest_ : 0;
        scale_ = width > 0 && std::isfinite(last_ / width) ? last_ / width : 0;
        first_.assign(buckets + 1, 0);
        for (std::size_t i = 0; i < count; ++i) ++first_[bucket(edges[i]) + 1];
        for (std::size_t b = 0; b < buckets; ++b) most_ = std::max<std::size_t>(most_, first_[b + 1]);
        for (std::size_t b = 0; b < buckets; ++b) first_[b + 1] += first_[b];
        edges_.resize(count + few, std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max());
    }

    void find(const T* numbers, std::size_t size, std::int32_t* out) const {
        if (most_ <= 1) return find_within<1>(numbers, size, out);
        if (most_ <= 2) return find_within<2>(numbers, size, out);
        if (most_ <= few) return find_within<few>(numbers, size, out);
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t b = bucket(numbers[i]);
            const auto begin = edges_.begin();
            const auto found = std::upper_bound(begin + first_[b], begin + first_[b + 1], numbers[i]);
            out[i] = place(numbers[i], static_cast<std::size_t>(found - begin));
        }
    }

  private:
    std::size_t bucket(T x) const {
        const double at = (static_cast<double>(x) - lowest_) * scale_;
        return at > 0 ? static_cast<std::size_t>(at < last_ ? at : last_) : 0;  // 0 for NaN too
    }

    // Edges of later buckets, and those added at the end, are above the number or beyond the last edge.
    template <std::size_t most> void find_within(const T* numbers, std::size_t size, std::int32_t* out) const {
        for (std::size_t i = 0; i < size; ++i) {
            const T x = numbers[i];
            const std::size_t at = first_[bucket(x)];
            std::size_t found = at;
            for (std::size_t j = 0; j < most; ++j) found += edges_[at + j] <= x;
            out[i] = place(x, found);
        }
    }

    std::int32_t place(T x, std::size_t found) const {
        const std::size_t within = std::min(found, count_);  // the largest number is not below what was added
        return static_cast<std::int32_t>(x == x ? within : count_ + 1);
    }

    std::size_t count_, most_ = 0;
    double lowest_, scale_, last_;
    std::vector<T> edges_;
    std::vector<std::uint32_t> first_;
};

template <class T>
void find_all(const T* numbers, std::size_t size, const T* edges, std::size_t count, std::int32_t* out, unsigned threads) {
    const CellTable<T> table(edges, count);
    in_parallel(size, threads, [&](unsigned, std::size_t begin, std::size_t end) { table.find(numbers + begin, end - begin, out + begin); });
}

struct GroupRows {
    std::uint64_t group;
    const RankedRow* begin;
    std::uint64_t rows, lot;

    bool comes_before(const GroupRows& other) const {
        if (rows != other.rows) return rows > other.rows;
        return lot != other.lot ? lot < other.lot : group < other.group;
    }
};

}  // namespace

void find_cells(const double* numbers, std::size_t size, const double* edges, std::size_t count, std::int32_t* out, unsigned threads) {
    find_all(numbers, size, edges, count, out, threads);
}

void find_cells(const std::int64_t* numbers, std::size_t size, const std::int64_t* edges, std::size_t count, std::int32_t* out,
                unsigned threads) {
    find_all(numbers, size, edges, count, out, threads);
}

void count_ranks(std::vector<RankedRow>& rows, const RankBounding& bounding, const PersonIds& ids, std::int64_t* out) {
    std::sort(rows.begin(), rows.end(), [](const RankedRow& one, const RankedRow& other) {
        return one.person != other.person ? one.person < other.person : one.code < other.code;
    });
    std::vector<GroupRows> groups;
    Spelled id;
    const RankedRow *at = rows.data(), *const end = at + rows.size();
    while (at < end) {
        const std::uint64_t person = at->person;
        groups.clear();
        for (; at < end && at->person == person; ++at) {
            const std::uint64_t group = static_cast<std::uint64_t>(at->code) / bounding.cells;
            if (groups.empty() || groups.back().group != group) groups.push_back({group, at, 0, 0});
            ++groups.back().rows;
        }
        ids.spell(person, id);
        if (groups.size() > bounding.max_groups) {
            for (GroupRows& one : groups) one.lot = draw_lot(id, one.group);
            std::sort(groups.begin(), groups.end(), [](const GroupRows& one, const GroupRows& other) { return one.comes_before(other); });
            groups.resize(bounding.max_groups);
        }
        for (const GroupRows& one : groups) {
            const std::uint64_t m = one.rows, r = std::min(bounding.max_rows, m);
            // With u = lot / 2^32: floor((j 2^32 + lot) m / (r 2^32)) is below m, as j + u < r.
            const std::uint64_t lot = r < m ? draw_lot(id, bounding.groups + one.group) >> 32 : 0;
            for (std::uint64_t j = 0; j < r; ++j) {
                const u128 above = (u128{j} << 32 | lot) * m;
                ++out[one.begin[static_cast<std::size_t>(above / (u128{r} << 32))].code];
            }
        }
    }
}

}  // namespace soundsum
