// Every kind of refusal, with one sentence of meaning each.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

/// DO NOT RENUMBER: the values travel on the wire and stand in the journal. Append only.
enum class ErrorCode : std::uint16_t {
  InvalidArgument = 1,     ///< A value is malformed or out of its documented range.
  ParseError = 2,          ///< A file or message does not follow its grammar; the subject gives line and column.
  UnknownKey = 3,          ///< A dependency or input names a key that the graph does not have.
  DuplicateKey = 4,        ///< Two subtasks or outputs have the same key.
  GraphCycle = 5,          ///< Subtasks depend on each other in a circle; the message names one.
  SelfDependency = 6,      ///< A subtask depends on itself.
  UnknownOperator = 7,     ///< No worker offers the native operator that a template names.
  ProgramNotFound = 8,     ///< The program of a command does not exist or may not be executed.
  RequestTooLarge = 9,     ///< No band can ever hold the request; the message names the nearest band.
  NoAvailableBand = 10,    ///< The required band, or every allowed one, is gone or excluded.
  MissingDevice = 11,      ///< The request needs a device kind that no worker has.
  LimitExceeded = 12,      ///< A configured limit (frame, graph, queue, batch) is exceeded; the message names it.
  MalformedFrame = 13,     ///< Bytes from a peer are no valid frame; the connection is dropped.
  VersionMismatch = 14,    ///< The peer speaks another protocol; both versions are named.
  StaleIncarnation = 15,   ///< The peer speaks for an earlier incarnation of a process and is fenced.
  Unreachable = 16,        ///< A host does not answer at the given address.
  AddressInUse = 17,       ///< The port to listen on is taken.
  NotFound = 18,           ///< No job, subtask, worker or band has that name.
  NameTaken = 19,          ///< A different job already has that name.
  WrongState = 20,         ///< The operation does not apply in the present state.
  StorageFull = 21,        ///< The disk of the state or spill directory is full; nothing was accepted.
  StorageDamaged = 22,     ///< A stored record fails its checksum; `--salvage` keeps what is intact.
  StorageLocked = 23,      ///< Another process holds the state directory; the message names its host and pid.
  UserError = 24,          ///< The user's program reported a failure.
  RunnerCrashed = 25,      ///< The runner died from a signal or left without a result.
  OutOfMemory = 26,        ///< The runner exceeded its memory limit and was ended.
  TimedOut = 27,           ///< The time limit passed.
  InputLost = 28,          ///< An input vanished and cannot be recomputed.
  Cancelled = 29,          ///< Ended by wish.
  ResourceExhausted = 30,  ///< The host has no more processes, threads or file descriptors to give.
  Disconnected = 31,       ///< The connection broke and did not come back in time.
  Unsupported = 32,        ///< This build or host cannot do it; the message says what is missing.
  Internal = 33,           ///< A defect of ours that was contained; please report it.
  UnknownGraph = 34,       ///< A graph that is to run again is not known (any more); it has to be sent whole.
  PermissionDenied = 35,   ///< The peer has not proved its identity, or its role or user has no right to this.
};

/// The name of the code as it is printed and as `--json` shows it, e.g. `GraphCycle`.
std::string_view to_string(ErrorCode code);

}  // namespace penstock
