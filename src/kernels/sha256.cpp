#include "sha256.hpp"

#include <array>
#include <bit>
#include <cstddef>

// Clang declares ARM's instructions only where every processor has them, as on a Mac; GCC for any function that asks.
#if defined(__x86_64__) && !defined(SOUNDSUM_PORTABLE)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(SOUNDSUM_PORTABLE) && \
    (defined(__ARM_FEATURE_SHA2) || (defined(__linux__) && !defined(__clang__)))
#define SOUNDSUM_ARM_SHA
#include <arm_neon.h>
#if !defined(__ARM_FEATURE_SHA2)
#include <sys/auxv.h>
#endif
#endif

namespace soundsum {
namespace {

// The first 32 bits of the fractions of the cube roots of the first 64 primes, and of the square roots of eight.
alignas(16) constexpr std::array<std::uint32_t, 64> rounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
using State = std::array<std::uint32_t, 8>;
constexpr State beginning = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::size_t block = 64;

void mix_plainly(State& state, const std::uint8_t* bytes, std::size_t blocks) {
    for (; blocks > 0; bytes += block, --blocks) {
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
        const State mixed = {a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < 8; ++i) state[i] += mixed[i];
    }
}

#if defined(__x86_64__) && !defined(SOUNDSUM_PORTABLE)

// CPUID leaf 1: SSSE3 and SSE4.1 are bits 9 and 19 of ECX; leaf 7: SHA is bit 29 of EBX.
bool has_instructions() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 9 & 1) || !(c >> 19 & 1)) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 29 & 1;
}

// Intel keeps the state as ABEF and CDGH, and takes two rounds in an instruction.
__attribute__((target("sha,sse4.1,ssse3"))) void mix_by_instructions(State& state, const std::uint8_t* bytes, std::size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const auto load = [](const void* from) __attribute__((target("sha,sse4.1,ssse3"))) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
    const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xb1), efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; blocks > 0; bytes += block, --blocks) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (std::size_t i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(load(bytes + 16 * i), swap);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < 16; ++i) {  // four rounds each
            const __m128i now = w[i % 4], last = w[(i + 3) % 4];
            const __m128i added = _mm_add_epi32(now, load(rounds.data() + 4 * i));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
            if (i < 12) {  // the words of four rounds later, in place of these
                const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]), _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
                w[i % 4] = _mm_sha256msg2_epu32(sum, last);
            }
        }
        abef = _mm_add_epi32(abef, abef_before), cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

// Two messages at once: an instruction takes several cycles to its result, and begins every one or two.
__attribute__((target("sha,sse4.1,ssse3"))) void mix_two_by_instructions(State& one, State& other, const std::uint8_t* left, const std::uint8_t* right) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const auto load = [](const void* from) __attribute__((target("sha,sse4.1,ssse3"))) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
    State* const states[2] = {&one, &other};
    const std::uint8_t* const bytes[2] = {left, right};
    __m128i abef[2], cdgh[2], abef_before[2], cdgh_before[2], w[2][4];
#pragma GCC unroll 2
    for (std::size_t m = 0; m < 2; ++m) {
        const __m128i cdab = _mm_shuffle_epi32(load(states[m]->data()), 0xb1), efgh = _mm_shuffle_epi32(load(states[m]->data() + 4), 0x1b);
        abef_before[m] = abef[m] = _mm_alignr_epi8(cdab, efgh, 8), cdgh_before[m] = cdgh[m] = _mm_blend_epi16(efgh, cdab, 0xf0);
        for (std::size_t i = 0; i < 4; ++i) w[m][i] = _mm_shuffle_epi8(load(bytes[m] + 16 * i), swap);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
#pragma GCC unroll 2
        for (std::size_t m = 0; m < 2; ++m) {
            const __m128i now = w[m][i % 4], last = w[m][(i + 3) % 4];
            const __m128i added = _mm_add_epi32(now, load(rounds.data() + 4 * i));
            cdgh[m] = _mm_sha256rnds2_epu32(cdgh[m], abef[m], added);
            abef[m] = _mm_sha256rnds2_epu32(abef[m], cdgh[m], _mm_shuffle_epi32(added, 0x0e));
            if (i < 12) {
                const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[m][(i + 1) % 4]), _mm_alignr_epi8(last, w[m][(i + 2) % 4], 4));
                w[m][i % 4] = _mm_sha256msg2_epu32(sum, last);
            }
        }
    }
