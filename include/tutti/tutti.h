/* SPDX-License-Identifier: BSD-3-Clause */
/* Tutti: collective communication. The C interface; it needs no MPI.
 *
 * An embedder makes one context, then teams from it. A team is made
 * collectively: every member calls tutti_team_create() with the same size and
 * an allgather callback over exactly these members; either every member gets
 * the team or none does. Collectives on a team are started by all members in
 * the same order. A team is used by one thread at a time; different teams may
 * be used by different threads at once. Whoever waits in one team moves the
 * requests under way in all other teams of the context on, so callbacks and
 * operators of a request may run in any thread that waits.
 *
 * No function throws, prints or exits. Messages go to the log callback.
 */
#ifndef TUTTI_TUTTI_H
#define TUTTI_TUTTI_H

#include <stddef.h>
#include <stdint.h>

#define TUTTI_VERSION_MAJOR 0
#define TUTTI_VERSION_MINOR 1
#define TUTTI_VERSION_PATCH 0
#define TUTTI_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define TUTTI_API __attribute__((visibility("default")))
#else
#define TUTTI_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tutti_status {
    TUTTI_OK = 0,
    TUTTI_PENDING = 1,        /* not an error: call again */
    TUTTI_HOST = 2,           /* not an error: the call is the embedder's own, on all members */
    TUTTI_ERR_ARGUMENT = -1,  /* an argument or setting is malformed */
    TUTTI_ERR_MEMORY = -2,    /* not enough memory, shared memory or a limit on it */
    TUTTI_ERR_NODE = -3,      /* members cannot prove that they share a node, or are on several
                                 without a way between them */
    TUTTI_ERR_BOOTSTRAP = -4, /* the allgather callback failed */
    TUTTI_ERR_MISMATCH = -5,  /* the members called different things */
    TUTTI_ERR_SYSTEM = -6,    /* a system call failed */
    TUTTI_ERR_OFF = -7,       /* switched off by a setting */
    TUTTI_ERR_NETWORK = -8,   /* a message to or from another node failed; final for the team */
    TUTTI_ERR_ALGORITHM = -9  /* a forced algorithm cannot run this call */
} tutti_status;

typedef enum tutti_collective {
    TUTTI_BARRIER,
    TUTTI_BCAST,
    TUTTI_REDUCE,
    TUTTI_ALLREDUCE,
    TUTTI_GATHER,
    TUTTI_SCATTER,
    TUTTI_ALLGATHER,
    TUTTI_REDUCE_SCATTER_BLOCK,
    TUTTI_COLLECTIVE_COUNT
} tutti_collective;

/* Element types of the predefined reductions. The pair types are the C structs
 * { value; index; } with the compiler's own padding; an element is sizeof that struct. */
typedef enum tutti_dtype {
    TUTTI_BYTE, /* bitwise operators only */
    TUTTI_INT8,
    TUTTI_INT16,
    TUTTI_INT32,
    TUTTI_INT64,
    TUTTI_UINT8,
    TUTTI_UINT16,
    TUTTI_UINT32,
    TUTTI_UINT64,
    TUTTI_BOOL,     /* C _Bool, C++ bool */
    TUTTI_LOGICAL8, /* Fortran LOGICAL by its width in bits: logical operators only */
    TUTTI_LOGICAL16,
    TUTTI_LOGICAL32,
    TUTTI_LOGICAL64,
    TUTTI_FLOAT,
    TUTTI_DOUBLE,
    TUTTI_LONG_DOUBLE,
    TUTTI_COMPLEX_FLOAT,
    TUTTI_COMPLEX_DOUBLE,
    TUTTI_COMPLEX_LONG_DOUBLE,
    TUTTI_FLOAT_INT, /* MINLOC and MAXLOC from here on */
    TUTTI_DOUBLE_INT,
    TUTTI_LONG_INT,
    TUTTI_INT_INT,
    TUTTI_SHORT_INT,
    TUTTI_LONG_DOUBLE_INT,
    TUTTI_FLOAT_FLOAT,   /* Fortran 2REAL */
    TUTTI_DOUBLE_DOUBLE, /* Fortran 2DOUBLE PRECISION */
    TUTTI_DTYPE_COUNT
} tutti_dtype;

