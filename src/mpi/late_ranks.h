// SPDX-License-Identifier: BSD-3-Clause
// What facts about arrivals lack, and calls that the front end has timed tell: bounds, and which of
// them matter. Samples are multiplied by the calls that they stand for, and a single long one by as
// much. So the times of all calls are a bound. Knows no MPI.
#pragma once

#include <span>

#include "mpi/fact_log.h"
#include "mpi/report_table.h"

namespace tutti::mpi {

// Of one process: it has waited no longer than it was in calls in which all wait for all.
void bound_own_wait(FactLog& log, std::span<const ReportRecord> own);
// Of the job: communicators have waited no longer than all of their size were inside calls of that
// collective. A few that cost a part of the run have words for people then.
void bound_waits(FactLog& log, std::span<const ReportRow> calls, double run_s);

}  // namespace tutti::mpi
