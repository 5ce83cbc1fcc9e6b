/* SPDX-License-Identifier: BSD-3-Clause */
/* Information about a team. Part of tutti.h, which includes it. */
#ifndef TUTTI_TEAM_INFO_H
#define TUTTI_TEAM_INFO_H

#include "tutti/tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a team can tell of itself: its messages by RDMA, its multicast, its node, what live tuning
 * has tried. It is a list of facts, in rows about one thing each. Names and values are those of the
 * report's JSON (docs/report.md). Strings are valid during the visit. */
typedef enum tutti_fact_type {
    TUTTI_FACT_NOTHING, /* such as a limit that is never reached */
    TUTTI_FACT_FLAG,    /* in number: 0 or 1 */
    TUTTI_FACT_NUMBER,
    TUTTI_FACT_REAL,
    TUTTI_FACT_TEXT
} tutti_fact_type;

typedef enum tutti_fact_unit {
    TUTTI_UNIT_NONE,
    TUTTI_UNIT_BYTES,
    TUTTI_UNIT_SECONDS,
    TUTTI_UNIT_NANOSECONDS,
    TUTTI_UNIT_BYTES_PER_SECOND
} tutti_fact_unit;

/* What a report has where several members tell of one thing. */
typedef enum tutti_fact_merge {
    TUTTI_MERGE_SPEAKER, /* what the member of the largest weight says */
    TUTTI_MERGE_SUM,
    TUTTI_MERGE_MOST /* the largest value */
} tutti_fact_merge;

typedef struct tutti_fact {
    size_t struct_bytes; /* of each entry of an array */
    /* "peers"; "/" leads into an object or a list: "tried/0/algorithm". "tried/" alone says that
     * there is a list, which may have no entries. */
    const char* name;
    tutti_fact_type type;
    tutti_fact_unit unit;
    tutti_fact_merge merge;
    uint64_t number;
    double real;
    const char* text;
    /* For people, one behind the other in the order of facts, or empty. {} stands for the value,
     * {NAME} for that of another fact, {:WORD} for a number with its word: "1 rank", "2 ranks". */
    const char* phrase;
    /* Left out: the phrase of a smaller number; of a flag that is not set; and, unless this is 0, of
     * an empty text and of a real number that is not above 0. */
    uint64_t said_from;
} tutti_fact;

typedef struct tutti_fact_row {
    size_t struct_bytes;
    const char* subject; /* "verbs" */
    const char* key;     /* what rows about one thing have in common; empty: it is the only one */
    uint64_t weight;     /* the heaviest rows of a subject stand first, and speak for a key */
    int is_told;         /* 0: another member tells the same, so a report of all need not hear it */
    const tutti_fact* fact;
    size_t facts;
} tutti_fact_row;

typedef void (*tutti_fact_visitor)(void* state, const tutti_fact_row* row);

/* Calls visit for each row. By the thread that uses the team. TUTTI_ERR_ARGUMENT without a team or
 * visitor, TUTTI_ERR_MEMORY before or between visits. */
TUTTI_API tutti_status tutti_team_facts(const tutti_team* team, tutti_fact_visitor visit,
                                        void* state);

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

#ifdef __cplusplus
}
#endif
#endif
