#include "cli/jobfile/document.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace penstock::cli {

const DocumentValue* DocumentValue::find(std::string_view name) const {
  for (const DocumentField& field : fields)
    if (field.name == name) return &field.value;
  return nullptr;
}

std::string_view kind_name(const DocumentValue& value) {
  switch (value.kind) {
    case DocumentValue::Kind::Null: return "null";
    case DocumentValue::Kind::Boolean: return "true or false";
    case DocumentValue::Kind::Integer: return "an integer";
    case DocumentValue::Kind::Number: return "a number";
    case DocumentValue::Kind::Text: return "text";
    case DocumentValue::Kind::Date: return "a date";
    case DocumentValue::Kind::List: return "a list";
    case DocumentValue::Kind::Table: return "a table";
  }
  return "unknown";
}

std::string at_place(const std::string& name, TextPlace place) {
  if (place.line == 0) return name;
  return name + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

DocumentFormat format_of(const std::string& path, std::string_view text) {
  if (path.ends_with(".json")) return DocumentFormat::Json;
  if (path.ends_with(".toml")) return DocumentFormat::Toml;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' ? DocumentFormat::Json : DocumentFormat::Toml;
}

Result<std::string> read_text_file(const std::string& path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status))
    return Error{ErrorCode::NotFound, path, failure ? failure.message() : "No such file or directory", {}};
  if (std::filesystem::is_directory(status))
    return Error{ErrorCode::InvalidArgument, path, "is a directory", "name a file in it"};
  std::ifstream file{path, std::ios::binary};
  if (!file) return Error{ErrorCode::InvalidArgument, path, std::strerror(errno), {}};
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16U);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kDocumentBytesMax)
      return Error{ErrorCode::LimitExceeded, path, "is larger than 4 GiB", "split the job"};
  }
  if (file.bad()) return Error{ErrorCode::InvalidArgument, path, "cannot be read to its end", {}};
  return text;
}

}  // namespace penstock::cli
