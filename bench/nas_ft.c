// SPDX-License-Identifier: BSD-3-Clause
// NAS FT, from its specification (RNR-94-007, section 2.4): nas_ft S|W|A [MICROSECONDS]
//
// A partial differential equation by a three-dimensional FFT: once forth, then in each iteration
// one back, of which 1,024 elements are added up (MPI_Reduce). The array lies in slabs along z; for
// the third dimension it is transposed (MPI_Alltoall), so the number of ranks is a power of two
// that divides both nx and nz. Verified by the sums where they are known. MICROSECONDS: in each
// iteration one rank, in turn, comes so late. Plain MPI, to be run bare and through Tutti.
#include <complex.h>
#include <math.h>

#include "nas.h"

typedef double complex Complex;

typedef struct {
    char name;
    int n[3], iterations;  // nx, ny, nz
    double sums[6][2];     // of the first iterations; 0: not known here
} Class;

static const Class kClasses[] = {
    {'S', {64, 64, 64}, 6,
     {{554.6087004964, 484.5363331978}, {554.6385409189, 486.5304269511},
      {554.6148406171, 488.3910722336}, {554.5423607415, 490.1273169046},
      {554.4255039624, 491.7475857993}, {554.2683411902, 493.2597244941}}},
    {'W', {128, 128, 32}, 6,
     {{567.3612178944, 529.3246849175}, {563.1436885271, 528.2149986629},
      {559.4024089970, 527.0996558037}, {556.0698047020, 526.0027904925},
      {553.0898991250, 524.9400845633}, {550.4159734538, 523.9212247086}}},
    {'A', {256, 256, 128}, 6,
     {{504.6735008193, 511.4047905510}, {505.9412319734, 509.8809666433},
      {506.9376896287, 509.8144042213}, {507.7892868474, 510.1336130759},
      {508.5233095391, 510.4914655194}, {509.1487099959, 510.7917842803}}},
};

enum { kElements = 1024 };

static int rank, size;

// Of one row of n elements that lie `stride` apart, in place; roots: exp(sign 2 pi i k / n).
static void transform_row(Complex* row, int n, int stride, const Complex* roots, Complex* work) {
    int bits = 0;
    while (1 << bits < n) ++bits;
    for (int i = 0; i < n; ++i) {
        int reversed = 0;
        for (int b = 0; b < bits; ++b) reversed |= (i >> b & 1) << (bits - 1 - b);
        work[reversed] = row[(size_t)i * (size_t)stride];
    }
    for (int half = 1; half < n; half *= 2) {
        for (int begin = 0; begin < n; begin += 2 * half) {
            for (int k = 0; k < half; ++k) {
                const Complex odd = work[begin + k + half] * roots[k * (n / (2 * half))];
                work[begin + k + half] = work[begin + k] - odd;
                work[begin + k] += odd;
            }
        }
    }
    for (int i = 0; i < n; ++i) row[(size_t)i * (size_t)stride] = work[i];
}

// All rows along one of three dimensions of lengths n; the first is the one whose elements are
// neighbours.
static void transform(Complex* u, const int n[3], int dimension, int sign) {
    const int length = n[dimension];
    int stride = 1;
    for (int d = 0; d < dimension; ++d) stride *= n[d];
    const size_t block = (size_t)stride * (size_t)length;
    const size_t all = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    Complex* roots = malloc((size_t)length * 2 * sizeof(Complex));
    for (int k = 0; k < length; ++k) roots[k] = cexp(sign * 2 * M_PI * I * k / length);
    for (size_t begin = 0; begin < all; begin += block) {
        for (int at = 0; at < stride; ++at) {
            transform_row(u + begin + at, length, stride, roots, roots + length);
        }
    }
    free(roots);
}

typedef struct {
    const Class* of;
    int slab[3];    // nx, ny, nz / size: with all of x and y
    int column[3];  // nz, ny, nx / size: with all of z, whose elements are neighbours then
    size_t elements;
} Layout;

// The blocks in the first half of `work`, one for each rank; theirs, in its second.
static const Complex* exchange(const Layout* l, Complex* work) {
    const int count = (int)(l->elements / (size_t)size);
    Complex* got = work + l->elements;
    MPI_Alltoall(work, count, MPI_C_DOUBLE_COMPLEX, got, count, MPI_C_DOUBLE_COMPLEX,
                 MPI_COMM_WORLD);
    return got;
}

// From slabs to columns: a block of each rank's x goes to it.
static void to_columns(const Layout* l, const Complex* slab, Complex* column, Complex* work) {
    const int nx = l->slab[0], ny = l->slab[1], z_here = l->slab[2], x_here = l->column[2];
    size_t at = 0;
    for (int r = 0; r < size; ++r) {
        for (int x = 0; x < x_here; ++x) {
            for (int y = 0; y < ny; ++y) {
                for (int z = 0; z < z_here; ++z) {
                    work[at++] = slab[((size_t)z * ny + y) * nx + r * x_here + x];
                }
            }
        }
    }
    const Complex* got = exchange(l, work);
    at = 0;
    for (int r = 0; r < size; ++r) {
        for (int row = 0; row < x_here * ny; ++row) {
            memcpy(column + (size_t)row * l->column[0] + r * z_here, got + at,
                   (size_t)z_here * sizeof(Complex));
            at += (size_t)z_here;
        }
    }
}