typedef enum tutti_op {
    TUTTI_SUM,
    TUTTI_PROD,
    TUTTI_MIN,
    TUTTI_MAX,
    TUTTI_LAND,
    TUTTI_LOR,
    TUTTI_LXOR,
    TUTTI_BAND,
    TUTTI_BOR,
    TUTTI_BXOR,
    TUTTI_MINLOC,
    TUTTI_MAXLOC,
    TUTTI_OP_USER, /* tutti_call.reduce; in rank order unless tutti_call.commutes */
    TUTTI_OP_COUNT
} tutti_op;

typedef enum tutti_log_level { TUTTI_LOG_ERROR, TUTTI_LOG_WARN, TUTTI_LOG_INFO } tutti_log_level;

typedef struct tutti_context tutti_context;
typedef struct tutti_team tutti_team;

/* inout[i] = left[i] op inout[i], i < count; MPI's own convention. */
typedef void (*tutti_reduce_fn)(void* user, const void* left, void* inout, size_t count);

typedef struct tutti_context_params {
    size_t struct_bytes;         /* sizeof(tutti_context_params) */
    const char* const* settings; /* "TUTTI_NAME=value", see docs/settings.md; may be NULL */
    size_t settings_count;
    uint32_t ranks_on_node; /* processes of this job on this node; 0: unknown */
    /* Lets the embedder's own communication progress; may be NULL. */
    void (*progress)(void* user);
    void* progress_user;
    void (*log)(void* user, tutti_log_level level, const char* line); /* may be NULL */
    void* log_user;
    /* This process's number in its job, for TUTTI_HOSTS. job_size 0: unknown, each team pretends by
     * its own ranks. */
    uint32_t job_rank;
    uint32_t job_size;
    const char* host_mpi; /* as rules name it: "openmpi", "mpich", "impi"; may be NULL */
} tutti_context_params;

/* What the site has to say about this process's program (/etc/tutti/settings.toml, see
 * docs/formats/settings.md). `take` gets every setting that then is in force: the site's, and
 * `settings` of the job's own, which win, as tutti_context_create() wants them. One process of a
 * job asks and hands them to all, as the file may be another on each host. TUTTI_ERR_OFF: the site
 * has switched Tutti off for this program; TUTTI_ERR_ARGUMENT: its file is broken, which does the
 * same. Then the settings say so, and message says why. With TUTTI_OK it may name what of the
 * site's is left out since the job's own contradict it. */
TUTTI_API tutti_status tutti_site_settings(const char* const* settings, size_t settings_count,
                                           void (*take)(void* user, const char* entry), void* user,
                                           char* message, size_t message_bytes);
/* Which tuned file fits this process's host and host MPI (docs/formats/tuned.md), which is what
 * MPI_Get_library_version() says; settings as tutti_site_settings() gave them. `take` gets the
 * settings that tell it and its text, to stand behind them; none where there is no file, or
 * everything is off. One process of a job asks and hands them to all. On success message may hold a
 * line, too: which file is not used, and why. TUTTI_ERR_ARGUMENT: TUTTI_TUNED names one that is not
 * there or broken. */
TUTTI_API tutti_status tutti_tuned_find(const char* const* settings, size_t settings_count,
                                        const char* library_version,
                                        void (*take)(void* user, const char* entry), void* user,
                                        char* message, size_t message_bytes);
/* Which file describes the cluster, as docs/formats/topology.md has it; settings as
 * tutti_site_settings() gave them. `file` is empty where there is none. One process of a job
 * asks. */
TUTTI_API tutti_status tutti_fabric_find(const char* const* settings, size_t settings_count,
                                         char* file, size_t file_bytes, char* message,
                                         size_t message_bytes);
/* Reads it. `take` gets a text: the part of the tree of switches that hosts of these names hang on,
 * for tutti_context_set_fabric(); or an empty one, if the file has none of them. On success message
 * may hold a line, too: which hosts it does not have. */
TUTTI_API tutti_status tutti_fabric_part(const char* file, const char* const* hosts,
                                         size_t hosts_count,
                                         void (*take)(void* user, const char* text), void* user,
                                         char* message, size_t message_bytes);
/* On failure *context is NULL and message (if message_bytes > 0) holds one clear line. */
TUTTI_API tutti_status tutti_context_create(const tutti_context_params* params,
                                            tutti_context** context, char* message,
                                            size_t message_bytes);
/* The name by which a description of the cluster has this process's host: the host's own, or
 * "pretended-host-3" under TUTTI_HOSTS. */
