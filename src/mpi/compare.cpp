// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/compare.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tutti::mpi {

namespace {

// The C structs that MINLOC and MAXLOC reduce.
template <class V, class I>
struct Pair {
    V value;
    I index;
};

template <class T>
struct Kind_ {
    static constexpr bool is_complex = false, is_pair = false;
    using Real = T;
};
template <class T>
struct Kind_<std::complex<T>> {
    static constexpr bool is_complex = true, is_pair = false;
    using Real = T;
};
template <class V, class I>
struct Kind_<Pair<V, I>> {
    static constexpr bool is_complex = false, is_pair = true;
    using Real = V;
};
template <class T>
constexpr bool is_float = std::is_floating_point_v<typename Kind_<T>::Real>;

template <class T>
struct Type {
    using type = T;
};

// Calls `function` with Type<T> of the C type of this number. LOGICAL and bool come as the unsigned
// integers of their width.
template <class F>
decltype(auto) with_type(tutti_dtype dtype, F function) {
    switch (dtype) {
        case TUTTI_INT8:
            return function(Type<int8_t>{});
        case TUTTI_INT16:
            return function(Type<int16_t>{});
        case TUTTI_INT32:
            return function(Type<int32_t>{});
        case TUTTI_INT64:
            return function(Type<int64_t>{});
        case TUTTI_UINT16:
        case TUTTI_LOGICAL16:
            return function(Type<uint16_t>{});
        case TUTTI_UINT32:
        case TUTTI_LOGICAL32:
            return function(Type<uint32_t>{});
        case TUTTI_UINT64:
        case TUTTI_LOGICAL64:
            return function(Type<uint64_t>{});
        case TUTTI_FLOAT:
            return function(Type<float>{});
        case TUTTI_DOUBLE:
            return function(Type<double>{});
        case TUTTI_LONG_DOUBLE:
            return function(Type<long double>{});
        case TUTTI_COMPLEX_FLOAT:
            return function(Type<std::complex<float>>{});
        case TUTTI_COMPLEX_DOUBLE:
            return function(Type<std::complex<double>>{});
        case TUTTI_COMPLEX_LONG_DOUBLE:
            return function(Type<std::complex<long double>>{});
        case TUTTI_FLOAT_INT:
            return function(Type<Pair<float, int>>{});
        case TUTTI_DOUBLE_INT:
            return function(Type<Pair<double, int>>{});
        case TUTTI_LONG_INT:
            return function(Type<Pair<long, int>>{});
        case TUTTI_INT_INT:
            return function(Type<Pair<int, int>>{});
        case TUTTI_SHORT_INT:
            return function(Type<Pair<short, int>>{});
        case TUTTI_LONG_DOUBLE_INT:
            return function(Type<Pair<long double, int>>{});
        case TUTTI_FLOAT_FLOAT:
            return function(Type<Pair<float, float>>{});
        case TUTTI_DOUBLE_DOUBLE:
            return function(Type<Pair<double, double>>{});
        default:
            return function(Type<uint8_t>{});
    }
}

bool is_truth(tutti_dtype dtype) { return dtype >= TUTTI_BOOL && dtype <= TUTTI_LOGICAL64; }

template <class T>
T element(const std::byte* from, size_t index) {
    T value;
    memcpy(&value, from + index * sizeof value, sizeof value);
    return value;
}

// What was added up over the ranks: |x| or |log2 |x|| of the finite operands, and which other ones
// there were. More than a million ranks would carry from one kind into the next.
struct Magnitude {
    double size = 0;
    double kinds = 0;
    static constexpr double kZero = 1, kInfinite = 0x1p20, kNan = 0x1p40;
    [[nodiscard]] bool has_nan() const { return kinds >= kNan; }
    [[nodiscard]] bool has_infinite() const { return std::fmod(kinds, kNan) >= kInfinite; }
    [[nodiscard]] bool has_zero() const { return std::fmod(kinds, kInfinite) >= kZero; }
};

template <class R>
Magnitude magnitude(R value, bool of_product) {
    if (std::isnan(value)) return {0, Magnitude::kNan};
    if (std::isinf(value)) return {0, Magnitude::kInfinite};
    if (value == 0) return {0, Magnitude::kZero};
    // A long double that a double cannot hold comes out infinite, and then nothing is decided.
    const R size = of_product ? std::fabs(std::log2(std::fabs(value))) : std::fabs(value);
    return {static_cast<double>(size), 0};
}

enum class Match { kSame, kUncertain, kDifferent };

struct Judged {
    Match match = Match::kSame;
    long double allowed = 0;
};

Judged same_if(bool is_same) { return {is_same ? Match::kSame : Match::kDifferent, 0}; }

// g(k) of the head of compare.h.
template <class R>
long double relative_error(double k) {
    const long double ku = k * static_cast<long double>(std::numeric_limits<R>::epsilon()) / 2;
    return ku < 0.5L ? ku / (1 - ku) : 1;
}

// The magnitudes have rounding errors of their own, far below this.
constexpr long double kMargin = 1.0001L;

template <class R>
Judged judge_sum(R a, R b, const Magnitude& m, double p) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return {};
    if (m.has_nan()) return {Match::kDifferent, 0};
    if (m.has_infinite()) {
        return {std::isfinite(a) || std::isfinite(b) ? Match::kDifferent : Match::kUncertain, 0};
    }
    const long double sum = kMargin * static_cast<long double>(m.size);
    if (!(sum < std::numeric_limits<R>::max())) return {Match::kUncertain, 0};
    if (!std::isfinite(a) || !std::isfinite(b)) return {Match::kDifferent, 0};
    // A processor that takes small numbers for zero may lose one at every step.
    const long double lost = std::max<long double>(std::numeric_limits<R>::min(), DBL_MIN);
    const long double allowed = 2 * relative_error<R>(p - 1) * sum + 2 * p * lost;
    const long double apart = std::fabs(static_cast<long double>(a) - static_cast<long double>(b));
    return {apart <= allowed ? Match::kSame : Match::kDifferent, allowed};
}

