# What clients and operators say to a supervisor, and what it tells them.
#
# A client submits a graph as a sequence of `submit` messages with one `submission` number; exactly one `submitReply`
# answers the last. From then on `progress` messages tell which subtasks have ended, each once. `admin` requests carry a
# command as words and are answered by one `answer`, whose value is a tree like JSON.
@0xa4e19c37f0d25b88;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("penstock::schema");
using Graph = import "graph.capnp";
using Control = import "control.capnp";

struct JobSelector {
  id @0 :UInt32 = 0xffffffff;
  name @1 :Text;
}

struct FromClient {
  union {
    submit :group {
      submission @0 :UInt64;
      first @1 :Bool;
      last @2 :Bool;
      spec @3 :Graph.JobSpec;
      graph @4 :Graph.Graph;
      # Of the first: what the whole graph comes to; all 0: not told.
      wholeSubtasks @17 :UInt64;
      wholeEdges @18 :UInt64;
      wholeTemplates @19 :UInt64;
      wholePayloadBytes @20 :UInt64;
      wholeNameBytes @21 :UInt64;
      wholeWanted @22 :UInt64;
    }
    submitAgain :group {
      submission @5 :UInt64;
      like @6 :JobSelector;               # only when both halves of the hash are 0
      spec @7 :Graph.JobSpec;
      graphLow @14 :UInt64;               # the graph by its content: common/protocol/graph_hash.hpp
      graphHigh @15 :UInt64;
    }
    attach :group { request @8 :UInt64; job @9 :JobSelector; identity @24 :Control.JobIdentity; }
    release :group { job @10 :UInt32; identity @25 :Control.JobIdentity; }
    admin :group { request @11 :UInt64; command @12 :Text; arguments @13 :List(Text); who @16 :Text; }
    unfollow :group { job @23 :UInt32; identity @26 :Control.JobIdentity; }  # from minor version 2
    releaseOutputs :group {               # from minor version 8
      job @27 :UInt32;
      identity @28 :Control.JobIdentity;
      subtasks @29 :List(UInt32);         # first, last, first, last, ...: ranges, ends included, in ascending order
    }
  }
}

struct JobCounts {
  total @0 :UInt64;
  succeeded @1 :UInt64;
  failed @2 :UInt64;
  cancelled @3 :UInt64;
  assigned @4 :UInt64;
  attempts @5 :UInt64;
  forwardHits @6 :UInt64;
  forwardMisses @7 :UInt64;
  runUs @8 :UInt64;
}

struct OutputLocation {
  producer @0 :UInt32;
  output @1 :UInt16;
  bytes @2 :Int64;
  dataAddress @3 :Text;
}

struct SubtaskTrace {
  worker @0 :UInt32;
  run @1 :Control.AttemptTrace;
}

struct SubtaskFailure {
  subtask @0 :UInt32;
  name @1 :Text;
  history @2 :List(Text);
  last @3 :Control.FailureDetail;
}

struct Value {
  union {
    null @0 :Void;
    boolean @1 :Bool;
    integer @2 :Int64;
    number @3 :Float64;
    text @4 :Text;
    list @5 :List(Value);
    record @6 :List(Field);
  }
  struct Field {
    name @0 :Text;
    value @1 :Value;
  }
}

struct ToClient {
  # `retryAfterUs`: of a refusal that time undoes, the same message may pass after so many microseconds; 0: it would not.
  union {
    submitReply :group { submission @0 :UInt64; job @1 :UInt32; existed @2 :Bool; refusal @3 :Control.Error; ours @20 :Bool; identity @21 :Control.JobIdentity; retryAfterUs @23 :UInt64; }
    attachReply :group { request @4 :UInt64; job @5 :UInt32; subtaskCount @6 :UInt64; refusal @7 :Control.Error; identity @22 :Control.JobIdentity; retryAfterUs @24 :UInt64; }
    progress :group {
      job @8 :UInt32;
      state @9 :UInt8;                     # 0 running, 1 succeeded, 2 failed, 3 cancelled
      counts @10 :JobCounts;
      succeeded @11 :List(UInt32);         # first, last, first, last, ...: ranges, ends included
      cancelled @12 :List(UInt32);         # the same
      failures @13 :List(SubtaskFailure);
      outputs @14 :List(OutputLocation);
      error @15 :Control.Error;
      traces @16 :List(SubtaskTrace);
    }
    answer :group { request @17 :UInt64; value @18 :Value; refusal @19 :Control.Error; retryAfterUs @25 :UInt64; }
  }
}

struct FromClientFrame { messages @0 :List(FromClient); }
struct ToClientFrame { messages @0 :List(ToClient); }
