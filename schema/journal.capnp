# What the supervisor keeps on disk. Each value in the storage is 8 bytes of checksum (XXH3, little-endian) and one of
# these messages (segment table first); `supervisor/store/journal.hpp` says under which keys.
@0xc6d0f1b7a35e2948;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("penstock::schema");
using Graph = import "graph.capnp";
using Control = import "control.capnp";
using Admin = import "admin.capnp";

# Beside the values below, the storage has an entry of its own, `~end`: number and chain of the last commit, two UInt64
# (little-endian, here and below). The file ANCHOR in its directory has two slots of 32 KiB, the newer of which is in force:
#   UInt64 magic "PANCHOR1" | UInt64 XXH3 of what follows the next number | UInt64 bytes of what follows |
#   UInt64 revision, higher in the newer slot | UInt64 number and UInt64 chain of the last commit that was promised |
#   UInt64 1 after a salvage or a restore until somebody begins to use it, else 0 |
#   UInt64 count of doubled entries, and of each: UInt64 bytes, key, UInt64 bytes, value |
#   UInt64 bytes, that commit as a write batch of RocksDB; 0: it was on the disk before the anchor told of it |
#   UInt64 1 after a salvage until somebody begins to use it, else 0; older versions end before. After a 1 what is missing:
#   UInt64 places that could not be read | UInt64 last commits that were promised | UInt64 1: whether there are such is not known.

struct JournalHead {
  format @0 :UInt32;        # 7: objects that programs share; 6: outputs are released one by one; 5: commits are numbered; 4: checkpoints, what is kept of policy; 3: graphs stand apart from jobs, packed; 2: changes of subtasks, times and orders; 1 had none.
                            # A reader refuses a larger one.
  nextJob @1 :UInt32;
}

struct JournalIdentity {
  state @0 :UInt64;         # Drawn once for a directory.
  life @1 :UInt64;          # Its term: grows with each supervisor that begins on it.
  branch @2 :UInt64;        # Drawn anew by a restore, a salvage and a cut; 0: written before there were branches.
}

struct WorkerRecord {
  worker @0 :UInt32;
  incarnation @1 :UInt64;
  name @2 :Text;
  sharedStorage @3 :Bool;
  drain @4 :UInt8;          # what an operator has ordered: 0 not known, 1 undrain, 2 drain
}

struct LostWriter {
  writer @0 :UInt64;        # Life of a worker whose checkpoints may be left.
}

struct JobAcceptedRecord {
  job @0 :UInt32;
  spec @1 :Graph.JobSpec;
  subtasks @2 :UInt32;
  chunks @3 :UInt32;        # Up to format 2: of its graph, each a `Graph.Graph` under a key of its own.
  submittedMs @4 :Int64;    # Unix time, here and below; 0 in format 1
  graphOf @5 :UInt32;       # The job that brought its graph; 0 up to format 2, where each has its own.
  scale @6 :UInt8;          # Of its priority: what stands for none in pools with 1 to 99; 255: any number; 0: not known.
  identity @7 :Control.JobIdentity;  # left out by versions before 0.2.0: see identify_jobs in supervisor/store/journal.hpp
}

struct GraphRecord {
  broughtBy @0 :UInt32;
  subtasks @1 :UInt32;
  chunks @2 :UInt32;        # Each under a key of its own: a `GraphChunk`.
}

struct GraphChunk {
  first @0 :UInt32;         # Number of its first subtask.
  subtasks @1 :UInt32;
  bare @2 :Graph.Graph;     # What is no column: templates and `wanted`; left out where there are none.
  packedBytes @3 :UInt64;   # Of `packed` before LZ4 has made one block of it; the same as its size: it has not.
  packed @4 :Data;          # A byte with a bit for each column, then the columns; see supervisor/store/graph_packing.cpp.
}

struct EndedSubtasks {
  counts @0 :Admin.JobCounts;
  succeeded @1 :List(UInt32);    # first, last, first, last, ...: ranges, ends included
  cancelled @2 :List(UInt32);    # the same
  failures @3 :List(Admin.SubtaskFailure);
  outputs @4 :List(Admin.OutputLocation);
  madeProducers @5 :List(UInt32);  # columns: element i of each belongs together
  madeOutputs @6 :List(UInt16);    # left out: all 0
  madeBytes @7 :List(Int64);
  checkpointProducers @8 :List(UInt32);  # columns again
  checkpointWriters @9 :List(UInt64);
}

struct SubtasksEndedRecord {
  job @0 :UInt32;
  ended @1 :EndedSubtasks;
}

