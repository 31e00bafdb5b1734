/* Penstock for other languages: clients that submit graphs, and runners that execute them. C11, no library is needed.
 *
 * Functions that can fail return NULL or a negative number; `penstock_last_error` then gives the reason, for the
 * calling thread. Any thread may call any function, except that a graph, a runner and their results belong to one
 * thread at a time. Texts are UTF-8 and end in NUL. Structs that begin with `size` grow at their end only: set it to
 * `sizeof`, or they are refused; members that an older caller does not know have their defaults. Symbols carry the
 * version PENSTOCK_1 in libpenstock.so, later ones PENSTOCK_1_1 to PENSTOCK_1_8.
 *
 *     penstock_client* client = penstock_client_open(NULL);             // A cluster inside this process.
 *     penstock_graph* graph = penstock_graph_new();
 *     penstock_template square = {.size = sizeof square, .runner = PENSTOCK_NATIVE, .program = "square"};
 *     penstock_graph_add_template(graph, &square);
 *     uint32_t first = 0;                                                // The template of each subtask.
 *     penstock_subtasks one = {.size = sizeof one, .count = 1, .templates = &first};
 *     penstock_graph_add_subtasks(graph, &one);
 *     int64_t job = penstock_submit(client, graph, NULL);
 *     if (penstock_wait(client, job, -1) == PENSTOCK_SUCCEEDED) { ... penstock_fetch ... }
 */
#ifndef PENSTOCK_H
#define PENSTOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PENSTOCK_BUILDS_LIBRARY)
#define PENSTOCK_API __attribute__((visibility("default")))
#else
#define PENSTOCK_API
#endif

/* Raised when the meaning of a member changes; functions and members are only added. */
#define PENSTOCK_ABI 1u
/* The number of the loaded library. */
PENSTOCK_API uint32_t penstock_abi(void);
/* `0.2.0` */
PENSTOCK_API const char* penstock_version(void);

typedef struct penstock_bytes {
  const void* data; /* NULL if there are none. */
  uint64_t size;
} penstock_bytes;

/* ------------------------------------------------------------------------------------------------------ errors ---- */

typedef struct penstock_error {
  uint32_t code;       /* See common/base/error_code.hpp; 0: none. */
  const char* name;    /* `NotFound` */
  const char* subject; /* Object of the error; may be "". */
  const char* message;
  const char* remedy; /* Advice; may be "". */
} penstock_error;

/* The error of the last failed call of this thread; valid until its next call. */
PENSTOCK_API penstock_error penstock_last_error(void);

/* ------------------------------------------------------------------------------------------------------ graphs ---- */

enum { PENSTOCK_NATIVE = 0, PENSTOCK_COMMAND = 1, PENSTOCK_PROCESS = 2 };
/* Output number of an edge without a datum, only with an order. */
#define PENSTOCK_ORDER_ONLY 0xffffu

typedef struct penstock_amount {
  const char* name;
  int64_t amount;
} penstock_amount;

/* Native operators that every worker has, among others:
   - `literal` has its payload as output.
   - `concatenate` joins its inputs in their order: for a literal that is larger than a payload may be.
   - `pass` has its only input as output, without a copy: so one of several outputs of a subtask is kept without the
     others.
   - `alias` borrows an output of an earlier job, without a copy, wherever in the cluster it is held. Its payload:
     job, subtask and output, three little-endian numbers of 32 bits, and then `high` and `low` of the lending job's
     penstock_job_identity, two of 64 bits. With the identity, no other job lends: if the number belongs to another job
     now, as after a state was restored, the graph is refused as NotFound. Leave out both where they are 0.
     The lending job must keep the output and must not be released before this graph is submitted; from then on the
     output stays until this job has ended. An output that is lost all the same fails with failure class 5; then run the
     lending job again. */

