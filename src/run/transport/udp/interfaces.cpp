// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/udp/interfaces.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "run/mcast/packet.h"

namespace tutti::transport::udp {
namespace {

constexpr uint32_t kIpv4AndUdpBytes = 28;
constexpr uint32_t kIpv6AndUdpBytes = 48;

struct Parsed {
    Family family;
    AddressBytes bytes;
};

std::optional<Parsed> read_address(const sockaddr* address) {
    if (!address) return {};
    Parsed parsed{};
    if (address->sa_family == AF_INET) {
        const auto& ipv4 = *reinterpret_cast<const sockaddr_in*>(address);
        parsed.family = Family::kIpv4;
        std::memcpy(parsed.bytes.data(), &ipv4.sin_addr, sizeof(ipv4.sin_addr));
        return parsed;
    }
    if (address->sa_family != AF_INET6) return {};
    const in6_addr& ipv6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&ipv6)) {
        parsed.family = Family::kIpv4;
        std::memcpy(parsed.bytes.data(), ipv6.s6_addr + 12, 4);
    } else {
        parsed.family = Family::kIpv6;
        std::memcpy(parsed.bytes.data(), ipv6.s6_addr, sizeof(ipv6.s6_addr));
    }
    return parsed;
}

std::optional<Parsed> parse_address(const std::string& text) {
    Parsed parsed{};
    parsed.family = Family::kIpv4;
    if (inet_pton(AF_INET, text.c_str(), parsed.bytes.data()) == 1) return parsed;
    parsed.family = Family::kIpv6;
    if (inet_pton(AF_INET6, text.c_str(), parsed.bytes.data()) == 1) return parsed;
    return {};
}

uint32_t count_bits(const AddressBytes& mask) {
    int bits = 0;
    for (const uint8_t byte : mask) bits += std::popcount(byte);
    return static_cast<uint32_t>(bits);
}

uint32_t read_mtu(const Fd& socket, const char* name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
    if (ioctl(socket.get(), SIOCGIFMTU, &request) != 0) return 0;
    return static_cast<uint32_t>(request.ifr_mtu);
}

bool is_link_local(const InterfaceAddress& one) {
    if (one.family == Family::kIpv4) return one.address[0] == 169 && one.address[1] == 254;
    return one.address[0] == 0xfe && (one.address[1] & 0xc0) == 0x80;
}

const char* family_name(Family family) { return family == Family::kIpv4 ? "IPv4" : "IPv6"; }

uint32_t packet_bytes_of(const InterfaceAddress& one) {
    const uint32_t headers = one.family == Family::kIpv4 ? kIpv4AndUdpBytes : kIpv6AndUdpBytes;
    return one.mtu > headers ? one.mtu - headers : 0;
}

bool is_meant(const InterfaceAddress& one, const std::string& wanted,
              const std::optional<Parsed>& address) {
    if (!address) return one.name == wanted;
    return one.family == address->family &&
           in_network(address->bytes, one.address, one.prefix_bits);
}

// What keeps an interface's address from being used; nothing does: empty.
std::string obstacle_of(const InterfaceAddress& one) {
    const std::string interface = "interface " + one.name;
    if (!one.is_up) return interface + " is down";
    // IPv4 goes over a loopback interface all the same; for IPv6 there is no route.
    const bool can_loop = one.is_loopback && one.family == Family::kIpv4;
    if (!one.can_multicast && !can_loop) return interface + " cannot multicast";
    if (packet_bytes_of(one) < mcast::kControlBytesMax) {
        return interface + " has an MTU of " + std::to_string(one.mtu) + ", which is too small";
    }
    return "";
}

Error no_such(std::span<const InterfaceAddress> all, const std::string& wanted) {
    std::vector<std::string> names;
    for (const InterfaceAddress& one : all) {
        if (std::find(names.begin(), names.end(), one.name) == names.end()) {
            names.push_back(one.name);
        }
    }
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return {ErrorCode::kArgument, "no network interface is '" + printable(wanted) +
                                      "' or has that address (there are: " + list + ")"};
}

}  // namespace

Result<std::vector<InterfaceAddress>> list_interfaces() {
    ifaddrs* found = nullptr;
    if (getifaddrs(&found) != 0) {
        return Error{ErrorCode::kSystem,
                     std::string("listing network interfaces: ") + std::strerror(errno)};
    }
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(found, &freeifaddrs);
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::vector<InterfaceAddress> all;
    for (const ifaddrs* at = found; at != nullptr; at = at->ifa_next) {
        const auto address = read_address(at->ifa_addr);
        const auto mask = read_address(at->ifa_netmask);
        if (!address || !mask) continue;
        InterfaceAddress one;
        one.name = at->ifa_name;
        one.index = if_nametoindex(at->ifa_name);
        one.family = address->family;
        one.address = address->bytes;
        one.prefix_bits = count_bits(mask->bytes);
        one.mtu = read_mtu(socket, at->ifa_name);
        constexpr unsigned kRuns = IFF_UP | IFF_RUNNING;
        one.is_up = (at->ifa_flags & kRuns) == kRuns;
        one.is_loopback = (at->ifa_flags & IFF_LOOPBACK) != 0;
        one.can_multicast = (at->ifa_flags & IFF_MULTICAST) != 0;
        all.push_back(one);
    }
    return all;
}

