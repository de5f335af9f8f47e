// The first eight bytes of SHA-256 (FIPS 180-4) of short messages, by the processor's instructions where it has them, by
// plain code elsewhere: the same bits either way (tests/kernels/test_lots.py).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace soundsum {

// The message is padded in place. Plain code, where asked for, is for tests.
std::uint64_t start_of_sha256(std::vector<std::uint8_t>& message, bool plain = false);

// The same of two messages that are padded to one block each.
using PaddedBlock = std::array<std::uint8_t, 64>;
std::array<std::uint64_t, 2> starts_of_sha256(const PaddedBlock& one, const PaddedBlock& other);

}  // namespace soundsum