/* The part that many subtasks share. Members that are 0 or NULL have the default that is named, or none. */
typedef struct penstock_template {
  uint64_t size;
  const char* name;    /* For people and for estimates of durations. */
  const char* program; /* Operator, or program to start. */
  const char* const* arguments;
  uint32_t argument_count;
  uint32_t environment_count;
  const char* const* environment; /* `NAME=value` */
  const char* working_directory;
  penstock_bytes payload; /* Given to an operator or runner with each subtask; sent to a runner once. */
  uint32_t runner;
  uint32_t milli_slots; /* 1000, or milli_gpu where there is any. */
  int64_t memory_bytes;
  const penstock_amount* resources;
  uint32_t resource_count;
  int32_t priority;
  uint32_t attempts_max;        /* As the supervisor is configured. */
  uint32_t output_count;        /* 1 */
  uint32_t continue_on_failure; /* 1: a failed subtask cancels only its successors, not the job. */
  uint32_t not_retryable;       /* 1: never run a second time once it may have started. */
  int64_t time_limit_ns;
  const char* required_worker; /* Only there. */
  const char* preferred_worker;
  int64_t expected_ns;
  uint32_t milli_gpu; /* 1000 is a GPU, several are whole; it finds its GPUs in CUDA_VISIBLE_DEVICES. */
  uint32_t never_overlaps; /* 1: a worker that is cut off from the supervisor kills its run before another one can
                              begin elsewhere; not of native operators. */
  int64_t gpu_memory_bytes;
  int64_t memory_bytes_max; /* An attempt that used more than memory_bytes is repeated with twice as much, up to
                               this. 0: with the same. */
} penstock_template;

/* Columns: element `i` is subtask number `i` of these, its inputs are `input_offsets[i]` to `input_offsets[i + 1]`. */
typedef struct penstock_subtasks {
  uint64_t size;
  uint32_t count;
  uint32_t name_bytes;            /* Of `names`. */
  const uint32_t* templates;      /* Numbers that penstock_graph_add_template gave. */
  const uint32_t* input_offsets;  /* count + 1; NULL: no inputs. */
  const uint32_t* predecessors;   /* For each input: number of a subtask of this graph, from 0, in any order. */
  const uint16_t* outputs;        /* For each input: output number, or PENSTOCK_ORDER_ONLY; NULL: all 0. */
  const uint64_t* payload_offsets; /* count + 1; NULL: no payloads. */
  const void* payloads;
  const int32_t* priorities;      /* NULL: all 0. */
  const uint32_t* name_offsets;   /* count + 1; NULL: no names. */
  const char* names;
} penstock_subtasks;

typedef struct penstock_graph penstock_graph;
PENSTOCK_API penstock_graph* penstock_graph_new(void);
PENSTOCK_API void penstock_graph_free(penstock_graph* graph);
/* Returns the number of the template, from 0. */
PENSTOCK_API int64_t penstock_graph_add_template(penstock_graph* graph, const penstock_template* content);
/* Returns the number of the first of them. If only some calls give an optional column, the subtasks of the others
 * have its default; a subtask without a name is then called by its number. */
PENSTOCK_API int64_t penstock_graph_add_subtasks(penstock_graph* graph, const penstock_subtasks* subtasks);
/* Keeps the outputs of these subtasks for the client, instead of the outputs without a reader. */
PENSTOCK_API int32_t penstock_graph_want(penstock_graph* graph, const uint32_t* subtasks, uint64_t count);

/* ----------------------------------------------------------------------------------------------------- clients ---- */

typedef struct penstock_client_options {
  uint64_t size;
  const char* address;           /* `host:port`, several with commas; NULL: a cluster inside this process. */
  const char* name;              /* For people. */
  uint32_t slots;                /* The rest: of a cluster inside this process. 0: one for each core. */
  uint32_t runners_warm;         /* Start so many of `runner` at once. */
  int64_t memory_bytes;          /* 0: as found. */
  const penstock_template* runner;
  const char* const* operators;  /* Shared libraries of native operators. */
  uint32_t operator_count;
  uint32_t connect_timeout_ms;   /* 5000 */
} penstock_client_options;

typedef struct penstock_client penstock_client;
PENSTOCK_API penstock_client* penstock_client_open(const penstock_client_options* options);
/* A client of the cluster that runs this process, for runs that submit jobs of their own: in a runner, and in commands
 * and all that they start. Also where the cluster is inside another process. Jobs that it submits belong to the run of
 * that moment: they have its owner, priority and policy, are served before other jobs of that priority, and are
 * cancelled and released when the run ends, unless they are detached (see penstock_job_options). A run that waits for
 * them lends its slot (penstock_runner_yield_slot). A runner may keep the client for its further runs. Errors:
 * WrongState outside of a run. Since version PENSTOCK_1_8. */