TUTTI_API void tutti_context_host(const tutti_context* context, char* name, size_t name_bytes);
/* Teams that are made from now on go by it: a text of tutti_fabric_part(), the same on all
 * processes of the job; NULL: by none. Not while another thread makes a team of the context. On
 * failure by none, and message holds one clear line. */
TUTTI_API tutti_status tutti_context_set_fabric(tutti_context* context, const char* text,
                                                char* message, size_t message_bytes);
/* How many hosts it has, and on how many switches they are; both 0 where nothing is known. */
TUTTI_API void tutti_context_fabric(const tutti_context* context, uint32_t* hosts,
                                    uint32_t* switches);
/* All teams of the context must have been destroyed. */
TUTTI_API void tutti_context_destroy(tutti_context* context);
/* For waits of the embedder's own, now and then: lets this process do what ranks that wait in a
 * call need of it after multicast has failed. With has_waited_long it also finds out whether it
 * has. Never waits. */
TUTTI_API void tutti_context_attend(tutti_context* context, int has_waited_long);
/* A setting as it is in force: "1" or "0" for switches, decimal bytes, calls or seconds, text as it
 * was given (empty where it was not). NULL for a name that is not a setting. */
TUTTI_API const char* tutti_context_setting(const tutti_context* context, const char* variable);

/* Messages between processes, nonblocking, for teams across nodes. Messages of one tag between two
 * peers stay in order. Functions return 0 on success and never wait. They are called by one thread
 * at a time for each team. */
typedef struct tutti_p2p {
    size_t struct_bytes; /* sizeof(tutti_p2p) */
    void* user;          /* one for all teams of a process: tags are told apart by it */
    uint32_t tag_max;    /* tags are 0 to tag_max, the same on all members */
    /* The memory belongs to the message until test() says that it is done. */
    int (*send)(void* user, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                void** request);
    int (*recv)(void* user, void* data, size_t bytes, uint32_t peer, uint32_t tag, void** request);
    /* *done = 1: complete, *request is gone. 2: also, and *request is the bytes that came. */
    int (*test)(void* user, void** request, int* done);
    /* *there = 1: a message with this tag has come that nobody has posted a receive for, from
     * *peer; a receive would be complete soon. May be NULL, or lie beyond struct_bytes: then ranks
     * do not learn that another one gave up, and stall reports know less. */
    int (*probe)(void* user, uint32_t tag, uint32_t* peer, int* there);
    /* Of a receive that is not done, when its call has failed or begins anew. *done = 1: no message
     * has come or will, and *request is gone; 2: it has come before, and *request is its bytes; 0:
     * it is on its way there. May be NULL, or lie beyond struct_bytes: then the buffers of a call
     * that failed are the embedder's again only when its messages have come or never will, and some
     * algorithms do not run. NULL on all members or on none. */
    int (*cancel)(void* user, void** request, int* done);
} tutti_p2p;

typedef struct tutti_team_params {
    size_t struct_bytes; /* sizeof(tutti_team_params) */
    uint32_t rank;
    uint32_t size;
    /* Every member contributes `bytes`; out receives size * bytes in rank order. Blocking.
     * Returns 0 on success. */
    int (*allgather)(void* user, const void* in, void* out, size_t bytes);
    void* allgather_user;
    const char* name; /* for messages; may be NULL */
    /* NULL: no team across nodes. NULL on all members alike. The struct is copied; its functions
     * may be called until the context is destroyed. */
    const tutti_p2p* p2p;
    const uint32_t* peers; /* p2p's numbers of the members; copied. NULL: their ranks in the team */
    /* Not 0: each member counts as a host of its own, whatever it shares with others. To
     * compare. */
    int apart;
    /* Not 0, on all members alike: hardware multicast is not tried while the team is made, but at
     * the beginning of a tutti_run(), when calls that would use it have come often enough; and
     * after it has failed, again from time to time. Then allgather is called again, several times,
     * in that call; so it stays valid as long as the team, and a root waits for all others. A try
     * takes some ten milliseconds, and a second where multicast does not work; after an allgather
     * that fails no call runs. TUTTI_MCAST=on and algorithms that are forced by a setting and need
     * it are tried at once all the same. 0: what has failed does not come back.
     * Messages between hosts are measured in such a call, too, once, when calls have come often
     * that could run otherwise by that (TUTTI_PRICE), and hosts read each other's clocks, a few
     * times (TUTTI_ARRIVALS); with 0 neither is done. */
    int multicast_later;
    /* So many calls of the team may be under way at once; 0 is 1. The least of all members counts.
     * Each takes what a team takes: shared memory, tags, a multicast group. */
    uint32_t requests;
    /* Not 0: this member makes the calls of this team, and of all others of its context for which
     * it says the same, and makes and destroys them, one after the other (no requests, one thread
     * at a time), in an order in which each call might wait for all of its members, as MPI demands
     * of blocking collectives; and no other thread uses a team of the context meanwhile. Where
     * memory is short such teams may share some: a node may have thousands of them. They share
     * connections by RDMA. */
    int in_turn;
    /* Not 0: this member cannot keep a team. It takes part so that all hear of it; nobody gets
     * one. */
    int cannot;
} tutti_team_params;
#define TUTTI_REQUESTS_MAX 64

