// Rows are dealt out to a thousand shards by their person. A shard keeps them as they come until there are as many as it has
// pairs, and then adds them to its pairs, which it looks up in a hash table made for the occasion: both fit a cache, where one
// table of all pairs would not. No sum can overflow: a row's part is below 2^67 (bounds of 64 bits, or within 2^31 where
// squares are added), and there are fewer than 2^59 rows.
#include "persons.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "hashing.hpp"
#include "shards.hpp"

namespace soundsum {
namespace {

constexpr std::size_t person_shards = 1024;
constexpr std::size_t fewest_rows = 512;  // that a shard waits for before it adds them
constexpr std::size_t ahead = 16;         // pairs

// The group comes last, and is left out where there is one.
template <bool Grouped, int Powers> struct Pair {
    std::uint64_t words[2 + 2 * Powers + Grouped];

    std::uint64_t person() const { return words[0]; }
    std::uint64_t rows() const { return words[1]; }
    std::uint64_t group() const {
        if constexpr (Grouped) return words[2 + 2 * Powers];
        return 0;
    }
    void set_group([[maybe_unused]] std::uint64_t group) {
        if constexpr (Grouped) words[2 + 2 * Powers] = group;
    }
    bool is_of(std::uint64_t person, std::uint64_t group) const { return words[0] == person && (!Grouped || this->group() == group); }
    static Pair without_rows(std::uint64_t person, std::uint64_t group) {
        Pair pair{};
        pair.words[0] = person;
        pair.set_group(group);
        return pair;
    }
    i128 sum(int power) const {
        return static_cast<i128>(u128{words[2 * power + 1]} << 64 | words[2 * power]);
    }
    void add(int power, i128 x) {
        const u128 sum = static_cast<u128>(this->sum(power)) + static_cast<u128>(x);
        words[2 * power] = static_cast<std::uint64_t>(sum), words[2 * power + 1] = static_cast<std::uint64_t>(sum >> 64);
    }
};

// A row that waits, with the upper half of its pair's hash; integers are left out where none are added up.
template <int Powers> struct Row {
    std::uint64_t person;
    std::int64_t integer;
    std::uint32_t group, hash;

    Row() = default;
    Row(std::uint64_t person, std::int64_t integer, std::uint64_t group, std::uint64_t hash)
        : person(person), integer(integer), group(static_cast<std::uint32_t>(group)), hash(static_cast<std::uint32_t>(hash >> 32)) {}
};
template <> struct Row<0> {
    std::uint64_t person;
    std::uint32_t group, hash;
    static constexpr std::int64_t integer = 0;

    Row() = default;
    Row(std::uint64_t person, std::int64_t, std::uint64_t group, std::uint64_t hash)
        : person(person), group(static_cast<std::uint32_t>(group)), hash(static_cast<std::uint32_t>(hash >> 32)) {}
};

// A hash table of places, linear probing, at most half full; it is made anew for each use.
class Index {
  public:
    void begin(std::size_t most) {
        const int bits = std::max(4, static_cast<int>(std::bit_width(2 * most)));
        shift_ = 32 - std::min(bits, 32);
        places_.assign(std::size_t{1} << bits, 0);
    }
    // The place for which is(place) holds, or else `next`, which is noted down.
    template <class Is> SOUNDSUM_INLINE std::size_t find(std::uint32_t hash, std::size_t next, Is&& is) {
        std::size_t at = hash >> shift_;
        for (; places_[at]; at = (at + 1) & (places_.size() - 1))
            if (is(places_[at] - 1)) return places_[at] - 1;
        places_[at] = static_cast<std::uint32_t>(next + 1);
        return next;
    }

