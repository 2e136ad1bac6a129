#include "pipeline/sources/manifest/row_files.h"

namespace penstock::sources {

RowFiles::~RowFiles() = default;

}  // namespace penstock::sources