/* Collective over the members. The status is the same on all of them; on failure message says
 * why and which member could not go on. */
TUTTI_API tutti_status tutti_team_create(tutti_context* context, const tutti_team_params* params,
                                         tutti_team** team, char* message, size_t message_bytes);
/* Local; waits for nobody. Requests of the team must be complete or never started. */
TUTTI_API void tutti_team_destroy(tutti_team* team);
TUTTI_API uint32_t tutti_team_rank(const tutti_team* team);
TUTTI_API uint32_t tutti_team_size(const tutti_team* team);

/* The largest element of a user operator. */
#define TUTTI_ELEMENT_BYTES_MAX 1024

/* For send (gather and scatter: what the root would send to or receive from itself; allgather,
 * reduce, allreduce, reduce_scatter_block: the input is already in recv). For scatter it stands in
 * recv. */
#define TUTTI_IN_PLACE ((void*)1)

/* One collective call. Buffers are contiguous; `bytes` is one block:
 *   bcast      the whole payload; in recv on every rank (at the root it is the source)
 *   reduce     the vector; recv is significant at the root
 *   allreduce  the vector
 *   gather     what each rank sends; recv at the root holds size blocks
 *   scatter    what each rank receives; send at the root holds size blocks
 *   allgather  what each rank sends; recv holds size blocks
 *   reduce_scatter_block  what each rank receives; send holds size blocks, in place recv does
 * `bytes`, collective, root, op and dtype agree on all members.
 *
 * `prepare` is for who has to pack or to copy before: see tutti_run(). */
typedef struct tutti_call {
    tutti_collective collective;
    uint32_t root;
    const void* send;
    void* recv;
    size_t bytes;
    tutti_dtype dtype; /* of a reduction; of others for TUTTI_CHECK alone, TUTTI_BYTE: not told */
    tutti_op op;
    tutti_reduce_fn reduce; /* TUTTI_OP_USER */
    void* reduce_user;
    size_t element_bytes; /* TUTTI_OP_USER: divides bytes. Gather, scatter: bytes: no less; or 0 */
    int commutes;         /* TUTTI_OP_USER: 1 if operands may change places, on all members alike */
    /* May be NULL. Called once, when it is known that the call will run here, and before its
     * buffers are read; not for a call of no bytes. Sets both. NULL: go on. Else why this member
     * cannot: as tutti_team_give_up(); the text stays valid as long as the call. It makes no calls
     * of Tutti's. Of a request it is called when its turn comes: in whichever call of Tutti's moves
     * the team on then, by any thread of the context. */
    const char* (*prepare)(void* user, const void** send, void** recv);
    void* prepare_user;
} tutti_call;

/* 1 where tutti_call may combine these, 0 where not. */
TUTTI_API int tutti_reducible(tutti_dtype dtype, tutti_op op);
/* 1 where the result has the same bits whatever the order of the operands: integers. Floating point
 * has not, also minima and maxima: of zeros of either sign, and of NaNs. */
TUTTI_API int tutti_is_exact(tutti_dtype dtype, tutti_op op);
TUTTI_API size_t tutti_dtype_bytes(tutti_dtype dtype);

/* Runs one call to its end. A call of a shape that was seen before allocates nothing.
 *
 * TUTTI_HOST where the rules leave it to the embedder's own collective, on all members alike:
 * nothing was touched, and the embedder runs it now. It has its place in the order of the team's
 * calls all the same, so that members who disagree are found out, and requests under way have
 * ended. Never unless tutti_context_params.host_mpi is set. */