struct JobChangedRecord {
  job @0 :UInt32;
  priority @1 :Int32;
  cancelling @2 :Bool;
  why @3 :Control.Error;
  hasPolicy @4 :Bool;       # those below are known
  weight @5 :UInt32;
  slotsMax @6 :UInt32;
  position @7 :Int64;       # 0: by its number
  qos @8 :Text;
  queue @9 :Text;
  onHold @10 :Bool;         # by an operator
  pool @11 :Text;           # of its list: where it was placed last; empty: nowhere yet
  unneeded @12 :Bool;       # it is to be released when it has ended
  preempted @13 :UInt64;    # attempts that policy has told to leave, over all lives
  hasUserFactor @14 :Bool;  # that below is known
  userFactor @15 :UInt32;   # thousandths
  scale @16 :UInt8;         # as in JobAcceptedRecord
  hasAccount @17 :Bool;     # that below is known
  account @18 :Text;        # charged with its use; empty: its owner's
  limitSinceMs @19 :Int64;       # since then its time limit counts, Unix time; 0: not yet
  hasTimeLimit @20 :Bool;   # that below is known
  timeLimitNs @21 :Int64;   # of the job; 0: none
  keptByOrder @22 :Bool;    # its outputs stay until another order
}

struct SubtaskChangedRecord {
  job @0 :UInt32;
  subtask @1 :UInt32;
  attempt @2 :UInt16;
  charged @3 :UInt16;
  lostWorkers @4 :UInt16;
  failures @5 :UInt16;
  lines @6 :List(Text);
  hasPriority @7 :Bool;
  priority @8 :Int32;
  cancelled @9 :Bool;
  attemptRest @10 :UInt64;  # as in control.capnp
}

struct JobEndedRecord {
  job @0 :UInt32;
  spec @1 :Graph.JobSpec;
  state @2 :UInt8;          # 1 succeeded, 2 failed, 3 cancelled
  ended @3 :EndedSubtasks;
  error @4 :Control.Error;
  submittedMs @5 :Int64;
  endedMs @6 :Int64;
  unneeded @7 :Bool;        # outputs are kept only for jobs that borrow them
  scale @8 :UInt8;          # as in JobAcceptedRecord
  identity @9 :Control.JobIdentity;  # the same
  keptSubtasks @10 :List(UInt32);    # columns: those whose outputs are kept, where the graph has keys; before 0.2.0 none
  keptKeys @11 :List(Text);
  keptByOrder @12 :Bool;    # as in JobChangedRecord
  graphOf @13 :UInt32;      # as in JobAcceptedRecord, of a job that did not succeed: its graph is kept for another run; 0: it is not
}

struct OutputsReleasedRecord {
  job @0 :UInt32;
  subtasks @1 :List(UInt32);     # first, last, first, last, ...: ranges, ends included, in ascending order
}

struct OrderRecord {
  number @0 :UInt64;
  atMs @1 :Int64;
  who @2 :Text;
  order @3 :Text;
  outcome @4 :Text;
}

# A part of the objects that programs share by name: SharedKind of records.hpp.
struct SharedRecord {
  kind @0 :UInt8;
  name @1 :Text;
  owner @2 :Text;    # of a holder, its own name; of a subscription with its items, and of puts, the session
  number @3 :UInt64; # of an item, in the order of its queue
  session @4 :Text;  # of a holder; of an item that was taken, the session that has it
  taken @5 :UInt64;  # the number by which that session has taken it
  limit @6 :UInt32;  # of a semaphore
  value @7 :Text;    # of a variable or an item; of puts, their numbers, each with a space behind it
}

struct PolicyRecord {
  atMs @0 :Int64;
  usage @1 :List(AccountUsage);
  quotas @2 :List(ProjectQuota);
  settings @3 :List(ProjectSetting);  # other than quotas of slots
  shares @4 :List(AccountShares);
}

struct AccountUsage {
  account @0 :Text;
  # Decayed until then, each for itself:
  slotSeconds @1 :Float64;  # of CPU bands; in records without a user, of all bands
  user @2 :Text;
  gpuSlotSeconds @3 :Float64;
  memoryGibSeconds @4 :Float64;
  mostSeconds @5 :Float64;  # weighted: of each run only what weighed most when it was charged
}

struct ProjectQuota {
  project @0 :Text;
  slots @1 :Int64;
}

struct ProjectSetting {
  project @0 :Text;
  what @1 :UInt8;  # 1: GPU slots, 2: bytes of memory, that are guaranteed; 3: weight in thousandths
  amount @2 :Int64;
}

struct AccountShares {
  account @0 :Text;
  shares @1 :Int64;
}