// Whether no product of some of the operands, in whatever order, leaves the range of R. A complex
// one needs room below for the products of its parts.
template <class R>
bool stays_in_range(const Magnitude& m, bool is_complex) {
    using Limits = std::numeric_limits<R>;
    const int room = 4 + (is_complex ? 2 * Limits::digits : 0);
    return m.size < std::min(Limits::max_exponent, -Limits::min_exponent) - room;
}

template <class R>
Judged judge_product(R a, R b, const Magnitude& m, double p) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return {};
    if (m.has_nan() || (m.has_infinite() && m.has_zero())) return {Match::kDifferent, 0};
    if (!stays_in_range<R>(m, false)) return {Match::kUncertain, 0};
    if (m.has_infinite() || m.has_zero()) return {Match::kDifferent, 0};
    if (!std::isfinite(a) || !std::isfinite(b)) return {Match::kDifferent, 0};
    const long double left = a, right = b;
    const long double g = relative_error<R>(p - 1);
    const long double larger = std::max(std::fabs(left), std::fabs(right));
    const long double allowed = kMargin * 2 * g * (1 + g) * larger;
    return {std::fabs(left - right) <= allowed ? Match::kSame : Match::kDifferent, allowed};
}

template <class R>
Judged judge_product(std::complex<R> a, std::complex<R> b, const Magnitude& m, double p) {
    if (a == b) return {};
    // How a complex product treats what is not finite is left to the compiler of either side.
    const bool is_decided = !m.has_nan() && !m.has_infinite() && stays_in_range<R>(m, true);
    if (!is_decided) return {Match::kUncertain, 0};
    if (m.has_zero()) return {Match::kDifferent, 0};
    const auto modulus = [](std::complex<R> z) {
        return std::hypot(static_cast<long double>(z.real()), static_cast<long double>(z.imag()));
    };
    const long double g = relative_error<R>(4 * (p - 1));
    const long double allowed = kMargin * 2 * g * (1 + g) * std::max(modulus(a), modulus(b));
    const long double apart = std::hypot(static_cast<long double>(a.real()) - b.real(),
                                         static_cast<long double>(a.imag()) - b.imag());
    return {apart <= allowed ? Match::kSame : Match::kDifferent, allowed};
}

// Which of a NaN and a number is the smaller is left to either side.
Judged judge_choice(bool is_same, const Magnitude& m) {
    if (is_same) return {};
    return {m.has_nan() ? Match::kUncertain : Match::kDifferent, 0};
}