TUTTI_API tutti_status tutti_run(tutti_team* team, const tutti_call* call);
/* What ran the last call of tutti_run() that came to TUTTI_OK or TUTTI_HOST: a name that stays
 * valid, "none" for a call of no bytes. */
TUTTI_API const char* tutti_team_ran(const tutti_team* team);

/* One call that goes on while its caller does something else. The struct is the caller's, and stays
 * where it is from its start to its completion; nothing needs to be freed. It can be started again
 * after it completed. All members start the requests and calls of a team in the same order;
 * tutti_team_params.requests of them are under way at once, the others wait behind them. The
 * buffers named by the call belong to Tutti from start to completion. A request may end with
 * TUTTI_HOST, in its turn: then its call is the embedder's own from there on. */
#define TUTTI_REQUEST_BYTES 512
typedef union tutti_request {
    unsigned char bytes[TUTTI_REQUEST_BYTES];
    uint64_t number; /* for alignment, as the next */
    void* pointer;
} tutti_request;

/* Describes the call; starts nothing. TUTTI_ERR_ARGUMENT: the call is malformed. */
TUTTI_API tutti_status tutti_request_init(tutti_request* request, tutti_team* team,
                                          const tutti_call* call);
/* TUTTI_ERR_ARGUMENT for one that is under way. */
TUTTI_API tutti_status tutti_request_start(tutti_request* request);
TUTTI_API tutti_status tutti_request_test(tutti_request* request); /* TUTTI_PENDING or final */
TUTTI_API tutti_status tutti_request_wait(tutti_request* request);

/* What would run: a name that stays valid ("small", "direct", "split", "host" ...). Only
 * collective, root, bytes, operator and element size count; buffers are not looked at. Of a long
 * scatter the root alone knows whether "single" or "pipeline" runs. */
TUTTI_API const char* tutti_algorithm(const tutti_team* team, const tutti_call* call);

/* From now on this team's calls of call->collective run by `algorithm`, as TUTTI_ALLREDUCE and its
 * like take it ("ring:segment=64K", "node:small", "host"); NULL: by settings and rules again. For
 * comparisons in one run. All members alike, no request under way. TUTTI_ERR_ALGORITHM, on all
 * members, where this call cannot run so: message says why, and nothing has changed. Tries
 * multicast first, if that is to come later (tutti_team_params.multicast_later), and plans the
 * call, so that the first one takes no longer than the next. */
TUTTI_API tutti_status tutti_team_force(tutti_team* team, const tutti_call* call,
                                        const char* algorithm, char* message, size_t message_bytes);

/* TUTTI_CHECK for a collective that the embedder runs itself: all members name what they are about
 * to call. TUTTI_OK where they agree or the check is off. `label` names the collective. */
TUTTI_API tutti_status tutti_check_foreign(tutti_team* team, const char* label);

/* This member cannot take part in the call that the others are in or will come to, nor in any
 * later one: its calls and theirs end with TUTTI_ERR_MEMORY and a message that says why. */
TUTTI_API void tutti_team_give_up(tutti_team* team, const char* why);

/* The embedder, to which tutti_run() has just left this call (TUTTI_HOST), rejected its arguments
 * on this member before any other heard of it. The member will make the call with right arguments:
 * its next call, if of the same collective, root, operator and bytes, is the one that was left, and
 * tutti_run() returns TUTTI_HOST at once. */
TUTTI_API void tutti_team_rejected(tutti_team* team, const tutti_call* call);
/* The same for a collective that tutti_check_foreign() has compared: the next one of that label is
 * not compared again. */
TUTTI_API void tutti_team_rejected_foreign(tutti_team* team, const char* label);

/* The line that tells what the last error on this team was. */
TUTTI_API const char* tutti_team_message(const tutti_team* team);

/* Why ranks of one node read no data in each other's memory ("rank 1 cannot read rank 0's memory:
 * Operation not permitted"), of the team that was made last; "" where they do, or no team has
 * tried. Valid until the next team is made, or a call runs: it may be denied later. */
TUTTI_API const char* tutti_context_no_single_copy(const tutti_context* context);

TUTTI_API const char* tutti_status_text(tutti_status status);
TUTTI_API const char* tutti_collective_name(tutti_collective collective);

#ifdef __cplusplus
}
#endif

#include "tutti/team_info.h"
#endif
