#include "supervisor/audit/audit_book.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/host/clock.hpp"
#include "common/host/descriptor.hpp"
#include "common/security/private_file.hpp"
#include "common/security/signature.hpp"

namespace penstock::supervisor {
namespace {

Error failed(const std::string& path, const char* step) {
  const ErrorCode code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::StorageFull : ErrorCode::InvalidArgument;
  return {code, path, std::string{"cannot be "} + step + ": " + std::strerror(errno),
          "make room, and see that the supervisor's user may write it"};
}

Result<void> write_all(int file, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path, "written");
    done += static_cast<std::size_t>(count);
  }
  return {};
}

std::optional<std::uint64_t> size_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(found.st_size);
}

AuditRecord remark(const char* event, std::string what) {
  AuditRecord record;
  record.event = event;
  record.at_ms = unix_now_ms();
  record.what = std::move(what);
  return record;
}

std::string records_text(std::uint64_t first, std::uint64_t last) {
  return "records " + std::to_string(first) + " to " + std::to_string(last);
}

/// Reads on from a point of the chain as far as it is whole and signed.
struct ChainWalk {
  const X509& authority;
  std::string own_cluster;
  ChainPoint at;         ///< The last record.
  ChainPoint signed_at;  ///< The last one that is signed.
  std::string cluster;   ///< The authority of the present file.
  bool whole = true;

  bool take(std::string_view line) {
    const ChainLine parsed = parse_chain_line(line);
    if (parsed.is_signature()) return take_signature(parsed.signature);
    const Result<AuditRecord> record = parse_audit_record(parsed.json);
    if (!parsed.is_record() || !record) return whole = false;
    if (record->event == audit_event::kBegin) {
      if (at.number == 0 && record->number > 1) at = {record->number - 1, record->before};
      cluster = record->cluster;
    }
    whole = record->number == at.number + 1 && chained_digest(at.digest, parsed.json) == parsed.digest;
    if (whole) at = {record->number, std::string{parsed.digest}};
    return whole;
  }

  // Signatures of an earlier authority cannot be judged here; the chain covers its records in any case.
  bool take_signature(std::string_view signature) {
    whole = cluster != own_cluster || is_signed_by(authority, signed_text(at), signature);
    if (whole) signed_at = at;
    return whole;
  }
};

}  // namespace

Result<AuditBook> AuditBook::open(AuditBookOptions options, Authority authority) {
  PENSTOCK_TRY(make_private_directory(options.directory));
  return AuditBook{std::move(options), std::move(authority)};
}

void AuditBook::take_over(Duration patience) {
  constexpr int kLookAgainMs = 5;  // No call waits for such a lock with a limit.
  const Instant late = monotonic_now() + patience;
  const std::string path = lock_file_in(options_.directory);
  const Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  while (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (monotonic_now() >= late) {
      ::unlink(path.c_str());  // The next lock is of another file.
      begin_file_ = true;
      return;
    }
    ::poll(nullptr, 0, kLookAgainMs);
  }
}

Result<std::vector<std::string>> AuditBook::append(std::vector<AuditRecord> records) {
  const FileLock lock{lock_file_in(options_.directory), FileLock::Kind::Exclusive};
  if (!lock) return failed(lock_file_in(options_.directory), "locked");
  PENSTOCK_TRY(catch_up());
  std::vector<AuditRecord> all = remarks_;
  const bool begin_file = begin_file_ || file_ == 0 || bytes_ >= options_.file_bytes_max;
  const std::vector<AuditRecord> forgets = begin_file ? forgotten() : std::vector<AuditRecord>{};
  all.insert(all.end(), forgets.begin(), forgets.end());
  all.insert(all.end(), std::make_move_iterator(records.begin()), std::make_move_iterator(records.end()));
  Result<std::vector<std::string>> lines = write(all, begin_file);
  if (!lines) return lines;
  remarks_.clear();
  begin_file_ = false;
  // The record of a removal is on the disk before it: a kill between both leaves the file, and the next one goes on.
  for (const AuditRecord& forget : forgets) ::unlink((options_.directory + "/" + forget.what).c_str());
  return lines;
}

std::optional<AuditHead> AuditBook::read_head() const {
  const Result<std::string> text = read_private_file(head_file_in(options_.directory));
  std::optional<AuditHead> head = text ? parse_head(*text) : std::nullopt;
  if (head.has_value() && head->cluster == authority_.cluster() && !is_signed(*head, authority_.certificate()))
    head.reset();
  return head;
}

/// Learns what other processes have appended since, or what is there at all.
Result<void> AuditBook::catch_up() {
  const std::vector<std::uint32_t> files = audit_files_in(options_.directory);
  if (!files.empty() && files.back() == file_ && size_of(path_of(file_)) == bytes_) return {};
  const std::optional<AuditHead> head = read_head();
  if (!files.empty()) return read_rest(files.back(), head);
  file_ = head.has_value() ? head->file : 0;
  bytes_ = 0;
  last_ = head.has_value() ? head->point : ChainPoint{};
  if (head.has_value()) found_damage(records_text(1, last_.number) + " are missing: no file is there");
  return {};
}

void AuditBook::found_damage(std::string what) {
  remarks_.push_back(remark(audit_event::kDamage, std::move(what)));
  begin_file_ = true;
}

