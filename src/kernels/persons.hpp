// Sums by person and group, exactly, and what is left of them when a person counts for a few rows in a few groups.
//
// Model: tests/engines/model.py. Persons are 64-bit words, equal for the same person alone.
#pragma once

#include <memory>
#include <vector>

#include "exact.hpp"
#include "lots.hpp"
#include "types.hpp"

namespace soundsum {

// Some rows: the person, the group and the integer of each.
struct PersonRows {
    std::size_t size;
    const std::uint64_t* persons;
    const std::uint8_t* counts;       // 0 for rows that do not count
    const std::int32_t* codes;        // or null; a row whose code is no group does not count
    const std::int64_t* integers;     // or null, if only rows are counted
    bool is_unsigned;                 // whether the integers are 64-bit ones without a sign
};

// Pairs of person and group with what their rows add up to, as `list` gives them.
template <class Word, class Code> struct PairColumns {
    std::size_t size;
    Word* persons;
    Code* codes;  // 0 where there are no groups
    Word* rows;   // 1 or more
    Word* sums;   // of each pair its sum and, with 2 powers, its sum of squares, two words each
};
using Pairs = PairColumns<const std::uint64_t, const std::int32_t>;
using WrittenPairs = PairColumns<std::uint64_t, std::int32_t>;

// What is let out of a pair's rows r and power sums s1, s2: w0 r + w1 s1 + w2 s2, clamped to [least, most].
struct PersonPart {
    i128 weights[3], least, most;
};

struct Bounding {
    std::uint64_t max_rows, max_groups;
    bool in_proportion;  // whether r > max_rows rows count as max_rows / r of each, before the clamp
};

class PersonSums {
  public:
    virtual ~PersonSums() = default;
    virtual void add(const PersonRows&, unsigned threads) = 0;
    virtual void add_pairs(const Pairs&) = 0;  // whose codes are groups
    virtual void list(const WrittenPairs&) = 0;  // has room for all
    // Adds everybody's bounded sums to `out`, one row of sums for each part, one sum for each group. Lots are drawn from ids.
    virtual void total(const std::vector<PersonPart>&, const Bounding&, const PersonIds&, const std::vector<Sums>& out,
                       unsigned threads) = 0;
    // Adds to each of `size` groups, whose names are drawn lots of, how many persons count in it, each in at most `max_groups`.
    virtual void count(std::uint64_t max_groups, const PersonIds&, const KeyNames&, std::int64_t* out, std::size_t size,
                       unsigned threads) = 0;
    // Leaves the pairs of groups that have a number from 0 to `groups` - 1, which replaces theirs; all others have none.
    virtual void renumber(const std::int32_t* numbers, std::size_t size, std::size_t groups, unsigned threads) = 0;
    virtual std::size_t pairs() = 0;
    virtual std::size_t held() const = 0;   // as many pairs as there are, or more
    virtual std::size_t bytes() const = 0;  // of all pairs, and of rows that are not added to theirs yet
};

// `powers` is 0 for rows alone, 1 for sums, 2 for sums of squares too.
std::unique_ptr<PersonSums> make_person_sums(std::size_t groups, int powers, const std::uint8_t* seed);

}  // namespace soundsum