static void to_slabs(const Layout* l, const Complex* column, Complex* slab, Complex* work) {
    const int nx = l->slab[0], ny = l->slab[1], z_here = l->slab[2], x_here = l->column[2];
    size_t at = 0;
    for (int r = 0; r < size; ++r) {
        for (int row = 0; row < x_here * ny; ++row) {
            memcpy(work + at, column + (size_t)row * l->column[0] + r * z_here,
                   (size_t)z_here * sizeof(Complex));
            at += (size_t)z_here;
        }
    }
    const Complex* got = exchange(l, work);
    at = 0;
    for (int r = 0; r < size; ++r) {
        for (int x = 0; x < x_here; ++x) {
            for (int y = 0; y < ny; ++y) {
                for (int z = 0; z < z_here; ++z) {
                    slab[((size_t)z * ny + y) * nx + r * x_here + x] = got[at++];
                }
            }
        }
    }
}

// Numbers are drawn for real and imaginary parts in turn, x first.
static void draw(const Layout* l, Complex* slab) {
    uint64_t x = nas_skip(kNasSeed, 2 * (uint64_t)rank * l->elements);
    for (size_t i = 0; i < l->elements; ++i) {
        const double re = nas_next(&x);
        slab[i] = re + I * nas_next(&x);
    }
}

// How fast each element of the columns fades in one iteration: exp(-4 alpha pi^2 k^2), wave numbers
// from -n / 2 to n / 2 - 1.
static void make_factors(const Layout* l, double* factors) {
    const double alpha = 1e-6;
    const int* n = l->of->n;
    size_t at = 0;
    for (int x = 0; x < l->column[2]; ++x) {
        const int i = rank * l->column[2] + x, kx = i < n[0] / 2 ? i : i - n[0];
        for (int y = 0; y < n[1]; ++y) {
            const int ky = y < n[1] / 2 ? y : y - n[1];
            for (int z = 0; z < n[2]; ++z) {
                const int kz = z < n[2] / 2 ? z : z - n[2];
                factors[at++] = exp(-4 * alpha * M_PI * M_PI * (kx * kx + ky * ky + kz * kz));
            }
        }
    }
}

// The sum over all ranks, at rank 0: of elements j mod nx, 3 j mod ny, 5 j mod nz.
static Complex add_up(const Layout* l, const Complex* slab) {
    const int* n = l->of->n;
    Complex mine = 0, all = 0;
    for (int j = 1; j <= kElements; ++j) {
        const int z = 5 * j % n[2] - rank * l->slab[2];
        if (z < 0 || z >= l->slab[2]) continue;
        mine += slab[((size_t)z * n[1] + 3 * j % n[1]) * n[0] + j % n[0]];
    }
    MPI_Reduce(&mine, &all, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, 0, MPI_COMM_WORLD);
    return all / ((double)n[0] * n[1] * n[2]);
}

static int is_known(const Class* c, int iteration, Complex sum) {
    const double* known = c->sums[iteration - 1];
    const Complex difference = sum - (known[0] + I * known[1]);
    return cabs(difference) / hypot(known[0], known[1]) < 1e-12;
}

// The number of sums that are not the known ones.
static int run(const Layout* l, Complex* slab, Complex* column, long late_us, double* seconds) {
    Complex* work = malloc(2 * l->elements * sizeof(Complex));
    double* factors = malloc(l->elements * sizeof(double));
    int wrong = 0;
    draw(l, slab);
    make_factors(l, factors);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    transform(slab, l->slab, 0, 1);
    transform(slab, l->slab, 1, 1);
    to_columns(l, slab, column, work);
    transform(column, l->column, 0, 1);
    Complex* back = malloc(l->elements * sizeof(Complex));
    for (int iteration = 1; iteration <= l->of->iterations; ++iteration) {
        nas_come_late(iteration, rank, size, late_us);
        for (size_t i = 0; i < l->elements; ++i) column[i] *= factors[i];
        memcpy(back, column, l->elements * sizeof(Complex));
        transform(back, l->column, 0, -1);
        to_slabs(l, back, slab, work);
        transform(slab, l->slab, 1, -1);
        transform(slab, l->slab, 0, -1);
        const Complex sum = add_up(l, slab);
        if (rank == 0) wrong += !is_known(l->of, iteration, sum);
    }
    *seconds = MPI_Wtime() - begin;
    free(back);
    free(factors);
    free(work);
    return wrong;
}

int main(int argc, char** argv) {
    char name;
    long late_us;
    nas_arguments(argc, argv, "nas_ft", &name, &late_us);
    const Class* c = kClasses;
    while (c->name != name) ++c;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (c->n[0] % size != 0 || c->n[2] % size != 0) {
        if (rank == 0) {
            fprintf(stderr, "nas_ft: %d ranks do not divide %d and %d\n", size, c->n[0], c->n[2]);
        }
        MPI_Finalize();
        return 2;
    }
    const Layout l = {c,
                      {c->n[0], c->n[1], c->n[2] / size},
                      {c->n[2], c->n[1], c->n[0] / size},
                      (size_t)c->n[0] * (size_t)c->n[1] * (size_t)c->n[2] / (size_t)size};
    Complex* slab = malloc(l.elements * sizeof(Complex));
    Complex* column = malloc(l.elements * sizeof(Complex));
    double seconds = 0;
    const int wrong = run(&l, slab, column, late_us, &seconds);
    free(slab);
    free(column);
    return nas_report("FT", name, size, late_us, seconds, wrong == 0);
}
