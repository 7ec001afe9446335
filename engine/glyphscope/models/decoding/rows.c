/* Passes over a row of logits that read each number once; rows.py has the same with numpy.

   Vectors of 16 floats: the compiler puts them into the registers that a processor has, in three versions on x86-64, of
   which the loader takes one. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif
#define INLINE static inline __attribute__((always_inline))

enum { LANES = 16, BLOCK = 64 }; /* of a block: the sums of float32, and one comparison */
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef double Doubles __attribute__((vector_size(8 * LANES)));

static const Ints bit = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}; /* of a lane */
static const float LEAST = -87.0f; /* e^-87 is about the least normal float32; what is below it counts as that */

/* The next numbers of a row that ends at `end`; -inf after it. */
INLINE Floats next(const float *at, const float *end) {
    Floats values;
    if (end - at >= LANES)
        memcpy(&values, at, sizeof values);
    else
        for (int lane = 0; lane < LANES; lane++) values[lane] = at + lane < end ? at[lane] : -INFINITY;
    return values;
}

INLINE Floats where(Ints mask, Floats yes, Floats no) {
    return (Floats)((mask & (Ints)yes) | (~mask & (Ints)no));
}

/* e^x of LEAST <= x <= 0: 2^n times the series of e^r to its seventh power; |r| <= ln(2)/2, so that the rest is 6e-9. */
INLINE Floats exponential(Floats x) {
    const float whole = 12582912.0f; /* 1.5 * 2^23: a number that is added to it loses its fraction */
    Floats shifted = x * 1.44269504f + whole;
    Floats n = shifted - whole;
    Floats r = x - n * 0.693359375f - n * -2.12194440e-4f; /* ln 2 in two parts, the first of few digits */
    Floats power = r * (1 / 5040.0f) + 1 / 720.0f;
    power = power * r + 1 / 120.0f;
    power = power * r + 1 / 24.0f;
    power = power * r + 1 / 6.0f;
    power = power * r + 0.5f;
    power = power * r + 1.0f;
    power = power * r + 1.0f;
    return (Floats)((Ints)power + ((Ints)shifted << 23));
}

INLINE double sum(Doubles values) {
    double all = 0;
    for (int lane = 0; lane < LANES; lane++) all += values[lane];
    return all;
}

/* The sums of the weights e^(x - best), of the weights times x - best, and of the weights whose bit is set. */
FOR_EACH_PROCESSOR void weigh(const float *row, size_t count, float best, const uint16_t *bits, double *sums) {
    const float *end = row + count;
    Doubles totals = {0}, means = {0}, feasibles = {0};
    while (row < end) {
        Floats total = {0}, mean = {0}, feasible = {0};
        for (int vector = 0; vector < BLOCK && row < end; vector++, row += LANES) {
            Floats x = next(row, end) - best;
            x = where(x < LEAST, LEAST + (Floats){0}, x);
            Floats weight = exponential(x);
            total += weight;
            mean += weight * x;
            if (bits) feasible += (Floats)((Ints)weight & ((bit & *bits++) != 0));
        }
        totals += __builtin_convertvector(total, Doubles);
        means += __builtin_convertvector(mean, Doubles);
        feasibles += __builtin_convertvector(feasible, Doubles);
    }
    sums[0] = sum(totals), sums[1] = sum(means), sums[2] = sum(feasibles);
}

/* Makes -inf of each number of a row whose bit is not set. */
FOR_EACH_PROCESSOR void exclude(float *row, size_t count, const uint16_t *bits) {
    const Ints none = (Ints)(-INFINITY + (Floats){0});
    float *end = row + count;
    for (; end - row >= LANES; row += LANES, bits++) {
        Ints allowed = (bit & *bits) != 0;
        Floats values = next(row, end);
        values = (Floats)((allowed & (Ints)values) | (~allowed & none));
        memcpy(row, &values, sizeof values);
    }
    for (int lane = 0; row + lane < end; lane++)
        if (!(*bits >> lane & 1)) row[lane] = -INFINITY;
}
