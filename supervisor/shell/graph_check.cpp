#include "supervisor/shell/graph_check.hpp"

#include <utility>

namespace penstock::supervisor {

std::unique_ptr<supervisor_event::GraphChecked> GraphCheck::take(SubmitChunk&& chunk) {
  if (intake_ == nullptr) return nullptr;
  if (chunk.first) spec_ = std::move(chunk.spec);
  const Result<void> added = intake_->add(std::move(chunk.graph));
  if (added && !chunk.last) return nullptr;
  auto checked = std::make_unique<supervisor_event::GraphChecked>();
  checked->submission = chunk.submission;
  checked->spec = std::move(spec_);
  if (!added) {
    checked->refusal = added.error();
  } else if (Result<std::unique_ptr<GraphShape>> shape = intake_->finish(); shape) {
    checked->shape = std::move(shape).value();
  } else {
    checked->refusal = shape.error();
  }
  intake_.reset();
  return checked;
}

}  // namespace penstock::supervisor
