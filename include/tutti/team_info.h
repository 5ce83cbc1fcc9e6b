/* SPDX-License-Identifier: BSD-3-Clause */
/* What a team of Tutti's tells of itself. Part of tutti.h, which includes it. */
#ifndef TUTTI_TEAM_INFO_H
#define TUTTI_TEAM_INFO_H

#include "tutti/tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hardware multicast of a team: one packet of a host, replicated by the switches for all others. */
typedef enum tutti_multicast_state {
    TUTTI_MULTICAST_NONE,  /* not tried: one host, no way between hosts, or switched off */
    TUTTI_MULTICAST_ON,
    TUTTI_MULTICAST_OFF,    /* tried in vain: reason says why */
    TUTTI_MULTICAST_FAILED, /* in use until a host was gone: reason says which. May come back */
    TUTTI_MULTICAST_LATER   /* not tried yet: see multicast_later */
} tutti_multicast_state;

/* Texts are cut where they are longer and end with a null character. */
/* What carries it. */
typedef enum tutti_multicast_fabric {
    TUTTI_MULTICAST_UDP,
    TUTTI_MULTICAST_VERBS /* unreliable datagrams of RDMA ports */
} tutti_multicast_fabric;
#define TUTTI_MULTICAST_FABRICS 2

/* From whoever is not of the team and joins the address, who reads all that is not encrypted. */
typedef enum tutti_multicast_protection {
    TUTTI_MULTICAST_AUTHENTICATED, /* cannot make a packet or change one */
    TUTTI_MULTICAST_ENCRYPTED,     /* nor read one */
    TUTTI_MULTICAST_HEADERS,       /* cannot make one, but can send one again with other data */
    TUTTI_MULTICAST_UNPROTECTED    /* can make packets */
} tutti_multicast_protection;

typedef struct tutti_multicast_info {
    size_t struct_bytes; /* sizeof(tutti_multicast_info) */
    tutti_multicast_state state;
    tutti_multicast_fabric fabric;
    uint32_t hosts;
    uint32_t group;      /* equal on all members, another one after each return; 0: none */
    uint32_t failures;   /* so often a host was gone */
    uint32_t returns;    /* and so often it came back: while it is there, reason says who it was */
    int carries;         /* 1: this process carries its host's packets; all that follows up to name
                            is 0 elsewhere */
    tutti_multicast_protection protection;
    /* As fast as the slowest host's processor makes what protects packets: no stream is faster. */
    uint64_t code_bytes_per_s;
    uint64_t bytes_per_s; /* at which this host sends */
    uint64_t round_trip_ns;
    /* One way, of the slowest host at its best; equal on all members, as what follows: messages
     * between two hosts, which multicast has to beat and prices go by; 0: not measured. */
    uint64_t latency_ns;
    uint64_t message_latency_ns;
    uint64_t message_bytes_per_s;
    uint64_t data_packets; /* sent, repairs not counted */
    uint64_t repairs_to_one;
    uint64_t repairs_to_all;
    uint64_t losses; /* packets noticed missing */
    uint64_t naks;   /* sent */
    uint64_t repaired;
    uint64_t repaired_in_10_ms;
    uint64_t repair_ns_max;
    uint64_t duplicates;
    uint64_t malformed; /* packets with the right code that are wrong all the same */
    uint64_t rejected;  /* without; for all teams of the process, as what follows */
    uint64_t ungrouped; /* packets of other jobs, and of groups that are gone here */
    uint64_t wakeups;   /* of the service thread */
    char name[64];      /* of the team */
    char interface_name[96]; /* with its address and the bytes of a packet */
    char address[64]; /* with the port */
    char reason[192];
    char no_verbs[192]; /* why verbs do not carry it; empty: they do, or nobody asked for it */
    char no_udp[192];   /* why UDP was not compared with verbs; empty: it was, or nobody asked */
    /* By tutti_multicast_fabric: what broadcasts of 8 bytes and of 64 KiB were predicted to take by
     * each, where both were tried and the team chose (TUTTI_MCAST_OVER=auto). Equal on all members;
     * 0: there was no choice. */
    uint64_t predicted_short_ns[TUTTI_MULTICAST_FABRICS];
    uint64_t predicted_long_ns[TUTTI_MULTICAST_FABRICS];
} tutti_multicast_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. */
TUTTI_API tutti_status tutti_team_multicast(const tutti_team *team, tutti_multicast_info *info);

