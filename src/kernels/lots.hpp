// Lots: which of a person's groups comes first where they have equally many rows in several. A group's lot is the start of
// SHA-256 of the person's id, spelled as a text, a slash and the group's number among those listed, or its spelled key where
// nobody listed them: another person's new key would change numbers. The lowest lot comes first. Every group has
// the same chance, and a database that spells ids alike draws the same lots.
//
// Model: tests/engines/model.py.
#pragma once

#include <cstdint>
#include <vector>

#include "exact.hpp"
#include "keys.hpp"
#include "sha256.hpp"
#include "texts.hpp"

namespace soundsum {

using Spelled = std::vector<std::uint8_t>;

// How the words of persons are spelled.
struct PersonIds {
    enum class Kind { integers, naturals, floats, decimals, texts, listed };

    Kind kind = Kind::integers;
    const Texts* texts = nullptr;           // that gave the words of texts, and of decimals: their 16 bytes
    i128 unit = 1;                          // of decimals: 10 to the power of their scale; of integers: what 1 is worth
    std::vector<std::int64_t> offsets{0};   // where the spelling of each listed id begins in `data`
    std::vector<std::uint8_t> data;

    // Integers in decimals, floats without their fraction (0 from 2^53 on), decimals rounded down, texts as they are.
    void spell(std::uint64_t word, Spelled& out) const;
};

// How the codes of groups that nobody listed are spelled: the key of each column, with a letter for its type before it, its
// length and a colon. Codes follow the order in which keys were met, so a lot must not depend on them.
struct KeyNames {
    enum class Kind { integers, naturals, texts, objects };  // objects: texts that begin with the letter of their type

    struct Column {
        const Texts* texts;            // that gave the codes of its keys,
        const IntegerCodes* integers;  // or these, where they are integers
        Kind kind;
        std::uint8_t letter;
    };
    std::vector<Column> columns;
    const Texts* tuples = nullptr;  // that gave the codes of tuples, which are the codes of their keys; null for one column

    void spell(std::uint32_t code, Spelled& out) const;  // is written behind what is there
    void fetch(std::uint32_t code) const;                // into a cache, for `spell` soon
};

// The first eight bytes of SHA-256; the spelled id is changed meanwhile. Of groups that have a name, by that and no number.
std::uint64_t draw_lot(Spelled& id, std::uint64_t group, const KeyNames* names = nullptr);

// The lots of many groups of many persons, the same. Those that fit a block of SHA-256 are all written before the first is hashed:
// what has only just been written byte by byte is slow to read in large pieces.
class Lots {
  public:
    explicit Lots(const KeyNames* names);
    void begin(Spelled& id);  // of the person whose groups come next; is changed meanwhile
    void draw(std::uint64_t group, std::uint64_t& lot);
    void finish();  // before the last lots are looked at

  private:
    // A block has a one, zeros and the number of bits behind the message. Numbers, and keys that are numbers, take 24 bytes or less.
    static constexpr std::size_t together = 32, longest = 24, most = sizeof(PaddedBlock) - 9;

    std::size_t write_number(std::uint64_t group, PaddedBlock&) const;
    void end(PaddedBlock&, std::size_t size, std::uint64_t& lot);

    const KeyNames* names_;
    const KeyNames::Column* column_;  // the first one
    bool are_numbers_, is_short_ = false;
    Spelled* id_ = nullptr;
    PaddedBlock begun_{};
    alignas(64) std::array<PaddedBlock, together> padded_;
    std::array<std::uint64_t*, together> lots_;
    std::size_t waiting_ = 0;
};

// The first eight bytes of SHA-256 of a spelled id, which divides persons into shards.
std::uint64_t draw_shard(Spelled& id);

}  // namespace soundsum
