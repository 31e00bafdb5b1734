// Checks that a file of reference cases has the fields of its format, each of the right kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/jobfile/document.hpp"

namespace penstock::tools {

/// The misplaced content of a case. All entries have file, line, column and the path of the field.
struct ShapeFindings {
  std::vector<std::string> mistakes;  ///< Of the wrong kind, or missing: the case cannot be run.
  std::vector<std::string> unknown;   ///< Not a field of the format: no checker reads it.
};

/// A part of a document. Remarks for human readers (`note`, `how`, `source`, results of a model, ...) are allowed
/// anywhere.
struct ShapeSubject {
  const cli::DocumentValue& value;
  std::string path;  ///< Its path, `cases[3]`; empty for the whole file.
  std::string file;
  std::string pattern = {};  ///< `path` as the rules of the format write it, `cases[]`.
};

enum class CaseFormat : unsigned char {
  Slots,      ///< `cluster-policy-scenario/1`.
  Quotas,     ///< One case of `kai-scenarios/1`.
  QuotaFile,  ///< The rest of a file around the cases of `kai-scenarios/1`.
  Factors,    ///< A file with a `kind` of the multi-factor policy.
};

ShapeFindings check_shape(const ShapeSubject& subject, CaseFormat format);

}  // namespace penstock::tools
