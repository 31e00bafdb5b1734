// Whether a file of reference cases has the fields that its format has, and each of the right kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/jobfile/document.hpp"

namespace penstock::tools {

/// What stands in a case where it does not belong. All with file, line, column and the path of the field.
struct ShapeFindings {
  std::vector<std::string> mistakes;  ///< Of the wrong kind, or missing: the case cannot be run.
  std::vector<std::string> unknown;   ///< Not a field of the format: nobody looks at it.
};

/// A part of a document. Remarks for human readers (`note`, `how`, `source`, what a model computed, ...) are welcome
/// anywhere.
struct ShapeSubject {
  const cli::DocumentValue& value;
  std::string path;  ///< Where it stands, `cases[3]`; empty for the whole file.
  std::string file;
  std::string pattern = {};  ///< `path` as the rules of the format write it, `cases[]`.
};

enum class CaseFormat : unsigned char {
  Slots,      ///< `cluster-policy-scenario/1`.
  Quotas,     ///< One case of `kai-scenarios/1`.
  QuotaFile,  ///< What stands around the cases of `kai-scenarios/1`.
  Factors,    ///< A file with a `kind` of the multi-factor policy.
};

ShapeFindings check_shape(const ShapeSubject& subject, CaseFormat format);

}  // namespace penstock::tools
