/* SPDX-License-Identifier: BSD-3-Clause */
/* Tutti: collective communication. The C interface; it needs no MPI.
 *
 * An embedder makes one context, then teams from it. Making a team is
 * collective: every member calls tutti_team_create() with the same size and
 * an allgather callback over exactly these members. Either every member gets
 * the team or none does. All members start the collectives of a team in the
 * same order. One thread at a time uses a team; several threads may use
 * different teams at once. A thread that waits in one team also progresses the
 * requests of all other teams of the context. So callbacks and operators of a
 * request may run in any thread that waits.
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
    TUTTI_HOST = 2,           /* not an error: all members leave the call to the embedder */
    TUTTI_CHOSEN = 3,         /* not an error: the call runs once it has its buffers */
    TUTTI_ERR_ARGUMENT = -1,  /* an argument or setting is malformed */
    TUTTI_ERR_MEMORY = -2,    /* not enough memory, shared memory or a limit on it */
    TUTTI_ERR_NODE = -3,      /* members cannot prove that they share a node, or are on several
                                 nodes and there is no p2p */
    TUTTI_ERR_BOOTSTRAP = -4, /* the allgather callback failed */
    TUTTI_ERR_MISMATCH = -5,  /* the members made different calls */
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
    TUTTI_ALLTOALL,
    TUTTI_SCAN,
    TUTTI_EXSCAN,
    /* The vector forms: blocks differ in length (tutti_blocks). */
    TUTTI_GATHERV,
    TUTTI_SCATTERV,
    TUTTI_ALLGATHERV,
    TUTTI_ALLTOALLV,
    TUTTI_ALLTOALLW, /* once the embedder has packed each block by its type: an alltoallv */
    TUTTI_REDUCE_SCATTER,
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
    /* This process's number in its job, for TUTTI_HOSTS. job_size 0: unknown; each team then
     * numbers its pretended hosts by its own ranks. */
    uint32_t job_rank;
    uint32_t job_size;
    const char* host_mpi; /* as rules name it: "openmpi", "mpich", "impi"; may be NULL */
} tutti_context_params;

/* Reads the site's settings for this process's program (/etc/tutti/settings.toml, see
 * docs/formats/settings.md). `take` gets every setting in force, in the form that
 * tutti_context_create() expects: the job's own `settings`, and those of the site that the job does
 * not set. One process of a job calls this and sends the settings to all, since each host may have
 * another file. TUTTI_ERR_OFF: the site has switched Tutti off for this program.
 * TUTTI_ERR_ARGUMENT: the site's file is broken, which switches Tutti off, too. In both cases the
 * settings say so, and message says why. With TUTTI_OK message may name settings of the site that
 * are left out because the job's own contradict them. */
TUTTI_API tutti_status tutti_site_settings(const char* const* settings, size_t settings_count,
                                           void (*take)(void* user, const char* entry), void* user,
                                           char* message, size_t message_bytes);
/* Finds the tuned file for this process's host and its MPI (docs/formats/tuned.md).
 * library_version is the text of MPI_Get_library_version(); settings are those that
 * tutti_site_settings() gave. `take` gets further settings, which hold the file's name and text;
 * append them to the others. It gets none if there is no such file, or if everything is off. One
 * process of a job calls this and sends the settings to all. On success message may hold a line,
 * too: which file is not used, and why. TUTTI_ERR_ARGUMENT: TUTTI_TUNED names a file that is
 * missing or broken. */
TUTTI_API tutti_status tutti_tuned_find(const char* const* settings, size_t settings_count,
                                        const char* library_version,
                                        void (*take)(void* user, const char* entry), void* user,
                                        char* message, size_t message_bytes);
/* Finds the file that describes the cluster (docs/formats/topology.md). settings are those that
 * tutti_site_settings() gave. `file` is empty if there is none. One process of a job calls this. */
TUTTI_API tutti_status tutti_fabric_find(const char* const* settings, size_t settings_count,
                                         char* file, size_t file_bytes, char* message,
                                         size_t message_bytes);
/* Reads the part of that file that a job needs. `take` gets a text for tutti_context_set_fabric():
 * the part of the switch tree to which hosts of these names are attached. The text is empty if the
 * file has none of these hosts. On success message may hold a line, too: the hosts that the file
 * lacks. */
TUTTI_API tutti_status tutti_fabric_part(const char* file, const char* const* hosts,
                                         size_t hosts_count,
                                         void (*take)(void* user, const char* text), void* user,
                                         char* message, size_t message_bytes);
