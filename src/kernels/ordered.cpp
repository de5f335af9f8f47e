// Sums that depend on the order of records, and so are done in it: one addition after another, in the data's own
// arithmetic or a wider one. Each is the model of the same name in models.py, bit for bit.
#include "ordered.hpp"

#include "environment.hpp"
#include "interrupt.hpp"
#include "records.hpp"

namespace soundsum {
namespace {

// Missing is 0, then everything is brought into [lower, upper].
template <class Record, class T> SOUNDSUM_INLINE Record cleaned(T record, Record lower, Record upper) {
    Record x = static_cast<Record>(load(record));
    x = x == x ? x : Record{0};
    x = x > lower ? x : lower;
    return x < upper ? x : upper;
}

template <class A> struct Iterated {
    typename A::Real sum = 0;
    SOUNDSUM_INLINE void step(typename A::Real x) { sum = A::add(sum, x); }
    typename A::Real finish(FloatEnvironment&) const { return sum; }
    static constexpr Rounding rounding = Rounding::Nearest;
};

template <class A> struct Kahan {
    typename A::Real sum = 0, lost = 0;
    SOUNDSUM_INLINE void step(typename A::Real x) {
        const auto y = A::add(x, -lost);
        const auto t = A::add(sum, y);
        lost = A::add(A::add(t, -sum), -y);
        sum = t;
    }
    typename A::Real finish(FloatEnvironment&) const { return sum; }
    static constexpr Rounding rounding = Rounding::Nearest;
};

// Toward zero an overflowing sum stays at the largest finite value, which is the saturation the theorem asks for.
template <class A> struct TowardZero {
    typename A::Real positive = 0, negative = 0;
    SOUNDSUM_INLINE void step(typename A::Real x) {
        positive = A::add_toward_zero(positive, x > 0 ? x : 0);
        negative = A::add_toward_zero(negative, x < 0 ? x : 0);
    }
    __attribute__((noinline)) typename A::Real finish(FloatEnvironment& environment) const {
        environment.set(Rounding::Nearest);
        return A::add(positive, negative);
    }
    static constexpr Rounding rounding = Rounding::TowardZero;
};

// Not inlined, so that no addition can move out of the environment set around the call, and the sum stays in a register.
template <class Fold, class Record, class T>
__attribute__((noinline)) void add_block(Fold& fold, const T* data, std::size_t size, Record lower, Record upper) {
    Fold state = fold;
    for (std::size_t i = 0; i < size; ++i) state.step(cleaned(data[i], lower, upper));
    fold = state;
}

template <class Fold, class Record, class Blocks> void run(Fold& fold, Blocks& blocks, Record lower, Record upper) {
    Interruptible asked;
    for (auto block = blocks.next(); block.size; block = blocks.next()) {
        add_block(fold, block.data, block.size, lower, upper);
        asked.passed(block.size);
    }
}

// The result is converted within the environment, where subnormals are not zero.
template <class Fold, class A, class T>
typename A::Result folded(const Records& records, double lower, double upper, bool drop) {
    using Record = typename A::Record;
    FloatEnvironment environment(Fold::rounding);
    return with_blocks(records, missing_value<T>(), drop, [&](auto& blocks) -> typename A::Result {
        Fold fold;
        run(fold, blocks, static_cast<Record>(lower), static_cast<Record>(upper));
        return fold.finish(environment);
    });
}

// The paper's recursion (`def:bspairwise`), leaves taken from the blocks as they come.
template <class A, class Blocks> class Pairwise {
    using Real = typename A::Real;
    using Record = typename A::Record;

  public:
    Pairwise(Blocks& blocks, Record lower, Record upper) : blocks_(blocks), lower_(lower), upper_(upper) {}

    Real sum(std::uint64_t n) {
        if (n == 1) return leaf();
        const std::uint64_t half = n / 2;
        const Real left = sum(half);
        return A::add(left, sum(n - half));
    }

  private:
    Real leaf() {
        if (at_ == block_.size) {
            asked_.passed(block_.size);
            block_ = blocks_.next(), at_ = 0;
        }
        return cleaned(block_.data[at_++], lower_, upper_);
    }

    Blocks& blocks_;
    decltype(std::declval<Blocks>().next()) block_{nullptr, 0};
    std::size_t at_ = 0;
    Record lower_, upper_;
    Interruptible asked_;
};

template <class A, class T>
typename A::Result pairwise(const Records& records, double lower, double upper, bool drop) {
    using Record = typename A::Record;
    std::uint64_t n = 0;  // the tree's shape needs the number of records first
    if (records.is_runs || drop) {
        with_blocks(records, missing_value<T>(), drop, [&](auto& blocks) {
            for (auto block = blocks.next(); block.size; block = blocks.next()) n += block.size;
        });
    } else {
        n = records.size;
    }
    if (n == 0) return 0;
    FloatEnvironment environment(Rounding::Nearest);
    return with_blocks(records, missing_value<T>(), drop, [&](auto& blocks) -> typename A::Result {
        using Tree = Pairwise<A, std::remove_reference_t<decltype(blocks)>>;
        Tree tree(blocks, static_cast<Record>(lower), static_cast<Record>(upper));
        return tree.sum(n);
    });
}

template <class T> T saturated_sum(T a, T b) {
    T sum;
    if (__builtin_add_overflow(a, b, &sum)) return b < T{0} ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    return sum;
}

}  // namespace

double float_sum(const Records& records, const std::string& how, const std::string& arithmetic, double lower, double upper,
                 bool drop) {
    return with_float_type(records.type, [&]<class T>(T) {
        return with_arithmetic(arithmetic, [&]<class A>(A) -> double {
            if (how == "iterated") return folded<Iterated<A>, A, T>(records, lower, upper, drop);
            if (how == "kahan") return folded<Kahan<A>, A, T>(records, lower, upper, drop);
            if (how == "toward_zero") return folded<TowardZero<A>, A, T>(records, lower, upper, drop);
            if (how == "pairwise") return pairwise<A, T>(records, lower, upper, drop);
            throw std::invalid_argument("no float sum named " + how);
        });
    });
}

#ifdef SOUNDSUM_QUAD
u128 quad_sum(const Records& records, const std::string& how, double lower, double upper, bool drop) {
    return with_float_type(records.type, [&]<class T>(T) -> u128 {
        if (how == "iterated") return std::bit_cast<u128>(folded<Iterated<Quad>, Quad, T>(records, lower, upper, drop));
        if (how == "kahan") return std::bit_cast<u128>(folded<Kahan<Quad>, Quad, T>(records, lower, upper, drop));
        if (how == "pairwise") return std::bit_cast<u128>(pairwise<Quad, T>(records, lower, upper, drop));
        throw std::invalid_argument("no sum in 128 bits named " + how);
    });
}
#endif

i128 saturating_sum(const Records& records, i128 lower, i128 upper, bool drop) {
    return with_integer_type(records.type, [&]<class T>(T) -> i128 {
        const auto low = static_cast<T>(lower), high = static_cast<T>(upper);
        return with_blocks(records, std::clamp(T{0}, low, high), drop, [&](auto& blocks) -> i128 {
            T sum = 0;
            Interruptible asked;
            for (auto block = blocks.next(); block.size; block = blocks.next()) {
                for (std::size_t i = 0; i < block.size; ++i) sum = saturated_sum(sum, std::clamp(block.data[i], low, high));
                asked.passed(block.size);
            }
            return sum;
        });
    });
}

}  // namespace soundsum