/* Messages of a team across hosts by RDMA writes. */
typedef enum tutti_verbs_state {
    TUTTI_VERBS_NONE, /* nobody wants it: one host, or TUTTI_VERBS=off */
    TUTTI_VERBS_ON,
    TUTTI_VERBS_OFF   /* reason says why */
} tutti_verbs_state;

typedef struct tutti_verbs_info {
    size_t struct_bytes; /* sizeof(tutti_verbs_info) */
    tutti_verbs_state state;
    uint32_t hosts;
    uint32_t peers;        /* with which this member is connected; to others messages go as before */
    uint32_t polls_tails;  /* 1: it finds messages by their ends in memory (TUTTI_VERBS_TAIL) */
    uint32_t shares;       /* 1: by connections that an earlier team has made, with its memory */
    uint64_t memory_bytes; /* that it has registered for them; 0 where it shares */
    uint64_t long_messages; /* that it has sent straight from memory to memory */
    uint64_t long_copied;   /* that it has not, since one end could not register its memory */
    uint64_t additions;     /* messages that were atomic additions to counters, there and here */
    char name[64]; /* of the team. Texts are cut where they are longer and end with a null character */
    char port[64]; /* of this member: "mlx5_0:1" */
    char reason[192];
} tutti_verbs_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. */
TUTTI_API tutti_status tutti_team_verbs(const tutti_team *team, tutti_verbs_info *info);

/* What the members of a team that share a node have measured of how data moves between them. */
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

/* Times in nanoseconds, 0: not measured. Equal on all members of the node, but for rank. */
typedef struct tutti_node_info {
    size_t struct_bytes; /* sizeof(tutti_node_info) */
    tutti_node_state state;
    uint32_t ranks;     /* on this node */
    uint32_t rank;      /* this one's place among them */
    int reads;          /* 1: each can read in the memory of all: there may be single copy */
    int lean;           /* 1: it shares its memory with others of its processes (in_turn) */
    uint64_t processes; /* equal for teams of the same processes */
    uint32_t again;     /* so often measured anew by this team, since its ranks were moved */
    uint32_t barrier_ns;
    uint32_t way_ns[TUTTI_NODE_WAYS]; /* 64 KiB one way through rings */
    uint32_t short_ring_ns; /* the same in rings of 512 KiB, where they may be longer */
    uint32_t one_way_ring_ns[TUTTI_NODE_SIZES]; /* by the quickest of these; 64 KiB stands there */
    uint32_t one_way_single_ns[TUTTI_NODE_SIZES];
    uint32_t all_ways_ring_ns[TUTTI_NODE_SIZES]; /* all send and all receive */
    uint32_t all_ways_single_ns[TUTTI_NODE_SIZES];
    uint32_t short_ns; /* 1 KiB one way through slots */
    uint32_t fold_ns;  /* 64 KiB one way through rings, and folded (a reduce) */
    uint32_t readers_ns[TUTTI_NODE_READERS]; /* 64 KiB one way by a single copy; of all at a time
                                                it stands in one_way_single_ns */
    /* What follows: a call is cut into so many pieces, of no less and no more bytes. */
    uint32_t way; /* into way_ns */
    uint32_t piece_count;
    uint32_t piece_bytes_min;
    uint32_t piece_bytes_max;
    uint64_t ring_bytes; /* in use, of a rank */
    uint64_t single_one_way_bytes; /* from so many on a single copy; UINT64_MAX: never */
    uint64_t single_all_ways_bytes;
    uint64_t single_scatter_bytes; /* of a scatter's block */
    uint32_t single_readers_max; /* so many read one rank at a time; UINT32_MAX: as many as come */
    char host[64]; /* texts are cut where they are longer and end with a null character */
    char reason[96];
    char figures[224]; /* the times at 64 KiB, in words */
    char follows[160];
} tutti_node_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. */
TUTTI_API tutti_status tutti_team_node(const tutti_team *team, tutti_node_info *info);

