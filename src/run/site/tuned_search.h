// SPDX-License-Identifier: BSD-3-Clause
// Which tuned file (docs/formats/tuned.md) a job goes by, if any.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "plan/select/fingerprint.h"

namespace tutti::site {

struct TunedSearch {
    std::string setting;               // TUTTI_TUNED, or empty; "off": none
    std::vector<std::string> folders;  // the user's, the site's
};
// xdg, home: XDG_CONFIG_HOME and HOME, or null.
TunedSearch tuned_search(const Settings& settings, const char* xdg, const char* home);

// tuned*.toml of each folder, in order of name.
std::vector<std::string> tuned_files(const TunedSearch& search);

struct FoundTuned {
    std::string file;  // empty: none is to be used
    std::string text;
    std::string remark;  // a line about what is not used; mostly empty
};
// The file that is named, or the first that fits. That a named one is not there or broken is an
// error; of others it is a remark. `here` is asked once there is a file.
Result<FoundTuned> find_tuned(const TunedSearch& search,
                              const std::function<select::Fingerprint()>& here);

// Of this process: its host and its host MPI, as MPI_Get_library_version() tells it.
select::Fingerprint own_fingerprint(std::string_view library_version);

// The tuned file of this process as settings for all of its job: TUTTI_TUNED_NAME and
// TUTTI_TUNED_TEXT, or none.
struct TunedEntries {
    std::vector<std::string> entries;
    std::string remark;
};
Result<TunedEntries> tuned_entries(std::span<const std::string> held,
                                   std::string_view library_version);

// The tuned file of these settings, if it says which hosts share a switch; else empty.
Result<std::string> tuned_fabric(const Settings& settings);

}  // namespace tutti::site
