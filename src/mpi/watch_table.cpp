// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/watch_table.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/facts.h"
#include "mpi/amount.h"

namespace tutti::mpi {

namespace {

std::string counted(uint64_t count, const char* what) {
    return grouped(count) + " " + what + (count == 1 ? "" : "s");
}

// As it was given: "0.01", "60".
std::string decimal(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.9g", value);
    return text;
}

std::string check_text(const CheckTotals& check, const std::string& ranks) {
    if (!check.is_on) return "";
    if (check.compared == 0) return "tutti: check: no call was compared on " + ranks + "\n";
    return "tutti: check: " + counted(check.compared, "call") + " compared on " + ranks + ", " +
           (check.different == 0 ? "all alike" : grouped(check.different) + " not alike") + "\n";
}

std::string verdicts(const VerifyTotals& verify) {
    if (verify.compared() > 0 && verify.equal == verify.compared()) return "all right";
    std::string text = grouped(verify.different) + " wrong, " + grouped(verify.equal) + " right";
    if (verify.undecided > 0) {
        text += ", " + grouped(verify.undecided) + " with other bits that may be right";
    }
    return text;
}

std::string verify_text(const VerifyTotals& verify) {
    if (verify.share == 0) return "";
    std::string text = "tutti: verify: " + grouped(verify.compared()) + " of " +
                       counted(verify.calls, "call") + " compared with your MPI (share " +
                       decimal(verify.share) + ", seed " + std::to_string(verify.seed) +
                       "): " + verdicts(verify);
    if (verify.skipped > 0) text += "; " + grouped(verify.skipped) + " could not be compared";
    if (verify.failed > 0) text += "; " + grouped(verify.failed) + " ended with an error";
    return text + "\n";
}

std::string stall_text(const StallTotals& stall, const std::string& ranks) {
    if (stall.limit_s == 0) return "";
    std::string text = "tutti: stall: " + counted(stall.calls, "call") + " watched on " + ranks;
    if (stall.calls == 0) return text + "\n";
    text += stall.stalls == 0 ? ", no rank was "
                              : "; " + counted(stall.stalls, "time") + " a rank was ";
    text += decimal(stall.limit_s) + " s or longer in one (at most ";
    return text + amount_text(static_cast<double>(stall.longest_ns) * 1e-9, 2) + ")\n";
}

}  // namespace

std::string watch_text(const WatchTotals& totals) {
    const std::string ranks = counted(totals.ranks, "rank");
    return check_text(totals.check, ranks) + verify_text(totals.verify) +
           stall_text(totals.stall, ranks);
}

void add_watches(nlohmann::ordered_json& json, const WatchTotals& totals) {
    const CheckTotals& check = totals.check;
    const VerifyTotals& verify = totals.verify;
    const StallTotals& stall = totals.stall;
    if (check.is_on) {
        json["check"] = {{"compared", check.compared}, {"different", check.different}};
    }
    if (verify.share > 0) {
        json["verify"] = {{"share", verify.share},         {"seed", verify.seed},
                          {"calls", verify.calls},         {"compared", verify.compared()},
                          {"right", verify.equal},         {"wrong", verify.different},
                          {"undecided", verify.undecided}, {"not_compared", verify.skipped},
                          {"failed", verify.failed}};
    }
    if (stall.limit_s > 0) {
        json["stall"] = {{"limit_s", stall.limit_s},
                         {"calls", stall.calls},
                         {"stalls", stall.stalls},
                         {"longest_s", static_cast<double>(stall.longest_ns) * 1e-9}};
    }
}

}  // namespace tutti::mpi