  private:
    std::vector<std::uint32_t> places_;  // one after each, 0 if it is free
    int shift_ = 0;
};

i128 floor_quotient(i128 top, i128 bottom) {
    const i128 quotient = top / bottom;
    return quotient - (top % bottom < 0);
}

template <bool Grouped, int Powers> class Sharded final : public PersonSums {
    using P = Pair<Grouped, Powers>;
    using R = Row<Powers>;

  public:
    Sharded(std::size_t groups, const std::uint8_t* seed) : groups_(groups), hashing_(seed), shards_(person_shards) {}

    void add(const PersonRows& rows, unsigned threads) override {
        if (rows.is_unsigned != is_unsigned_) add_all_rows(threads);
        is_unsigned_ = rows.is_unsigned;
        const auto look = [&](std::size_t i) {
            const std::uint64_t person = hashing_.person(rows.persons[i]), group = rows.codes ? code(rows, i) : 0;
            const std::uint64_t hash = Grouped ? person ^ hashing_.group(group) : person;
            return Looked{rows.counts[i] != 0 && group < groups_, person % person_shards, hash};
        };
        const auto make = [&](std::size_t i, std::uint64_t hash) {
            return R(rows.persons[i], Powers > 0 ? rows.integers[i] : 0, Grouped ? code(rows, i) : 0, hash);
        };
        std::vector<Index> indices(threads);
        deal_.each(rows.size, threads, look, make, [&](std::size_t s, const R* dealt, std::size_t count) {
            Shard& shard = shards_[s];
            while (count > 0) {
                const std::size_t most = std::max(fewest_rows, shard.pairs.size());
                if (shard.rows.size() >= most) add_rows(shard, indices[s % threads]);
                const std::size_t some = std::min(count, std::max(most, shard.pairs.size()) - shard.rows.size());
                shard.rows.append(row_pool_, dealt, some);
                dealt += some, count -= some;
            }
        });
    }

    void add_pairs(const Pairs& pairs) override {
        add_all_rows(1);
        std::vector<std::vector<std::size_t>> dealt(person_shards);
        for (std::size_t i = 0; i < pairs.size; ++i) dealt[hashing_.person(pairs.persons[i]) % person_shards].push_back(i);
        Index index;
        for (std::size_t s = 0; s < person_shards; ++s) {
            Shard& shard = shards_[s];
            note_pairs(shard, dealt[s].size(), index);
            for (const std::size_t i : dealt[s]) {
                P& pair = find(shard, index, pairs.persons[i], Grouped ? static_cast<std::uint32_t>(pairs.codes[i]) : 0);
                pair.words[1] += pairs.rows[i];
                for (int power = 1; power <= Powers; ++power) {
                    const std::uint64_t* words = pairs.sums + 2 * (i * Powers + static_cast<std::size_t>(power) - 1);
                    pair.add(power, static_cast<i128>(u128{words[1]} << 64 | words[0]));
                }
            }
        }
    }

    void list(const WrittenPairs& out) override {
        add_all_rows(1);
        std::size_t i = 0;
        for (const auto& shard : shards_)
            shard.pairs.each([&](const P& pair) {
                out.persons[i] = pair.person(), out.codes[i] = static_cast<std::int32_t>(pair.group()), out.rows[i] = pair.rows();
                if constexpr (Powers > 0) std::memcpy(out.sums + 2 * Powers * i, pair.words + 2, 16 * Powers);
                ++i;
            });
    }

    void total(const std::vector<PersonPart>& parts, const Bounding& bounding, const PersonIds& ids, const std::vector<Sums>& out,
               unsigned threads) override {
        add_all_rows(threads);
        const bool is_capped = Grouped && bounding.max_groups < groups_;
        if (threads > 1 && groups_ > most_own_sums) {
            const auto fetch = [&](const P& pair) {
                for (const Sums& sums : out) __builtin_prefetch(&sums.data[pair.group()], 1);
            };
            each_shard(threads, [&](unsigned, Shard& shard, Scratch& scratch) {
                Late late(fetch, [&](const P& pair) {
                    for (std::size_t p = 0; p < parts.size(); ++p) add_shared(out[p].data[pair.group()], bound(pair, parts[p], bounding));
                });
                each_counted(shard, is_capped, bounding.max_groups, ids, nullptr, scratch, [&](const P& pair) { late.use(pair); });
                late.finish();
            });
            return;
        }
        std::vector<std::vector<u128>> own(threads, std::vector<u128>(parts.size() * groups_, 0));
        each_shard(threads, [&](unsigned thread, Shard& shard, Scratch& scratch) {
            each_counted(shard, is_capped, bounding.max_groups, ids, nullptr, scratch, [&](const P& pair) {
                for (std::size_t p = 0; p < parts.size(); ++p) own[thread][p * groups_ + pair.group()] += static_cast<u128>(bound(pair, parts[p], bounding));
            });
        });
        for (const auto& sums : own)
            for (std::size_t p = 0; p < parts.size(); ++p)
                for (std::size_t g = 0; g < groups_; ++g) out[p].data[g] += sums[p * groups_ + g];
    }

    // Always by lot: whether anybody is in more groups than count is nobody's business.
    void count(std::uint64_t max_groups, const PersonIds& ids, const KeyNames& names, std::int64_t* out, std::size_t size,
               unsigned threads) override {
        add_all_rows(threads);
        const auto fetch = [&](const P& pair) { __builtin_prefetch(&out[std::min<std::size_t>(pair.group(), size - 1)], 1); };
        const auto use = [&](const P& pair) {
            if (pair.group() < size) std::atomic_ref(out[pair.group()]).fetch_add(1, std::memory_order_relaxed);
        };
        each_shard(threads, [&](unsigned, Shard& shard, Scratch& scratch) {
            Late late(fetch, use);
            each_counted(shard, true, max_groups, ids, &names, scratch, [&](const P& pair) { late.use(pair); });
            late.finish();
        });
    }

    void renumber(const std::int32_t* numbers, std::size_t size, std::size_t groups, unsigned threads) override {
        add_all_rows(threads);
        each_shard(threads, [&](unsigned, Shard& shard, Scratch&) {
            Blocks<P>& pairs = shard.pairs;
            std::size_t kept = 0;  // written whether it stays or not: which pairs do is as good as random
            for (std::size_t i = 0; i < pairs.size(); ++i) {
                if (i + ahead < pairs.size()) __builtin_prefetch(numbers + std::min<std::size_t>(pairs[i + ahead].group(), size));
                const std::size_t group = pairs[i].group();
                const std::int32_t number = group < size ? numbers[group] : -1;
                pairs[kept] = pairs[i];
                pairs[kept].set_group(static_cast<std::uint64_t>(number));
                kept += number >= 0;
            }
            pairs.cut(pair_pool_, kept);
        });
        groups_ = groups;  // only now: a number that is left from before is below what it was
    }

    std::size_t pairs() override {
        add_all_rows(1);
        std::size_t pairs = 0;
        for (const auto& shard : shards_) pairs += shard.pairs.size();
        return pairs;
    }
    std::size_t held() const override {
        std::size_t held = 0;
        for (const auto& shard : shards_) held += shard.pairs.size() + shard.rows.size();
        return held;
    }
    std::size_t bytes() const override { return pair_pool_.bytes() + row_pool_.bytes(); }

  private:
    static constexpr std::size_t most_own_sums = 1 << 18;  // of one thread: more of them are added in place

    struct Shard {
        Blocks<P> pairs;
        Blocks<R> rows;          // that are in no pair yet
        bool is_sorted = false;  // whether the pairs of each person lie together
    };

    struct Drawn {
        std::uint64_t lot;
        const P* pair;

        bool operator<(const Drawn& other) const {
            if (pair->rows() != other.pair->rows()) return pair->rows() > other.pair->rows();
            return lot != other.lot ? lot < other.lot : pair->group() < other.pair->group();
        }
    };

    // Fetches what a pair needs, and uses it some pairs later.
    template <class Fetch, class Use> class Late {
      public:
        Late(const Fetch& fetch, const Use& use) : fetch_(fetch), use_(use) {}
        void use(const P& pair) {
            fetch_(pair);
            if (const P* before = std::exchange(waiting_[next_++ % ahead], &pair)) use_(*before);
        }
        void finish() {
            for (const P*& pair : waiting_)
                if (pair) use_(*std::exchange(pair, nullptr));
        }

      private:
        const Fetch& fetch_;
        Use use_;
        std::array<const P*, ahead> waiting_{};
        std::size_t next_ = 0;
    };

    struct Scratch {
        Index index;
        std::vector<std::uint32_t> of, starts;  // each pair's person by number, and where the pairs of each person begin
        std::vector<std::uint64_t> persons;     // by number
        std::vector<P> sorted;
        std::vector<Drawn> drawn;
        std::vector<std::uint64_t> lots;  // of each pair
        Spelled id;
    };

    static std::uint64_t code(const PersonRows& rows, std::size_t i) { return static_cast<std::uint32_t>(rows.codes[i]); }

    std::uint32_t hash_of(std::uint64_t person, std::uint64_t group) const {
        return static_cast<std::uint32_t>((Grouped ? hashing_.person(person) ^ hashing_.group(group) : hashing_.person(person)) >> 32);
    }

    void note_pairs(Shard& shard, std::size_t more, Index& index) {
        if (shard.pairs.size() + more >= std::size_t{1} << 31) throw std::length_error("too many pairs of a person and a group");
        shard.is_sorted = false;
        index.begin(shard.pairs.size() + more);
        std::size_t next = 0;
        shard.pairs.each([&](const P& pair) { index.find(hash_of(pair.person(), pair.group()), next++, [](std::size_t) { return false; }); });
    }

    // A pair that is noted down, or a new one, which gets rows at once.
    SOUNDSUM_INLINE P& find(Shard& shard, Index& index, std::uint32_t hash, std::uint64_t person, std::uint64_t group) {
        const std::size_t next = shard.pairs.size();
        const std::size_t place = index.find(hash, next, [&](std::size_t i) { return shard.pairs[i].is_of(person, group); });
        if (place == next) {
            const P pair = P::without_rows(person, group);
            shard.pairs.append(pair_pool_, &pair, 1);
        }
        return shard.pairs[place];
    }
    P& find(Shard& shard, Index& index, std::uint64_t person, std::uint64_t group) {
        return find(shard, index, hash_of(person, group), person, group);
    }

    void add_rows(Shard& shard, Index& index) {
        if (shard.rows.size() == 0) return;
        note_pairs(shard, shard.rows.size(), index);
        shard.rows.each([&](const R& row) {
            P& pair = find(shard, index, row.hash, row.person, row.group);
            ++pair.words[1];
            if constexpr (Powers > 0) {
                const i128 q = is_unsigned_ ? i128{static_cast<std::uint64_t>(row.integer)} : i128{row.integer};
                pair.add(1, q);
                if constexpr (Powers > 1) pair.add(2, q * q);
            }
        });
        shard.rows.cut(row_pool_, 0);
    }

    void add_all_rows(unsigned threads) {
        in_parallel(threads, threads, [&](unsigned thread, std::size_t, std::size_t) {
            Index index;
            for (std::size_t s = thread; s < person_shards; s += threads) add_rows(shards_[s], index);
        });
        row_pool_.clear();
    }

    template <class Use> void each_shard(unsigned threads, Use&& use) {
        in_parallel(threads, threads, [&](unsigned thread, std::size_t, std::size_t) {
            Scratch scratch;
            for (std::size_t s = thread; s < person_shards; s += threads) use(thread, shards_[s], scratch);
        });
    }

    template <class Use>
    void each_counted(Shard& shard, bool is_capped, std::uint64_t most, const PersonIds& ids, const KeyNames* names, Scratch& scratch,
                      Use&& use) {
        if (is_capped) each_of_largest(shard, most, ids, names, scratch, use);
        else shard.pairs.each(use);
    }

    // Puts the pairs of each person together, where they stay for the next time.
    void sort_by_person(Shard& shard, Scratch& scratch) {
        if (shard.is_sorted) return;
        Blocks<P>& pairs = shard.pairs;
        std::vector<std::uint64_t>& persons = scratch.persons;
        scratch.index.begin(pairs.size());
        scratch.of.resize(pairs.size()), scratch.starts.assign(1, 0), persons.clear();
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const std::uint64_t person = pairs[i].person();
            const auto hash = static_cast<std::uint32_t>(hashing_.person(person) >> 32);
            const std::size_t number = scratch.index.find(hash, persons.size(), [&](std::size_t n) { return persons[n] == person; });
            if (number == persons.size()) persons.push_back(person), scratch.starts.push_back(0);
            scratch.of[i] = static_cast<std::uint32_t>(number), ++scratch.starts[number + 1];
        }
        for (std::size_t n = 1; n < scratch.starts.size(); ++n) scratch.starts[n] += scratch.starts[n - 1];
        scratch.sorted.resize(pairs.size());
        for (std::size_t i = 0; i < pairs.size(); ++i) scratch.sorted[scratch.starts[scratch.of[i]]++] = pairs[i];
        for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = scratch.sorted[i];
        shard.is_sorted = true;
    }