PENSTOCK_API penstock_client* penstock_client_in_run(const char* name);
/* Ends a cluster inside this process with all that runs in it. REQUIRES: no other call is under way; see
 * penstock_client_interrupt. */
PENSTOCK_API void penstock_client_close(penstock_client* client);
/* Makes all calls for this client that wait in other threads return at once, as failed with Cancelled unless they
 * have just succeeded; later calls that would wait do the same. Call it before closing the client, and close when
 * those calls have returned. A call that has to read from disk still does. */
PENSTOCK_API void penstock_client_interrupt(penstock_client* client);
PENSTOCK_API uint32_t penstock_client_slots(penstock_client* client); /* Of a cluster inside this process, else 0. */

typedef struct penstock_job_options {
  uint64_t size;
  const char* name;  /* Submitting another graph under it returns the same job. */
  const char* owner;
  int32_t priority;
  uint32_t keep_nothing;       /* 1: outputs are not kept for the client. */
  uint32_t wait_for_resources; /* 1: accept requests that no present worker can hold. */
  /* The members for policy, all optional: docs/policy.md. */
  const char* project;
  const char* account;
  const char* pool;
  uint32_t weight_thousandths;
  uint32_t slots_max;
  uint32_t gang; /* So many slots at once or none. */
  uint32_t kind; /* 0 training, 1 interactive, 2 inference. */
  const char* qos; /* expedite, normal, standby, or what the cluster defines. */
  const char* queue;
  uint32_t user_factor_lowered_thousandths; /* By so much: 0 leaves it at 1, 1000 makes it 0. */
  const char* const* pools; /* In place of `pool`: the next where the one before has no room. */
  uint32_t pool_count;
  uint32_t label_count;
  const char* const* labels; /* Runs on workers with one of these. */
  uint64_t grace_ms;         /* Time to save state after a preemption; 0: the cluster's. */
  uint32_t preemptible;      /* 0: as its kind says, 1: slots may be taken back from it, 2: not. */
  uint32_t gang_max;         /* Slots up to which the gang grows where it can; 0: it stays at `gang`. */
  int64_t time_limit_ns;     /* From its first run to its end, else the job has failed; 0: no limit. */
  const char* together;      /* Gang on one "host", or on workers with one label of this pattern; null: anywhere. */
  uint32_t gang_groups;      /* So many groups of equal size stay together, each for itself; 0: all of the gang. */
  uint64_t detached; /* 1: of penstock_client_in_run: the job outlives the run, and takes nothing after it. */
  /* Run that submits the job, for clients that were opened in another way: `attempt_id` and `job` of the run. */
  const char* parent_attempt;
  uint64_t parent_job;
  const char* const* secrets; /* NAME=VALUE: variables of its programs that nobody else is told. */
  uint64_t secret_count;
  const char* share; /* Group of this user that may do with the job what its owner may; null: none. */
} penstock_job_options;

/* Returns the number of the job. Frees the graph, also on failure. */
PENSTOCK_API int64_t penstock_submit(penstock_client* client, penstock_graph* graph,
                                      const penstock_job_options* options);
typedef struct penstock_submitted {
  uint64_t size;
  int64_t job;
  uint32_t existed; /* 1: a job of that name and content existed already and is returned; another content is refused. */
  uint32_t ours;    /* 1: this call has made it: it is new, or the first answer was lost on its way. 0: another
                       client has made it and may still need it: detach from it, rather than release or cancel it. */
} penstock_submitted;
/* The same; also says whether this call has made the job. */
PENSTOCK_API int64_t penstock_submit_told(penstock_client* client, penstock_graph* graph,
                                          const penstock_job_options* options, penstock_submitted* submitted);
/* Follows a job by its name or number that this client, or another one, has submitted. */
PENSTOCK_API int64_t penstock_attach(penstock_client* client, const char* name);
/* Identity of a job among all jobs that any supervisor has ever accepted. Its number is a name for people, and may
 * be given to another job in a state that was restored. */
