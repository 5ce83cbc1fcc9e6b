// SPDX-License-Identifier: BSD-3-Clause
// What `ibnetdiscover --cache` writes: docs/formats/ibnetdiscover.md has the bytes.
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "base/topo/read/ib.h"
#include "base/topo/read/read.h"

namespace tutti::topo {
namespace {

constexpr std::string_view kMagic = "\x2b\x83\xe7\x8f";
constexpr uint64_t kVersion = 1;
constexpr size_t kBlock = 64;  // of one management datagram's data

// Numbers in little endian, one behind the other. What is beyond the end is zero, and is noticed.
class Bytes {
  public:
    explicit Bytes(std::string_view text) : text_(text) {}
    uint64_t number(size_t bytes) {
        const std::string_view part = take(bytes);
        uint64_t value = 0;
        for (size_t i = part.size(); i-- > 0;) {
            value = value << 8 | static_cast<unsigned char>(part[i]);
        }
        return value;
    }
    std::string_view take(size_t bytes) {
        if (bytes > text_.size() - at_) {
            is_short_ = true;
            return {};
        }
        at_ += bytes;
        return text_.substr(at_ - bytes, bytes);
    }
    [[nodiscard]] bool is_short() const { return is_short_; }
    [[nodiscard]] size_t at() const { return at_; }
    [[nodiscard]] bool is_at_end() const { return at_ == text_.size(); }

  private:
    std::string_view text_;
    size_t at_ = 0;
    bool is_short_ = false;
};

// Big endian, as on the wire.
uint64_t field(std::string_view block, size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
        value = value << 8 | static_cast<unsigned char>(block[at + i]);
    }
    return value;
}

// PortInfo (InfiniBand Architecture Specification, volume 1, 14.2.5.6): active width in byte 31,
// active speed in the upper half of byte 35, that of FDR and above in the upper half of byte 62.
uint64_t rate_of_port(std::string_view info) {
    const auto lanes = [&]() -> uint64_t {
        switch (field(info, 31, 1)) {
            case 1:
                return 1;
            case 2:
                return 4;
            case 4:
                return 8;
            case 8:
                return 12;
            case 16:
                return 2;
            default:
                return 0;
        }
    }();
    const auto speed = [&]() -> std::string_view {
        switch (field(info, 62, 1) >> 4) {
            case 1:
                return "FDR";
            case 2:
                return "EDR";
            case 4:
                return "HDR";
            case 8:
                return "NDR";
            default:
                break;
        }
        switch (field(info, 35, 1) >> 4) {
            case 1:
                return "SDR";
            case 2:
                return "DDR";
            case 4:
                return "QDR";
            default:
                return "";
        }
    }();
    return lanes * ib_lane_bits(speed);
}

class CacheReader {
  public:
    CacheReader(std::string_view text, const std::string& file_name)
        : bytes_(text), file_name_(file_name), made_(file_name) {}

    Result<Topology> read() {
        bytes_.take(kMagic.size());
        if (const uint64_t version = bytes_.number(4); version != kVersion && !bytes_.is_short()) {
            return wrong("a cache of version " + std::to_string(version) + ", not 1");
        }
        const uint64_t nodes = bytes_.number(4);
        const uint64_t ports = bytes_.number(4);
        bytes_.take(8 + 4);  // from which node, hops
        for (uint64_t i = 0; i < nodes && !bytes_.is_short(); ++i) {
            if (const auto done = read_node(); !done) return done.error();
        }
        for (uint64_t i = 0; i < ports && !bytes_.is_short(); ++i) read_port();
        if (bytes_.is_short()) return wrong("the cache ends too early");
        if (!bytes_.is_at_end()) return wrong("more behind the cache's end");
        return link();
    }

  private:
    struct Port {
        IbNetwork::Port own;
        std::string_view info;
        bool is_linked = false;
        uint64_t other_guid = 0;  // the port's, not the node's
        uint64_t other_number = 0;
    };

    [[nodiscard]] Error wrong(const std::string& what) const {
        return topology_error(file_name_, 1, what + " (byte " + std::to_string(bytes_.at()) + ")");
    }

    Result<Done> read_node() {
        bytes_.take(2 + 1 + 1 + kBlock);  // the switch's management
        IbNetwork::Node node;
        node.guid = bytes_.number(8);
        const uint64_t type = bytes_.number(1);
        bytes_.take(1);  // ports that it has
        const std::string_view info = bytes_.take(kBlock);
        const std::string_view description = bytes_.take(kBlock);
        const uint64_t stored = bytes_.number(1);
        bytes_.take(stored * (8 + 1));
        if (bytes_.is_short()) return Done{};
        if (type < 1 || type > 3) {
            return wrong("a node of kind " + std::to_string(type) + ", not 1, 2 or 3");
        }
        node.kind = type == 1 ? IbKind::kAdapter : type == 2 ? IbKind::kSwitch : IbKind::kRouter;
        node.description = description.substr(0, description.find('\0'));
        // NodeInfo: the system's GUID is in bytes 4 to 11.
        node.system_guid = field(info, 4, 8);
        node.line = 1;
        kind_of_[node.guid] = node.kind;
        return made_.add_node(std::move(node));
    }

    void read_port() {
        Port port;
        const uint64_t guid = bytes_.number(8);
        port.own.number = static_cast<uint32_t>(bytes_.number(1));
        bytes_.take(1 + 2 + 1);  // number outside the chassis, LID, LMC
        port.info = bytes_.take(kBlock);
        port.own.guid = bytes_.number(8);
        port.is_linked = bytes_.number(1) != 0;
        port.other_guid = bytes_.number(8);
        port.other_number = bytes_.number(1);
        if (bytes_.is_short()) return;
        number_of_[guid].emplace_back(ports_.size());
        ports_.push_back(port);
    }

    // All ports of a switch have its one GUID, and are told apart by number.
    [[nodiscard]] const Port* find(uint64_t guid, uint64_t number) const {
        const auto found = number_of_.find(guid);
        if (found == number_of_.end()) return nullptr;
        for (const size_t at : found->second) {
            if (ports_[at].own.number == number) return &ports_[at];
        }
        return nullptr;
    }

    Result<Topology> link() {
        for (Port& port : ports_) {
            const auto kind = kind_of_.find(port.own.guid);
            if (kind == kind_of_.end()) return wrong("a port of no node");
            port.own.kind = kind->second;
        }
        for (const auto& [guid, list] : number_of_) {
            if (list.size() > 256) return wrong("more than 256 ports of one GUID");
        }
        for (const Port& port : ports_) {
            if (!port.is_linked) continue;
            const Port* other = find(port.other_guid, port.other_number);
            if (!other) return wrong("a port is linked with one that is not there");
            made_.add_link(port.own, other->own, rate_of_port(port.info), 1);
        }
        return made_.make();
    }

    Bytes bytes_;
    const std::string& file_name_;
    IbNetwork made_;
    std::vector<Port> ports_;
    std::unordered_map<uint64_t, std::vector<size_t>> number_of_;
    std::unordered_map<uint64_t, IbKind> kind_of_;
};

}  // namespace

bool is_ib_cache(std::string_view text) { return text.starts_with(kMagic); }

Result<Topology> read_ib_cache(std::string_view text, const std::string& file_name) {
    return CacheReader(text, file_name).read();
}

}  // namespace tutti::topo
