#include "lots.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "sha256.hpp"

namespace soundsum {
namespace {

// The decimal digits of a number, two at a time, up to `end`; returns where they begin.
std::uint8_t* write_digits(std::uint64_t x, std::uint8_t* end) {
    static constexpr auto pairs = [] {
        std::array<std::uint8_t, 200> pairs{};
        for (std::size_t i = 0; i < 100; ++i)
            pairs[2 * i] = static_cast<std::uint8_t>('0' + i / 10), pairs[2 * i + 1] = static_cast<std::uint8_t>('0' + i % 10);
        return pairs;
    }();
    for (; x >= 100; x /= 100) std::memcpy(end -= 2, &pairs[2 * (x % 100)], 2);
    if (x < 10) *--end = static_cast<std::uint8_t>('0' + x);
    else std::memcpy(end -= 2, &pairs[2 * x], 2);
    return end;
}

// A bit is worth 1233 / 4096 digits, or a little less.
std::size_t count_digits(std::uint64_t x) {
    static constexpr auto powers = [] {
        std::array<std::uint64_t, 20> powers{1};
        for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
        return powers;
    }();
    const std::size_t below = static_cast<std::size_t>(std::bit_width(x | 1)) * 1233 >> 12;
    return below + (x >= powers[below] || below == 0);
}

void write(i128 x, Spelled& out) {
    if (x < 0) out.push_back('-');
    u128 wide = x < 0 ? -static_cast<u128>(x) : static_cast<u128>(x);
    std::array<std::uint8_t, 40> digits;
    std::uint8_t *const end = digits.data() + digits.size(), *first = end;
    for (; wide >> 64; wide /= 10) *--first = static_cast<std::uint8_t>('0' + static_cast<int>(wide % 10));
    first = write_digits(static_cast<std::uint64_t>(wide), first);
    out.insert(out.end(), first, end);
}

i128 round_down(i128 top, i128 bottom) { return top / bottom - (top % bottom < 0); }

}  // namespace

void PersonIds::spell(std::uint64_t word, Spelled& out) const {
    out.clear();
    if (kind == Kind::integers) {
        write(static_cast<std::int64_t>(word) * unit, out);
    } else if (kind == Kind::naturals) {
        write(static_cast<i128>(word), out);
    } else if (kind == Kind::floats) {
        const double x = std::bit_cast<double>(word);
        write(std::abs(x) < 0x1p53 ? static_cast<std::int64_t>(x) : 0, out);
    } else if (kind == Kind::listed) {
        const bool is_there = word < offsets.size() - 1;
        if (is_there) out.assign(data.begin() + offsets[word], data.begin() + offsets[word + 1]);
    } else {
        const auto [text, size] = texts->find(word);
        if (kind == Kind::texts) {
            out.assign(text, text + size);
        } else if (size == sizeof(i128)) {
            i128 digits;
            std::memcpy(&digits, text, sizeof digits);
            write(round_down(digits, unit), out);
        }
    }
}

void KeyNames::spell(std::uint32_t code, Spelled& out) const {
    const Texts::Text tuple = tuples ? tuples->at(code) : Texts::Text{nullptr, 0};
    Spelled digits;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        std::uint32_t own = code;
        if (tuples && tuple.size == columns.size() * sizeof own) std::memcpy(&own, tuple.data + c * sizeof own, sizeof own);
        const Column& column = columns[c];
        std::uint8_t letter = column.letter;
        Texts::Text own_text{nullptr, 0};
        if (column.integers) {
            const std::int64_t key = column.integers->at(own);
            digits.clear();
            write(column.kind == Kind::naturals ? static_cast<i128>(static_cast<std::uint64_t>(key)) : static_cast<i128>(key), digits);
            own_text = {digits.data(), digits.size()};
        } else {
            own_text = column.texts->at(own);
        }
        auto [text, size] = own_text;
        if (column.kind == Kind::objects && size > 0) {
            letter = *text;
            ++text, --size;
        }
        out.push_back(letter);
        write(static_cast<i128>(size), out);
        out.push_back(':');
        if (size > 0) out.insert(out.end(), text, text + size);
    }
}