typedef struct penstock_identity {
  uint64_t high, low; /* Both 0: it has none, as under a supervisor before 0.2.0. */
} penstock_identity;
/* The identity of a job that was submitted or attached to here. Ask soon after that: a later attachment by the
 * number may give another job. Error: NotFound, if this client does not follow it. */
PENSTOCK_API int32_t penstock_job_identity(penstock_client* client, int64_t job, penstock_identity* identity);
/* Stops following the job: nothing more is reported or can be asked about it here. The job goes on, and its results
 * are kept as those of a job without followers (`supervisor.results_keep`). Call it once for each time that
 * submitting or attaching has returned the job; the last call counts. Use it in place of `penstock_release`. Does
 * not wait. */
PENSTOCK_API void penstock_detach(penstock_client* client, int64_t job);

enum { PENSTOCK_RUNNING = 0, PENSTOCK_SUCCEEDED = 1, PENSTOCK_FAILED = 2, PENSTOCK_CANCELLED = 3 };
/* Returns the state of the job when it has ended or the time is over; `timeout_ns` < 0: without limit. */
PENSTOCK_API int32_t penstock_wait(penstock_client* client, int64_t job, int64_t timeout_ns);
/* The same for one of its subtasks, independent of the rest: when it has succeeded, its kept outputs can be fetched.
 * Error: also NotFound, if the job has no subtask of that number. */
PENSTOCK_API int32_t penstock_wait_subtask(penstock_client* client, int64_t job, uint32_t subtask, int64_t timeout_ns);

typedef struct penstock_counts {
  uint64_t total, succeeded, failed, cancelled, assigned, attempts;
} penstock_counts;
/* Error: NotFound, if this client does not follow the job. */
PENSTOCK_API int32_t penstock_job_counts(penstock_client* client, int64_t job, penstock_counts* counts);
/* Makes the reason why a job has failed, or was cancelled, the last error: of several failures the first. 0 if it
 * has not. */
PENSTOCK_API int32_t penstock_job_error(penstock_client* client, int64_t job);
/* Cancels the job; its end is reported as usual. */
PENSTOCK_API int32_t penstock_cancel(penstock_client* client, int64_t job);
/* Cancels one subtask and its successors. */
PENSTOCK_API int32_t penstock_cancel_subtask(penstock_client* client, int64_t job, uint32_t subtask);
/* The client needs the outputs no longer, and will not ask about the job. For a job that still runs and has no name
 * this takes effect at its end, unless another client follows it then. Does not wait. */
PENSTOCK_API void penstock_release(penstock_client* client, int64_t job);
/* The client needs the outputs of these subtasks no longer, in whatever order they are given; the job may still run.
 * Outputs that subtasks of the job, or other jobs, have still to read go after that. Nothing happens while this client
 * was given the job by another call as well (see penstock_release). Does not wait. Error: NotFound, for no number of a
 * job. Since version PENSTOCK_1_7. */
PENSTOCK_API int32_t penstock_release_outputs(penstock_client* client, int64_t job, const uint32_t* subtasks,
                                              uint64_t count);

/* ---- data ---- */

typedef struct penstock_data penstock_data;
/* Output number `output` of subtasks that have succeeded; NULL for `subtasks`: of 0 to count - 1. In a cluster
 * inside this process they are not copied; large ones of a worker process of this host are mapped. NotFound: one of
 * them has not succeeded, was not to be kept, or was released. InputLost: their last holder is gone; submit
 * the graph again. */
PENSTOCK_API penstock_data* penstock_fetch(penstock_client* client, int64_t job, const uint32_t* subtasks,
                                           uint64_t count, uint32_t output);
/* The requested views, in that order; read only; valid until the data are freed. */
PENSTOCK_API const penstock_bytes* penstock_data_views(const penstock_data* data);
PENSTOCK_API void penstock_data_free(penstock_data* data);
/* Makes view number `index` writable in place: writes are visible to this caller only, and only written pages are
 * copied. NULL: it has no bytes, or ResourceExhausted; then nothing has changed. */
PENSTOCK_API void* penstock_data_write(penstock_data* data, uint64_t index);