#pragma GCC unroll 2
    for (std::size_t m = 0; m < 2; ++m) {
        abef[m] = _mm_add_epi32(abef[m], abef_before[m]), cdgh[m] = _mm_add_epi32(cdgh[m], cdgh_before[m]);
        const __m128i feba = _mm_shuffle_epi32(abef[m], 0x1b), dchg = _mm_shuffle_epi32(cdgh[m], 0xb1);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(states[m]->data()), _mm_blend_epi16(feba, dchg, 0xf0));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(states[m]->data() + 4), _mm_alignr_epi8(dchg, feba, 8));
    }
}

#elif defined(SOUNDSUM_ARM_SHA)

#if defined(__ARM_FEATURE_SHA2)
#define SOUNDSUM_WITH_SHA
bool has_instructions() { return true; }
#else
#define SOUNDSUM_WITH_SHA __attribute__((target("+crypto")))
bool has_instructions() { return getauxval(AT_HWCAP) & HWCAP_SHA2; }
#endif

SOUNDSUM_WITH_SHA void mix_by_instructions(State& state, const std::uint8_t* bytes, std::size_t blocks) {
    uint32x4_t abcd = vld1q_u32(state.data()), efgh = vld1q_u32(state.data() + 4);
    for (; blocks > 0; bytes += block, --blocks) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w[4];
        for (std::size_t i = 0; i < 4; ++i) w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
#pragma GCC unroll 16
        for (std::size_t i = 0; i < 16; ++i) {  // four rounds each
            const uint32x4_t added = vaddq_u32(w[i % 4], vld1q_u32(rounds.data() + 4 * i)), old = abcd;
            abcd = vsha256hq_u32(abcd, efgh, added);
            efgh = vsha256h2q_u32(efgh, old, added);
            if (i < 12) w[i % 4] = vsha256su1q_u32(vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]), w[(i + 2) % 4], w[(i + 3) % 4]);
        }
        abcd = vaddq_u32(abcd, abcd_before), efgh = vaddq_u32(efgh, efgh_before);
    }
    vst1q_u32(state.data(), abcd), vst1q_u32(state.data() + 4, efgh);
}

#else

bool has_instructions() { return false; }
void mix_by_instructions(State& state, const std::uint8_t* bytes, std::size_t blocks) { mix_plainly(state, bytes, blocks); }

#endif

const auto mix = has_instructions() ? mix_by_instructions : mix_plainly;

#if !defined(__x86_64__) || defined(SOUNDSUM_PORTABLE)
void mix_two_by_instructions(State& one, State& other, const std::uint8_t* left, const std::uint8_t* right) {
    mix_by_instructions(one, left, 1), mix_by_instructions(other, right, 1);
}
#endif
void mix_two_plainly(State& one, State& other, const std::uint8_t* left, const std::uint8_t* right) {
    mix_plainly(one, left, 1), mix_plainly(other, right, 1);
}
const auto mix_two = has_instructions() ? mix_two_by_instructions : mix_two_plainly;

}  // namespace

// A one, zeros, and the number of bits in eight bytes, to the end of a block.
std::uint64_t start_of_sha256(std::vector<std::uint8_t>& message, bool plain) {
    const std::uint64_t bits = 8 * std::uint64_t{message.size()};
    message.push_back(0x80);
    message.resize((message.size() + 8 + block - 1) / block * block);
    for (std::size_t i = 0; i < 8; ++i) message[message.size() - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
    State state = beginning;
    (plain ? mix_plainly : mix)(state, message.data(), message.size() / block);
    return std::uint64_t{state[0]} << 32 | state[1];
}

std::array<std::uint64_t, 2> starts_of_sha256(const PaddedBlock& one, const PaddedBlock& other) {
    State left = beginning, right = beginning;
    mix_two(left, right, one.data(), other.data());
    return {std::uint64_t{left[0]} << 32 | left[1], std::uint64_t{right[0]} << 32 | right[1]};
}

}  // namespace soundsum
