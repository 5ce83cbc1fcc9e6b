// SPDX-License-Identifier: BSD-3-Clause
// Slurm's topology.yaml: docs/formats/slurm.md. The only way to yaml-cpp, whose exceptions end
// here.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/topo/read/read.h"
#include "base/topo/read/slurm.h"

namespace tutti::topo {
namespace {

// Hosts stand in it as lists, so a large cluster's has some hundred KiB.
constexpr size_t kYamlBytesMax = size_t{16} << 20;

uint32_t line_at(const YAML::Mark& mark) {
    return mark.line < 0 ? 1 : static_cast<uint32_t>(mark.line) + 1;
}

class YamlReader {
  public:
    explicit YamlReader(const std::string& file_name) : file_name_(file_name) {}

    // Reads the topology that holds where nothing else is said: the first that says
    // `cluster_default: true`, else the first.
    Result<Topology> read(const YAML::Node& root) {
        if (!root.IsSequence()) return wrong(root, "expected a list of topologies");
        const YAML::Node* chosen = nullptr;
        std::vector<YAML::Node> all;
        for (const YAML::Node& one : root) all.push_back(one);
        for (const YAML::Node& one : all) {
            if (!one.IsMap() || !find(one, "topology")) {
                return wrong(one, "expected a topology: its first word is `- topology: NAME`");
            }
            if (const auto done = check_keys(one); !done) return done.error();
            const YAML::Node flag = find(one, "cluster_default");
            bool is_default = false;
            if (flag && !YAML::convert<bool>::decode(flag, is_default)) {
                return wrong(flag, "cluster_default: expected true or false");
            }
            if (!chosen && is_default) chosen = &one;
        }
        if (all.empty()) return wrong(root, "expected a list of topologies");
        return read_one(chosen ? *chosen : all.front());
    }

  private:
    // By hand: operator[] of a node that is no map throws, and one of a map may compare in ways of
    // its own.
    static YAML::Node find(const YAML::Node& map, std::string_view key) {
        for (const auto& entry : map) {
            if (entry.first.IsScalar() && entry.first.Scalar() == key) return entry.second;
        }
        return YAML::Node(YAML::NodeType::Undefined);
    }

    // Of two values of a key YAML forbids the second and yaml-cpp tells the first.
    [[nodiscard]] Result<Done> check_keys(const YAML::Node& map) const {
        std::set<std::string> seen;
        for (const auto& entry : map) {
            if (!entry.first.IsScalar() || seen.insert(entry.first.Scalar()).second) continue;
            return wrong(entry.first, printable(entry.first.Scalar()) + " stands here twice");
        }
        return Done{};
    }

    [[nodiscard]] Error wrong(const YAML::Node& at, const std::string& what) const {
        return topology_error(file_name_, line_at(at.Mark()), what);
    }

    Result<Topology> read_one(const YAML::Node& one) {
        if (const YAML::Node tree = find(one, "tree")) {
            if (const auto done = read_list(tree, "switches", "switch"); !done) return done.error();
        } else if (const YAML::Node block = find(one, "block")) {
            if (const auto done = read_list(block, "blocks", "block"); !done) return done.error();
        } else {
            return wrong(one,
                         "this topology is neither tree nor block: it says nothing of switches");
        }
        return topology_of_slurm(file_name_, entries_);
    }

    Result<Done> read_list(const YAML::Node& parent, std::string_view list, std::string_view word) {
        if (parent.IsMap()) {
            if (const auto done = check_keys(parent); !done) return done.error();
        }
        const YAML::Node entries =
            parent.IsMap() ? find(parent, list) : YAML::Node(YAML::NodeType::Undefined);
        const std::string expected = std::string(list) + ": expected a list";
        if (!entries || !entries.IsSequence()) return wrong(parent, expected);
        for (const YAML::Node& one : entries) {
            if (!one.IsMap()) return wrong(one, "expected `- " + std::string(word) + ": NAME`");
            if (const auto done = read_entry(one, word); !done) return done.error();
        }
        return Done{};
    }

    Result<Done> read_entry(const YAML::Node& map, std::string_view word) {
        SlurmEntry entry;
        entry.line = line_at(map.Mark());
        entry.is_block = word == "block";
        if (const auto done = check_keys(map); !done) return done.error();
        const std::array<std::string_view, 3> known = {word, "nodes", "children"};
        for (const auto& pair : map) {
            const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "";
            const bool is_child = key == "children" && !entry.is_block;
            if (key != word && key != "nodes" && !is_child) {
                const auto close = nearest(key, known);
                return wrong(pair.first,
                             "unknown key " + printable(key) +
                                 (close ? "; did you mean " + std::string(*close) + "?" : ""));
            }
            if (!pair.second.IsScalar() || pair.second.Scalar().empty()) {
                return wrong(pair.second, key + ": expected a text");
            }
            std::string& target = key == word      ? entry.name
                                  : key == "nodes" ? entry.nodes
                                                   : entry.switches;
            target = pair.second.Scalar();
        }
        if (entry.name.empty()) return wrong(map, "expected `" + std::string(word) + ": NAME`");
        entries_.push_back(std::move(entry));
        return Done{};
    }

    const std::string& file_name_;
    std::vector<SlurmEntry> entries_;
};

}  // namespace

Result<Topology> read_slurm_yaml(std::string_view text, const std::string& file_name) {
    if (text.size() > kYamlBytesMax) {
        return topology_error(file_name, 1, "more than " + format_bytes(kYamlBytesMax));
    }
    try {
        return YamlReader(file_name).read(YAML::Load(std::string(text)));
    } catch (const YAML::Exception& fault) {
        return topology_error(file_name, line_at(fault.mark), printable(fault.msg));
    } catch (const std::exception& fault) {
        return topology_error(file_name, 1, printable(fault.what()));
    }
}

}  // namespace tutti::topo