/* ---- news ---- */

typedef struct penstock_range {
  uint32_t first, last; /* Both included. */
} penstock_range;
typedef struct penstock_failure {
  uint32_t subtask;
  uint32_t failure_class; /* 1 user error, 2 runner crash, 3 out of memory, 4 timeout, 5 input lost, ...: failure.hpp */
  int32_t exit_code;      /* -1: none. */
  int32_t signal;
  int64_t peak_memory_bytes;
  const char* name;
  penstock_bytes message;
  penstock_bytes output_tail;
  penstock_bytes detail;      /* From the runner for its engine. */
  const char* const* history; /* One line for each attempt. */
  uint64_t history_count;
} penstock_failure;
/* Changes in a job since the news before. Each subtask occurs in exactly one of them. */
typedef struct penstock_news {
  int64_t job;
  int32_t state;
  uint32_t failure_count;
  penstock_counts counts;
  const penstock_range* succeeded;
  uint64_t succeeded_count;
  const penstock_range* cancelled;
  uint64_t cancelled_count;
  const penstock_failure* failures;
} penstock_news;
/* From now on news are kept for penstock_next_news, also of jobs that are submitted or attached to later. */
PENSTOCK_API void penstock_want_news(penstock_client* client);
/* The next news of any job, to be freed; NULL when the time is over, penstock_wake_news was called, or the client is
 * interrupted. */
PENSTOCK_API const penstock_news* penstock_next_news(penstock_client* client, int64_t timeout_ns);
PENSTOCK_API void penstock_news_free(const penstock_news* news);
/* Makes threads that wait for news return. */
PENSTOCK_API void penstock_wake_news(penstock_client* client);
/* The lines that runners have written for a job, or for one of its subtasks (-1: for all of it), as text: data with
 * one view, to be freed. Each line begins with its attempt, `17:42#1`. Workers keep the end of it, 256 KiB each. */
PENSTOCK_API penstock_data* penstock_job_log(penstock_client* client, int64_t job, int64_t subtask);
/* The credential of this client, for programs that secure connections of their own: one view, a line with the identity,
 * penstock://CLUSTER/ROLE/USER, and then as PEM the key, the certificate and the certificate of the cluster's
 * authority. No bytes: the connections of this client are plain, or of this host. Ask for each connection: a
 * certificate is renewed after half of its life, and another login may take its place. The key is a secret. Since
 * version PENSTOCK_1_9. */
PENSTOCK_API penstock_data* penstock_client_credential(penstock_client* client);
/* Asks the supervisor what `penstock QUESTION ARGUMENT...` asks ("jobs", "workers", "data", ...), or gives it an order
 * ("cancel", "drain", ...). Returns one view: the answer in JSON. Error: that of the supervisor; Unsupported for a
 * question that it does not know. Since version PENSTOCK_1_7. */
PENSTOCK_API penstock_data* penstock_ask(penstock_client* client, const char* question, const char* const* arguments,
                                         uint64_t count);
/* The reason of the failure `news->failures[failure]` as a code such as "LimitExceeded", an output larger than the
 * worker's store; "": only its class is known. */
PENSTOCK_API const char* penstock_failure_code(const penstock_news* news, uint32_t failure);
/* All failures of a job so far, as news; NULL: none. */
PENSTOCK_API const penstock_news* penstock_job_failures(penstock_client* client, int64_t job);

/* ----------------------------------------------------------------------------------------------------- runners ---- */

/* A runner is a program that a worker starts for templates with PENSTOCK_PROCESS: one for each slot, for as long as it
 * is useful. The runner opens the conversation on its standard input, gets a run, gives its outputs, and gets the next:
 *
 *     penstock_runner* runner = penstock_runner_open(0, "c", "11");
 *     penstock_run run = {.size = sizeof run};
 *     while (penstock_runner_next(runner, &run) == 1) {
 *       double* out = penstock_runner_output(runner, 0, sizeof *out);
 *       *out = 42;
 *       penstock_runner_succeed(runner);
 *     }
 */
