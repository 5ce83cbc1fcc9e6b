/* SPDX-License-Identifier: BSD-3-Clause */
/* Information about a team. Part of tutti.h, which includes it. */
#ifndef TUTTI_TEAM_INFO_H
#define TUTTI_TEAM_INFO_H

#include "tutti/tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hardware multicast of a team: the switches replicate one packet of a host for all others. */
typedef enum tutti_multicast_state {
    TUTTI_MULTICAST_NONE, /* not tried: one host, no p2p, or switched off */
    TUTTI_MULTICAST_ON,
    TUTTI_MULTICAST_OFF,    /* tried, and it does not work: reason says why */
    TUTTI_MULTICAST_FAILED, /* a host stopped answering: reason says which. May come back */
    TUTTI_MULTICAST_LATER   /* not tried yet: see multicast_later */
} tutti_multicast_state;

/* Texts are cut to their arrays, and end with a null character. */
/* The type of network that carries it. */
typedef enum tutti_multicast_fabric {
    TUTTI_MULTICAST_UDP,
    TUTTI_MULTICAST_VERBS /* unreliable datagrams of RDMA ports */
} tutti_multicast_fabric;
#define TUTTI_MULTICAST_FABRICS 2

/* Protection from an outsider that joins the multicast address. An outsider reads all packets that
 * are not encrypted. */
typedef enum tutti_multicast_protection {
    TUTTI_MULTICAST_AUTHENTICATED, /* an outsider cannot forge or change packets */
    TUTTI_MULTICAST_ENCRYPTED,     /* nor read them */
    TUTTI_MULTICAST_HEADERS,       /* it cannot forge one, but can resend one with other data */
    TUTTI_MULTICAST_UNPROTECTED    /* it can forge packets */
} tutti_multicast_protection;

typedef struct tutti_multicast_info {
    size_t struct_bytes; /* sizeof(tutti_multicast_info) */
    tutti_multicast_state state;
    tutti_multicast_fabric fabric;
    uint32_t hosts;
    uint32_t group;    /* its number: equal on all members, new after each return; 0: none */
    uint32_t failures; /* how often a host stopped answering */
    uint32_t returns;  /* how often multicast came back; then reason names that host */
    int carries;       /* 1: this process carries its host's packets. The fields from here to name
                          are 0 in other processes */
    tutti_multicast_protection protection;
    /* The rate at which the slowest host's processor protects packets: no stream is faster. */
    uint64_t code_bytes_per_s;
    uint64_t bytes_per_s; /* the rate at which this host sends */
    uint64_t round_trip_ns;
    /* One way to the slowest host, the shortest time. The next two are of messages between two
     * hosts, which multicast has to beat, and by which prices are made. All three are equal on all
     * members; 0: not measured. */
    uint64_t latency_ns;
    uint64_t message_latency_ns;
    uint64_t message_bytes_per_s;
    uint64_t data_packets; /* sent, repairs not counted */
    uint64_t repairs_to_one;
    uint64_t repairs_to_all;
    uint64_t losses; /* packets that were found missing */
    uint64_t naks;   /* sent */
    uint64_t repaired;
    uint64_t repaired_in_10_ms;
    uint64_t repair_ns_max;
    uint64_t duplicates;
    uint64_t malformed; /* packets with a right code that are malformed */
    uint64_t rejected;  /* packets with a wrong code; this and the next two: of the whole process */
    uint64_t ungrouped; /* packets of other jobs, and of groups that are gone here */
    uint64_t wakeups;   /* of the service thread */
    char name[64];      /* of the team */
    char interface_name[96]; /* with its address and the bytes of a packet */
    char address[64];        /* with the port */
    char reason[192];
    char no_verbs[192]; /* why verbs do not carry it; empty: they do, or no setting asked for it */
    char no_udp[192];   /* why UDP was not compared with verbs; empty: it was, or need not be */
    /* By tutti_multicast_fabric: the predicted times of broadcasts of 8 bytes and of 64 KiB over
     * each, if both were tried and the team chose (TUTTI_MCAST_OVER=auto). Equal on all members;
     * 0: there was no choice. */
    uint64_t predicted_short_ns[TUTTI_MULTICAST_FABRICS];
    uint64_t predicted_long_ns[TUTTI_MULTICAST_FABRICS];
} tutti_multicast_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. */
TUTTI_API tutti_status tutti_team_multicast(const tutti_team* team, tutti_multicast_info* info);

