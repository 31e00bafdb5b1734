# What supervisors and workers say to each other.
#
# Protocol, from the worker's side. It connects and sends `Introduction.hello`; the supervisor answers `welcome` or
# `refusal`. On a new link the worker's first message is `register`; the answer `registerReply` names it. From then on the
# supervisor sends `assignBatch`es: subtasks that can run and a lookahead of their successors with the inputs that are
# missing. The worker starts successors by itself and says everything in one ordered stream of `reportBatch`es; the
# supervisor answers each with `reportsApplied`, until when the worker remembers what has finished. Sequence numbers,
# acknowledgement and resending are in the frame header (see README.md), not here.
#
# A worker outlives its supervisor. If `welcome` names the same state and branch with a higher life, the worker's first message on the
# new link is `register` with `reclaims`, then all reports that it has no `reportsApplied` for, then `claim`s up to `last`.
#
# Unknown members of the unions are ignored by an older peer of the same major version.
@0xd3c2f1a09b8e7766;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("penstock::schema");
using Graph = import "graph.capnp";

struct JobIdentity {
  # 128 random bits; both 0, or left out: not said.
  high @0 :UInt64;
  low @1 :UInt64;
}

# An attempt has 64 bits. Fields called `attempt` have the low 16 of them, `attemptRest` the others, shifted down by 16; it
# is 0 in what peers before protocol 1.4 say. `attemptRests` are columns: left out, all are 0; of one element, all are that.

struct Error {
  code @0 :UInt16;
  subject @1 :Text;
  message @2 :Text;
  remedy @3 :Text;
}

struct Introduction {
  union {
    hello :group {
      major @0 :UInt16;
      minor @1 :UInt16;
      softwareVersion @2 :Text;
      role @3 :UInt8;                # 0 worker, 1 client
      name @4 :Text;
      host @5 :Text;
      processId @6 :UInt64;
      incarnation @7 :UInt64;
      peer @8 :UInt64;               # all ones: none
      receivedThrough @9 :UInt64;
      startsAsUsers @27 :Bool;       # from 1.12: a worker that wants `notice.credentials`
    }
    welcome :group {
      major @10 :UInt16;
      minor @11 :UInt16;
      softwareVersion @12 :Text;
      incarnation @13 :UInt64;
      resumed @14 :Bool;
      receivedThrough @15 :UInt64;
      heartbeatNs @16 :Int64;
      state @18 :UInt64;
      life @19 :UInt64;
      branch @20 :UInt64;
    }
    refusal @17 :Error;
    join :group {                    # in place of hello, from 1.10
      major @21 :UInt16;
      token @22 :Text;
      publicKey @23 :Data;
      user @24 :Text;
      proof @30 :Text;               # from 1.12: a credential of MUNGE, beside the token `penstock-CLUSTER-munge`
    }
    joined :group {
      certificate @25 :Text;
      authority @26 :Text;
    }
    notice :group {                  # from 1.12: to a linked worker, at any time; earlier ones ignore it
      revoked @28 :List(Text);       # serial numbers of certificates, added to those of before
      credentials @29 :List(RunCredential);
    }
  }
}

struct RunCredential {
  user @0 :Text;
  pem @1 :Text;                      # key, certificate and authority
}

struct BandDescription {
  name @0 :Text;
  kind @1 :UInt8;                    # 0 cpu, 1 gpu
  capacity @2 :Graph.ResourceVector;
  memoryHardLimitBytes @3 :Int64;
  numaNode @4 :UInt32;
  deviceUuid @5 :Text;                # of the first device, for supervisors from before 1.6
  deviceName @6 :Text;
  pciAddress @7 :Text;
  devices @8 :List(DeviceDescription);
}

struct DeviceDescription {
  uuid @0 :Text;
  name @1 :Text;
  pciAddress @2 :Text;
  memoryBytes @3 :Int64;
  numaNode @4 :UInt32;
  linked @5 :UInt32;                  # those with the same number by NVLink; 0: by none
}

struct OperatorCrash {
  life @0 :UInt64;                   # of the worker that died
  job @1 :UInt32;
  subtask @2 :UInt32;
  attempt @3 :UInt16;
  signal @4 :Int32;
  message @5 :Text;
  attemptRest @6 :UInt64;
}

struct Register {
  name @0 :Text;
  host @1 :Text;
  dataAddress @2 :Text;
  bands @3 :List(BandDescription);
  operators @4 :List(Text);
  reclaims @5 :Bool;
  sharedStorage @6 :Bool;
  crash @7 :OperatorCrash;           # why this process began another life; null: no operator's fault
  storeBytesMax @8 :Int64;           # of its store's memory; 0: it does not say
  labels @9 :List(Text);             # what jobs and projects may limit themselves to
  logQuestions @10 :Bool;            # it understands `log`; else `explain` without a subtask asks for one
  barriers @11 :Bool;                # it reserves for a gang and answers; else what it is entitled to starts at once
  keepsToDevices @12 :Bool;          # it follows `Entitlement.deviceSlots` and names the devices of its runs
  users @13 :List(Text);             # it runs jobs of these users only; none: of any
}

