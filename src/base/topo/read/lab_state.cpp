// SPDX-License-Identifier: BSD-3-Clause
// What tools/lab notes of a lab that is up: docs/formats/lab_state.md.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/topo/read/read.h"

namespace tutti::topo {
namespace {

using nlohmann::json;

// A lab has far fewer.
constexpr size_t kStateBytesMax = size_t{16} << 20;

// As parse_rate: what is printed of it can be read.
constexpr uint64_t kBitsPerSecondMax = 1'000'000'000'000'000;

uint64_t number_of(const json& map, const char* key) {
    const auto found = map.find(key);
    return found != map.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

class LabReader {
  public:
    explicit LabReader(const std::string& file_name) : made_(file_name) {}

    Result<Topology> read(const json& lab) {
        if (!lab.is_object()) return wrong("expected what one lab is");
        const auto leaves = lab.find("leaves");
        if (leaves == lab.end() || !leaves->is_array() || leaves->empty()) {
            return wrong("leaves: expected a list of numbers");
        }
        const uint64_t rate = number_of(lab, "rate_bits");
        const uint64_t uplink = number_of(lab, "uplink_bits");
        for (const auto& [key, bits] : {std::pair("rate_bits", rate), {"uplink_bits", uplink}}) {
            if (bits > 0 && bits <= kBitsPerSecondMax) continue;
            return wrong(std::string(key) + ": expected bits a second, from 1 to 10^15");
        }
        for (size_t leaf = 0; leaf < leaves->size(); ++leaf) {
            const auto added = made_.add_switch("leaf" + std::to_string(leaf), 1);
            if (!added) return added.error();
        }
        if (leaves->size() > 1) {
            const auto root = made_.add_switch("root", 1);
            if (!root) return root.error();
            for (uint32_t leaf = 0; leaf < leaves->size(); ++leaf) {
                const auto done = made_.add_link({false, root.value()}, {false, leaf},
                                                 {.bits_per_s = uplink, .line = 1});
                if (!done) return done.error();
            }
        }
        return read_hosts(lab, leaves->size(), rate);
    }

  private:
    [[nodiscard]] Error wrong(const std::string& what) const { return made_.wrong(1, what); }

    Result<Topology> read_hosts(const json& lab, size_t leaves, uint64_t rate) {
        const auto hosts = lab.find("hosts");
        if (hosts == lab.end() || !hosts->is_array()) return wrong("hosts: expected a list");
        for (const json& host : *hosts) {
            const auto name = host.is_object() ? host.find("name") : host.end();
            const auto leaf = host.is_object() ? host.find("leaf") : host.end();
            if (name == host.end() || !name->is_string() || leaf == host.end() ||
                !leaf->is_number_unsigned()) {
                return wrong("hosts: expected a name and a leaf of each");
            }
            const auto at = leaf->get<uint64_t>();
            const auto& text = name->get_ref<const std::string&>();
            if (at >= leaves) {
                return wrong("host " + printable(text) + " is on leaf " + std::to_string(at) +
                             " of " + std::to_string(leaves));
            }
            const auto added = made_.add_host(text, 1);
            if (!added) return added.error();
            const auto done =
                made_.add_link({true, added.value()}, {false, static_cast<uint32_t>(at)},
                               {.bits_per_s = rate, .line = 1});
            if (!done) return done.error();
        }
        return made_.finish();
    }

    TopologyBuilder made_;
};

}  // namespace

Result<Topology> read_lab_state(std::string_view text, const std::string& file_name) {
    if (text.size() > kStateBytesMax) {
        return topology_error(file_name, 1, "more than " + format_bytes(kStateBytesMax));
    }
    try {
        const json parsed = json::parse(text);
        // `tools/lab status --json` prints a list.
        const bool is_list = parsed.is_array() && parsed.size() == 1;
        return LabReader(file_name).read(is_list ? parsed[0] : parsed);
    } catch (const json::parse_error& fault) {
        // The byte counts from 1 and may be one behind the last; a line ends with its newline.
        if (text.ends_with('\n')) text.remove_suffix(1);
        const size_t before = std::min(fault.byte > 0 ? fault.byte - 1 : 0, text.size());
        const auto lines = std::ranges::count(text.substr(0, before), '\n');
        return topology_error(file_name, static_cast<uint32_t>(lines) + 1, "this is no JSON");
    } catch (const json::exception& fault) {
        return topology_error(file_name, 1, printable(fault.what()));
    }
}

}  // namespace tutti::topo