    // Of each person the pairs with most rows, of equals those with the lowest lots. Lots are drawn whether there are equals or
    // not.
    template <class Use>
    void each_of_largest(Shard& shard, std::uint64_t most, const PersonIds& ids, const KeyNames* names, Scratch& scratch, Use&& use) {
        sort_by_person(shard, scratch);
        const Blocks<P>& sorted = shard.pairs;
        Lots lots(names);
        scratch.lots.resize(sorted.size());
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            if (i == 0 || sorted[i].person() != sorted[i - 1].person()) ids.spell(sorted[i].person(), scratch.id), lots.begin(scratch.id);
            if (names && i + ahead < sorted.size()) names->fetch(static_cast<std::uint32_t>(sorted[i + ahead].group()));
            lots.draw(sorted[i].group(), scratch.lots[i]);
        }
        lots.finish();
        std::vector<Drawn>& own = scratch.drawn;
        for (std::size_t i = 0, end = 0; i < sorted.size(); i = end) {
            for (own.clear(); end < sorted.size() && sorted[end].person() == sorted[i].person(); ++end) own.push_back({scratch.lots[end], &sorted[end]});
            const std::size_t kept = std::min<std::uint64_t>(most, own.size());
            std::partial_sort(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(kept), own.end());
            for (std::size_t k = 0; k < kept; ++k) use(*own[k].pair);
        }
    }

