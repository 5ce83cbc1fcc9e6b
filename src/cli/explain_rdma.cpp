// SPDX-License-Identifier: BSD-3-Clause
#include "cli/explain_rdma.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tutti::cli {

void print_rdma(const explain::RdmaUse& use, const VerbsSettings& settings) {
    if (use.is_too_much(settings)) {
        fmt::print("rdma:  none: a rank would register {}, beyond TUTTI_VERBS_MEMORY\n",
                   format_bytes(use.bytes));
        return;
    }
    fmt::print("rdma:  a rank is connected with {} at most, {} registered", use.peers,
               format_bytes(use.bytes));
    if (use.messages != 0) {
        fmt::print("; {} of {} messages go by RDMA{}", use.by_rdma, use.messages,
                   use.by_rdma < use.messages ? ", the others by your MPI" : "");
        if (use.counted != 0) {
            fmt::print("; {} as additions to counters, where the adapters can", use.counted);
        }
    }
    fmt::print("\n");
}

}  // namespace tutti::cli
