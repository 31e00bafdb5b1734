// The worker's knowledge of data: which inputs and outputs are here, spilled or elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/lookup_map.hpp"
#include "common/base/slab.hpp"
#include "common/base/units.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

using DatumIndex = Id<struct DatumTag, std::uint32_t>;

/// The place of a datum, seen from this worker.
enum class DatumPlace : std::uint8_t {
  Remote,     ///< On worker `location`.
  Waiting,    ///< Wanted from there; the transfer waits for its turn.
  Fetching,   ///< On its way.
  Here,       ///< In memory.
  Spilled,    ///< On our disk.
  Restoring,  ///< On its way back to memory.
};

/// One datum with bytes; empty outputs have none.
struct Datum {
  DataKey key;
  JobSlot job;
  Bytes bytes;
  WorkerId location;
  std::uint64_t made = 0;  ///< Order in which data became known.
  std::uint32_t pins = 0;  ///< Records that need it in memory: it does not leave before the last ends.
  DatumPlace place = DatumPlace::Remote;
  bool drop_wanted = false;  ///< To be dropped with the last pin.
  bool loss_wanted = false;  ///< To be dropped and found lost with the last pin; a datum that is made here anew is not.
  bool on_disk = false;      ///< The disk has it, whether memory has it or not.
  bool spilling = false;     ///< Here, and on its way to disk.
  bool keep = false;         ///< To be brought here even without a waiting record.
  DatumIndex next_of_job;    ///< List of the job's data.
  DatumIndex previous_of_job;
  std::vector<RecordIndex> waiters;  ///< Records that wait for the datum before they are prepared.

  void reset();
};

/// All data that this worker holds or knows. A passive table: `DataKeeper` decides.
class DataTable {
 public:
  /// None if unknown.
  DatumIndex find(const DataKey& key) const;
  /// The datum, inserted as remote with no bytes if unknown. `head` is the job's list.
  DatumIndex ensure(const DataKey& key, JobSlot job, DatumIndex& head);
  /// REQUIRES: no pins and no waiters.
  void erase(DatumIndex index, DatumIndex& head);

  Datum& operator[](DatumIndex index) { return data_[index]; }
  const Datum& operator[](DatumIndex index) const { return data_[index]; }
  std::size_t size() const { return data_.live(); }
  /// Positions that were ever used.
  std::size_t used() const { return data_.used(); }
  Bytes bytes_here() const { return bytes_here_; }
  /// Of data on their way into memory, from other workers or from disk.
  Bytes bytes_arriving() const { return bytes_arriving_; }
  /// Of data in memory that are on their way to disk.
  Bytes bytes_leaving() const { return bytes_leaving_; }
  // Members that change a datum and keep the sums up to date.
  void move(DatumIndex index, DatumPlace place);
  void resize(DatumIndex index, Bytes bytes);
  /// A datum that is elsewhere is known to be there, with so many bytes; any other stays as it is. False if the datum
  /// is not remote.
  bool note_remote(DatumIndex index, WorkerId location, Bytes bytes);
  void set_spilling(DatumIndex index, bool spilling);

 private:
  enum class Count { In, Out };
  void count(const Datum& datum, Count count);

  LookupMap<DataKey, DatumIndex> index_;
  Slab<DatumIndex, Datum> data_;
  Bytes bytes_here_;
  Bytes bytes_arriving_;
  Bytes bytes_leaving_;
  std::uint64_t made_ = 0;
};

}  // namespace penstock::worker
