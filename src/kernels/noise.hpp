// Bulk draws of the discrete Laplace and Gaussian distributions from random bytes that the caller got from the operating
// system. They read the bytes exactly as samplers.py's reference samplers do, so the same bytes give the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace soundsum {

// How many samples were drawn, and how many bytes they took. Fewer samples than asked for: the next one needs more bytes
// than there were, or a number too large for the kernel's integers. It is then the reference's to draw, from the same
// bytes on: a sample given up would be a sample not drawn from the tail.
struct Drawn {
    std::size_t samples, bytes;
};

// An array of samples: `words` little-endian 64-bit words each, two's complement.
struct Samples {
    std::uint64_t* data;
    std::size_t size, words;
};

// Parameters are little-endian, `limbs` (1, 2 or 8) words each. A Laplace's are the numerator t and the denominator s of the
// scale (in one word); below 64 limbs bits are all of 2^16 t. A Gaussian's are t = floor(sigma) + 1, q t, p and 2 p q t^2
// where sigma^2 = p/q; below 64 limbs bits are 2^16 (2 p q t^2) and (2^8 q t^2 + p)^2. Samples have 1 or `limbs` words.
Drawn discrete_laplace(const std::uint64_t* parameters, std::size_t limbs, std::uint64_t s, const std::uint8_t* bytes,
                       std::size_t size, const Samples& out);
Drawn discrete_gaussian(const std::uint64_t* parameters, std::size_t limbs, const std::uint8_t* bytes, std::size_t size,
                        const Samples& out);

}  // namespace soundsum
