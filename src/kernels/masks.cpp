// Records masked while they are copied to where a sum finds them in the cache: nothing branches on what is missing.
#include "records.hpp"

namespace soundsum {
namespace {

template <class B> SOUNDSUM_INLINE void copy(const B* from, std::size_t size, const std::uint8_t* flags, B fill, B* out) {
    for (std::size_t i = 0; i < size; ++i) {
        const B mask = static_cast<B>(-static_cast<B>(flags[i]));  // all ones or none
        out[i] = static_cast<B>((from[i] & mask) | (fill & ~mask));
    }
}

}  // namespace

#define SOUNDSUM_COPY_MASKED(B)                                                                                             \
    SOUNDSUM_VERSIONS void copy_masked(const B* from, std::size_t size, const std::uint8_t* flags, B fill, B* out) {        \
        copy(from, size, flags, fill, out);                                                                                 \
    }
SOUNDSUM_COPY_MASKED(std::uint8_t)
SOUNDSUM_COPY_MASKED(std::uint16_t)
SOUNDSUM_COPY_MASKED(std::uint32_t)
SOUNDSUM_COPY_MASKED(std::uint64_t)

}  // namespace soundsum
