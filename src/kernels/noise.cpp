// Exact noise, many draws at a time (Canonne, Kamath and Steinke 2020). Integers only: no float, no logarithm and no
// exponential is computed, so the distribution is exactly the one the proof is about. samplers.py holds the same algorithm in
// a few lines and is what to read first; here each Fraction is a numerator and a denominator, and nothing is reduced.
//
// Not constant-time: how long a draw takes depends on the number drawn. Only the operator sees the time.
#include "noise.hpp"

#include <array>
#include <bit>
#include <stdexcept>

#include "types.hpp"

namespace soundsum {
namespace {

// Unsigned integers of N words, with the operations the samplers need. Modulo 2^(64 N), which noise.hpp's bounds on the
// parameters and `most` below keep from mattering.
template <std::size_t N> struct Natural {
    std::array<std::uint64_t, N> limb{};

    constexpr Natural(std::uint64_t x = 0) { limb[0] = x; }

    friend bool operator==(const Natural&, const Natural&) = default;
    friend SOUNDSUM_INLINE bool operator<(const Natural& a, const Natural& b) {
        for (std::size_t i = N; i-- > 0;)
            if (a.limb[i] != b.limb[i]) return a.limb[i] < b.limb[i];
        return false;
    }
    friend SOUNDSUM_INLINE Natural operator+(const Natural& a, const Natural& b) {
        Natural sum;
        u128 carry = 0;
        for (std::size_t i = 0; i < N; ++i, carry >>= 64)
            sum.limb[i] = static_cast<std::uint64_t>(carry += u128{a.limb[i]} + b.limb[i]);
        return sum;
    }
    friend SOUNDSUM_INLINE Natural operator-(const Natural& a, const Natural& b) {
        Natural difference;
        bool borrow = false;
        for (std::size_t i = 0; i < N; ++i) {
            const u128 x = u128{a.limb[i]} - b.limb[i] - borrow;
            difference.limb[i] = static_cast<std::uint64_t>(x);
            borrow = (x >> 64) != 0;
        }
        return difference;
    }
    friend SOUNDSUM_INLINE Natural operator*(const Natural& a, std::uint64_t b) {
        Natural product;
        u128 carry = 0;
        for (std::size_t i = 0; i < N; ++i, carry >>= 64)
            product.limb[i] = static_cast<std::uint64_t>(carry += u128{a.limb[i]} * b);
        return product;
    }
    friend Natural operator*(const Natural& a, const Natural& b) {
        Natural product;
        for (std::size_t i = 0; i < N; ++i) {
            u128 carry = 0;
            for (std::size_t j = 0; i + j < N; ++j, carry >>= 64)
                product.limb[i + j] = static_cast<std::uint64_t>(carry += u128{a.limb[i]} * b.limb[j] + product.limb[i + j]);
        }
        return product;
    }
    friend Natural operator/(const Natural& a, std::uint64_t b) {
        Natural quotient;
        std::uint64_t rest = 0;
        for (std::size_t i = N; i-- > 0;) {
            const u128 x = (u128{rest} << 64) | a.limb[i];
            quotient.limb[i] = static_cast<std::uint64_t>(x / b);
            rest = static_cast<std::uint64_t>(x % b);
        }
        return quotient;
    }
};

template <class W> constexpr std::size_t limbs_of = sizeof(W) / sizeof(std::uint64_t);

template <class W> std::array<std::uint64_t, limbs_of<W>> words(const W& x) {
    return std::bit_cast<std::array<std::uint64_t, limbs_of<W>>>(x);
}
template <class W> W from_words(const std::uint64_t* data) {
    std::array<std::uint64_t, limbs_of<W>> limbs;
    for (std::size_t i = 0; i < limbs.size(); ++i) limbs[i] = data[i];
    return std::bit_cast<W>(limbs);
}

// Thrown where a sample cannot be finished here.
struct Unfinished {};

struct Bytes {
    const std::uint8_t *at, *end;