template <class R>
bool is_equal(R a, R b) {
    if constexpr (std::is_floating_point_v<R>) {
        if (std::isnan(a) && std::isnan(b)) return true;
    }
    return a == b;
}

template <class T>
Judged judge(const Reduced& what, T a, T b, const Magnitude* m) {
    const double p = what.ranks;
    if constexpr (Kind_<T>::is_pair) {
        const bool is_same = is_equal(a.value, b.value) && is_equal(a.index, b.index);
        return judge_choice(is_same, is_float<T> ? *m : Magnitude{});
    } else if constexpr (Kind_<T>::is_complex) {
        if (what.op == TUTTI_PROD) return judge_product(a, b, *m, p);
        const Judged real = judge_sum(a.real(), b.real(), m[0], p);
        const Judged imaginary = judge_sum(a.imag(), b.imag(), m[1], p);
        return real.match >= imaginary.match ? real : imaginary;
    } else if constexpr (is_float<T>) {
        if (what.op == TUTTI_SUM) return judge_sum(a, b, *m, p);
        if (what.op == TUTTI_PROD) return judge_product(a, b, *m, p);
        return judge_choice(is_equal(a, b), *m);
    } else {
        // Any number but zero says "true".
        if (is_truth(what.dtype)) return same_if((a != 0) == (b != 0));
        return same_if(a == b);
    }
}

std::string number_text(long double value, int digits) {
    char text[64];
    snprintf(text, sizeof text, "%.*Lg", digits, value);
    return text;
}

template <class T>
std::string value_text(T value) {
    if constexpr (Kind_<T>::is_complex) {
        return "(" + value_text(value.real()) + ", " + value_text(value.imag()) + ")";
    } else if constexpr (Kind_<T>::is_pair) {
        return "(" + value_text(value.value) + ", " + value_text(value.index) + ")";
    } else if constexpr (is_float<T>) {
        return number_text(value, std::numeric_limits<T>::max_digits10);
    } else {
        return std::to_string(value);
    }
}

std::string hex_text(const std::byte* bytes, size_t count) {
    constexpr size_t kShown = 16;
    std::string text = "0x";
    for (size_t i = 0; i < std::min(count, kShown); ++i) {
        char two[3];
        snprintf(two, sizeof two, "%02x", std::to_integer<unsigned>(bytes[i]));
        text += two;
    }
    return count > kShown ? text + "..." : text;
}

template <class T>
size_t per_element(tutti_op op) {
    return Kind_<T>::is_complex && op != TUTTI_PROD ? 4 : 2;
}

template <class T>
void fill(tutti_op op, const std::byte* operands, size_t count, double* to) {
    const auto put = [&](const Magnitude& m) {
        *to++ = m.size;
        *to++ = m.kinds;
    };
    for (size_t i = 0; i < count; ++i) {
        const T value = element<T>(operands, i);
        if constexpr (Kind_<T>::is_complex) {
            if (op == TUTTI_PROD) {
                const bool has_nan = std::isnan(value.real()) || std::isnan(value.imag());
                put(has_nan ? Magnitude{0, Magnitude::kNan}
                            : magnitude(std::hypot(value.real(), value.imag()), true));
            } else {
                put(magnitude(value.real(), false));
                put(magnitude(value.imag(), false));
            }
        } else if constexpr (Kind_<T>::is_pair) {
            put(magnitude(value.value, false));
        } else {
            put(magnitude(value, op == TUTTI_PROD));
        }
    }
}

template <class T>
void compare(const Reduced& what, uint64_t first, size_t count, Comparison& to) {
    const size_t step = per_element<T>(what.op);
    for (size_t i = 0; i < count; ++i) {
        Magnitude m[2];
        for (size_t k = 0; what.magnitudes != nullptr && k < step / 2; ++k) {
            m[k] = {what.magnitudes[i * step + 2 * k], what.magnitudes[i * step + 2 * k + 1]};
        }
        const T a = element<T>(what.tutti, i), b = element<T>(what.host, i);
        const Judged judged = judge(what, a, b, m);
        if (judged.match == Match::kUncertain) ++to.uncertain;
        if (judged.match != Match::kDifferent || to.different++ > 0) continue;
        to.first = first + i;
        to.tutti = value_text(a);
        to.host = value_text(b);
        to.allowed = judged.allowed > 0 ? number_text(judged.allowed, 3) : "";
    }
}

}  // namespace

