// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/team_share.h"

namespace tutti::transport::verbs {

void TeamShare::drop(StreamLines& lines, uint32_t stream) {
    while (lines.first(stream)) end(lines.pop(stream), State::kFailed);
}

void TeamShare::drop(StreamLines& lines) {
    for (uint32_t stream = 0; stream < kSlotsMax; ++stream) drop(lines, stream);
}

// Of a stream no more than the first message is under way from memory to memory.
void TeamShare::drop_but_registered(StreamLines& lines) {
    for (uint32_t stream = 0; stream < kSlotsMax; ++stream) {
        Operation* kept = lines.first(stream);
        if (!kept) continue;
        while (Operation* behind = kept->next) {
            lines.remove(stream, behind);
            end(behind, State::kFailed);
        }
        if (kept->is_registered()) {
            kept->call_off();
        } else {
            end(lines.pop(stream), State::kFailed);
        }
    }
}

}  // namespace tutti::transport::verbs
