/* Passes over a row of logits that read each number once; rows.py has the same with numpy.

   In vectors as wide as the processor's registers: compilers make scalar code of comparisons of wider ones. A mask has a
   bit for each number of a row, the lowest bit of a word first. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX2__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
enum { BLOCK = 64 * LANES }; /* summed in float32; blocks are added in float64 */
typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef int64_t Longs __attribute__((vector_size(4 * LANES)));
typedef double Doubles __attribute__((vector_size(8 * LANES)));

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

/* The lanes whose bits are set. */
INLINE Ints allowed(const uint32_t *mask, size_t at) {
    int32_t bits = (int32_t)(mask[at / 32] >> at % 32);
    Ints each = {0};
    for (int lane = 0; lane < LANES; lane++) each[lane] = 1 << lane;
    return (each & bits) != 0;
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

/* The sums of the weights e^(x - best), of the weights times x - best, and of the allowed weights. The `most` largest
   numbers, the best first, are exact unless they equal the last of them. */
void weigh(const float *row, size_t count, const int64_t *largest, size_t most, const uint32_t *mask, double *sums) {
    float best = row[largest[0]], bound = row[largest[most - 1]];
    Doubles totals = {0}, means = {0}, feasibles = {0};
    for (size_t at = 0; at < count;) {
        Floats total = {0}, mean = {0}, feasible = {0};
        for (size_t end = at + BLOCK; at < end && at < count; at += LANES) {
            Floats value = next(row + at, row + count), x = value - best;
            x = where(x < LEAST, LEAST + (Floats){0}, x);
            Floats weight = (Floats)((value <= bound) & (Ints)exponential(x));
            total += weight;
            mean += weight * x;
            if (mask) feasible += (Floats)((Ints)weight & allowed(mask, at));
        }
        totals += __builtin_convertvector(total, Doubles);
        means += __builtin_convertvector(mean, Doubles);
        feasibles += __builtin_convertvector(feasible, Doubles);
    }
    sums[0] = sum(totals), sums[1] = sum(means), sums[2] = sum(feasibles);
    for (const int64_t *at = largest; row[*at] > bound; at++) {
        double x = (double)row[*at] - best, weight = exp(x);
        sums[0] += weight, sums[1] += weight * x;
        if (mask && mask[*at / 32] >> *at % 32 & 1) sums[2] += weight;
    }
}

/* Copies a row, with -inf in place of each number that is not allowed. */
void copy_allowed(const float *row, size_t count, const uint32_t *mask, float *out) {
    size_t at = 0;
    for (; count - at >= LANES; at += LANES) {
        Floats values = where(allowed(mask, at), next(row + at, row + count), -INFINITY + (Floats){0});
        memcpy(out + at, &values, sizeof values);
    }
    for (; at < count; at++) out[at] = mask[at / 32] >> at % 32 & 1 ? row[at] : -INFINITY;
}

/* Whether one of so many vectors has a number above the bound. */
INLINE int any_above(const float *at, int vectors, float bound) {
    Ints found = {0};
    for (int vector = 0; vector < vectors; vector++, at += LANES) {
        Floats values;
        memcpy(&values, at, sizeof values);
        found |= values > bound;
    }
    int64_t any = 0;
    for (int pair = 0; pair < LANES / 2; pair++) any |= ((Longs)found)[pair];
    return any != 0;
}

/* The `most` largest numbers in descending order with their places, the first among equals, without -inf. Returns how
   many there are. */
size_t largest(const float *row, size_t count, size_t most, int64_t *places, float *values) {
    enum { WIDE = 16 * LANES, NARROW = 2 * LANES }; /* soon few numbers are above the bound: look at many at once */
    size_t found = 0, at = 0;
    float bound = -INFINITY;
    while (at < count) {
        size_t end = count;
        if (count - at >= NARROW) {
            if (at % WIDE == 0 && count - at >= WIDE && !any_above(row + at, WIDE / LANES, bound)) {
                at += WIDE;
                continue;
            }
            end = at + NARROW;
            if (!any_above(row + at, NARROW / LANES, bound)) at = end;
        }
        for (; at < end; at++) {
            if (!(row[at] > bound)) continue;
            size_t place = found < most ? found++ : most - 1;
            for (; place > 0 && values[place - 1] < row[at]; place--) {
                values[place] = values[place - 1];
                places[place] = places[place - 1];
            }
            values[place] = row[at];
            places[place] = (int64_t)at;
            if (found == most) bound = values[most - 1];
        }
    }
    return found;
}