struct AssignedInput {
  producer @0 :UInt32;
  output @1 :UInt16;
  place @2 :UInt16;                  # 0 missing, 1 here, 2 remote
  location @3 :UInt32;
  bytes @4 :Int64;
}

struct Assignment {
  subtask @0 :UInt32;
  templateIndex @1 :UInt32;
  priority @2 :UInt64;
  inputCount @3 :UInt32;
  payloadBytes @4 :UInt32;
  attempt @5 :UInt16;
  band @6 :UInt16;
  cached @7 :Bool;
  omittedInputs @8 :UInt16;
}

struct TemplateDefinition {
  index @0 :UInt32;
  content @1 :Graph.Template;
}

struct AssignBatch {
  job @0 :UInt32;
  jobPriority @1 :Int32;
  jobName @2 :Text;
  templates @3 :List(TemplateDefinition);
  assignments @4 :List(Assignment);
  inputs @5 :List(AssignedInput);
  payloads @6 :Data;
  trace @7 :Bool;
  attemptRests @8 :List(UInt64);     # of `assignments`
  identity @9 :JobIdentity;
  owner @10 :Text;                   # the user that the job belongs to; as `jobName`
  secrets @11 :List(Graph.Secret);   # variables of its programs; as `jobName`
}

struct InputNotice {
  producer @0 :UInt32;
  output @1 :UInt16;
  location @2 :UInt32;
  bytes @3 :Int64;
}

struct AttemptRef {
  subtask @0 :UInt32;
  attempt @1 :UInt16;
  attemptRest @2 :UInt64;
}

struct DataRef {
  producer @0 :UInt32;
  output @1 :UInt16;
}

struct Entitlement {
  job @0 :UInt32;
  band @1 :UInt16;
  milliSlots @2 :Int64;
  fairRank @3 :Int32;
  barrier @4 :UInt64;                # not 0: of a gang: reserve them, answer, and start nothing before this is said without one
  barrierMaxNs @5 :Int64;            # by then the supervisor has given it up, or counts who has not heard so as lost
  milliGpu @6 :Int64;                # of a device, to be reserved with the slots
  deviceMemoryBytes @7 :Int64;
  milliCpu @8 :Int64;                # this, too; members of an older worker's wait for it after they have begun
  named @9 :List(Graph.NamedAmount);
  patienceNs @10 :Int64;             # who has no more of these, or of memory for its members, after so long answers for the rest
  deviceSlots @11 :List(UInt16);     # of a band with several devices: thousandths of slots on each of them; empty: on any
}

struct PriorityChange {
  subtask @0 :UInt32;
  priority @1 :UInt64;
}

struct PeerAddress {
  worker @0 :UInt32;
  dataAddress @1 :Text;
}

struct KeepDatum {
  producer @0 :UInt32;
  output @1 :UInt16;
  location @2 :UInt32;               # all ones: shared storage, where `writer` has put it
  bytes @3 :Int64;
  writer @4 :UInt64;
}

struct ToWorker {
  union {
    registerReply :group { worker @0 :UInt32; }
    assignBatch @1 :AssignBatch;
    inputNotices :group { job @2 :UInt32; notices @3 :List(InputNotice); }
    cancel :group {
      job @4 :UInt32;
      wholeJob @5 :Bool;
      attempts @6 :List(AttemptRef);
      killAfterNs @7 :Int64;
      alone @26 :Bool;
      preempt @29 :Bool;
    }
    priority :group {
      job @8 :UInt32;
      changeJob @9 :Bool;
      jobPriority @10 :Int32;
      changes @11 :List(PriorityChange);
    }
    entitlements :group { version @12 :UInt64; list @13 :List(Entitlement); }
    steal :group { job @14 :UInt32; attempts @15 :List(AttemptRef); }
    drop :group { job @16 :UInt32; lost @17 :Bool; data @18 :List(DataRef); }
    forgetJob :group { job @19 :UInt32; }
    reportsApplied :group { through @20 :UInt64; }
    drain :group { enabled @21 :Bool; }
    explain :group { question @22 :UInt64; job @23 :UInt32; subtask @24 :UInt32; }
    peers @25 :List(PeerAddress);
    keep :group { job @27 :UInt32; data @28 :List(KeepDatum); identity @33 :JobIdentity; }  # identity: from 1.13
    removeCheckpoints @30 :List(UInt64);  # lives of workers that are gone
    log :group { question @31 :UInt64; job @32 :UInt32; }
  }
}