void KeyNames::fetch(std::uint32_t code) const {
    const Texts* texts = tuples ? tuples : columns.front().texts;
    texts ? texts->fetch(code) : columns.front().integers->fetch(code);
}

std::uint64_t draw_lot(Spelled& id, std::uint64_t group, const KeyNames* names) {
    const std::size_t size = id.size();
    id.push_back('/');
    if (names)
        names->spell(static_cast<std::uint32_t>(group), id);
    else
        write(static_cast<i128>(group), id);
    const std::uint64_t lot = start_of_sha256(id);
    id.resize(size);
    return lot;
}

Lots::Lots(const KeyNames* names) : names_(names), column_(names ? &names->columns.front() : nullptr) {
    are_numbers_ = !names || (!names->tuples && column_->integers);
}

void Lots::begin(Spelled& id) {
    id_ = &id;
    is_short_ = id.size() + 1 + longest <= most;
    if (!are_numbers_ || !is_short_) return;
    begun_.fill(0);
    std::copy(id.begin(), id.end(), begun_.begin());
    begun_[id.size()] = '/';
}

void Lots::draw(std::uint64_t group, std::uint64_t& lot) {
    if (are_numbers_ && !is_short_) {
        lot = draw_lot(*id_, group, names_);
        return;
    }
    PaddedBlock& block = padded_[waiting_];
    if (are_numbers_) {
        end(block, write_number(group, block), lot);
        return;
    }
    const std::size_t size = id_->size();
    id_->push_back('/'), names_->spell(static_cast<std::uint32_t>(group), *id_);
    if (id_->size() <= most) {
        block.fill(0);
        std::copy(id_->begin(), id_->end(), block.begin());
        end(block, id_->size(), lot);
    } else {
        lot = start_of_sha256(*id_);
    }
    id_->resize(size);
}

// The id, a slash, and the group's number or spelled key; returns where they end.
std::size_t Lots::write_number(std::uint64_t group, PaddedBlock& block) const {
    std::uint64_t key = group;
    bool is_negative = false;
    if (column_) {
        key = static_cast<std::uint64_t>(column_->integers->at(static_cast<std::uint32_t>(group)));
        is_negative = column_->kind != KeyNames::Kind::naturals && static_cast<std::int64_t>(key) < 0;
        if (is_negative) key = -key;
    }
    const std::size_t digits = count_digits(key);
    std::size_t at = id_->size() + 1;
    block = begun_;
    if (column_) {
        const std::size_t length = digits + is_negative;
        block[at++] = column_->letter;
        if (length >= 10) block[at++] = static_cast<std::uint8_t>('0' + length / 10);
        block[at++] = static_cast<std::uint8_t>('0' + length % 10);
        block[at++] = ':';
        if (is_negative) block[at++] = '-';
    }
    write_digits(key, block.data() + at + digits);
    return at + digits;
}

// A one, zeros, and the number of bits.
void Lots::end(PaddedBlock& block, std::size_t size, std::uint64_t& lot) {
    block[size] = 0x80;
    block[62] = static_cast<std::uint8_t>(8 * size >> 8), block[63] = static_cast<std::uint8_t>(8 * size);
    lots_[waiting_++] = &lot;
    if (waiting_ == together) finish();
}

void Lots::finish() {
    for (std::size_t i = 0; i < waiting_; i += 2) {
        const std::size_t other = std::min(i + 1, waiting_ - 1);
        const auto drawn = starts_of_sha256(padded_[i], padded_[other]);
        *lots_[i] = drawn[0], *lots_[other] = drawn[other - i];
    }
    waiting_ = 0;
}

std::uint64_t draw_shard(Spelled& id) { return start_of_sha256(id); }

}  // namespace soundsum