/* On failure *context is NULL and message (if message_bytes > 0) holds one clear line. */
TUTTI_API tutti_status tutti_context_create(const tutti_context_params* params,
                                            tutti_context** context, char* message,
                                            size_t message_bytes);
/* The name of this process's host in a description of the cluster: the host's own name, or
 * "pretended-host-3" under TUTTI_HOSTS. */
TUTTI_API void tutti_context_host(const tutti_context* context, char* name, size_t name_bytes);
/* Teams that are made from now on use this part of the fabric: a text of tutti_fabric_part(), equal
 * on all processes of the job. NULL: they know no fabric. Do not call this while another thread
 * makes a team of the context. On failure teams know no fabric, and message holds one clear
 * line. */
TUTTI_API tutti_status tutti_context_set_fabric(tutti_context* context, const char* text,
                                                char* message, size_t message_bytes);
/* The numbers of hosts in that part, and of switches with hosts; both 0 if teams know no fabric. */
TUTTI_API void tutti_context_fabric(const tutti_context* context, uint32_t* hosts,
                                    uint32_t* switches);
/* All teams of the context must have been destroyed. */
TUTTI_API void tutti_context_destroy(tutti_context* context);
/* The embedder calls this now and then while it waits for something of its own. It serves ranks
 * that wait in a call for this process after multicast has failed. With has_waited_long it also
 * looks whether multicast has failed. It never waits. */
TUTTI_API void tutti_context_attend(tutti_context* context, int has_waited_long);
/* A setting as it is in force: "1" or "0" for switches, decimal bytes, calls or seconds, text as it
 * was given (empty where it was not). NULL for a name that is not a setting. */
TUTTI_API const char* tutti_context_setting(const tutti_context* context, const char* variable);

/* Messages between processes, nonblocking, for teams across nodes. Messages of one tag between two
 * peers stay in order. Functions return 0 on success and never wait. They are called by one thread
 * at a time for each team. */
typedef struct tutti_p2p {
    size_t struct_bytes; /* sizeof(tutti_p2p) */
    void* user;          /* teams of a process with the same `user` use different tags */
    uint32_t tag_max;    /* tags are 0 to tag_max, the same on all members */
    /* The memory belongs to the message until test() says that it is done. */
    int (*send)(void* user, const void* data, size_t bytes, uint32_t peer, uint32_t tag,
                void** request);
    int (*recv)(void* user, void* data, size_t bytes, uint32_t peer, uint32_t tag, void** request);
    /* *done = 1: complete; the request is freed. 2: likewise, and *request holds the number of
     * bytes received. */
    int (*test)(void* user, void** request, int* done);
    /* *there = 1: an unexpected message with this tag has come from *peer; a receive for it would
     * complete soon. May be NULL, or lie beyond struct_bytes: then ranks do not learn that another
     * rank gave up, and stall reports know less. */
    int (*probe)(void* user, uint32_t tag, uint32_t* peer, int* there);
    /* Cancels a receive that is not complete, because its call has failed or begins anew.
     * *done = 1: no message has come or will come, and the request is freed. 2: the message had
     * come already, and *request holds its bytes. 0: it is arriving. May be NULL, or lie beyond
     * struct_bytes. Then the buffers of a failed call belong to the embedder again only when its
     * messages have come or never will, and some algorithms do not run. NULL on all members or on
     * none. */
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
    /* NULL: no team across nodes. NULL on all members or on none. The struct is copied; its
     * functions may be called until the context is destroyed. */
    const tutti_p2p* p2p;
    const uint32_t* peers; /* p2p's numbers of the members; copied. NULL: their ranks in the team */
    /* Not 0: each member counts as a host of its own, even if it shares memory with others. For
     * comparisons. */
    int apart;
    /* Not 0, on all members or on none: making the team does not try hardware multicast. The
     * beginning of a later tutti_run() does, once the team has made enough calls that would use it.
     * After multicast has failed, such trials repeat from time to time. A trial calls allgather
     * several times, so that stays valid as long as the team, and a root then waits for all others.
     * A trial takes some ten milliseconds, or a second where multicast does not work. If an
     * allgather fails, the team runs no more calls. TUTTI_MCAST=on is tried at once all the same,
     * and so are algorithms that a setting forces and that need multicast. 0: multicast that has
     * failed does not come back.
     * With this set, such a call also measures messages between hosts, once, if the result could
     * change the algorithm of frequent calls (TUTTI_PRICE). A few times it makes hosts read each
     * other's clocks (TUTTI_ARRIVALS). With 0 neither is done. */
    int multicast_later;
    /* How many calls of the team may be under way at once; 0 is 1. The smallest value of all
     * members counts. Each takes shared memory and message tags of its own. RDMA connections and
     * the multicast group are the team's. With k requests, only calls 1, k + 1, 2k + 1 and so on
     * may multicast. */
    uint32_t requests;
    /* Not 0: this member uses all teams of its context that have this flag one call after the
     * other: no requests, one thread at a time, and no other thread uses a team of the context
     * meanwhile. That includes making and destroying teams. The order of calls is one in which each
     * call may wait for all of its members, as MPI demands of blocking collectives. Such teams may
     * share memory where it is short, so that a node may have thousands of them. They share
     * connections by RDMA. */
    int in_turn;
    /* Not 0: this member cannot keep a team. It takes part so that all members learn of it; no
     * member gets a team. */
    int cannot;
} tutti_team_params;
#define TUTTI_REQUESTS_MAX 64

