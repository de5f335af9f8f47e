#include "lots.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "sha256.hpp"

namespace soundsum {
namespace {

void write(i128 x, Spelled& out) {
    if (x < 0) out.push_back('-');
    u128 wide = x < 0 ? -static_cast<u128>(x) : static_cast<u128>(x);
    std::array<std::uint8_t, 40> digits;
    std::size_t first = digits.size();
    for (; wide >> 64; wide /= 10) digits[--first] = static_cast<std::uint8_t>('0' + static_cast<int>(wide % 10));
    auto rest = static_cast<std::uint64_t>(wide);
    do digits[--first] = static_cast<std::uint8_t>('0' + rest % 10);
    while (rest /= 10);
    out.insert(out.end(), digits.begin() + static_cast<std::ptrdiff_t>(first), digits.end());
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

void draw_lots(Spelled& id, const std::uint64_t* groups, std::size_t size, const KeyNames* names, std::uint64_t* lots) {
    // Numbers, and keys that are numbers, are spelled in at most 24 bytes; with a short id they fit a block, with a one, zeros
    // and the number of bits behind them.
    constexpr std::size_t longest = 24, most = sizeof(PaddedBlock) - 9;
    const KeyNames::Column* column = names ? &names->columns.front() : nullptr;
    if (id.size() + 1 + longest > most || (names && (names->tuples || !column->integers))) {
        for (std::size_t i = 0; i < size; ++i) lots[i] = draw_lot(id, groups[i], names);
        return;
    }
    PaddedBlock begun{};
    std::copy(id.begin(), id.end(), begun.begin());
    begun[id.size()] = '/';
    const auto pad = [&](std::uint64_t group, PaddedBlock& block) {
        std::uint64_t key = group;
        bool is_negative = false;
        if (column) {
            key = static_cast<std::uint64_t>(column->integers->at(static_cast<std::uint32_t>(group)));
            is_negative = column->kind != KeyNames::Kind::naturals && static_cast<std::int64_t>(key) < 0;
            if (is_negative) key = -key;
        }
        std::array<std::uint8_t, 20> digits;
        std::size_t first = digits.size();
        do digits[--first] = static_cast<std::uint8_t>('0' + key % 10);
        while (key /= 10);
        block = begun;
        std::size_t at = id.size() + 1;
        if (column) {
            const std::size_t length = digits.size() - first + is_negative;
            block[at++] = column->letter;
            if (length >= 10) block[at++] = static_cast<std::uint8_t>('0' + length / 10);
            block[at++] = static_cast<std::uint8_t>('0' + length % 10);
            block[at++] = ':';
            if (is_negative) block[at++] = '-';
        }
        at = static_cast<std::size_t>(std::copy(digits.begin() + static_cast<std::ptrdiff_t>(first), digits.end(), block.begin() + static_cast<std::ptrdiff_t>(at)) - block.begin());
        block[at] = 0x80;
        block[62] = static_cast<std::uint8_t>(8 * at >> 8), block[63] = static_cast<std::uint8_t>(8 * at);
    };
    std::array<PaddedBlock, 2> padded;
    for (std::size_t i = 0; i < size; i += 2) {
        pad(groups[i], padded[0]), pad(groups[std::min(i + 1, size - 1)], padded[1]);
        const auto drawn = starts_of_sha256(padded);
        lots[i] = drawn[0];
        if (i + 1 < size) lots[i + 1] = drawn[1];
    }
}

std::uint64_t draw_shard(Spelled& id) { return start_of_sha256(id); }

}  // namespace soundsum
