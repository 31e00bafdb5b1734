/* Native operators: functions of a shared library that a worker runs in its own process.
 *
 * A library exports one function, `penstock_operators`, that returns a table of its operators:
 *
 *     static int square(penstock_call* call) {
 *       const penstock_view in = call->inputs[0];
 *       double* out = (double*)call->output(call, 0, in.bytes);
 *       if (out == NULL) return call->fail(call, "no memory for the output");
 *       for (uint64_t i = 0; i < in.bytes / sizeof(double); ++i)
 *           out[i] = ((const double*)in.data)[i] * ((const double*)in.data)[i];
 *       return 0;
 *     }
 *     static const penstock_operator table[] = {{"square", square}};
 *     static const penstock_operator_table all = {PENSTOCK_OPERATOR_ABI, 1, table};
 *     const penstock_operator_table* penstock_operators(void) { return &all; }
 *
 * Load it with `penstock worker --operators libsquare.so`. An operator runs on one of its band's slots, may be called
 * from several threads at once for different subtasks, and must not keep any pointer of the call. If it uses TBB
 * inside, it is confined to the slots that its subtask requested. C11 or C++11; no library is needed.
 */
#ifndef PENSTOCK_OPERATOR_H
#define PENSTOCK_OPERATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when members are added, which is at the end only: a worker runs what was built for an earlier number, and
 * refuses what was built for a later one. */
#define PENSTOCK_OPERATOR_ABI 4u

typedef struct penstock_view {
  const void* data; /* NULL if there are no bytes. */
  uint64_t bytes;
} penstock_view;

typedef struct penstock_call penstock_call;

/* One call of an operator. Everything is valid until the operator returns, and read only except for the outputs. */
struct penstock_call {
  uint32_t abi;
  uint32_t slot;                  /* The runner of the band that makes this call, from 0. */
  uint32_t milli_slots;           /* The slots of the subtask; 1000 is one slot. */
  uint32_t attempt;               /* The low 32 bits of attempt_number: from 1 in each incarnation of the supervisor,
                                     and so used again after a restart. Fence by attempt_number. */
  const char* device;             /* UUIDs of the GPUs of the run, with commas, or "". */
  uint64_t memory_bytes;          /* Memory that the subtask may use; 0: not limited. */
  penstock_view template_payload; /* The same for all subtasks of a template. */
  penstock_view payload;          /* The subtask's own. */
  const penstock_view* inputs;    /* The data inputs in their order in the graph; an empty output is {NULL, 0}. */
  uint64_t input_count;
  /* Memory for output number `index`, to be filled before returning; NULL if there is none or `index` is too large.
   * Asking again for the same output gives new memory. An output that is never asked for is empty. */
  void* (*output)(penstock_call* call, uint32_t index, uint64_t bytes);
  /* Not 0 once the subtask is cancelled, preempted or out of time: return soon, with any result. Once it has been not
   * 0, the result does not count: a preempted subtask runs again. An operator that is out of time and does not return
   * is ended with the worker's process, which starts again and repeats its other runs. */
  int (*cancelled)(penstock_call* call);
  /* Records the reason of a failure of the subtask; returns 1, to be returned. */
  int (*fail)(penstock_call* call, const char* message);

  /* Since ABI 2: data in the memory of the run's first GPU. Each of these returns 0 or NULL and records the
   * reason if the band has no GPU, its driver does not answer, or there is no room. Addresses belong to the device's
   * primary context, which the operator makes current. */

  /* The address of input number `index` on the device, brought there if necessary; read only. */
  uint64_t (*device_input)(penstock_call* call, uint64_t index);
  /* The bytes of the input on the host, brought there if necessary; only with PENSTOCK_ON_DEVICES can that be. */
  const void* (*host_input)(penstock_call* call, uint64_t index);
  /* Memory of the device for output number `index`, to be filled before returning, all work of streams included. The
   * output stays there for readers on the same device, and is copied to readers elsewhere. */
  uint64_t (*device_output)(penstock_call* call, uint32_t index, uint64_t bytes);

  /* Since ABI 3. */

  /* Number of the attempt: it only grows for a subtask, and is never used again, also over restarts of the
   * supervisor: a fencing token, equal to PENSTOCK_ATTEMPT of a command. */
  uint64_t attempt_number;
  /* A text that names this attempt among those of all jobs of all clusters, and that cannot be guessed before; equal
   * to PENSTOCK_ATTEMPT_ID of a command. Callable from any thread of the operator. */
  const char* (*attempt_id)(penstock_call* call);

