// SPDX-License-Identifier: BSD-3-Clause
// Durations of the report, with the unit that keeps them short to read.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace tutti::mpi {

struct Amount {
    double value;
    const char* unit;
};

inline Amount in_unit(double seconds) {
    if (seconds >= 1) return {seconds, "s"};
    if (seconds >= 1e-3) return {seconds * 1e3, "ms"};
    return {seconds * 1e6, "us"};
}

// "1.50 ms".
inline std::string amount_text(double seconds, int decimals) {
    const Amount amount = in_unit(seconds);
    char text[64];
    snprintf(text, sizeof text, "%.*f %s", decimals, amount.value, amount.unit);
    return text;
}

// Two digits and their unit.
inline std::string rough(double seconds) {
    return amount_text(seconds, in_unit(seconds).value < 10 ? 1 : 0);
}

}  // namespace tutti::mpi
