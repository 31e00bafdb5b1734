#include "worker/runner/native/operator_call.hpp"

#include "common/base/attempt_id.hpp"

namespace penstock::worker {
namespace {

std::uint64_t find_input_on_device(penstock_call* call, std::uint64_t index) {
  auto* self = static_cast<OperatorCall*>(call);
  const Result<std::uint64_t> address = self->on_device->input(index);
  return address ? *address : self->refuse(address.error());
}

const void* find_input_on_host(penstock_call* call, std::uint64_t index) {
  auto* self = static_cast<OperatorCall*>(call);
  if (index >= call->input_count) {
    self->failure = "there is no input number " + std::to_string(index);
    return nullptr;
  }
  if (call->inputs[index].data != nullptr || call->inputs[index].bytes == 0) return call->inputs[index].data;
  const Result<BlobPtr> blob = self->on_device->input_on_host(index);
  if (blob) return (*blob)->bytes().data();
  self->refuse(blob.error());
  return nullptr;
}

std::uint64_t make_output_on_device(penstock_call* call, std::uint32_t index, std::uint64_t bytes) {
  auto* self = static_cast<OperatorCall*>(call);
  const bool sound = index < self->output_count() && bytes > 0 && bytes <= (std::uint64_t{1} << 46U);
  const Result<std::uint64_t> address =
      sound ? self->on_device->output(index, Bytes{static_cast<std::int64_t>(bytes)})
            : Error{ErrorCode::InvalidArgument, "output " + std::to_string(index), "is none, or has no size", {}};
  if (!address) return self->refuse(address.error());
  std::erase_if(self->made, [&](const auto& known) { return known.first == index; });
  return *address;
}

void* make_output(penstock_call* call, std::uint32_t index, std::uint64_t bytes) {
  auto* self = static_cast<OperatorCall*>(call);
  if (index >= self->output_count() || bytes > (std::uint64_t{1} << 46U)) return nullptr;
  self->on_device->take_back(index);
  std::shared_ptr<Blob> blob = self->store->allocate(bytes);
  if (blob == nullptr) return nullptr;
  void* data = blob->data();
  for (auto& [number, known] : self->made)
    if (number == index) {
      known = std::move(blob);
      return data;
    }
  self->made.emplace_back(static_cast<std::uint16_t>(index), std::move(blob));
  return data;
}

int is_cancelled(penstock_call* call) {
  auto* self = static_cast<OperatorCall*>(call);
  if (self->cancelled_ticket->load(std::memory_order_relaxed) != self->run->ticket &&
      !self->ending->load(std::memory_order_relaxed))
    return 0;
  self->knows_of_stop = true;
  return 1;
}

int record_failure(penstock_call* call, const char* message) {
  auto* self = static_cast<OperatorCall*>(call);
  self->failure = message == nullptr ? "failed without a message" : message;
  self->exhausted = false;
  return 1;
}

// Made when it is asked for: a run may be shorter than that takes.
const char* name_attempt(penstock_call* call) {
  auto* self = static_cast<OperatorCall*>(call);
  const std::lock_guard lock{self->naming};
  if (self->attempt_text.empty())
    self->attempt_text = attempt_id_of(self->run->identity, self->run->id.index, self->run->attempt);
  return self->attempt_text.c_str();
}

int told(OperatorCall& call, const Result<void>& done) {
  if (done) return 0;
  if (done.error().code == ErrorCode::Cancelled) call.knows_of_stop = true;
  call.failure = to_string(done.error());
  call.exhausted = false;
  return static_cast<int>(done.error().code);
}

/// A thread that an operator has started may ask when the lane has another run, and must not move that run's slot.
bool is_of_its_thread(const OperatorCall& call) { return call.thread == std::this_thread::get_id(); }

int yield_slot(penstock_call* call) {
  auto* self = static_cast<OperatorCall*>(call);
  if (!is_of_its_thread(*self)) return PENSTOCK_SLOT_WRONG_STATE;
  return told(*self, self->loan->lend(self->run->ticket, self->run->attempt));
}

int take_slot_back(penstock_call* call) {
  auto* self = static_cast<OperatorCall*>(call);
  if (!is_of_its_thread(*self)) return PENSTOCK_SLOT_WRONG_STATE;
  return told(*self, self->loan->take_back());
}

}  // namespace

void set_functions(OperatorCall& call) {
  call.output = make_output;
  call.cancelled = is_cancelled;
  call.fail = record_failure;
  call.device_input = find_input_on_device;
  call.host_input = find_input_on_host;
  call.device_output = make_output_on_device;
  call.attempt_id = name_attempt;
  call.yield_slot = yield_slot;
  call.take_slot_back = take_slot_back;
}

}  // namespace penstock::worker
