// A hash table of pairs of person and group for each shard, linear probing, the sums in the slots. Slots are fetched some
// rows ahead, because a table of millions of persons is larger than any cache. No sum can overflow: a row's part is below
// 2^67 (bounds of 64 bits, or within 2^31 where squares are added), and there are fewer than 2^59 rows.
#include "persons.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "hashing.hpp"
#include "shards.hpp"

namespace soundsum {
namespace {

constexpr std::size_t ahead = 24;      // rows
constexpr std::size_t stretch = 1024;  // rows between looks at whether there is room
constexpr std::size_t pairs_to_sort = 16;

// A slot is free while it has no rows. The group comes last, and is left out where there is one.
template <bool Grouped, int Powers> struct Slot {
    std::uint64_t words[2 + 2 * Powers + Grouped];

    std::uint64_t person() const { return words[0]; }
    std::uint64_t rows() const { return words[1]; }
    std::uint64_t group() const {
        if constexpr (Grouped) return words[2 + 2 * Powers];
        return 0;
    }
    bool is_of(std::uint64_t person, std::uint64_t group) const { return words[0] == person && (!Grouped || this->group() == group); }
    void begin(std::uint64_t person, [[maybe_unused]] std::uint64_t group) {
        words[0] = person;
        if constexpr (Grouped) words[2 + 2 * Powers] = group;
    }
    i128 sum(int power) const {
        return static_cast<i128>(u128{words[2 * power + 1]} << 64 | words[2 * power]);
    }
    void add(int power, i128 x) {
        const u128 sum = static_cast<u128>(this->sum(power)) + static_cast<u128>(x);
        words[2 * power] = static_cast<std::uint64_t>(sum), words[2 * power + 1] = static_cast<std::uint64_t>(sum >> 64);
    }
};

struct Dealt {
    std::uint64_t hash, person;
    std::int64_t integer;
    std::uint64_t group;
};

template <class S> struct Shard {
    Slots<S> slots;
    std::size_t pairs = 0;
};

i128 floor_quotient(i128 top, i128 bottom) {
    const i128 quotient = top / bottom;
    return quotient - (top % bottom < 0);
}

template <bool Grouped, int Powers> class Sharded final : public PersonSums {
    using S = Slot<Grouped, Powers>;

  public:
    Sharded(std::size_t groups, const std::uint8_t* seed) : groups_(groups), hashing_(seed), shards_(shard_count) {}

    void add(const PersonRows& rows, unsigned threads) override {
        const auto look = [&](std::size_t i) {
            const std::uint64_t person = hashing_.person(rows.persons[i]), group = rows.codes ? code(rows, i) : 0;
            const std::uint64_t hash = Grouped ? person ^ hashing_.group(group) : person;
            return Looked{rows.counts[i] != 0 && group < groups_, shard_of(person), hash};
        };
        const auto make = [&](std::size_t i, std::uint64_t hash) {
            return Dealt{hash, rows.persons[i], Powers > 0 ? rows.integers[i] : 0, Grouped ? code(rows, i) : 0};
        };
        deal_.out(rows.size, threads, look, make);
        deal_.each(threads, [&](std::size_t shard, const Dealt* dealt, std::size_t count) {
            for (std::size_t at = 0; at < count; at += stretch)
                add_some(shards_[shard], dealt + at, std::min(stretch, count - at), rows.is_unsigned);
        });
    }

    void add_pairs(const Pairs& pairs) override {
        for (std::size_t i = 0; i < pairs.size; ++i) {
            const std::uint64_t person = hashing_.person(pairs.persons[i]), group = Grouped ? static_cast<std::uint32_t>(pairs.codes[i]) : 0;
            Shard<S>& shard = shards_[shard_of(person)];
            if (too_few_slots(shard.slots.size(), shard.pairs + 1)) grow(shard, 1);
            S& slot = find(shard, Grouped ? person ^ hashing_.group(group) : person, pairs.persons[i], group);
            slot.words[1] += pairs.rows[i];
            for (int power = 1; power <= Powers; ++power) {
                const std::uint64_t* words = pairs.sums + 2 * (i * Powers + static_cast<std::size_t>(power) - 1);
                slot.add(power, static_cast<i128>(u128{words[1]} << 64 | words[0]));
            }
        }
    }

    void list(const WrittenPairs& out) const override {
        std::size_t i = 0;
        for (const auto& shard : shards_)
            for (const S& slot : shard.slots) {
                if (!slot.rows()) continue;
                out.persons[i] = slot.person(), out.codes[i] = static_cast<std::int32_t>(slot.group()), out.rows[i] = slot.rows();
                if constexpr (Powers > 0) std::memcpy(out.sums + 2 * Powers * i, slot.words + 2, 16 * Powers);
                ++i;
            }
    }

    void total(const std::vector<PersonPart>& parts, const Bounding& bounding, const PersonIds& ids, const std::vector<Sums>& out,
               unsigned threads) const override {
        if (groups_ > std::size_t{1} << 20) threads = 1;  // each has sums of its own
        std::vector<std::vector<u128>> own(threads, std::vector<u128>(parts.size() * groups_, 0));
        in_parallel(threads, threads, [&](unsigned thread, std::size_t, std::size_t) {
            const auto use = [&](const S& slot) {
                for (std::size_t p = 0; p < parts.size(); ++p) own[thread][p * groups_ + slot.group()] += static_cast<u128>(bound(slot, parts[p], bounding));
            };
            for (std::size_t shard = thread; shard < shard_count; shard += threads)
                if (Grouped && bounding.max_groups < groups_) each_of_largest(shards_[shard], bounding.max_groups, ids, nullptr, use);
                else
                    for (const S& slot : shards_[shard].slots)
                        if (slot.rows()) use(slot);
        });
        for (const auto& sums : own)
            for (std::size_t p = 0; p < parts.size(); ++p)
                for (std::size_t g = 0; g < groups_; ++g) out[p].data[g] += sums[p * groups_ + g];
    }

    // Always by lot: whether anybody is in more groups than count is nobody's business.
    void count(std::uint64_t max_groups, const PersonIds& ids, const KeyNames& names, std::int64_t* out, std::size_t size,
               unsigned threads) const override {
        in_parallel(threads, threads, [&](unsigned thread, std::size_t, std::size_t) {
            for (std::size_t shard = thread; shard < shard_count; shard += threads)
                each_of_largest(shards_[shard], max_groups, ids, &names, [&](const S& slot) {
                    if (slot.group() < size) std::atomic_ref(out[slot.group()]).fetch_add(1, std::memory_order_relaxed);
                });
        });
    }

    std::size_t pairs() const override {
        std::size_t pairs = 0;
        for (const auto& shard : shards_) pairs += shard.pairs;
        return pairs;
    }
    std::size_t bytes() const override {
        std::size_t slots = 0;
        for (const auto& shard : shards_) slots += shard.slots.size();
        return slots * sizeof(S);
    }

  private:
    struct Drawn {
        std::uint64_t lot;
        const S* slot;

        bool operator<(const Drawn& other) const {
            if (slot->rows() != other.slot->rows()) return slot->rows() > other.slot->rows();
            return lot != other.lot ? lot < other.lot : slot->group() < other.slot->group();
        }
    };

    static std::uint64_t code(const PersonRows& rows, std::size_t i) { return static_cast<std::uint32_t>(rows.codes[i]); }

    std::uint64_t hash_of(const S& slot) const {
        return Grouped ? hashing_.person(slot.person()) ^ hashing_.group(slot.group()) : hashing_.person(slot.person());
    }

    // The slot of a pair; a new one has no rows yet and gets some at once.
    static S& find(Shard<S>& shard, std::uint64_t hash, std::uint64_t person, std::uint64_t group) {
        Slots<S>& slots = shard.slots;
        std::size_t at = slots.home(hash);
        while (!slots[at].is_of(person, group) && slots[at].rows()) at = slots.after(at);
        shard.pairs += slots[at].rows() == 0;
        slots[at].begin(person, group);
        return slots[at];
    }

    void add_some(Shard<S>& shard, const Dealt* dealt, std::size_t count, bool is_unsigned) {
        if (too_few_slots(shard.slots.size(), shard.pairs + count)) grow(shard, count);
        Slots<S>& slots = shard.slots;
        for (std::size_t k = 0; k < std::min(ahead, count); ++k) slots.fetch(dealt[k].hash);
        for (std::size_t k = 0; k < count; ++k) {
            if (k + ahead < count) slots.fetch(dealt[k + ahead].hash);
            const Dealt& row = dealt[k];
            S& slot = find(shard, row.hash, row.person, row.group);
            ++slot.words[1];
            if constexpr (Powers > 0) {
                const i128 q = is_unsigned ? i128{static_cast<std::uint64_t>(row.integer)} : i128{row.integer};
                slot.add(1, q);
                if constexpr (Powers > 1) slot.add(2, q * q);
            }
        }
    }

    void grow(Shard<S>& shard, std::size_t more) {
        Slots<S> grown(more_slots(shard.slots.size(), shard.pairs + more));
        for (const S& slot : shard.slots) {
            if (!slot.rows()) continue;
            std::size_t at = grown.home(hash_of(slot));
            while (grown[at].rows()) at = grown.after(at);
            grown[at] = slot;
        }
        shard.slots = std::move(grown);
    }

    // Of each person the pairs with most rows, of equals those with the lowest lots. Pairs are dealt out by person to buckets
    // of a few, and sorted there. Lots are drawn whether there are equals or not.
    template <class Use>
    void each_of_largest(const Shard<S>& shard, std::uint64_t most, const PersonIds& ids, const KeyNames* names, Use&& use) const {
        const std::size_t buckets = shard.pairs / pairs_to_sort + 1;
        const auto bucket = [&](const S& slot) { return static_cast<std::size_t>((u128{hashing_.person(slot.person())} * buckets) >> 64); };
        std::vector<std::size_t> next(buckets + 1, 0);
        for (const S& slot : shard.slots)
            if (slot.rows()) ++next[bucket(slot) + 1];
        for (std::size_t b = 0; b < buckets; ++b) next[b + 1] += next[b];
        std::vector<S> sorted(shard.pairs);
        for (const S& slot : shard.slots)
            if (slot.rows()) sorted[next[bucket(slot)]++] = slot;
        std::vector<Drawn> own;
        Spelled id;
        std::size_t begin = 0;
        for (std::size_t b = 0; b < buckets; begin = next[b++]) {
            std::sort(sorted.data() + begin, sorted.data() + next[b], [](const S& one, const S& other) { return one.person() < other.person(); });
            for (std::size_t i = begin; i < next[b];) {
                const std::uint64_t person = sorted[i].person();
                own.clear(), ids.spell(person, id);
                for (; i < next[b] && sorted[i].person() == person; ++i) own.push_back({draw_lot(id, sorted[i].group(), names), &sorted[i]});
                const std::size_t kept = std::min<std::uint64_t>(most, own.size());
                std::partial_sort(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(kept), own.end());
                for (std::size_t k = 0; k < kept; ++k) use(*own[k].slot);
            }
        }
    }

    static i128 bound(const S& slot, const PersonPart& part, const Bounding& bounding) {
        const auto rows = static_cast<i128>(slot.rows()), allowed = static_cast<i128>(bounding.max_rows);
        i128 own = part.weights[0] * rows;
        for (int power = 1; power <= Powers; ++power) own += part.weights[power] * slot.sum(power);
        if (bounding.in_proportion && rows > allowed) {  // floor(own * allowed / rows), without a product of more than 128 bits
            const i128 each = floor_quotient(own, rows);
            own = each * allowed + (own - each * rows) * allowed / rows;
        }
        return std::clamp(own, part.least, part.most);
    }

    std::size_t groups_;
    Hashing hashing_;
    std::vector<Shard<S>> shards_;
    Deal<Dealt> deal_;
};

}  // namespace

std::unique_ptr<PersonSums> make_person_sums(std::size_t groups, int powers, const std::uint8_t* seed) {
    if (groups == 0 || groups >= std::size_t{1} << 31) throw std::invalid_argument("there are 1 to 2^31 - 1 groups");
    if (powers < 0 || powers > 2) throw std::invalid_argument("the powers are 0, 1 or 2");
    const auto make = [&]<bool Grouped>() -> std::unique_ptr<PersonSums> {
        if (powers == 0) return std::make_unique<Sharded<Grouped, 0>>(groups, seed);
        if (powers == 1) return std::make_unique<Sharded<Grouped, 1>>(groups, seed);
        return std::make_unique<Sharded<Grouped, 2>>(groups, seed);
    };
    return groups > 1 ? make.template operator()<true>() : make.template operator()<false>();
}

}  // namespace soundsum
