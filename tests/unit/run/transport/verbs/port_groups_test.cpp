// SPDX-License-Identifier: BSD-3-Clause
// By which of the host's addresses groups are joined, by a librdmacm that is none.
#include "run/transport/verbs/port_groups.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace tutti::transport::verbs {
namespace {

// An address, and where it leads.
struct Interface {
    const char* address;
    const char* device;
    uint8_t port;
    uint16_t partition;
};

class FakeCm {
  public:
    explicit FakeCm(std::vector<Interface> given) : interfaces(std::move(given)) { self = this; }
    ~FakeCm() { self = nullptr; }
    FakeCm(const FakeCm&) = delete;
    FakeCm& operator=(const FakeCm&) = delete;

    // The address by which groups are joined then, or why they are not.
    [[nodiscard]] std::string open(const GroupsOf& of) {
        std::string text;
        {
            const auto opened = open_groups_by(calls_, of);
            text = opened ? bound : "no: " + opened.error().message;
        }
        EXPECT_EQ(ids, 0);
        EXPECT_EQ(channels, 0);
        return text;
    }

    std::vector<Interface> interfaces;
    std::string bound;
    int ids = 0;  // that are there
    int channels = 0;

  private:
    struct Id {
        rdma_cm_id id{};  // first
        ibv_context context{};
        ibv_device device{};
    };
    struct Address {
        ifaddrs entry{};
        sockaddr_in address{};
    };

    static inline FakeCm* self = nullptr;

    static CmCalls make_calls() {
        CmCalls calls;
        calls.create_event_channel = [] {
            ++self->channels;
            return new rdma_event_channel{};
        };
        calls.destroy_event_channel = [](rdma_event_channel* channel) {
            --self->channels;
            delete channel;
        };
        calls.create_id = [](rdma_event_channel*, rdma_cm_id** id, void*, rdma_port_space) {
            ++self->ids;
            *id = &(new Id)->id;
            return 0;
        };
        calls.destroy_id = [](rdma_cm_id* id) {
            --self->ids;
            delete reinterpret_cast<Id*>(id);
            return 0;
        };
        calls.bind_addr = bind_addr;
        calls.get_addresses = get_addresses;
        calls.free_addresses = [](ifaddrs* list) { delete[] reinterpret_cast<Address*>(list); };
        return calls;
    }
    static int bind_addr(rdma_cm_id* id, sockaddr* to) {
        const in_addr wanted = reinterpret_cast<sockaddr_in*>(to)->sin_addr;
        for (const Interface& one : self->interfaces) {
            if (inet_addr(one.address) != wanted.s_addr) continue;
            self->bound = one.address;
            Id& own = *reinterpret_cast<Id*>(id);
            std::snprintf(own.device.name, sizeof own.device.name, "%s", one.device);
            own.context.device = &own.device;
            if (*one.device != '\0') id->verbs = &own.context;
            id->port_num = one.port;
            id->route.addr.addr.ibaddr.pkey = htons(one.partition);
            return 0;
        }
        errno = EADDRNOTAVAIL;
        return -1;
    }
    static int get_addresses(ifaddrs** list) {
        const size_t count = self->interfaces.size();
        auto* all = new Address[count];
        for (size_t i = 0; i < count; ++i) {
            all[i].address.sin_family = AF_INET;
            all[i].address.sin_addr.s_addr = inet_addr(self->interfaces[i].address);
            all[i].entry.ifa_addr = reinterpret_cast<sockaddr*>(&all[i].address);
            all[i].entry.ifa_next = i + 1 < count ? &all[i + 1].entry : nullptr;
        }
        *list = &all[0].entry;
        return 0;
    }

    const CmCalls calls_ = make_calls();
};

GroupsOf port_in(uint16_t partition) { return {"a", 1, partition, {}}; }

TEST(Groups, AreThoseOfThePartitionThatIsWanted) {
    FakeCm cm({{"127.0.0.1", "", 0, 0},
               {"10.0.0.1", "b", 1, 0x8001},
               {"10.0.1.1", "a", 2, 0x8001},
               {"10.0.2.1", "a", 1, 0xffff},
               {"10.0.3.1", "a", 1, 0x8001},
               {"10.0.4.1", "a", 1, 0x0002}});
    EXPECT_EQ(cm.open(port_in(0xffff)), "10.0.2.1");
    EXPECT_EQ(cm.open(port_in(0x8001)), "10.0.3.1");
    // Limited members are in it, too.
    EXPECT_EQ(cm.open(port_in(0x0001)), "10.0.3.1");
    EXPECT_EQ(cm.open(port_in(0x8002)), "10.0.4.1");
    EXPECT_EQ(cm.open(port_in(0x8003)),
              "no: no IPv4 address of this host leads to a:1 in partition 0x8003");
    GroupsOf elsewhere = port_in(0xffff);
    elsewhere.port = 3;
    EXPECT_EQ(cm.open(elsewhere), "no: no IPv4 address of this host leads to a:3");
}

// There no address says one.
TEST(Groups, OnEthernetAreThoseOfThePortsOwnAddress) {
    FakeCm cm({{"10.0.0.1", "a", 1, 0x1234}, {"10.0.0.2", "a", 1, 0xffff}});
    GroupsOf of = port_in(0xffff);
    of.card.is_ethernet = 1;
    const uint8_t own[] = {10, 0, 0, 1};
    std::memcpy(of.card.gid + 12, own, sizeof own);
    EXPECT_EQ(cm.open(of), "10.0.0.1");
}

}  // namespace
}  // namespace tutti::transport::verbs
