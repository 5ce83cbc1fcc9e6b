/* SPDX-License-Identifier: BSD-3-Clause */
/* Information about a team. Part of tutti.h, which includes it. */
#ifndef TUTTI_TEAM_INFO_H
#define TUTTI_TEAM_INFO_H

#include "tutti/tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a team can tell of itself: its messages by RDMA, its multicast, its node, what live tuning
 * has tried, which members come late. It is a list of facts, in rows about one thing each. Names
 * and values are those of the report's JSON (docs/report.md). Strings are valid during the
 * visit. */
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
    TUTTI_UNIT_BYTES_PER_SECOND,
    TUTTI_UNIT_RANK /* a member, by its number in the team */
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
    /* Left out: the phrase of a smaller number; of a flag that is not set; and, unless this is 0,
     * of an empty text and of a real number that is not above 0. */
    uint64_t said_from;
} tutti_fact;

typedef struct tutti_fact_row {
    size_t struct_bytes;
    const char* subject; /* "verbs" */
    const char* key;     /* what rows about one thing have in common; empty: it is the only one */
    uint64_t weight;     /* the heaviest rows of a subject stand first, and speak for a key */
    /* 1: each member tells its own, and a report of all lists them by rank. Of facts that add up it
     * lists the sum over a rank's teams, of others those of the team of all ranks. */
    int by_rank;
    const tutti_fact* fact;
    size_t facts;
} tutti_fact_row;

typedef void (*tutti_fact_visitor)(void* state, const tutti_fact_row* row);

/* Calls visit for each row. alone: 1 where this member alone is asked, and tells all that it knows;
 * 0 for a report of all members, in which one speaks for those who know the same. By the thread
 * that uses the team. TUTTI_ERR_ARGUMENT without a team or visitor, TUTTI_ERR_MEMORY before or
 * between visits.
 *
 * If TUTTI_ARRIVALS is on, arrivals of the members in blocking calls are sampled from a 64th of the
 * calls: rows "arrivals/calls", one a collective. Times are by the clock of the team's rank 0; each
 * may be off by clock_error_s, so the difference of two by twice as much. */
TUTTI_API tutti_status tutti_team_facts(const tutti_team* team, int alone, tutti_fact_visitor visit,
                                        void* state);

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