    SOUNDSUM_INLINE std::uint8_t next() {
        if (at == end) throw Unfinished{};
        return *at++;
    }
};

// No loop below counts past this, so every integer is below what noise.hpp allows for. That they do has a probability
// below 1/255! or e^-255, and is the reference's to draw.
constexpr unsigned most = 255;

// True with probability n/d, for 0 <= n <= d: compares the digits of n/d in base 256 with random ones, until they differ.
template <class W> SOUNDSUM_INLINE bool bernoulli(Bytes& bytes, W n, W d) {
    while (n != W{0} && n < d) {
        const std::uint8_t drawn = bytes.next();
        const W scaled = n * std::uint64_t{256}, reached = d * std::uint64_t{drawn};
        if (scaled < reached) return false;  // the digit drawn is above that of n/d,
        n = scaled - reached;
        if (!(n < d)) return true;  // or below, or equal, and the rest of n/d is the new n/d
    }
    return n != W{0};
}

// True with probability exp(-n/d), for 0 <= n <= d: the first k at which Bernoulli(n/dk) fails is odd.
template <class W> SOUNDSUM_INLINE bool bernoulli_exp_at_most_one(Bytes& bytes, const W& n, const W& d) {
    W dk = d;
    for (unsigned k = 1; k <= most; ++k, dk = dk + d)
        if (!bernoulli(bytes, n, dk)) return k % 2 == 1;
    throw Unfinished{};
}

bool bernoulli_exp_one(Bytes& bytes) { return bernoulli_exp_at_most_one<std::uint64_t>(bytes, 1, 1); }

// A uniform integer below n: as many bits as n - 1 has, drawn again while they reach n.
template <class W> struct Below {
    W n;
    std::size_t bits = 0;

    explicit Below(const W& limit) : n(limit) {
        const auto limbs = words(W(n - W{1}));
        for (std::size_t i = 0; i < limbs.size(); ++i)
            if (limbs[i]) bits = 64 * i + std::bit_width(limbs[i]);
    }

    SOUNDSUM_INLINE W operator()(Bytes& bytes) const {
        const std::size_t count = (bits + 7) / 8, spare = 8 * count - bits;
        for (;;) {
            W drawn{0};
            for (std::size_t i = 0; i < count; ++i) {  // the last byte loses the bits not needed
                const std::uint64_t byte = bytes.next();
                drawn = i + 1 < count ? W(drawn * std::uint64_t{256} + W{byte})
                                      : W(drawn * (std::uint64_t{256} >> spare) + W{byte >> spare});
            }
            if (drawn < n) return drawn;
        }
    }
};

template <class W> struct Sample {
    W magnitude;
    bool negative;
};

template <class W> struct Laplace {
    W t;
    std::uint64_t s;
    Below<W> below_t{t};

    SOUNDSUM_INLINE Sample<W> operator()(Bytes& bytes) const {
        for (;;) {
            const W u = below_t(bytes);
            if (!bernoulli_exp_at_most_one(bytes, u, t)) continue;
            unsigned v = 0;
            while (bernoulli_exp_one(bytes))
                if (++v > most) throw Unfinished{};
            W magnitude = u + t * std::uint64_t{v};
            if (s != 1) magnitude = magnitude / s;
            const bool negative = bernoulli<std::uint64_t>(bytes, 1, 2);
            if (!negative || magnitude != W{0}) return {magnitude, negative};
        }
    }
};

// exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)) is exp(-(|y| q t - p)^2 / (2 p q t^2)).
template <class W> struct Gaussian {
    Laplace<W> laplace;
    W qt, p, twice_pqtt;

    SOUNDSUM_INLINE Sample<W> operator()(Bytes& bytes) const {
        for (;;) {
            const Sample<W> y = laplace(bytes);
            const W yqt = y.magnitude * qt, distance = yqt < p ? p - yqt : yqt - p;
            if (accepted(bytes, distance * distance)) return y;
        }
    }
    bool accepted(Bytes& bytes, W n) const {
        for (; !(n < twice_pqtt); n = n - twice_pqtt)
            if (!bernoulli_exp_one(bytes)) return false;
        return bernoulli_exp_at_most_one(bytes, n, twice_pqtt);
    }
};

template <class W> void store(const Sample<W>& sample, std::size_t size, std::uint64_t* out) {
    const auto limbs = words(sample.magnitude);
    for (std::size_t i = size; i < limbs.size(); ++i)
        if (limbs[i]) throw Unfinished{};
    if (limbs[size - 1] >> 63) throw Unfinished{};
    bool carry = sample.negative;  // -x is ~x + 1
    for (std::size_t i = 0; i < size; ++i) {
        out[i] = (sample.negative ? ~limbs[i] : limbs[i]) + carry;
        carry = carry && out[i] == 0;
    }
}

template <class W, class Sampler>
Drawn draw_many(const Sampler& sampler, const std::uint8_t* data, std::size_t size, const Samples& out) {
    Bytes bytes{data, data + size};
    Drawn drawn{0, 0};
    try {
        for (; drawn.samples < out.size; ++drawn.samples, drawn.bytes = static_cast<std::size_t>(bytes.at - data))
            store<W>(sampler(bytes), out.words, out.data + drawn.samples * out.words);
    } catch (const Unfinished&) {  // `drawn` counts whole samples only
    }
    return drawn;
}

template <class F> Drawn with_limbs(std::size_t limbs, F&& f) {
    if (limbs == 1) return f(std::uint64_t{});
    if (limbs == 2) return f(u128{});
    if (limbs == 8) return f(Natural<8>{});
    throw std::invalid_argument("integers have 1, 2 or 8 words");
}

}  // namespace

Drawn discrete_laplace(const std::uint64_t* parameters, std::size_t limbs, std::uint64_t s, const std::uint8_t* bytes,
                       std::size_t size, const Samples& out) {
    return with_limbs(limbs, [&]<class W>(W) {
        return draw_many<W>(Laplace<W>{from_words<W>(parameters), s}, bytes, size, out);
    });
}

Drawn discrete_gaussian(const std::uint64_t* parameters, std::size_t limbs, const std::uint8_t* bytes, std::size_t size,
                        const Samples& out) {
    return with_limbs(limbs, [&]<class W>(W) {
        const auto parameter = [&](std::size_t i) { return from_words<W>(parameters + i * limbs); };
        return draw_many<W>(Gaussian<W>{{parameter(0), 1}, parameter(1), parameter(2), parameter(3)}, bytes, size, out);
    });
}

}  // namespace soundsum
