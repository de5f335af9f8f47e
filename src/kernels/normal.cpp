// The rounded Gaussian on ChaCha20, one stream per coordinate. What a stream means is written down in gradients/normal.py.
//
// Not constant-time: how long a draw takes depends on the number drawn. Only the operator sees the time.
#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "gradients.hpp"
#include "parallel.hpp"
#include "types.hpp"

namespace soundsum {
namespace {

// Streams whose first blocks are made at once, one to a lane.
constexpr std::size_t lanes = 16;
using Words = std::array<std::uint32_t, 16>;

template <std::size_t N> struct Blocks {
    std::uint32_t x[16][N];
};

SOUNDSUM_INLINE std::uint32_t rotate(std::uint32_t x, int by) { return x << by | x >> (32 - by); }

template <std::size_t N> SOUNDSUM_INLINE void quarter(std::uint32_t (&x)[16][N], int a, int b, int c, int d) {
    for (std::size_t i = 0; i < N; ++i) {
        x[a][i] += x[b][i], x[d][i] = rotate(x[d][i] ^ x[a][i], 16);
        x[c][i] += x[d][i], x[b][i] = rotate(x[b][i] ^ x[c][i], 12);
        x[a][i] += x[b][i], x[d][i] = rotate(x[d][i] ^ x[a][i], 8);
        x[c][i] += x[d][i], x[b][i] = rotate(x[b][i] ^ x[c][i], 7);
    }
}

// Block `counter` of the streams of coordinates first, first + 1, ... (RFC 8439, the coordinate as the nonce).
template <std::size_t N> SOUNDSUM_INLINE void chacha(const Key& key, std::uint64_t first, std::uint32_t counter, Blocks<N>& out) {
    constexpr std::uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    std::uint32_t start[16][N], x[16][N];
    for (std::size_t i = 0; i < N; ++i) {
        for (int w = 0; w < 4; ++w) start[w][i] = constants[w];
        for (int w = 0; w < 8; ++w) start[4 + w][i] = key.words[w];
        start[12][i] = counter;
        start[13][i] = static_cast<std::uint32_t>(first + i);
        start[14][i] = static_cast<std::uint32_t>((first + i) >> 32);
        start[15][i] = 0;
    }
    for (int w = 0; w < 16; ++w)
        for (std::size_t i = 0; i < N; ++i) x[w][i] = start[w][i];
    for (int round = 0; round < 10; ++round) {
        quarter(x, 0, 4, 8, 12), quarter(x, 1, 5, 9, 13), quarter(x, 2, 6, 10, 14), quarter(x, 3, 7, 11, 15);
        quarter(x, 0, 5, 10, 15), quarter(x, 1, 6, 11, 12), quarter(x, 2, 7, 8, 13), quarter(x, 3, 4, 9, 14);
    }
    for (int w = 0; w < 16; ++w)
        for (std::size_t i = 0; i < N; ++i) out.x[w][i] = x[w][i] + start[w][i];
}

// Where bits that have not been drawn would decide.
struct Undecided {};

class Stream {
  public:
    Stream(const Key& key, std::uint64_t coordinate, const Words& first) : key_(key), coordinate_(coordinate), words_(first) {}

    std::uint32_t next() {
        if (at_ == 16) refill();
        return words_[at_++];
    }
    void start_over() { refill(); }

  private:
    void refill() {
        Blocks<1> block;
        chacha<1>(key_, coordinate_, ++counter_, block);
        for (int w = 0; w < 16; ++w) words_[w] = block.x[w][0];
        at_ = 0;
    }

    const Key& key_;
    std::uint64_t coordinate_;
    std::uint32_t counter_ = 0;
    Words words_;
    std::size_t at_ = 0;
};

// A uniform integer below n; words at the end that would favour the small ones are drawn again.
std::uint32_t below(Stream& stream, std::uint32_t n) {
    const std::uint32_t last = 0xffffffffu - (0xffffffffu % n + 1) % n;
    for (;;)
        if (const std::uint32_t word = stream.next(); word <= last) return word % n;
}

// True with probability exp(-x (2k + x) / (2k + 2)): the length of a falling run that goes on while z < y and a uniform
// number is below (2k + x) / (2k + 2), is even. `x` is the first word of x.
bool accepts(Stream& stream, std::uint32_t k, std::uint32_t x) {
    const std::uint32_t cells = 2 * k + 2;
    bool even = true;
    for (std::uint32_t y = x;;) {
        const std::uint32_t z = stream.next();
        if (z == y) throw Undecided{};
        if (z > y) return even;
        const std::uint32_t cell = below(stream, cells);
        if (cell == cells - 1) return even;
        if (cell == cells - 2) {
            const std::uint32_t r = stream.next();
            if (r == x) throw Undecided{};
            if (r > x) return even;
        }
        y = z, even = !even;
    }
}

std::int64_t rounded_normal(Stream& stream, const std::uint64_t* table, std::uint64_t sigma) {
    for (;; stream.start_over()) {
        const std::uint64_t high_k = stream.next(), u = high_k << 32 | stream.next();
        const std::uint64_t high_x = stream.next(), x = high_x << 32 | stream.next();
        const bool negative = stream.next() & 1;
        std::uint32_t k = 0;
        while (k < normal_cells && u >= table[k]) ++k;
        if (k == normal_cells || (k && u == table[k - 1])) throw Undecided{};
        bool accepted = true;
        for (std::uint32_t i = 0; i <= k && accepted; ++i) accepted = accepts(stream, k, static_cast<std::uint32_t>(high_x));
        if (!accepted) continue;
        const u128 product = u128{sigma} * x, low = product + (u128{1} << 63), high = low + sigma;  // of 2^64 sigma x + 1/2
        if (low >> 64 != high >> 64) throw Undecided{};
        const std::uint64_t magnitude = sigma * k + static_cast<std::uint64_t>(low >> 64);
        return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
    }
}

}  // namespace

SOUNDSUM_VERSIONS void first_blocks(const Key& key, std::uint64_t first, std::uint32_t* out) {
    Blocks<lanes> blocks;
    chacha<lanes>(key, first, 0, blocks);
    for (std::size_t i = 0; i < lanes; ++i)
        for (std::size_t w = 0; w < 16; ++w) out[16 * i + w] = blocks.x[w][i];
}

std::vector<std::uint64_t> add_rounded_normal(const Key& key, const std::uint64_t* table, std::uint64_t sigma, std::uint64_t first,
                                              std::int64_t* out, std::size_t size, unsigned threads) {
    std::vector<std::uint64_t> undecided;
    std::mutex joining;
    in_parallel((size + lanes - 1) / lanes, threads, [&](unsigned, std::size_t begin, std::size_t end) {
        std::array<Words, lanes> words;
        for (std::size_t group = begin; group < end; ++group) {
            first_blocks(key, first + group * lanes, words[0].data());
            for (std::size_t i = 0; i < std::min(lanes, size - group * lanes); ++i) {
                const std::size_t at = group * lanes + i;
                Stream stream(key, first + at, words[i]);
                try {
                    const auto noise = static_cast<std::uint64_t>(rounded_normal(stream, table, sigma));
                    out[at] = static_cast<std::int64_t>(static_cast<std::uint64_t>(out[at]) + noise);
                } catch (const Undecided&) {
                    const std::lock_guard lock(joining);
                    undecided.push_back(first + at);
                }
            }
        }
    });
    std::sort(undecided.begin(), undecided.end());
    return undecided;
}

}  // namespace soundsum
