#include "lots.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace soundsum {
namespace {

// FIPS 180-4: the first 32 bits of the fractions of the cube roots of the first 64 primes, and of the square roots of eight.
constexpr std::array<std::uint32_t, 64> rounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr std::array<std::uint32_t, 8> beginning = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::size_t block = 64;

void mix(std::array<std::uint32_t, 8>& state, const std::uint8_t* bytes) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i)
        w[i] = std::uint32_t{bytes[4 * i]} << 24 | std::uint32_t{bytes[4 * i + 1]} << 16 | std::uint32_t{bytes[4 * i + 2]} << 8 |
               bytes[4 * i + 3];
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + w[i - 7] + (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + rounds[i] + w[i];
        const std::uint32_t two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
    }
    const std::array<std::uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += mixed[i];
}

std::uint64_t start_of_sha256(Spelled& message) {
    const std::uint64_t bits = 8 * std::uint64_t{message.size()};
    message.push_back(0x80);
    while (message.size() % block != block - 8) message.push_back(0);
    for (int shift = 56; shift >= 0; shift -= 8) message.push_back(static_cast<std::uint8_t>(bits >> shift));
    auto state = beginning;
    for (std::size_t at = 0; at < message.size(); at += block) mix(state, message.data() + at);
    return std::uint64_t{state[0]} << 32 | state[1];
}

void write(i128 x, Spelled& out) {
    if (x < 0) out.push_back('-');
    u128 rest = x < 0 ? -static_cast<u128>(x) : static_cast<u128>(x);
    std::array<std::uint8_t, 40> digits;
    std::size_t first = digits.size();
    do digits[--first] = static_cast<std::uint8_t>('0' + static_cast<int>(rest % 10));
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
        auto [text, size] = column.texts->at(own);
        std::uint8_t letter = column.letter;
        if (column.kind == Kind::objects && size > 0) {
            letter = *text;
            ++text, --size;
        } else if (column.kind != Kind::texts && size == sizeof(std::uint64_t)) {
            std::uint64_t word;
            std::memcpy(&word, text, sizeof word);
            digits.clear();
            write(column.kind == Kind::naturals ? static_cast<i128>(word) : static_cast<i128>(static_cast<std::int64_t>(word)), digits);
            text = digits.data(), size = digits.size();
        }
        out.push_back(letter);
        write(static_cast<i128>(size), out);
        out.push_back(':');
        if (size > 0) out.insert(out.end(), text, text + size);
    }
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

std::uint64_t draw_shard(Spelled& id) { return start_of_sha256(id); }

}  // namespace soundsum