/* Collective over the members. The status is the same on all of them; on failure message says
 * why and which member could not go on. */
TUTTI_API tutti_status tutti_team_create(tutti_context* context, const tutti_team_params* params,
                                         tutti_team** team, char* message, size_t message_bytes);
/* Local; does not wait. Requests of the team must be complete or never started. */
TUTTI_API void tutti_team_destroy(tutti_team* team);
TUTTI_API uint32_t tutti_team_rank(const tutti_team* team);
TUTTI_API uint32_t tutti_team_size(const tutti_team* team);

/* The largest element of a user operator. */
#define TUTTI_ELEMENT_BYTES_MAX 1024

/* As MPI_IN_PLACE; given as `send`, for scatter as `recv`. Gather and scatter: the root's own block
 * is already in its place. Allgather, reduce, allreduce, reduce_scatter_block, scan, exscan: the
 * input is already in recv. The vector forms likewise. Alltoall, alltoallv, alltoallw and
 * reduce_scatter are never in place: the embedder copies their input first. */
#define TUTTI_IN_PLACE ((void*)1)

/* Of a vector form: the blocks of all ranks, by rank, in bytes; offsets from send or recv. The
 * struct and its arrays stay as they are until the call ends; of a request until its last start has
 * completed. Those of a side that holds one block, or that
 * is not significant on this rank, are NULL:
 *   gatherv         recv at the root
 *   scatterv        send at the root
 *   allgatherv      recv; lengths agree on all members, offsets need not
 *   alltoallv, alltoallw  both; what rank i sends to j is as long as what j receives from i
 *   reduce_scatter  send; lengths agree on all members, and each is a multiple of the element;
 *                   blocks stand one after the other
 * Blocks that are received do not overlap. */
typedef struct tutti_blocks {
    const uint64_t* send_bytes;
    const uint64_t* send_offsets;
    const uint64_t* recv_bytes;
    const uint64_t* recv_offsets;
} tutti_blocks;

/* One collective call. Buffers are contiguous; `bytes` is one block:
 *   bcast      the whole payload; in recv on every rank (at the root it is the source)
 *   reduce     the vector; recv is significant at the root
 *   allreduce  the vector
 *   gather     what each rank sends; recv at the root holds size blocks
 *   scatter    what each rank receives; send at the root holds size blocks
 *   allgather  what each rank sends; recv holds size blocks
 *   reduce_scatter_block  what each rank receives; send holds size blocks, in place recv does
 *   alltoall   what each rank sends to each; send and recv hold size blocks
 *   scan       the vector; each rank gets the fold of those of the ranks up to itself
 *   exscan     the vector; each rank gets the fold of those of the ranks before it, rank 0 nothing:
 *              its recv is not touched
 *   gatherv, scatterv  the block of this rank, what it sends to the root or receives from it; at the
 *              root its own
 *   allgatherv, alltoallv, alltoallw, reduce_scatter  nothing: `blocks` says all
 * `bytes`, but for that of a gatherv or scatterv, collective, root, op and dtype agree on all
 * members. */
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
    /* Not 0: `send` and `recv` say nothing yet; see tutti_resume(). Only for tutti_run(). */
    int buffers_later;
    const tutti_blocks* blocks; /* of a vector form; else NULL */
} tutti_call;

/* 1 where tutti_call may combine these, 0 where not. */
TUTTI_API int tutti_reducible(tutti_dtype dtype, tutti_op op);
/* 1 if the bits of the result do not depend on the order of operands, as for integers. Of floating
 * point they do, even of minima and maxima: because of signed zeros and NaNs. */
TUTTI_API int tutti_is_exact(tutti_dtype dtype, tutti_op op);
TUTTI_API size_t tutti_dtype_bytes(tutti_dtype dtype);

