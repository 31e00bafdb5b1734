# Graphs as engines submit them.
#
# A graph travels in chunks of at most about 1 MiB. Each chunk is a `Graph` whose columns continue those of the chunks
# before it; `templates` of a chunk continue the numbering, too. Nothing is accepted before the whole graph was checked.
@0xb1f5ae0c5d7a4c11;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("penstock::schema");

struct NamedAmount {
  name @0 :Text;
  amount @1 :Int64;
}

struct ResourceVector {
  # All amounts are integers and not negative.
  milliSlots @0 :Int64;
  milliCpu @1 :Int64;
  milliGpu @2 :Int64;
  memoryBytes @3 :Int64;
  deviceMemoryBytes @4 :Int64;
  named @5 :List(NamedAmount);
}

struct BandSelector {
  # Empty fields allow any.
  worker @0 :Text;
  band @1 :Text;
}

struct Template {
  # The part that many subtasks share.
  name @0 :Text;
  runner @1 :UInt8;               # 0 native, 1 command, 2 process
  program @2 :Text;               # operator name, or program
  arguments @3 :List(Text);
  environment @4 :List(Text);     # NAME=value
  workingDirectory @5 :Text;
  standardInput @6 :Data;
  payload @7 :Data;
  request @8 :ResourceVector;
  required @9 :BandSelector;
  preferred @10 :BandSelector;
  priority @11 :Int32;
  attemptsMax @12 :UInt16;        # 0: the supervisor's default
  retryable @13 :Bool = true;
  onFailure @14 :UInt8;           # 0 fail the job, 1 continue
  timeLimitNs @15 :Int64;
  killGraceNs @16 :Int64;
  expectedDurationNs @17 :Int64;
  outputCount @18 :UInt16 = 1;
  outputLimitBytes @19 :Int64;
  replicas @20 :UInt16 = 1;
  checkpoint @21 :Bool;
  memoryMaxBytes @22 :Int64;      # what attempts may have that ran out of memory; 0: no more than the others
  overlap @23 :UInt8;             # while the worker is cut off: 0 allow, 1 never
}

struct Graph {
  # Columns: element i belongs to subtask i of this chunk. A column that says nothing new is left out:
  # no `templateOf`: all are of template 0; no `inputOffsets`: no subtask has inputs; the others: see protocol/graph.hpp.
  subtaskCount @0 :UInt32;
  templates @1 :List(Template);
  templateOf @2 :List(UInt32);
  inputOffsets @3 :List(UInt32);    # subtaskCount + 1, into predecessors
  predecessors @4 :List(UInt32);
  edgeOutputs @5 :List(UInt16);     # 0xffff: an order edge
  priorities @6 :List(Int32);
  expectedNs @7 :List(UInt64);
  payloadOffsets @8 :List(UInt32);
  payloads @9 :Data;
  nameOffsets @10 :List(UInt32);
  names @11 :Data;
  wanted @12 :List(UInt32);
}

struct ParentRun {
  job @0 :UInt32;
  subtask @1 :UInt32;
  attempt @2 :UInt64;
  identityHigh @3 :UInt64;          # of the run's job
  identityLow @4 :UInt64;
  depth @5 :UInt32;                 # runs above the job; as the supervisor counts them
}

struct Secret {
  name @0 :Text;
  value @1 :Data;                   # sealed where a supervisor keeps it
}

struct EarlierRun {
  job @0 :UInt32;
  state @1 :UInt8;                  # as in admin.capnp
  submittedMs @2 :Int64;            # Unix time
  endedMs @3 :Int64;
}

struct JobRuns {
  number @0 :UInt32 = 1;
  earlier @1 :List(EarlierRun);     # the last ones, oldest first
  wholeLow @2 :UInt64;              # of a run of a part of a graph: the graph, as in submitAgain of admin.capnp; 0: it runs all
  wholeHigh @3 :UInt64;
}

struct JobSpec {
  name @0 :Text;
  owner @1 :Text;
  priority @2 :Int32;
  keep @3 :UInt8;                   # 0 sinks, 1 wanted, 2 nothing
  waitForResources @4 :Bool;
  trace @5 :Bool;
  project @6 :Text;
  account @7 :Text;
  pool @8 :Text;
  weight @9 :UInt32;                # thousandths; 0: the project's
  slotsMax @10 :UInt32;             # 0: no cap
  gang @11 :UInt32;                 # slots at once or none; 0: any number
  kind @12 :UInt8;                  # 0 training, 1 interactive, 2 inference
  preemptible @13 :UInt8;           # 0 by kind, 1 yes, 2 no
  qos @14 :Text;                    # empty: normal
  queue @15 :Text;                  # empty: none
  userFactor @16 :UInt32 = 1000;    # thousandths
  poolsAfter @17 :List(Text);       # by preference, behind `pool`
  labels @18 :List(Text);           # it runs on workers with one of these; empty: on any
  graceNs @19 :Int64;               # of its preempted subtasks; 0: the policy's
  submitter @20 :UInt64;            # drawn by who submits, for as long as it lives; 0: it does not say
  timeLimitNs @21 :Int64;           # of the whole job, from when it first runs something; 0: none
  gangMax @22 :UInt32;              # slots up to which the gang grows; 0: it does not
  together @23 :Text;               # of a gang: on one `host`, or on workers with one label of this pattern; empty: anywhere
  gangGroups @24 :UInt32;           # of a gang that stays together: so many groups, each on one; 0: it is one
  parent @25 :ParentRun;            # the run that submits the job, which ends with it; null: none
  secrets @26 :List(Secret);        # variables of its programs
  share @27 :Text;                  # users of this group may do with it what its owner may
  nameUse @28 :UInt8;               # of a name that a job has: 0 that job if it does the same, 1 replace an ended one, 2 number, 3 run it again
  # Of what a client says the supervisor takes none of these:
  contentLow @29 :UInt64;           # hash of all that decides the work: common/protocol/graph_hash.hpp; 0: older versions
  contentHigh @30 :UInt64;
  runs @31 :JobRuns;                # null: the first run
}
