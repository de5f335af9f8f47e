// The peers of the kernels that add in order: each loop does the same additions and nothing else (no clamp, no NaN).
// And a bare read of memory, the most any sum of an array can hope for.
#include <fenv.h>
#include <stddef.h>
#include <stdint.h>

double iterated(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += x[i];
    return sum;
}

double kahan(const double *x, size_t n) {
    double sum = 0, lost = 0;
    for (size_t i = 0; i < n; ++i) {
        const double y = x[i] - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum;
}

// Not inlined, so that no addition moves out of the rounding mode set around the call. Compared with a zero the compiler
// does not know, these are min and max; with a plain 0 gcc 12 branches on the sign, and the time would be that of
// mispredicted branches rather than of additions.
static volatile const double unknown_zero = 0;

__attribute__((noinline)) static void by_sign(const double *x, size_t n, double *positives, double *negatives) {
    const double zero = unknown_zero;
    double positive = 0, negative = 0;
    for (size_t i = 0; i < n; ++i) {
        positive += x[i] > zero ? x[i] : zero;
        negative += x[i] < zero ? x[i] : zero;
    }
    *positives = positive, *negatives = negative;
}

double toward_zero(const double *x, size_t n) {
    const int before = fegetround();
    double positive, negative;
    fesetround(FE_TOWARDZERO);
    by_sign(x, n, &positive, &negative);
    fesetround(before);
    return positive + negative;
}

// 16 lanes of 64 bits, two to a vector, none waiting for another. Named one by one: gcc 12 keeps an array of them, or one
// wide vector, in memory rather than in registers.
typedef uint64_t Pair __attribute__((vector_size(16), aligned(8), may_alias));

uint64_t bare_read(const void *bytes, size_t size) {
    const Pair *x = bytes;
    Pair a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    for (size_t i = 0; i < size / (8 * sizeof(Pair)); ++i, x += 8) {
        a += x[0], b += x[1], c += x[2], d += x[3];
        e += x[4], f += x[5], g += x[6], h += x[7];
    }
    a += b + c + d + e + f + g + h;
    return a[0] + a[1];
}