/* When the members of a team come to its blocking calls of one collective, from a 64th of them;
 * where TUTTI_ARRIVALS has that looked at. Sums over the samples, by the clock of the team's rank 0:
 * each time may be off by clock_error_ns, and so the difference of two by twice as much. Equal on
 * all members, but for own_waited_ns and recent_late_ns. */
#define TUTTI_ARRIVALS_LAST 8
#define TUTTI_ARRIVALS_RECENT 16
typedef struct tutti_arrivals_info {
    size_t struct_bytes; /* sizeof(tutti_arrivals_info) */
    uint64_t calls;      /* of the team, of all collectives */
    uint64_t compared;   /* of these: samples of all collectives, which stand for `calls` */
    uint64_t samples;    /* of this one */
    uint64_t spread_ns;  /* last arrival less first */
    uint64_t spread_ns_max;
    uint64_t delay_samples; /* of which the last exit is known: see tutti_team_host_left() */
    uint64_t delay_ns;      /* last exit less last arrival: the synchronization delay */
    uint64_t delay_ns_max;
    /* For the last one, by all members together, and by this one; of calls in which all wait for all
     * (barrier, allreduce, allgather, reduce_scatter_block). */
    uint64_t waited_ns;
    uint64_t own_waited_ns;
    uint64_t clock_error_ns; /* the most; 0 on one host */
    /* Who was last, and in how many samples at least; most often first, free places hold 0 samples. */
    uint32_t last_rank[TUTTI_ARRIVALS_LAST];
    uint64_t last_samples[TUTTI_ARRIVALS_LAST];
    char last_host[TUTTI_ARRIVALS_LAST][64];
    /* So long after the first this member came, in the last samples, the oldest first. */
    uint32_t recent;
    uint64_t recent_late_ns[TUTTI_ARRIVALS_RECENT];
    /* Short calls whose result does not depend on the order of operands run by whoever comes last,
     * from this call of the team on; 0: they do not. */
    uint64_t follows_since;
} tutti_arrivals_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. */
TUTTI_API tutti_status tutti_team_arrivals(const tutti_team *team, tutti_collective collective,
                                           tutti_arrivals_info *info);
/* This member has left its own collective, which it has run since the last tutti_run() ended with
 * TUTTI_HOST: when it did counts. An embedder may do without. */
TUTTI_API void tutti_team_host_left(tutti_team *team);
/* A barrier of the members, behind which what they have sampled since they last compared counts,
 * too. They compare by themselves now and then, in a tutti_run(). An error is the team's. */
TUTTI_API tutti_status tutti_team_finish_arrivals(tutti_team *team);

/* What live tuning (TUTTI_TUNE=live) has found out about calls of one kind of a team. Equal on all
 * members. */
#define TUTTI_TUNING_WAYS 8
typedef struct tutti_tuning_way {
    char name[64];       /* of an algorithm, "host", or "node": the node level's own choice */
    int is_tried;        /* 0: not to its end */
    uint64_t ns;         /* of a call by it, as last measured; 0: not measured */
    uint64_t instead_ns; /* the same of the way in use then, in turns with it */
} tutti_tuning_way;

typedef struct tutti_tuning_info {
    size_t struct_bytes; /* sizeof(tutti_tuning_info) */
    uint32_t kinds;      /* of calls that have been counted; kind is below it */
    tutti_collective collective;
    uint64_t bytes;    /* as tutti_call has them */
    uint64_t calls;    /* of this kind so far */
    uint32_t ways;     /* that there are; 0: none was looked for yet, 1: nothing else can be tried */
    uint32_t in_use;   /* into way, whose first is what rules and prices say */
    uint64_t since;    /* from this call of the team on; 0: as first chosen */
    tutti_tuning_way way[TUTTI_TUNING_WAYS];
} tutti_tuning_info;

/* TUTTI_ERR_ARGUMENT for a struct of another version. By the thread that uses the team. A kind that
 * is not there leaves only kinds set. */
TUTTI_API tutti_status tutti_team_tuning(const tutti_team *team, uint32_t kind,
                                         tutti_tuning_info *info);

#ifdef __cplusplus
}
#endif
#endif