struct AttemptReport {
  subtask @0 :UInt32;
  runUs @1 :UInt32;
  attempt @2 :UInt16;
  outputCount @3 :UInt16;
  outcome @4 :UInt8;                 # 0 started, 1 succeeded, 2 failed, 3 cancelled, 4 returned
  forward @5 :UInt8;                 # see protocol/report.hpp
  band @6 :UInt16;
}

struct OutputReport {
  bytes @0 :Int64;
  output @1 :UInt16;
}

struct FailureDetail {
  failure @0 :UInt8;
  exitCode @1 :Int32;
  signal @2 :Int32;
  peakMemoryBytes @3 :Int64;
  lostProducer @4 :UInt32;
  message @5 :Data;
  outputTail @6 :Data;
  detail @7 :Data;
  code @8 :UInt16;                   # An ErrorCode; 0, or one that the reader does not know: nothing is said.
  outputsBytes @9 :Int64;            # Of outputs that were larger than the worker's store.
}

struct AttemptTrace {
  # Microseconds of the worker's clock.
  subtask @0 :UInt32;
  attempt @1 :UInt16;
  band @2 :UInt16;
  lane @3 :UInt16;
  arrivedUs @4 :UInt64;
  readyUs @5 :UInt64;
  startedUs @6 :UInt64;
  endedUs @7 :UInt64;
  attemptRest @8 :UInt64;
}

struct JobReports {
  job @0 :UInt32;
  attempts @1 :List(AttemptReport);
  outputs @2 :List(OutputReport);
  failures @3 :List(FailureDetail);
  traces @4 :List(AttemptTrace);
  attemptRests @5 :List(UInt64);     # of `attempts`
  identity @6 :JobIdentity;
  deviceSets @7 :List(UInt16);       # of `attempts`: a bit for each device of its band; empty: no run has some of several
  slotStates @8 :List(UInt8);        # of started `attempts`: 0 has its slot, 1 has lent it, 2 wants it again; empty: all have
}

struct BandLoad {
  band @0 :UInt16;
  cached @1 :UInt32;
  queued @2 :UInt32;
  preparing @3 :UInt32;
  ready @4 :UInt32;
  running @5 :UInt32;
  quotaUsedBytes @6 :Int64;
  storeUsedBytes @7 :Int64;
  yielded @8 :UInt32;
}

struct WorkerCounters {              # see protocol/worker_counters.hpp
  assigned @0 :UInt64;
  started @1 :UInt64;
  succeeded @2 :UInt64;
  failed @3 :UInt64;
  cancelled @4 :UInt64;
  returned @5 :UInt64;
  stale @6 :UInt64;
  forwardHits @7 :UInt64;
  forwardMisses @8 :List(UInt64);    # by `forward` of AttemptReport
  fetches @9 :UInt64;
  demoted @10 :UInt64;
  exclusive @11 :UInt64;
  reliefSteps @12 :UInt64;
  grown @13 :UInt64;
  spills @14 :UInt64;
  roomWaits @15 :UInt64;
}

struct ReplicaReport {
  job @0 :UInt32;
  producer @1 :UInt32;
  output @2 :UInt16;
  checkpoint @3 :Bool;               # on shared storage
}

struct ClaimedJob {
  job @0 :UInt32;
  subtasks @1 :List(UInt32);         # columns: element i of each belongs together
  attempts @2 :List(UInt16);
  bands @3 :List(UInt16);
  stages @4 :List(UInt8);            # 0 waiting, 1 queued, 2 running
  producers @5 :List(UInt32);        # the same
  outputs @6 :List(UInt16);
  bytes @7 :List(Int64);
  attemptRests @8 :List(UInt64);     # of `attempts`
  identity @9 :JobIdentity;
  deviceSets @10 :List(UInt16);      # as in `JobReports`
}

struct FromWorker {
  union {
    register @0 :Register;
    reportBatch :group {
      number @1 :UInt64;
      jobs @2 :List(JobReports);
      replicas @3 :List(ReplicaReport);
      loads @4 :List(BandLoad);
      counters @20 :WorkerCounters;  # with loads; none: not said
    }
    drainState :group { draining @5 :Bool; empty @6 :Bool; }
    explanation :group { question @7 :UInt64; known @8 :Bool; state @9 :Text; reason @10 :Text; }
    claim :group { last @11 :Bool; draining @12 :Bool; claimed @13 :List(ClaimedJob); }
    logAnswer :group { question @14 :UInt64; lines @15 :Data; }
    barrierAnswer :group { job @16 :UInt32; band @17 :UInt16; barrier @18 :UInt64; milliSlots @19 :Int64; }  # 0: given back
  }
}

struct ToWorkerFrame { messages @0 :List(ToWorker); }
struct FromWorkerFrame { messages @0 :List(FromWorker); }
