// SPDX-License-Identifier: BSD-3-Clause
// What ibnetdiscover prints: docs/formats/ibnetdiscover.md.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/topo/read/ib.h"
#include "base/topo/read/read.h"

namespace tutti::topo {
namespace {

std::optional<uint64_t> parse_hex(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    uint64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Takes what stands at the begin of a line.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    void skip_blanks() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    }
    bool take(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    // Up to the letter, which is taken too.
    std::optional<std::string_view> take_until(char letter) {
        const size_t end = rest_.find(letter);
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view taken = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return taken;
    }
    // "[5]"
    std::optional<uint32_t> take_port() {
        if (!take("[")) return std::nullopt;
        const auto text = take_until(']');
        const auto number = text ? parse_count(*text) : std::nullopt;
        if (!number || *number > 255) return std::nullopt;
        return static_cast<uint32_t>(*number);
    }
    // The number of a port outside a chassis, and a port's GUID: of no use here.
    void skip_port_notes() {
        for (const char* begin : {"[ext ", "("}) {
            if (take(begin)) static_cast<void>(take_until(*begin == '(' ? ')' : ']'));
            skip_blanks();
        }
    }
    // "\"S-0000000000200001\""
    bool take_guid(IbKind& kind, uint64_t& guid) {
        if (!take("\"")) return false;
        const auto word = take_until('"');
        if (!word || word->size() < 3 || (*word)[1] != '-') return false;
        const auto letter = std::string_view("HSR").find((*word)[0]);
        const auto value = parse_hex(word->substr(2));
        if (letter == std::string_view::npos || !value) return false;
        kind = static_cast<IbKind>(letter);
        guid = *value;
        return true;
    }
    // Behind the comment's mark: what stands between the first quotation mark and the last.
    std::string_view take_quoted() {
        const size_t begin = rest_.find('"');
        const size_t end = rest_.rfind('"');
        if (begin == std::string_view::npos || begin == end) return {};
        const std::string_view text = rest_.substr(begin + 1, end - begin - 1);
        rest_.remove_prefix(end + 1);
        return text;
    }
    [[nodiscard]] std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
};

// "lid 4 4xSDR s=1 w=2": of all lanes, 0 where it is not known.
uint64_t rate_of(std::string_view text) {
    for (std::string_view word : split(text, ' ')) {
        const size_t times = word.find('x');
        if (times == std::string_view::npos) continue;
        const auto lanes = parse_count(word.substr(0, times));
        if (lanes && *lanes <= 64) return *lanes * ib_lane_bits(word.substr(times + 1));
    }
    return 0;
}

class IbTextReader {
  public:
    explicit IbTextReader(const std::string& file_name) : file_name_(file_name), made_(file_name) {}

    Result<Topology> read(std::string_view text) {
        for (size_t at = 0; at < text.size();) {
            const size_t end = std::min(text.find('\n', at), text.size());
            std::string_view content = text.substr(at, end - at);
            if (content.ends_with('\r')) content.remove_suffix(1);
            ++line_;
            at = end + 1;
            if (const auto done = read_line(content); !done) return done.error();
        }
        return made_.make();
    }

  private:
    [[nodiscard]] Error strange(std::string_view content) const {
        return topology_error(file_name_, line_,
                              "not a line of ibnetdiscover: " + printable(content.substr(0, 60)));
    }

    Result<Done> read_line(std::string_view content) {
        if (content.empty()) {
            chassis_.clear();
            system_guid_ = 0;
            has_node_ = false;
            return Done{};
        }
        if (content.starts_with('#')) return Done{};
        if (content.starts_with('[')) return read_port(content);
        for (const auto& [word, kind] :
             {std::pair("Switch\t", IbKind::kSwitch), std::pair("Ca\t", IbKind::kAdapter),
              std::pair("Rt\t", IbKind::kRouter)}) {
            if (content.starts_with(word)) {
                return read_node(content, content.substr(std::string_view(word).size()), kind);
            }
        }
        if (content.starts_with("sysimgguid=")) return read_system(content);
        constexpr auto kOthers = std::to_array<std::string_view>(
            {"vendid=", "devid=", "switchguid=", "caguid=", "rtguid=", "Chassis ",
             "Hostname: ", "Non-Chassis Nodes"});
        const bool is_other = std::any_of(kOthers.begin(), kOthers.end(),
                                          [&](auto word) { return content.starts_with(word); });
        if (!is_other) return strange(content);
        return Done{};
    }