/// Reads the last file behind the head, or all of it where the head does not lead into it.
Result<void> AuditBook::read_rest(std::uint32_t file, const std::optional<AuditHead>& head) {
  const std::string path = path_of(file);
  const std::optional<std::uint64_t> size = size_of(path);
  if (!size) return failed(path, "read");
  const bool leads = head.has_value() && head->file == file && head->bytes <= *size;
  ChainWalk walk{authority_.certificate(), authority_.cluster(), {}, {}, authority_.cluster(), true};
  if (leads) walk.at = walk.signed_at = head->point;
  if (leads) walk.cluster = head->cluster;
  AuditPlace place{file, leads ? head->bytes : 0, 0};
  std::uint64_t signed_end = place.offset;
  PENSTOCK_TRY(read_audit_lines(options_.directory, place, [&](std::string_view line) {
    const bool more = walk.take(line);
    if (more && walk.signed_at == walk.at) signed_end = place.offset;
    return more;
  }));
  file_ = file;
  bytes_ = signed_end;
  last_ = walk.signed_at;
  if (head.has_value() && head->point.number > last_.number) {
    found_damage(records_text(last_.number + 1, head->point.number) + " are missing or changed");
    last_ = head->point;
  } else if (!walk.whole) {
    found_damage("what is behind record " + std::to_string(last_.number) + " is not of this authority");
  } else if (signed_end < *size) {
    PENSTOCK_TRY(put_aside(path, signed_end, *size));
    remarks_.push_back(remark(audit_event::kRepair,
                              std::to_string(*size - signed_end) + " bytes of an interrupted write were put aside"));
  }
  if (walk.cluster != authority_.cluster()) begin_file_ = true;
  return {};
}

/// The bytes have no signature, so their writer was never told that they are written. A file beside the audit keeps
/// them.
Result<void> AuditBook::put_aside(const std::string& path, std::uint64_t from, std::uint64_t size) const {
  const Descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
  if (!file) return failed(path, "read");
  std::string rest(size - from, '\0');
  const ssize_t count = ::pread(file.get(), rest.data(), rest.size(), static_cast<off_t>(from));
  if (count < 0) return failed(path, "read");
  rest.resize(static_cast<std::size_t>(count));
  PENSTOCK_TRY(write_private_file(path + ".unsigned-" + std::to_string(from), rest));
  if (::ftruncate(file.get(), static_cast<off_t>(from)) != 0) return failed(path, "cut");
  return {};
}

/// The files that make room for one more.
std::vector<AuditRecord> AuditBook::forgotten() const {
  std::vector<AuditRecord> records;
  const std::vector<std::uint32_t> files = audit_files_in(options_.directory);
  if (options_.keep_files == 0) return records;
  for (std::size_t i = 0; i + options_.keep_files < files.size() + 1; ++i) {
    AuditRecord record = remark(audit_event::kForget, audit_file_name(files[i]));
    record.through = last_.number;
    record.before = last_.digest;
    if (i + 1 < files.size()) {
      AuditPlace place{files[i + 1], 0, 0};
      const Result<void> read = read_audit_lines(options_.directory, place, [&](std::string_view line) {
        if (const Result<AuditRecord> first = parse_audit_record(parse_chain_line(line).json)) {
          record.through = first->number - 1;
          record.before = first->before;
        }
        return false;
      });
      if (!read) break;
    }
    record.outcome = "removed, as audit.keep_files says";
    records.push_back(std::move(record));
  }
  return records;
}

Result<std::vector<std::string>> AuditBook::write(const std::vector<AuditRecord>& records, bool begin_file) {
  const std::uint32_t file = begin_file ? file_ + 1 : file_;
  ChainPoint point = last_;
  std::vector<std::string> lines;
  const auto add = [&](AuditRecord record) {
    record.number = point.number + 1;
    const std::string json = to_json(record);
    point = {record.number, chained_digest(point.digest, json)};
    lines.push_back(record_line(point.digest, json));
  };
  if (begin_file) {
    AuditRecord begin = remark(audit_event::kBegin, audit_file_name(file));
    begin.cluster = authority_.cluster();
    begin.before = last_.digest;
    add(std::move(begin));
  }
  for (const AuditRecord& record : records) add(record);
  const Result<std::string> signature = authority_.sign(signed_text(point));
  if (!signature) return signature.error();
  const Result<std::string> head = authority_.sign(head_text(point));
  if (!head) return head.error();
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  text += signature_line(*signature) + "\n";
  PENSTOCK_TRY(append_text(path_of(file), text, begin_file));
  file_ = file;
  bytes_ = (begin_file ? 0 : bytes_) + text.size();
  last_ = point;
  write_head(*head);
  return lines;
}

Result<void> AuditBook::append_text(const std::string& path, const std::string& text, bool begin_file) {
  const int how = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (begin_file ? O_CREAT | O_EXCL : 0);
  const Descriptor out{::open(path.c_str(), how, 0600)};
  if (!out) return failed(path, "written");
  Result<void> written = write_all(out.get(), text, path);
  if (written && ::fdatasync(out.get()) != 0) written = failed(path, "written");
  if (written && begin_file) {
    const Descriptor directory{::open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!directory || ::fsync(directory.get()) != 0) written = failed(options_.directory, "written");
  }
  if (written) return {};
  if (begin_file)
    ::unlink(path.c_str());
  else if (::ftruncate(out.get(), static_cast<off_t>(bytes_)) != 0)
    file_ = 0;  // Read again next time.
  return written;
}

// After the records are on the disk, and without a sync of its own: a head may be too old after a loss of power, never
// too new. A head that cannot be written is written with the next records.
void AuditBook::write_head(const std::string& signature) const {
  const std::string text = to_text({last_, file_, bytes_, authority_.cluster(), signature});
  const Descriptor out{
      ::open(head_file_in(options_.directory).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (out) [[maybe_unused]]
    const ssize_t written = ::pwrite(out.get(), text.data(), text.size(), 0);
}

}  // namespace penstock::supervisor
