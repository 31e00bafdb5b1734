// The supervisor's records in a storage, and the way back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/storage/storage.hpp"
#include "supervisor/core/records.hpp"

namespace penstock::supervisor {

/// Keys, all numbers big-endian so that the order of bytes is theirs:
///   `a` number(8)                      an order of an operator, and its result
///   `c` incarnation(8)                 a lost incarnation of a worker, which may have left checkpoints
///   `h`                                the head: format and next job number
///   `i`                                the identity of the state, and the number of its terms
///   `o` kind(1) name 0 owner 0 number(8)  a part of the objects that programs share
///   `p`                                policy state that survives a restart: use by account, and quotas that were set
///   `w` worker(4)                      a worker that may hold work; `wn`: the next number of one
///   `j` job(4) `a`                     the job as it was accepted
///   `j` job(4) `c`                     its last change
///   `j` job(4) `b` subtask(4)          the changes of a subtask that has not ended
///   `j` job(4) `e` number(8)           subtasks that ended, one entry for each record
///   `j` job(4) `g` chunk(4)            its graph, as up to format 2
///   `j` job(4) `r` number(8)           outputs that were released before their job, one entry for each record
///   `j` job(4) `z`                     its end; takes the place of all entries before
///   `k` job(4)                         a graph, under the number of the job that brought it: its head; kept as long as
///                                      a job needs it, or for being submitted or run again
///   `k` job(4) chunk(4)                its parts
/// Bytes of a key that tell jobs apart; a storage that keeps keys with another beginning in other blocks loses one job
/// with one block (`RocksdbOptions::apart_bytes`).
constexpr std::size_t kJobKeyBytes = 5;
/// The number of jobs with entries in one merged file (`RocksdbOptions::apart_in_files`): records are small and
/// adjacent, so one file would have those of all jobs.
constexpr unsigned kJobsInFile = 32;

/// Keys of the entries that a journal cannot be salvaged without: the head, with the number of the next job, and the
/// identity of the state (`RocksdbOptions::doubled`).
std::vector<std::string> doubled_keys();

/// Appends the changes of a record to `batch`. `number` grows from record to record, also over restarts; see
/// `Recovered`.
void write_record(const Record& record, std::uint64_t number, StorageBatch& batch);

/// One thing that could not be read.
struct JournalLoss {
  JobId job;               ///< None: something that belongs to no job.
  std::string name;        ///< Of the job, if it could be read.
  bool whole_job = false;  ///< False: the job goes on, without the parts in `what`.
  std::string what;
  JobId last{};  ///< None, or all jobs from `job` to this one are meant.
};
/// As the command line prints it.
std::string to_string(const JournalLoss& loss);

/// Of a journal: all supervisors that go on from it have the same `state`, each a higher `life`, which is its term.
/// Workers and clients carry over their knowledge only to a term of the same branch.
struct JournalIdentity {
  std::uint64_t state = 0;
  std::uint64_t branch = 0;  ///< 0: written before there were branches, or none has begun.
  std::uint64_t life = 0;    ///< 0: none has begun.
  friend bool operator==(const JournalIdentity&, const JournalIdentity&) = default;
};

/// The state does not go on from where it was left: it was restored, salvaged or cut, or an operator wants it so. No
/// one adopts what another branch has begun. Terms go on above `unix_s`, the seconds of the Unix clock: above those of
/// every branch that goes on from the same backup, so attempt numbers stay unique. `entropy` is random. The caller has
/// the identity written, at the latest by `begin_life`.
void renew_branch(JournalIdentity& identity, std::uint64_t entropy, std::int64_t unix_s);

struct Recovered {
  RecoveredState state;
  std::uint64_t next_number = 1;
  std::vector<JournalLoss> losses;
  JournalIdentity identity;
};

/// The numbers in the doubled entries; 0 where they are missing or damaged.
struct Headline {
  JobId next_job = JobId::none();
  JournalIdentity identity;
};
Headline read_headline(const std::map<std::string, std::string, std::less<>>& doubled);

enum class Damage : std::uint8_t {
  Refuse,   ///< The first damaged record is an error.
  Salvage,  ///< Every intact job is kept, the others are listed and taken out of the storage.
};

/// Reads everything, and takes out of the storage the graphs that are of no unfinished or failed job. Errors:
/// StorageDamaged (names the job and the way out), VersionMismatch (the journal is of a newer version), and those of
/// the storage.
Result<Recovered> recover(Storage& storage, Damage damage);

/// Records that a new term goes on from the result of `recover`, before the supervisor tells any peer. `entropy` is
/// random: it names a journal that has no name or no branch yet. Errors: those of the storage.
Result<JournalIdentity> begin_life(Storage& storage, const Recovered& recovered, std::uint64_t entropy);

/// Versions before 0.2.0 wrote no identities of jobs. Such jobs get identities that every term derives from unchanging
/// facts: the name of the state, which is `identity`'s once a term has begun, their number and their time.
void identify_jobs(RecoveredState& state, const JournalIdentity& identity);

}  // namespace penstock::supervisor