    // "sysimgguid=0x200001\t\t# Chassis 1 (name)"
    Result<Done> read_system(std::string_view content) {
        Scanner scan(content.substr(content.find('=') + 1));
        const std::string_view number =
            scan.rest().substr(0, std::min(scan.rest().find_first_of(" \t"), scan.rest().size()));
        const auto guid = parse_hex(number);
        if (!guid) return strange(content);
        system_guid_ = *guid;
        const std::string_view mark = "# Chassis ";
        const size_t at = content.find(mark);
        if (at == std::string_view::npos) return Done{};
        const std::string_view rest = content.substr(at + mark.size());
        chassis_ = rest.substr(0, std::min(rest.find(' '), rest.size()));
        return Done{};
    }

    // "8 \"S-0000000000200001\"\t\t# \"leaf1\" base port 0 lid 3 lmc 0"
    Result<Done> read_node(std::string_view content, std::string_view behind, IbKind kind) {
        Scanner scan(behind);
        const auto ports = scan.take_until(' ');
        IbNetwork::Node node;
        scan.skip_blanks();
        if (!ports || !parse_count(*ports) || !scan.take_guid(node.kind, node.guid) ||
            node.kind != kind) {
            return strange(content);
        }
        scan.skip_blanks();
        if (!scan.take("#")) return strange(content);
        node.description = scan.take_quoted();
        node.chassis = chassis_;
        node.system_guid = system_guid_;
        node.line = line_;
        node_ = {kind, node.guid, 0};
        has_node_ = true;
        return made_.add_node(std::move(node));
    }

    // "[1]\t\"H-0000000000100000\"[1](100001) \t\t# \"host1\" lid 1 4xSDR", and from the other end
    // "[1](100001) \t\"S-0000000000200001\"[1]\t\t# lid 1 lmc 0 \"leaf1\" lid 3 4xSDR"
    Result<Done> read_port(std::string_view content) {
        if (!has_node_) {
            return topology_error(file_name_, line_, "a port without a node above it");
        }
        Scanner scan(content);
        IbNetwork::Port here = node_;
        IbNetwork::Port there;
        const auto own = scan.take_port();
        if (!own) return strange(content);
        here.number = *own;
        scan.skip_port_notes();
        scan.skip_blanks();
        if (!scan.take_guid(there.kind, there.guid)) return strange(content);
        const auto number = scan.take_port();
        if (!number) return strange(content);
        there.number = *number;
        scan.skip_blanks();
        scan.skip_port_notes();
        if (!scan.take("#")) return strange(content);
        static_cast<void>(scan.take_quoted());
        made_.add_link(here, there, rate_of(scan.rest()), line_);
        return Done{};
    }

    const std::string& file_name_;
    IbNetwork made_;
    uint32_t line_ = 0;
    bool has_node_ = false;
    IbNetwork::Port node_;  // whose ports follow
    std::string chassis_;
    uint64_t system_guid_ = 0;
};

}  // namespace

bool is_ib_text(std::string_view text) {
    const std::string_view head = text.substr(0, 4096);
    return head.find("# Topology file: generated on ") != std::string_view::npos ||
           head.starts_with("vendid=") || head.find("\nvendid=") != std::string_view::npos;
}

Result<Topology> read_ib_text(std::string_view text, const std::string& file_name) {
    return IbTextReader(file_name).read(text);
}

}  // namespace tutti::topo