/* Messages of a team across hosts by RDMA writes. */
typedef enum tutti_verbs_state {
    TUTTI_VERBS_NONE, /* not wanted: one host, or TUTTI_VERBS=off */
    TUTTI_VERBS_ON,
    TUTTI_VERBS_OFF /* reason says why */
} tutti_verbs_state;

typedef struct tutti_verbs_info {
    size_t struct_bytes; /* sizeof(tutti_verbs_info) */
    tutti_verbs_state state;
    uint32_t hosts;
    uint32_t peers;         /* that this member is connected with; messages to others go by p2p */
    uint32_t polls_tails;   /* 1: it looks for the ends of messages in memory (TUTTI_VERBS_TAIL) */
    uint32_t shares;        /* 1: it uses connections, and their memory, of an earlier team */
    uint64_t memory_bytes;  /* that it has registered for connections; 0 where it shares */
    uint64_t long_messages; /* messages that it has sent straight from memory to memory */
    uint64_t long_copied;   /* and that it has copied, since one end could not register memory */
    uint64_t additions;     /* messages as atomic additions to counters, of both directions */
    char name[64]; /* of the team. Texts are cut to their arrays, and end with a null character */
    char port[64]; /* of this member: "mlx5_0:1" */
    char reason[192];
} tutti_verbs_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. */
TUTTI_API tutti_status tutti_team_verbs(const tutti_team* team, tutti_verbs_info* info);

/* Measured times of data that moves between the members of a team on one node. */
typedef enum tutti_node_state {
    TUTTI_NODE_ALONE,      /* no other member is on this node */
    TUTTI_NODE_UNMEASURED, /* reason says why */
    TUTTI_NODE_MEASURED,   /* when this team was made */
    TUTTI_NODE_EARLIER     /* by an earlier team of the same processes */
} tutti_node_state;

/* Ways to copy lines that another core has read before: plain, prefetch, string, stream. */
#define TUTTI_NODE_WAYS 4
/* 8, 16, 32, 64, 128 and 256 KiB; of an allgather, a rank's block. */
#define TUTTI_NODE_SIZES 6
/* 1, 2, 4 and so on up to 128 readers of one rank at a time. */
#define TUTTI_NODE_READERS 8

/* Times are in nanoseconds; 0: not measured. All but rank is equal on all members of the node. */
typedef struct tutti_node_info {
    size_t struct_bytes; /* sizeof(tutti_node_info) */
    tutti_node_state state;
    uint32_t ranks;     /* on this node */
    uint32_t rank;      /* of this member among them */
    int reads;          /* 1: each can read the memory of all, so single copy is possible */
    int lean;           /* 1: a lean team: it shares memory with other teams (in_turn) */
    uint64_t processes; /* equal for teams of the same processes */
    uint32_t again;     /* how often this team measured anew, because its ranks were moved */
    uint32_t barrier_ns;
    uint32_t way_ns[TUTTI_NODE_WAYS]; /* 64 KiB one way through rings */
    uint32_t short_ring_ns;           /* the same in rings of 512 KiB, where they may be longer */
    /* In the fastest of these ways; for 64 KiB see way_ns. */
    uint32_t one_way_ring_ns[TUTTI_NODE_SIZES];
    uint32_t one_way_single_ns[TUTTI_NODE_SIZES];
    uint32_t all_ways_ring_ns[TUTTI_NODE_SIZES]; /* all send and all receive */
    uint32_t all_ways_single_ns[TUTTI_NODE_SIZES];
    uint32_t short_ns; /* 1 KiB one way through slots */
    uint32_t fold_ns;  /* 64 KiB one way through rings, and folded (a reduce) */
    uint32_t readers_ns[TUTTI_NODE_READERS]; /* 64 KiB one way by a single copy; for all readers
                                                at a time see one_way_single_ns */
    /* What the team chose by them. A call is cut into piece_count pieces within the bounds. */
    uint32_t way; /* into way_ns */
    uint32_t piece_count;
    uint32_t piece_bytes_min;
    uint32_t piece_bytes_max;
    uint64_t ring_bytes;           /* in use, of a rank */
    uint64_t single_one_way_bytes; /* from this size on a single copy; UINT64_MAX: never */
    uint64_t single_all_ways_bytes;
    uint64_t single_scatter_bytes; /* of a scatter's block */
    uint32_t single_readers_max;   /* how many read one rank at a time; UINT32_MAX: no limit */
    char host[64]; /* texts are cut to their arrays, and end with a null character */
    char reason[96];
    char figures[224]; /* the times at 64 KiB, as a text */
    char follows[160];
} tutti_node_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. */
TUTTI_API tutti_status tutti_team_node(const tutti_team* team, tutti_node_info* info);

