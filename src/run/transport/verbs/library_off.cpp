// SPDX-License-Identifier: BSD-3-Clause
// Where the build has no infiniband/verbs.h.
#include "run/transport/verbs/library.h"

namespace tutti::transport::verbs {

Result<std::unique_ptr<Device>> open_library(const VerbsSettings&) {
    return Error{ErrorCode::kSystem,
                 "this build uses no RDMA devices: it had no infiniband/verbs.h"};
}

}  // namespace tutti::transport::verbs
