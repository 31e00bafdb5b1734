#include "supervisor/audit/audit_chain.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/security/private_file.hpp"
#include "common/security/signature.hpp"

namespace penstock::supervisor {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSignatureBegin = "signed ";
constexpr std::string_view kFileBegin = "audit-";
constexpr std::string_view kFileEnd = ".jsonl";
constexpr std::size_t kDigestDigits = 64;

bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::uint64_t number_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

/// 0: the name is of another file.
std::uint32_t file_of(std::string_view name) {
  if (!name.starts_with(kFileBegin) || !name.ends_with(kFileEnd)) return 0;
  const std::string_view digits = name.substr(kFileBegin.size(), name.size() - kFileBegin.size() - kFileEnd.size());
  std::uint32_t file = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), file);
  return error == std::errc{} && end == digits.data() + digits.size() ? file : 0;
}

}  // namespace

std::string chained_digest(const std::string& before, std::string_view json) {
  return sha256_of(before + " " + std::string{json});
}

std::string signed_text(const ChainPoint& point) {
  return "penstock audit\n" + std::to_string(point.number) + " " + point.digest + "\n";
}

std::string head_text(const ChainPoint& point) {
  return "penstock audit head\n" + std::to_string(point.number) + " " + point.digest + "\n";
}

std::string record_line(const std::string& digest, const std::string& json) { return digest + " " + json; }

std::string signature_line(const std::string& signature) { return std::string{kSignatureBegin} + signature; }

ChainLine parse_chain_line(std::string_view line) {
  if (line.starts_with(kSignatureBegin)) {
    const std::string_view signature = line.substr(kSignatureBegin.size());
    return is_hexadecimal(signature) ? ChainLine{{}, {}, signature} : ChainLine{};
  }
  if (line.size() < kDigestDigits + 3 || line[kDigestDigits] != ' ') return {};
  const std::string_view digest = line.substr(0, kDigestDigits);
  return is_hexadecimal(digest) ? ChainLine{digest, line.substr(kDigestDigits + 1), {}} : ChainLine{};
}

std::string to_text(const AuditHead& head) {
  Json object;
  object["n"] = head.point.number;
  object["digest"] = head.point.digest;
  object["file"] = head.file;
  object["bytes"] = head.bytes;
  object["cluster"] = head.cluster;
  object["signature"] = head.signature;
  std::string text = object.dump();
  text.resize(std::max(text.size(), kHeadBytes - 1), ' ');
  return text + "\n";
}

std::optional<AuditHead> parse_head(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  AuditHead head;
  head.point = {number_in(object, "n"), text_in(object, "digest")};
  head.file = static_cast<std::uint32_t>(number_in(object, "file"));
  head.bytes = number_in(object, "bytes");
  head.cluster = text_in(object, "cluster");
  head.signature = text_in(object, "signature");
  if (head.point.number == 0 || head.file == 0 || head.point.digest.size() != kDigestDigits) return std::nullopt;
  return head;
}

bool is_signed(const AuditHead& head, const X509& authority) {
  return is_signed_by(authority, head_text(head.point), head.signature);
}

std::string audit_file_name(std::uint32_t file) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "audit-%06u.jsonl", file);
  return text.data();
}

std::vector<std::uint32_t> audit_files_in(const std::string& directory) {
  std::vector<std::uint32_t> files;
  for (const std::string& name : names_in(directory))
    if (const std::uint32_t file = file_of(name); file > 0) files.push_back(file);
  std::sort(files.begin(), files.end());
  return files;
}

std::string head_file_in(const std::string& directory) { return directory + "/head"; }
std::string lock_file_in(const std::string& directory) { return directory + "/lock"; }

Result<void> read_audit_lines(const std::string& directory, AuditPlace& place,
                              const std::function<bool(std::string_view)>& each) {
  const std::vector<std::uint32_t> files = audit_files_in(directory);
  if (files.empty())
    return Error{ErrorCode::NotFound, directory, "has no audit",
                 "a supervisor with a state keeps one: name its state with `--state`"};
  for (const std::uint32_t file : files) {
    if (file < place.file) continue;
    if (file > place.file) place = {file, 0, 0};
    const std::string path = directory + "/" + audit_file_name(file);
    std::ifstream input{path, std::ios::binary};
    if (!input) return Error{ErrorCode::InvalidArgument, path, "cannot be read", "run this as the supervisor's user"};
    input.seekg(static_cast<std::streamoff>(place.offset));
    for (std::string line; std::getline(input, line) && !input.eof();) {
      place.offset += line.size() + 1;
      ++place.line;
      if (!each(line)) return {};
    }
  }
  return {};
}

}  // namespace penstock::supervisor
