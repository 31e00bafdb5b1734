// Orders and news of the supervisor about data.
#pragma once

#include "common/protocol/assign.hpp"
#include "common/protocol/cancel.hpp"
#include "worker/core/event_context.hpp"

namespace penstock::worker {

struct DataRoom;
struct Reports;
struct Runs;
struct Tables;

/// Data that were made elsewhere, are to be copied here, or are not needed any more. Cost: a look-up for each.
class DataOrders {
 public:
  DataOrders(EventContext& event, Tables& tables, Reports& reports, DataRoom& data, Runs& runs)
      : event_(event), tables_(tables), reports_(reports), data_(data), runs_(runs) {}

  /// Producers have finished elsewhere.
  void notice(const InputNoticeBatch& message);
  void drop(const DropBatch& message);
  /// A datum that is here already, or on its way for a subtask, is reported like any other copy.
  void keep(const KeepBatch& message);

 private:
  EventContext& event_;
  Tables& tables_;
  Reports& reports_;
  DataRoom& data_;
  Runs& runs_;
};

}  // namespace penstock::worker