/* Runs one call to its end. A call of a shape that was seen before allocates nothing.
 *
 * TUTTI_HOST if the rules leave the call to the embedder's own collective, on all members alike.
 * No buffer was touched, and the embedder runs the call now. It still has its place in the order of
 * the team's calls, so that members that disagree are found, and requests under way have completed.
 * Never returned unless tutti_context_params.host_mpi is set.
 *
 * TUTTI_CHOSEN with tutti_call.buffers_later, unless the call has no bytes: what runs it is chosen.
 * The next call on the team is tutti_resume(), or tutti_team_give_up() where this member cannot go
 * on. */
TUTTI_API tutti_status tutti_run(tutti_team* team, const tutti_call* call);
/* For embedders that pack or copy data before a call, once it is certain that Tutti runs it: runs
 * the call of which tutti_run() has returned TUTTI_CHOSEN to its end, with these buffers.
 * TUTTI_ERR_ARGUMENT if there is none, or it cannot be in place. A broken team has its error. */
TUTTI_API tutti_status tutti_resume(tutti_team* team, const void* send, void* recv);
/* The algorithm of the last call by tutti_run(), or by tutti_resume(), that ended with TUTTI_OK or
 * TUTTI_HOST: a name that stays valid; "none" for a call of no bytes. */
TUTTI_API const char* tutti_team_ran(const tutti_team* team);

/* A call that runs while its caller does something else. The struct belongs to the caller, and does
 * not move between start and completion; nothing needs to be freed. It can be started again after
 * it completed. All members start the requests and calls of a team in the same order.
 * tutti_team_params.requests of them are under way at once; the others wait behind them. The
 * buffers of the call belong to Tutti from start to completion. When its turn comes a request may
 * end with TUTTI_HOST: then the embedder runs its call. */
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

/* The algorithm that would run a call: a name that stays valid ("small", "direct", "split", "host"
 * ...). Only collective, root, bytes, operator and element size count; buffers are not read. For a
 * long scatter only the root knows whether "single" or "pipeline" runs. */
TUTTI_API const char* tutti_algorithm(const tutti_team* team, const tutti_call* call);

/* Forces an algorithm: from now on this team's calls of call->collective run by `algorithm`, which
 * is written as in TUTTI_ALLREDUCE ("ring:segment=64K", "node:small", "host"). NULL: by settings
 * and rules again. For comparisons in one run. All members do the same, with no request under way.
 * TUTTI_ERR_ALGORITHM on all members: it cannot run this call; message says why, and nothing has
 * changed. If multicast was to be tried later (tutti_team_params.multicast_later), it is tried
 * here. The call is planned, too, so that the first one takes no longer than the next. */
TUTTI_API tutti_status tutti_team_force(tutti_team* team, const tutti_call* call,
                                        const char* algorithm, char* message, size_t message_bytes);

/* TUTTI_CHECK for a collective that the embedder runs itself. All members call this before it;
 * `label` names the collective. TUTTI_OK if the members agree or the check is off. */
TUTTI_API tutti_status tutti_check_foreign(tutti_team* team, const char* label);

/* This member takes part in no further call of the team, the current one of the others included.
 * Its calls and theirs end with TUTTI_ERR_MEMORY and a message that says why. */
TUTTI_API void tutti_team_give_up(tutti_team* team, const char* why);

/* tutti_run() has just left this call to the embedder (TUTTI_HOST), which rejected its arguments on
 * this member before it sent anything. The member will repeat the call with right arguments: its
 * next call of the same collective, root, operator and bytes counts as the one that was left, and
 * tutti_run() returns TUTTI_HOST at once. */
TUTTI_API void tutti_team_rejected(tutti_team* team, const tutti_call* call);
/* The same for a collective that tutti_check_foreign() has compared: the next one of that label is
 * not compared again. */
TUTTI_API void tutti_team_rejected_foreign(tutti_team* team, const char* label);

/* The line that describes the last error of this team. */
TUTTI_API const char* tutti_team_message(const tutti_team* team);

/* Why the ranks of a node do not read data in each other's memory, in the team that was made last:
 * "rank 1 cannot read rank 0's memory: Operation not permitted". "" if they do, or no team has
 * tried. The text is valid until the next team is made or the next call runs, as the kernel may
 * deny it later. */
TUTTI_API const char* tutti_context_no_single_copy(const tutti_context* context);

TUTTI_API const char* tutti_status_text(tutti_status status);
TUTTI_API const char* tutti_collective_name(tutti_collective collective);

#ifdef __cplusplus
}
#endif

#include "tutti/team_info.h"
#endif
