# What a worker and its runners, long-lived child processes, say to each other.
#
# Over a stream socket that the child finds as its standard input, each message after 16 bytes of header, little-endian:
# magic `PNSR` u32 | message bytes u32 | descriptors u32 | 0 u32. The descriptors travel with the header (SCM_RIGHTS) and
# are named by their number in the message: each is a memory segment, sealed before it is sent, never changed again.
#
# The child speaks first: `hello`. It gets `batch`es of runs, whose programs are sent once for each child and then named
# by their hash, and answers each run with one end, in any batches and in order. A child that reads the end of the stream
# leaves. SIGINT: stop the present run. Anything else that it says ends it, and fails the run that it has.
#
# A run with `mayYield` may lend its slot while it waits for nested work: the child says `slot` with `lends`, and with
# `lends` false when it wants the slot back, and waits each time for the answer in `slot` of a message without runs.
@0xe9a4d0c3b17f2685;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("penstock::schema");

using Control = import "control.capnp";

struct RunnerDatum {
  union {
    bytes @0 :Data;
    segment :group {
      descriptor @1 :UInt32;
      size @2 :UInt64;
    }
  }
}

struct RunnerProgram {
  hash @0 :UInt64;
  content @1 :Data;
}

struct RunnerRun {
  ticket @0 :UInt64;
  program @1 :UInt64;
  job @2 :UInt32;
  subtask @3 :UInt32;
  attempt @4 :UInt16;
  outputCount @5 :UInt16;
  payload @6 :Data;
  inputs @7 :List(RunnerDatum);
  attemptRest @8 :UInt64;            # as in control.capnp
  identity @9 :Control.JobIdentity;  # of the job
  mayYield @10 :Bool;                # The worker knows `slot`.
}

struct RunnerSlot {
  ticket @0 :UInt64;                 # Of the run that the child has.
  lends @1 :Bool;                    # False: it wants its slot back.
}

struct RunnerSlotAnswer {
  ticket @0 :UInt64;
  code @1 :UInt16;                   # 0: as it was asked. Else an ErrorCode: WrongState, LimitExceeded, Cancelled.
  message @2 :Data;                  # With a code: one line for people.
  remedy @3 :Data;
}

struct ToRunner {
  programs @0 :List(RunnerProgram);
  runs @1 :List(RunnerRun);
  forgotten @2 :List(UInt64);        # Hashes of programs that will not be named again.
  slot @3 :RunnerSlotAnswer;         # Absent: nothing was asked.
}

struct RunnerOutput {
  output @0 :UInt16;
  datum @1 :RunnerDatum;
}

struct RunnerEnd {
  ticket @0 :UInt64;
  succeeded @1 :Bool;
  interrupted @2 :Bool;              # It was stopped by a signal.
  runNs @3 :UInt64;
  outputs @4 :List(RunnerOutput);
  message @5 :Data;                  # Of a failure: one line for people.
  detail @6 :Data;                   # Of a failure: for the engine that wrote the program.
  peakBytes @7 :UInt64;              # The most memory that the process had resident while it ran; 0: unknown.
  code @8 :UInt16;                   # Of a failure: an ErrorCode; 0, or one that the reader does not know: nothing is said.
}

struct FromRunner {
  union {
    hello :group {
      major @0 :UInt16;
      minor @1 :UInt16;
      language @2 :Text;             # `python`
      version @3 :Text;              # `3.11.2`
    }
    ends @4 :List(RunnerEnd);
    slot @5 :RunnerSlot;
  }
}
