// SPDX-License-Identifier: BSD-3-Clause
// For each collective of bench/collective_cell.h a line: its name, then the bytes of the block of
// each pair of five ranks, by giver and taker, where BYTES are 808.
#include <stdio.h>

#include "../../bench/collective_cell.h"

int main(void) {
    const int ranks = 5;
    for (int i = 0; i < COLLECTIVES; ++i) {
        printf("%s", kFacts[i].name);
        for (int pair = 0; pair < ranks * ranks; ++pair) {
            printf(" %d",
                   8 * block_words((enum collective)i, 101, pair / ranks, pair % ranks, ranks));
        }
        printf("\n");
    }
    return 0;
}