/* Arrivals of the members in blocking calls of one collective, sampled from a 64th of the calls, if
 * TUTTI_ARRIVALS is on. Times are sums over the samples, by the clock of the team's rank 0. Each
 * time may be off by clock_error_ns, so the difference of two by twice as much. All but
 * own_waited_ns and recent_late_ns is equal on all members. */
#define TUTTI_ARRIVALS_LAST 8
#define TUTTI_ARRIVALS_RECENT 16
typedef struct tutti_arrivals_info {
    size_t struct_bytes; /* sizeof(tutti_arrivals_info) */
    uint64_t calls;      /* of the team, of all collectives */
    uint64_t compared;   /* samples among them, of all collectives */
    uint64_t samples;    /* of this collective */
    uint64_t spread_ns;  /* last arrival less first */
    uint64_t spread_ns_max;
    uint64_t delay_samples; /* samples whose last exit is known: see tutti_team_host_left() */
    uint64_t delay_ns;      /* last exit less last arrival: the synchronization delay */
    uint64_t delay_ns_max;
    /* Time that all members together, and this one, have waited for the last. Only of collectives
     * in which all wait for all: barrier, allreduce, allgather, reduce_scatter_block. */
    uint64_t waited_ns;
    uint64_t own_waited_ns;
    uint64_t clock_error_ns; /* the largest; 0 on one host */
    /* The ranks that were last most often, in order, each with a lower bound of its samples; unused
     * entries hold 0 samples. */
    uint32_t last_rank[TUTTI_ARRIVALS_LAST];
    uint64_t last_samples[TUTTI_ARRIVALS_LAST];
    char last_host[TUTTI_ARRIVALS_LAST][64];
    /* How late this member came after the first, in the last samples, the oldest first. */
    uint32_t recent;
    uint64_t recent_late_ns[TUTTI_ARRIVALS_RECENT];
    /* From this call of the team on, short calls whose result does not depend on the order of
     * operands use a tree rooted at the last arriver; 0: they do not. */
    uint64_t follows_since;
} tutti_arrivals_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. */
TUTTI_API tutti_status tutti_team_arrivals(const tutti_team* team, tutti_collective collective,
                                           tutti_arrivals_info* info);
/* The embedder calls this when its own collective, after a tutti_run() that ended with TUTTI_HOST,
 * returns: the time of this call is sampled as the exit. An embedder need not call it. 1 where live
 * tuning left the call to the embedder, else 0. */
TUTTI_API int tutti_team_host_left(tutti_team* team);
/* A barrier of the members, after which the figures include all samples so far. Without it members
 * exchange their samples now and then, in a tutti_run(). An error ends the team. */
TUTTI_API tutti_status tutti_team_finish_arrivals(tutti_team* team);

/* The results of live tuning (TUTTI_TUNE=live) for one kind of a team's calls. Equal on all
 * members. */
#define TUTTI_TUNING_WAYS 8
typedef struct tutti_tuning_way {
    char name[64];       /* of an algorithm, "host", or "node": the node level's own choice */
    int is_tried;        /* 0: no trial has ended */
    uint64_t ns;         /* of a call by it, in the last trial; 0: not measured */
    uint64_t instead_ns; /* of a call by the algorithm in use, in the same trial */
} tutti_tuning_way;

typedef struct tutti_tuning_info {
    size_t struct_bytes; /* sizeof(tutti_tuning_info) */
    uint32_t kinds;      /* how many kinds have been counted; the argument kind is below */
    tutti_collective collective;
    uint64_t bytes;  /* as in tutti_call */
    uint64_t calls;  /* of this kind so far */
    uint32_t ways;   /* in way; 0: not looked for yet, 1: nothing else can be tried */
    uint32_t in_use; /* index into way; way[0] is the choice of rules and prices */
    uint64_t since;  /* in use from this call of the team on; 0: as first chosen */
    tutti_tuning_way way[TUTTI_TUNING_WAYS];
} tutti_tuning_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. If
 * there is no such kind, only kinds is set. */
TUTTI_API tutti_status tutti_team_tuning(const tutti_team* team, uint32_t kind,
                                         tutti_tuning_info* info);

#ifdef __cplusplus
}
#endif
#endif