typedef struct penstock_runner penstock_runner;
typedef struct penstock_run {
  uint64_t size;
  uint64_t program;               /* Names the template's payload; equal for equal ones. */
  uint64_t programs_generation;   /* A new number: all earlier programs are forgotten. */
  penstock_bytes program_content; /* The template's payload. */
  penstock_bytes payload;         /* The subtask's. */
  const penstock_bytes* inputs;   /* In their order in the graph. */
  uint32_t input_count;
  uint32_t large_inputs; /* Number of inputs in memory segments; see penstock_runner_take_inputs. */
  uint32_t job;
  uint32_t subtask;
  uint32_t attempt; /* The low 32 bits of attempt_number: from 1 in each incarnation of the supervisor, and so used
                       again after a restart. Fence by attempt_number. */
  uint32_t output_count;
  /* Number of the attempt: it only grows for a subtask, and is never used again, also over restarts of the
   * supervisor: a fencing token, equal to PENSTOCK_ATTEMPT of a command. 0: the loaded library is older and does not
   * set it. */
  uint64_t attempt_number;
  /* Names this attempt among those of all jobs of all clusters, and cannot be guessed before. Equal to
   * PENSTOCK_ATTEMPT_ID of a command. Under a worker or supervisor before 0.2.0, which do not send the job's
   * identity, its first 32 digits are 0. */
  const char* attempt_id;
} penstock_run;

PENSTOCK_API penstock_runner* penstock_runner_open(int32_t descriptor, const char* language, const char* version);
/* 1: a run, valid until the next call; 0: the worker no longer needs this runner; -2: a signal came while waiting;
 * -1: an error. The caller sets `run->size`. */
PENSTOCK_API int32_t penstock_runner_next(penstock_runner* runner, penstock_run* run);
/* Keeps the large inputs of the present run valid until this is freed; NULL: there are none. */
PENSTOCK_API penstock_data* penstock_runner_take_inputs(penstock_runner* runner);
/* Memory for an output, to be filled before the run ends; asking again gives new memory. */
PENSTOCK_API void* penstock_runner_output(penstock_runner* runner, uint32_t output, uint64_t bytes);
/* Ends the run. */
PENSTOCK_API int32_t penstock_runner_succeed(penstock_runner* runner);
/* The same, with these bytes as output 0. */
PENSTOCK_API int32_t penstock_runner_succeed_with(penstock_runner* runner, const void* data, uint64_t size);
/* Ends the run as failed: one line for people, and bytes that the client gets as `penstock_failure.detail`. */
PENSTOCK_API int32_t penstock_runner_fail(penstock_runner* runner, const char* message, const void* detail,
                                          uint64_t size);
/* The same for a failure that repetition would not mend. `code`: "InvalidArgument": it is not tried again;
 * "ProgramNotFound" or "VersionMismatch": only on other workers; NULL: as often as its template allows. The rest of
 * the codes of common/base/error_code.hpp are passed on; an unknown code is put in front of the message, and acts as
 * NULL. */
PENSTOCK_API int32_t penstock_runner_fail_as(penstock_runner* runner, const char* code, const char* message,
                                             const void* detail, uint64_t size);
/* Lends the slot of the present run to other subtasks while the run waits for what one of them makes. From here to
 * penstock_runner_take_slot_back it should only wait: the slot is lent with everything that the subtask requested
 * beside memory of the host (processors, a part of the device with its memory, named resources). The memory that it
 * requested stays its own, so what it waits for has to fit beside it; its time limit goes on. -1: an error, and the run
 * has its slot (WrongState: there is no run, or its slot is lent; LimitExceeded: worker.yields_max; Unsupported: the
 * worker is older), or is to stop (Cancelled). */
PENSTOCK_API int32_t penstock_runner_yield_slot(penstock_runner* runner);
/* Waits until the run has a slot again; among jobs of one priority it goes before all subtasks that have not begun. 0:
 * it has; -2: a signal came while waiting, call again; -1: an error (WrongState: it is not lent; Cancelled: the run is
 * cancelled or out of time, and goes on without a slot: end it soon). A run may end while its slot is lent. */
PENSTOCK_API int32_t penstock_runner_take_slot_back(penstock_runner* runner);
PENSTOCK_API void penstock_runner_close(penstock_runner* runner);

#ifdef __cplusplus
}
#endif
#endif
