#include "common/base/error_code.hpp"
#include "common/base/result.hpp"

namespace penstock {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return "InvalidArgument";
    case ErrorCode::ParseError: return "ParseError";
    case ErrorCode::UnknownKey: return "UnknownKey";
    case ErrorCode::DuplicateKey: return "DuplicateKey";
    case ErrorCode::GraphCycle: return "GraphCycle";
    case ErrorCode::SelfDependency: return "SelfDependency";
    case ErrorCode::UnknownOperator: return "UnknownOperator";
    case ErrorCode::ProgramNotFound: return "ProgramNotFound";
    case ErrorCode::RequestTooLarge: return "RequestTooLarge";
    case ErrorCode::NoAvailableBand: return "NoAvailableBand";
    case ErrorCode::MissingDevice: return "MissingDevice";
    case ErrorCode::LimitExceeded: return "LimitExceeded";
    case ErrorCode::MalformedFrame: return "MalformedFrame";
    case ErrorCode::VersionMismatch: return "VersionMismatch";
    case ErrorCode::StaleIncarnation: return "StaleIncarnation";
    case ErrorCode::Unreachable: return "Unreachable";
    case ErrorCode::AddressInUse: return "AddressInUse";
    case ErrorCode::NotFound: return "NotFound";
    case ErrorCode::NameTaken: return "NameTaken";
    case ErrorCode::WrongState: return "WrongState";
    case ErrorCode::StorageFull: return "StorageFull";
    case ErrorCode::StorageDamaged: return "StorageDamaged";
    case ErrorCode::StorageLocked: return "StorageLocked";
    case ErrorCode::UserError: return "UserError";
    case ErrorCode::RunnerCrashed: return "RunnerCrashed";
    case ErrorCode::OutOfMemory: return "OutOfMemory";
    case ErrorCode::TimedOut: return "TimedOut";
    case ErrorCode::InputLost: return "InputLost";
    case ErrorCode::Cancelled: return "Cancelled";
    case ErrorCode::ResourceExhausted: return "ResourceExhausted";
    case ErrorCode::Disconnected: return "Disconnected";
    case ErrorCode::Unsupported: return "Unsupported";
    case ErrorCode::Internal: return "Internal";
    case ErrorCode::UnknownGraph: return "UnknownGraph";
    case ErrorCode::PermissionDenied: return "PermissionDenied";
  }
  return "Unknown";
}

std::string to_string(const Error& error) {
  std::string text;
  if (!error.subject.empty()) text += error.subject + ": ";
  text += error.message;
  if (!error.remedy.empty()) text += " (" + error.remedy + ")";
  return text;
}

}  // namespace penstock
