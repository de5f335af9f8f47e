// The element types of the kernels: how each is loaded, and the arithmetic a float sum is done in.
#pragma once

#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#define SOUNDSUM_INLINE inline __attribute__((always_inline))
#define SOUNDSUM_LAMBDA_INLINE __attribute__((always_inline))

// One copy of a function for AVX-512, one for AVX2 and one for any x86-64, chosen when the module loads; plain code
// elsewhere. The bodies are plain loops in always-inlined templates, vectorised by the compiler.
#if defined(SOUNDSUM_LEVELS)  // the compiler knows the x86-64 levels (see CMakeLists.txt)
#define SOUNDSUM_VERSIONS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(SOUNDSUM_AVX2)
#define SOUNDSUM_VERSIONS __attribute__((target_clones("avx2", "default")))
#else
#define SOUNDSUM_VERSIONS
#endif

namespace soundsum {

using i128 = __int128;
using u128 = unsigned __int128;

struct Half {  // float16: 5 exponent bits, 10 mantissa bits
    std::uint16_t bits;
};
struct Brain {  // bfloat16: 8 exponent bits, 7 mantissa bits
    std::uint16_t bits;
};

template <class T>
constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

// Loading is exact, branch-free and turns NaN into NaN.
SOUNDSUM_INLINE double load(double x) { return x; }
SOUNDSUM_INLINE float load(float x) { return x; }
SOUNDSUM_INLINE float load(Brain x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }
SOUNDSUM_INLINE float load(Half x) {
    // The bits moved into place of a float read 2^112 too small, subnormals included; an exponent of all ones is then
    // 2^16 or more, where infinity or NaN is meant.
    const std::uint32_t magnitude = std::uint32_t{x.bits & 0x7fffu} << 13;
    const std::uint32_t scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const std::uint32_t special = magnitude | 0x7f800000u;
    const std::uint32_t sign = std::uint32_t{x.bits & 0x8000u} << 16;
    return std::bit_cast<float>((x.bits & 0x7fffu) >= 0x7c00u ? special | sign : scaled | sign);
}

template <class T> constexpr T missing_value() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::quiet_NaN();
    else return T{0x7fff};  // NaN in both 16-bit float types
}

// The arithmetics a float sum can be done in. `Real` carries the values, `Record` a record while it is clamped, `Result`
// the sum; add() rounds once, to nearest, or toward zero while the environment does. Sums of 16-bit floats are rounded
// twice, first to float: harmless to nearest, because a float has at least twice the bits and two more, and toward zero
// always.
struct Double {
    using Real = double;
    using Record = double;
    using Result = double;
    static SOUNDSUM_INLINE Real add(Real a, Real b) { return a + b; }
    static SOUNDSUM_INLINE Real add_toward_zero(Real a, Real b) { return a + b; }
};
struct Single {
    using Real = float;
    using Record = float;
    using Result = double;
    static SOUNDSUM_INLINE Real add(Real a, Real b) { return a + b; }
    static SOUNDSUM_INLINE Real add_toward_zero(Real a, Real b) { return a + b; }
};
template <int Dropped> SOUNDSUM_INLINE float nearest_even(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t half = (1u << (Dropped - 1)) - 1 + ((bits >> Dropped) & 1);
    return std::bit_cast<float>((bits + half) & ~((1u << Dropped) - 1));
}
template <int Dropped> SOUNDSUM_INLINE float truncated(float x) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~((1u << Dropped) - 1));
}
struct HalfSum {
    using Real = float;
    using Record = float;
    using Result = double;
    // Below the normal range sums are multiples of the smallest subnormal already, so dropping 13 bits changes nothing.
    static SOUNDSUM_INLINE Real add(Real a, Real b) {
        const float sum = nearest_even<13>(a + b);
        const float infinite = std::bit_cast<float>(0x7f800000u | (std::bit_cast<std::uint32_t>(sum) & 0x80000000u));
        return sum >= 65536.0f || sum <= -65536.0f ? infinite : sum;
    }
    static SOUNDSUM_INLINE Real add_toward_zero(Real a, Real b) {
        const float sum = truncated<13>(a + b);
        return sum > 65504.0f ? 65504.0f : sum < -65504.0f ? -65504.0f : sum;
    }
};
struct BrainSum {
    using Real = float;
    using Record = float;
    using Result = double;
    static SOUNDSUM_INLINE Real add(Real a, Real b) { return nearest_even<16>(a + b); }  // carries into infinity
    static SOUNDSUM_INLINE Real add_toward_zero(Real a, Real b) { return truncated<16>(a + b); }
};

// IEEE's binary128, where the compiler has it: 112 mantissa bits, in software unless the processor has them.
#if defined(__SIZEOF_FLOAT128__)
#define SOUNDSUM_QUAD __float128
#elif LDBL_MANT_DIG == 113
#define SOUNDSUM_QUAD long double
#endif
#ifdef SOUNDSUM_QUAD
struct Quad {
    using Real = SOUNDSUM_QUAD;
    using Record = double;
    using Result = Real;
    static SOUNDSUM_INLINE Real add(Real a, Real b) { return a + b; }
};
#endif

// Calls f with a value of the element type named.
template <class F> decltype(auto) with_float_type(std::string_view name, F&& f) {
    if (name == "float64") return f(double{});
    if (name == "float32") return f(float{});
    if (name == "float16") return f(Half{});
    if (name == "bfloat16") return f(Brain{});
    throw std::invalid_argument("no float kernel for type " + std::string(name));
}
template <class F> decltype(auto) with_integer_type(std::string_view name, F&& f) {
    if (name == "int64") return f(std::int64_t{});
    if (name == "int32") return f(std::int32_t{});
    if (name == "int16") return f(std::int16_t{});
    if (name == "int8") return f(std::int8_t{});
    if (name == "uint64") return f(std::uint64_t{});
    if (name == "uint32") return f(std::uint32_t{});
    if (name == "uint16") return f(std::uint16_t{});
    if (name == "uint8") return f(std::uint8_t{});
    throw std::invalid_argument("no integer kernel for type " + std::string(name));
}
template <class F> decltype(auto) with_type(std::string_view name, F&& f) {
    if (name.find("float") != std::string_view::npos) return with_float_type(name, f);
    return with_integer_type(name, f);
}
template <class F> decltype(auto) with_arithmetic(std::string_view name, F&& f) {
    if (name == "float64") return f(Double{});
    if (name == "float32") return f(Single{});
    if (name == "float16") return f(HalfSum{});
    if (name == "bfloat16") return f(BrainSum{});
    throw std::invalid_argument("no float arithmetic for type " + std::string(name));
}

}  // namespace soundsum
