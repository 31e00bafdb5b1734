#include "supervisor/audit/audit_check.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

#include "common/host/descriptor.hpp"
#include "common/security/certificate.hpp"
#include "common/security/private_file.hpp"
#include "common/security/signature.hpp"

namespace penstock::supervisor {
namespace {

/// A signature, and what it is for.
struct Signed {
  ChainPoint point;
  std::string signature;
  std::string place;
};

class Walk {
 public:
  Walk(const std::string& directory, const X509& authority, const std::optional<ChainPoint>& noted)
      : directory_(directory), authority_(authority), cluster_(cluster_of(authority)), noted_(noted) {}

  Result<AuditVerdict> run() {
    const End end = find_end();
    AuditPlace place;
    PENSTOCK_TRY(read_audit_lines(directory_, place, [&](std::string_view line) {
      if (place.file > end.file || (place.file == end.file && place.offset > end.bytes)) return false;
      if (place.file != file_) begin(place.file);
      take(line, audit_file_name(place.file) + ", line " + std::to_string(place.line));
      return true;
    }));
    judge_signatures();
    judge_end(end.head);
    verdict_.last = at_;
    return std::move(verdict_);
  }

 private:
  /// The end of the audit at one moment: what is appended later is not looked at.
  struct End {
    std::uint32_t file = 0;
    std::uint64_t bytes = 0;
    std::optional<AuditHead> head;
  };
  End find_end() const {
    const FileLock lock{lock_file_in(directory_), FileLock::Kind::Shared};
    End end;
    const std::vector<std::uint32_t> files = audit_files_in(directory_);
    std::error_code ignored;
    if (!files.empty()) end.file = files.back();
    if (!files.empty()) end.bytes = std::filesystem::file_size(directory_ + "/" + audit_file_name(end.file), ignored);
    if (const Result<std::string> text = read_private_file(head_file_in(directory_))) end.head = parse_head(*text);
    return end;
  }

  void find(std::string finding) {
    if (verdict_.findings.size() < kFindingsMax) verdict_.findings.push_back(std::move(finding));
  }

  void begin(std::uint32_t file) {
    judge_signatures();
    signatures_.clear();
    file_ = file;
    ++verdict_.files;
  }

  void take(std::string_view line, const std::string& place) {
    const ChainLine parsed = parse_chain_line(line);
    if (parsed.is_signature()) {
      unsigned_ = 0;
      if (file_cluster_ == cluster_) signatures_.push_back({at_, std::string{parsed.signature}, place});
      return;
    }
    const Result<AuditRecord> record =
        parsed.is_record() ? parse_audit_record(parsed.json) : Error{ErrorCode::ParseError, "", "", {}};
    if (!record) return find(place + ": is no record");
    take_record(*record, parsed, "record " + std::to_string(record->number) + " (" + place + ")");
  }

  void take_record(const AuditRecord& record, const ChainLine& line, const std::string& name) {
    const bool first = verdict_.records++ == 0;
    if (first) verdict_.first_ms = record.at_ms;
    verdict_.last_ms = record.at_ms;
    if (record.event == audit_event::kBegin) file_cluster_ = record.cluster;
    if (first && record.number > 1 && record.event == audit_event::kBegin) {
      begins_ = at_ = {record.number - 1, record.before};
    }
    if (record.number != at_.number + 1)
      find(name + ": stands where record " + std::to_string(at_.number + 1) +
           " belongs: records were removed or moved");
    else if (chained_digest(at_.digest, line.json) != line.digest)
      find(name + ": was changed");
    if (record.event == audit_event::kDamage) find(name + ": tells of damage: " + record.what);
    if (record.event == audit_event::kForget) forgotten_ = {record.through, record.before};
    at_ = {record.number, std::string{line.digest}};
    ++unsigned_;
    if (noted_.has_value() && noted_->number == at_.number) {
      noted_found_ = true;
      if (noted_->digest != at_.digest) find(name + ": is another one than at the head that was noted");
    }
  }

  // The last signature of a file covers the chain up to it. Only if it is wrong the others are asked where it began.
  void judge_signatures() {
    if (signatures_.empty() || is_right(signatures_.back())) return;
    for (const Signed& each : signatures_) {
      if (is_right(each)) continue;
      return find("record " + std::to_string(each.point.number) + " (" + each.place +
                  "): the signature behind it is of another authority, or records up to there were changed and chained "
                  "anew");
    }
  }
  bool is_right(const Signed& each) const { return is_signed_by(authority_, signed_text(each.point), each.signature); }

  void judge_end(const std::optional<AuditHead>& head) {
    if (unsigned_ > 0)
      find("record " + std::to_string(at_.number) + ": the last " + std::to_string(unsigned_) +
           " records are not signed: a write was interrupted, or somebody has appended them");
    if (begins_.number > 0 && !(forgotten_.has_value() && *forgotten_ == begins_))
      find("records 1 to " + std::to_string(begins_.number) +
           ": are missing, and no record says that they were removed");
    if (noted_.has_value() && !noted_found_ && noted_->number > begins_.number)
      find("record " + std::to_string(noted_->number) + ": is missing, and the head that was noted is of it");
    if (!head.has_value()) return find("head: is missing or damaged, so a tail may be missing");
    if (head->cluster != cluster_ || !is_signed(*head, authority_))
      return find("head: is not signed by this authority, cluster " + cluster_.substr(0, 12));
    if (head->point.number > at_.number)
      find("records " + std::to_string(at_.number + 1) + " to " + std::to_string(head->point.number) +
           ": are missing at the end");
  }

  const std::string& directory_;
  const X509& authority_;
  const std::string cluster_;
  const std::optional<ChainPoint>& noted_;
  AuditVerdict verdict_;
  ChainPoint at_;
  ChainPoint begins_;  ///< The point before the first record; 0: it is record 1.
  std::optional<ChainPoint> forgotten_;
  std::uint32_t file_ = 0;
  std::string file_cluster_;
  std::vector<Signed> signatures_;  ///< Of the present file.
  std::uint64_t unsigned_ = 0;      ///< Records behind the last signature.
  bool noted_found_ = false;
};

}  // namespace

Result<AuditVerdict> check_audit(const std::string& directory, const X509& authority,
                                 const std::optional<ChainPoint>& noted) {
  return Walk{directory, authority, noted}.run();
}

}  // namespace penstock::supervisor