  /* Since ABI 4; see penstock_yield_slot and penstock_take_slot_back below, which call these. */

  int (*yield_slot)(penstock_call* call);
  int (*take_slot_back)(penstock_call* call);
};

/* Results of the two functions below beside 0. The reason is recorded as by `fail`, but for PENSTOCK_SLOT_UNSUPPORTED
 * and a call from another thread. */
enum penstock_slot_error {
  PENSTOCK_SLOT_LIMIT = 12, /* As many runs of the band as may have lent theirs (worker.yields_max): it is kept. */
  PENSTOCK_SLOT_WRONG_STATE = 20, /* The slot is lent already, or is not lent, or no attempt runs on this thread. */
  PENSTOCK_SLOT_CANCELLED = 29,   /* The subtask is cancelled or out of time, and has no slot: return soon. */
  PENSTOCK_SLOT_UNSUPPORTED = 32  /* The worker was built before ABI 4, or lends no slots. */
};

/* Lends the slot to other subtasks while the operator waits for what one of them makes. From here to
 * penstock_take_slot_back it should only wait: the slot is lent with everything that the subtask requested beside
 * memory of the host (processors, a part of the device with its memory, named resources), and what it still uses of
 * these is used twice. The memory that it requested stays its own, so what it waits for has to fit beside it; its time
 * limit goes on. On the thread on which the operator was called only. Returns 0, or a penstock_slot_error; then it goes
 * on with its slot. */
static inline int penstock_yield_slot(penstock_call* call) {
  if (call == NULL) return PENSTOCK_SLOT_WRONG_STATE;
  return call->abi < 4u ? PENSTOCK_SLOT_UNSUPPORTED : call->yield_slot(call);
}

/* Waits until the operator has a slot again; among jobs of one priority it goes before all subtasks that have not
 * begun. Returns 0, or a penstock_slot_error. An operator that returns while its slot is lent need not take it back. */
static inline int penstock_take_slot_back(penstock_call* call) {
  if (call == NULL) return PENSTOCK_SLOT_WRONG_STATE;
  return call->abi < 4u ? PENSTOCK_SLOT_UNSUPPORTED : call->take_slot_back(call);
}

/* Returns 0 for success. Anything else, or a C++ exception, fails the attempt. */
typedef int (*penstock_operator_function)(penstock_call* call);

typedef struct penstock_operator {
  const char* name;
  penstock_operator_function run;
} penstock_operator;

typedef struct penstock_operator_table {
  uint32_t abi; /* PENSTOCK_OPERATOR_ABI */
  uint32_t count;
  const penstock_operator* operators;
} penstock_operator_table;

/* Defined by the library. */
const penstock_operator_table* penstock_operators(void);

/* Inputs that are only on the device stay there: they have `bytes` and no `data`. Without it all are first brought
 * to the host. */
#define PENSTOCK_ON_DEVICES 1u
/* May be defined by the library; the wishes apply to all of its operators. */
uint32_t penstock_operator_wishes(void);

#ifdef __cplusplus
}

namespace penstock {

/* The slot is lent for as long as it lives:
 *
 *     {
 *       penstock::SlotYield yielded(call);
 *       wait_for(what_another_subtask_makes);
 *     }
 *     if (call->cancelled(call)) return 1;
 */
class SlotYield {
 public:
  explicit SlotYield(penstock_call* call) : call_(call), error_(penstock_yield_slot(call)), lent_(error_ == 0) {}
  ~SlotYield() { take_back(); }
  SlotYield(const SlotYield&) = delete;
  SlotYield& operator=(const SlotYield&) = delete;

  /* 0, or why the slot was not lent (a penstock_slot_error): the operator goes on, and what it waits for may find none.
   */
  int error() const { return error_; }
  /* Waits for it now rather than at the end. 0 if there is nothing to wait for; else as penstock_take_slot_back. */
  int take_back() {
    if (!lent_) return 0;
    lent_ = false;
    return penstock_take_slot_back(call_);
  }

 private:
  penstock_call* call_;
  int error_;
  bool lent_;
};

}  // namespace penstock
#endif
#endif
