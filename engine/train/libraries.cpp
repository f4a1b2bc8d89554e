#include "engine/train/libraries.h"

#include <oneapi/dnnl/dnnl.h>
#include <pmix.h>
#include <ucp/api/ucp.h>
#include <zlib.h>

namespace thalweg::engine {

std::string engine_version() {
  return THALWEG_VERSION;
}

jobspec::Value library_versions() {
  const std::string pmix = PMIx_Get_version();  // "OpenPMIx 4.2.2 (PMIx Standard: 4.2, ...)"
  const dnnl_version_t* onednn = dnnl_version();
  return jobspec::Map{
      {"compiler", __VERSION__},
      {"oneDNN", std::to_string(onednn->major) + "." + std::to_string(onednn->minor) + "." +
                     std::to_string(onednn->patch)},
      {"UCX", ucp_get_version_string()},
      {"PMIx", pmix.substr(0, pmix.find(" ("))},
      {"zlib", zlibVersion()}};
}

}  // namespace thalweg::engine
