// SPDX-License-Identifier: BSD-3-Clause
// Ports with unreliable datagrams in one process, by the rules of the specification that
// docs/protocol/ud.md lists: a packet that finds no receive is dropped, one longer than the port's
// packets is sent with success and lost, what is sent to a group comes back to its sender, a
// receive's data lie behind 40 bytes of which only some mean anything, and what was sent is read
// until it is complete. Packets are lost, doubled and overtaken as a seed has it. Who asks for it
// is told of a completion by a file descriptor, once; of a packet, if it is urgent or he wants to
// be told of all. Any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "run/transport/verbs/ud.h"

namespace tutti::test {

struct FakeUdRules {
    uint64_t seed = 1;
    bool is_ethernet = false;
    uint32_t mtu_bytes = 2048;
    uint64_t bytes_per_s = 1'250'000'000;  // of a port's link, as it says; packets take no time
    uint32_t loss_ppm = 0;
    uint32_t dup_ppm = 0;
    uint32_t overtakers_max = 0;   // packets that overtake one, which one in eight lets do it
    bool completes_late = false;   // sends; each look at any port may find more of them complete
    bool tells_late = false;       // only in tick()
    uint32_t receives_max = 4096;  // of a port
    size_t groupless_port = SIZE_MAX;  // one that can join none
    uint64_t fails_after =
        UINT64_MAX;  // so many calls that post sends, of all ports: then all fail
};

class FakeUd {
  public:
    explicit FakeUd(const FakeUdRules& rules);
    ~FakeUd();
    FakeUd(const FakeUd&) = delete;
    FakeUd& operator=(const FakeUd&) = delete;

    // One more, of a host of its own. Devices keep the network.
    static std::unique_ptr<transport::verbs::Device> add_port(const std::shared_ptr<FakeUd>& fake);
    void tick();
    void set_loss(uint32_t ppm) { rules_.loss_ppm = ppm; }
    // Told of each packet that is posted to be sent, under the fake's lock: by which port, to a
    // group or to one, whether it is urgent, and what it says.
    using Watch =
        std::function<void(size_t port, bool is_group, bool is_urgent, std::span<const std::byte>)>;
    void set_watch(Watch watch) { watch_ = std::move(watch); }
    // Told of each packet that makes a port's queue tell, under the fake's lock: whom it wakes. The
    // packet begins behind the 40 bytes.
    using Wakes = std::function<void(size_t port, std::span<const std::byte>)>;
    void set_wakes(Wakes wakes) { wakes_ = std::move(wakes); }
    // It will tell of the next packet, or urgent one.
    [[nodiscard]] bool is_armed(size_t port);
    [[nodiscard]] bool is_armed_for_all(size_t port);
    // From now on what goes to the port waits for release(), the oldest first; drop() loses it, and
    // held() shows it (empty: there is none).
    void hold(size_t port);
    [[nodiscard]] std::vector<std::byte> held(size_t port, size_t index = 0);
    void release(size_t port, size_t index = 0);
    void drop(size_t port, size_t index = 0);
    // What the code under test did that the specification forbids; empty: nothing.
    [[nodiscard]] const std::string& fault() const { return fault_; }
    [[nodiscard]] uint64_t unreceived() const { return unreceived_; }
    [[nodiscard]] uint64_t too_long() const { return too_long_; }
    [[nodiscard]] uint64_t posts() const { return posts_; }  // calls, of sends
    [[nodiscard]] uint64_t routes() const;                   // that are there
    [[nodiscard]] uint64_t attachments() const;              // of queue pairs to groups

  private:
    friend class FakeUdDevice;
    friend class FakeUdEndpoint;
    struct Node;
    struct Packet;
    struct Route;

    Route* route_of(const transport::verbs::UdRoute& route);
    transport::verbs::UdRoute add_route(const Route& route);
    void send(Node& from, const transport::verbs::UdSend& one);
    void carry(const Node& from, Node& to, std::span<const std::byte> data, bool is_group,
               bool is_urgent);
    void deliver(Node& to, Packet& packet);
    void complete_sends(Node& node);
    bool tell(Node& node, transport::verbs::UdQueue queue);
    void blame(const std::string& fault) { fault_ = fault; }

    std::mutex lock_;
    FakeUdRules rules_;
    Prng prng_;
    Watch watch_;
    Wakes wakes_;
    std::string fault_;
    uint64_t unreceived_ = 0;
    uint64_t too_long_ = 0;
    uint64_t posts_ = 0;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<std::unique_ptr<Route>> routes_;  // one that was dropped stays, as such
};

}  // namespace tutti::test