    // Modulo 2^128, whoever else adds to it: each carries what its own low word makes overflow.
    static void add_shared(i128& sum, i128 more) {
        auto* words = reinterpret_cast<std::uint64_t*>(&sum);
        const auto low = static_cast<std::uint64_t>(more), high = static_cast<std::uint64_t>(static_cast<u128>(more) >> 64);
        const std::uint64_t before = std::atomic_ref(words[0]).fetch_add(low, std::memory_order_relaxed);
        std::atomic_ref(words[1]).fetch_add(high + (before + low < low), std::memory_order_relaxed);
    }

    static i128 bound(const P& pair, const PersonPart& part, const Bounding& bounding) {
        const auto rows = static_cast<i128>(pair.rows()), allowed = static_cast<i128>(bounding.max_rows);
        i128 own = part.weights[0] * rows;
        for (int power = 1; power <= Powers; ++power) own += part.weights[power] * pair.sum(power);
        if (bounding.in_proportion && rows > allowed) {  // floor(own * allowed / rows), without a product of more than 128 bits
            const i128 each = floor_quotient(own, rows);
            own = each * allowed + (own - each * rows) * allowed / rows;
        }
        return std::clamp(own, part.least, part.most);
    }

    std::size_t groups_;
    bool is_unsigned_ = false;  // of the rows that wait
    Hashing hashing_;
    std::vector<Shard> shards_;
    Pool<P> pair_pool_;
    Pool<R> row_pool_;
    Deal<R, person_shards> deal_;
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