const char* dtype_name(tutti_dtype dtype) {
    static constexpr const char* kNames[TUTTI_DTYPE_COUNT] = {
        "byte",           "int8",
        "int16",          "int32",
        "int64",          "uint8",
        "uint16",         "uint32",
        "uint64",         "bool",
        "logical8",       "logical16",
        "logical32",      "logical64",
        "float",          "double",
        "long double",    "complex float",
        "complex double", "complex long double",
        "float and int",  "double and int",
        "long and int",   "int and int",
        "short and int",  "long double and int",
        "two floats",     "two doubles",
    };
    return dtype < TUTTI_DTYPE_COUNT ? kNames[dtype] : "?";
}

const char* op_name(tutti_op op) {
    static constexpr const char* kNames[TUTTI_OP_COUNT] = {
        "sum",        "product",     "minimum",     "maximum",    "logical and",
        "logical or", "logical xor", "bitwise and", "bitwise or", "bitwise xor",
        "minloc",     "maxloc",      "a user's"};
    return op < TUTTI_OP_COUNT ? kNames[op] : "?";
}

bool needs_magnitudes(tutti_dtype dtype, tutti_op) {
    return with_type(dtype, []<class T>(Type<T>) { return is_float<T>; });
}

size_t magnitudes_per_element(tutti_dtype dtype, tutti_op op) {
    return with_type(dtype, [op]<class T>(Type<T>) { return per_element<T>(op); });
}

void fill_magnitudes(tutti_dtype dtype, tutti_op op, const std::byte* operands, size_t count,
                     double* magnitudes) {
    with_type(dtype, [&]<class T>(Type<T>) {
        if constexpr (is_float<T>) fill<T>(op, operands, count, magnitudes);
    });
}

bool is_narrow(tutti_dtype dtype) {
    return dtype == TUTTI_INT8 || dtype == TUTTI_UINT8 || dtype == TUTTI_INT16 ||
           dtype == TUTTI_UINT16;
}

void widen(tutti_dtype dtype, const std::byte* from, size_t count, int64_t* to) {
    with_type(dtype, [&]<class T>(Type<T>) {
        if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
            for (size_t i = 0; i < count; ++i) to[i] = element<T>(from, i);
        }
    });
}

void cut(tutti_dtype dtype, const int64_t* from, size_t count, std::byte* to) {
    with_type(dtype, [&]<class T>(Type<T>) {
        if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
            for (size_t i = 0; i < count; ++i) {
                const auto value = static_cast<T>(from[i]);
                memcpy(to + i * sizeof value, &value, sizeof value);
            }
        }
    });
}

void compare_reduced(const Reduced& what, uint64_t first, size_t count, Comparison& to) {
    with_type(what.dtype, [&]<class T>(Type<T>) { compare<T>(what, first, count, to); });
}

Comparison compare_bytes(const std::byte* tutti, const std::byte* host, size_t bytes,
                         size_t element_bytes) {
    Comparison found;
    if (bytes == 0 || memcmp(tutti, host, bytes) == 0) return found;
    element_bytes = std::max<size_t>(element_bytes, 1);
    for (size_t at = 0; at < bytes; at += element_bytes) {
        const size_t size = std::min(element_bytes, bytes - at);
        if (memcmp(tutti + at, host + at, size) == 0 || found.different++ > 0) continue;
        found.first = at / element_bytes;
        // A large element is shown from where it differs.
        size_t skip = 0;
        while (size - skip > 16 && tutti[at + skip] == host[at + skip]) ++skip;
        found.tutti = hex_text(tutti + at + skip, size - skip);
        found.host = hex_text(host + at + skip, size - skip);
    }
    return found;
}

bool is_chosen(double share, uint64_t seed, uint64_t number, uint64_t call) {
    // The finisher of SplitMix64 (base/prng.h), which the front end cannot include.
    const auto mix = [](uint64_t z) {
        z += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    };
    const uint64_t drawn = mix(seed ^ mix(number ^ mix(call)));
    return static_cast<double>(drawn >> 11) * 0x1p-53 < share;
}

}  // namespace tutti::mpi
