// Records made ready for another summation: cleaned, shifted, or as integers on a grid. Each record is written out, in the
// environment its theorem assumes.
#include "prepare.hpp"

#include "environment.hpp"
#include "records.hpp"

namespace soundsum {
namespace {

template <class T> struct OwnArithmetic;
template <> struct OwnArithmetic<double> { using type = Double; };
template <> struct OwnArithmetic<float> { using type = Single; };
template <> struct OwnArithmetic<Half> { using type = HalfSum; };
template <> struct OwnArithmetic<Brain> { using type = BrainSum; };

template <class T> T stored(double x) { return static_cast<T>(x); }
template <> Brain stored(double x) {
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16)};
}
template <> Half stored(double x) {  // the way of load() back; finite values only
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x) * 0x1p-112f);
    return {static_cast<std::uint16_t>((bits >> 13 & 0x7fffu) | (bits >> 16 & 0x8000u))};
}

// Not inlined, so that nothing can move out of the environment set around the call.
template <class T, class A>
__attribute__((noinline)) void clean_into(const Records& records, double lower, double upper, double shift, T* out) {
    using Real = typename A::Real;
    const Real low = static_cast<Real>(lower), high = static_cast<Real>(upper), moved = static_cast<Real>(shift);
    ArrayBlocks<T> blocks(records, 0, records.size, missing_value<T>(), false);
    for (auto block = blocks.next(); block.size; block = blocks.next()) {
        for (std::size_t i = 0; i < block.size; ++i) {
            Real x = static_cast<Real>(load(block.data[i]));
            x = x == x ? x : Real{0};
            x = x > low ? x : low;
            x = x < high ? x : high;
            *out++ = stored<T>(moved == 0 ? x : A::add(x, -moved));
        }
    }
}

}  // namespace

void clean(const Records& records, double lower, double upper, double shift, void* out) {
    FloatEnvironment environment(Rounding::Nearest);
    with_float_type(records.type, [&]<class T>(T) {
        clean_into<T, typename OwnArithmetic<T>::type>(records, lower, upper, shift, static_cast<T*>(out));
    });
}

}  // namespace soundsum
