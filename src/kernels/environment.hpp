// The floating-point environment of a kernel call. Rounding mode and flush-to-zero belong to the calling thread and may
// have been changed by anybody (a library built with -ffast-math flushes subnormals for the whole process), so every call
// sets what its theorem assumes and puts back what it found, however it ends.
#pragma once

#if defined(__x86_64__) && !defined(SOUNDSUM_PORTABLE)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace soundsum {

enum class Rounding { Nearest, TowardZero };

#if defined(__x86_64__) && !defined(SOUNDSUM_PORTABLE)

class FloatEnvironment {
  public:
    explicit FloatEnvironment(Rounding rounding) : saved_(_mm_getcsr()) { set(rounding); }
    ~FloatEnvironment() { _mm_setcsr(saved_); }
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

    // 0x1f80: to nearest, subnormals kept on input and output, every exception masked. 0x6000: toward zero.
    void set(Rounding rounding) { _mm_setcsr(rounding == Rounding::Nearest ? 0x1f80u : 0x1f80u | 0x6000u); }

  private:
    unsigned saved_;
};

#else

class FloatEnvironment {
  public:
    explicit FloatEnvironment(Rounding rounding) {
        std::fegetenv(&saved_);
        set(rounding);
    }
    ~FloatEnvironment() { std::fesetenv(&saved_); }
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

    void set(Rounding rounding) {
        std::fesetenv(FE_DFL_ENV);
        std::fesetround(rounding == Rounding::Nearest ? FE_TONEAREST : FE_TOWARDZERO);
    }

  private:
    std::fenv_t saved_;
};

#endif

}  // namespace soundsum