std::vector<uint32_t> connected_interfaces(std::span<const InterfaceAddress> all) {
    std::map<uint32_t, uint32_t> connections;  // by interface
    const std::unique_ptr<DIR, int (*)(DIR*)> list(opendir("/proc/self/fd"), &closedir);
    while (const dirent* entry = list ? readdir(list.get()) : nullptr) {
        int fd = -1;
        const char* end = entry->d_name + std::strlen(entry->d_name);
        if (std::from_chars(entry->d_name, end, fd).ptr != end) continue;
        sockaddr_storage own{};
        sockaddr_storage peer{};
        socklen_t own_length = sizeof(own);
        socklen_t peer_length = sizeof(peer);
        if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) != 0) continue;
        if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0) continue;
        const auto address = read_address(reinterpret_cast<sockaddr*>(&own));
        for (const InterfaceAddress& one : all) {
            if (!address || one.family != address->family || one.is_loopback) continue;
            if (one.address == address->bytes) ++connections[one.index];
        }
    }
    std::vector<uint32_t> indices;
    for (const auto& [index, count] : connections) indices.push_back(index);
    std::stable_sort(indices.begin(), indices.end(), [&](uint32_t left, uint32_t right) {
        return connections[left] > connections[right];
    });
    return indices;
}

Result<std::vector<Candidate>> choose_candidates(std::span<const InterfaceAddress> all,
                                                 Family family, const std::string& wanted,
                                                 std::span<const uint32_t> preferred,
                                                 uint32_t packet_bytes_max) {
    const auto address = parse_address(wanted);
    bool is_there = wanted.empty();
    std::string obstacle;
    std::vector<InterfaceAddress> fit;
    for (const InterfaceAddress& one : all) {
        if (!wanted.empty() && !is_meant(one, wanted, address)) continue;
        is_there = true;
        if (one.family != family) continue;
        const std::string own_obstacle = obstacle_of(one);
        if (own_obstacle.empty()) {
            fit.push_back(one);
        } else if (obstacle.empty()) {
            obstacle = own_obstacle;
        }
    }
    if (!is_there) return no_such(all, wanted);
    if (fit.empty()) {
        if (obstacle.empty()) {
            const std::string where = wanted.empty() ? "no network interface here has an "
                                                     : "'" + printable(wanted) + "' has no ";
            obstacle = where + family_name(family) + " address";
        }
        return Error{ErrorCode::kArgument, obstacle};
    }
    const auto place = [&](const InterfaceAddress& one) {
        const auto at = std::find(preferred.begin(), preferred.end(), one.index);
        return std::tuple(one.is_loopback, is_link_local(one), at - preferred.begin(), one.index);
    };
    std::stable_sort(fit.begin(), fit.end(), [&](const auto& left, const auto& right) {
        return place(left) < place(right);
    });
    // A loopback interface stands last and stays: pretended hosts of one machine need it.
    while (fit.size() > kCandidatesMax) fit.erase(fit.end() - 2);
    std::vector<Candidate> chosen;
    for (const InterfaceAddress& one : fit) {
        chosen.push_back({one.address, one.index, one.prefix_bits,
                          std::min(packet_bytes_of(one), packet_bytes_max), one.is_loopback});
    }
    return chosen;
}

uint64_t host_number() {
    // FNV-1a over the boot's name and the network namespace's number.
    uint64_t hash = 0xcbf29ce484222325u;
    const auto add = [&hash](const char* bytes, size_t count) {
        for (size_t i = 0; i < count; ++i) {
            hash = (hash ^ static_cast<uint8_t>(bytes[i])) * 0x100000001b3u;
        }
    };
    std::array<char, 64> boot{};
    const Fd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    const ssize_t got = file.get() < 0 ? 0 : read(file.get(), boot.data(), boot.size());
    if (got > 0) add(boot.data(), static_cast<size_t>(got));
    struct stat space {};
    if (stat("/proc/self/ns/net", &space) == 0) {
        add(reinterpret_cast<const char*>(&space.st_ino), sizeof(space.st_ino));
    }
    return hash;
}

bool in_network(const AddressBytes& address, const AddressBytes& network, uint32_t prefix_bits) {
    for (uint32_t bit = 0; bit < prefix_bits; ++bit) {
        const auto mask = static_cast<uint8_t>(0x80u >> (bit % 8));
        if (((address[bit / 8] ^ network[bit / 8]) & mask) != 0) return false;
    }
    return true;
}

}  // namespace tutti::transport::udp
