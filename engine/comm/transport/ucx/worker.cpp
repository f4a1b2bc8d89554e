// Which of UCX's transports can start here is found out by trying.
#include "engine/comm/transport/ucx/worker.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <ucs/config/global_opts.h>

#include <cstdio>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "engine/comm/transport/leftovers.h"

namespace thalweg::engine::comm {
namespace {

struct Setting {
  const char* name;  ///< without "UCX_"
  const char* value;
};

// A person's own UCX_* variables win over these.
constexpr Setting kSettings[] = {
    // Endpoints that report errors would leave out shared memory (openucx issues 6595, 8477): TCP
    // inside a machine is a hundred times slower. Deaths on the machine we notice ourselves.
    {"MM_ERROR_HANDLING", "y"},
};

bool set_by_user(const char* name) {
  return std::getenv((std::string("UCX_") + name).c_str());
}

/// A lost peer is told by our own error, once, with its name.
void quieten() {
  if (!set_by_user("LOG_LEVEL")) ucs_global_opts_set_value("LOG_LEVEL", "fatal");
}

class Config {
 public:
  Config() {
    check(ucp_config_read(nullptr, nullptr, &config_), "ucp_config_read");
    for (const auto& setting : kSettings) {
      if (!set_by_user(setting.name)) set(setting.name, setting.value);
    }
  }
  ~Config() { ucp_config_release(config_); }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
  ucp_config_t* get() const { return config_; }
  void set(const char* name, const char* value) const { ucp_config_modify(config_, name, value); }

 private:
  ucp_config_t* config_ = nullptr;
};

/// With what is scarce most often.
std::string cannot_start(ucs_status_t status) {
  std::string text = std::string("UCX cannot start: ") + ucs_status_string(status);
  if (const char* wanted = std::getenv("UCX_TLS")) text += std::string("; UCX_TLS is ") + wanted;
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    text += "; /dev/shm has " + std::to_string(shm.f_bavail * shm.f_frsize / 1024) + " KiB left";
  }
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    text += "; this process may open " + std::to_string(files.rlim_cur) + " files";
  }
  return text + ". UCX_LOG_LEVEL=info tells more";
}

}  // namespace

void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  throw std::runtime_error(std::string(what) + ": " + ucs_status_string(status));
}

UcxWorker::UcxWorker() {
  quieten();
  remove_abandoned_memory();
  remove_abandoned_segments();
  if (set_by_user("TLS")) {
    if (const ucs_status_t status = create(nullptr); status != UCS_OK)
      throw std::runtime_error(cannot_start(status));
    return;
  }
  // Queues in /dev/shm rather than in System V segments: what a killed process leaves of those,
  // nobody can tell from memory in use. UCX gives up where one of its transports cannot start: a
  // /dev/shm of a few MiB has no room for queues, and some containers have no System V memory
  // either. The others do as well.
  ucs_status_t status = UCS_OK;
  for (const char* without : {"^sysv", "^posix", "^posix,sysv"}) {
    status = create(without);
    if (status == UCS_OK) return;
  }
  throw std::runtime_error(cannot_start(status));
}

ucs_status_t UcxWorker::create(const char* transports) {
  const Config config;
  if (transports) config.set("TLS", transports);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucs_status_t status = ucp_init(&params, config.get(), &context_);
  if (status != UCS_OK) return status;

  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucp_worker_create(context_, &worker_params, &worker_);
  if (status != UCS_OK) ucp_cleanup(context_);
  return status;
}

UcxWorker::~UcxWorker() {
  ucp_worker_destroy(worker_);
  ucp_cleanup(context_);
}

bool UcxWorker::knows_cuda() const {
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  check(ucp_context_query(context_, &attributes), "ucp_context_query");
  return (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
}

std::string UcxWorker::address() const {
  ucp_address_t* bytes = nullptr;
  std::size_t length = 0;
  check(ucp_worker_get_address(worker_, &bytes, &length), "ucp_worker_get_address");
  std::string copy(reinterpret_cast<const char*>(bytes), length);
  ucp_worker_release_address(worker_, bytes);
  return copy;
}

int UcxWorker::event_fd() const {
  int fd = -1;
  check(ucp_worker_get_efd(worker_, &fd), "ucp_worker_get_efd");
  return fd;
}

bool UcxWorker::arm() {
  const ucs_status_t status = ucp_worker_arm(worker_);
  if (status == UCS_ERR_BUSY) return false;
  check(status, "ucp_worker_arm");
  return true;
}

UcxEndpoint::UcxEndpoint(const UcxWorker& worker, const std::string& address,
                         ucp_err_handler_cb_t on_error, void* argument)
    : worker_(worker.get()) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = on_error;
  params.err_handler.arg = argument;
  check(ucp_ep_create(worker_, &params, &endpoint_), "ucp_ep_create");
}

// UCX 1.13 has no query for it (1.14's ucp_ep_query does): the text for people is read, whose lines
// are "lane[0]:  2:sysv/memory.0 md[2] ->". Where it reads otherwise nothing is found.
std::string UcxEndpoint::transports() const {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const out = open_memstream(&text, &length);
  if (out == nullptr) return {};
  ucp_ep_print_info(endpoint_, out);
  std::fclose(out);
  std::istringstream lines{std::string(text, length)};
  std::free(text);
  static const std::regex kLane(R"(lane\[\d+\]:\s*\d+:(\S+)\.\d+ md)");
  std::string all;
  std::set<std::string> seen;
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_search(line, found, kLane) && seen.insert(found[1]).second)
      all += (all.empty() ? "" : ", ") + found[1].str();
  return all;
}

UcxEndpoint::~UcxEndpoint() {
  if (!endpoint_) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* closing = ucp_ep_close_nbx(endpoint_, &params);
  if (!UCS_PTR_IS_PTR(closing)) return;
  while (ucp_request_check_status(closing) == UCS_INPROGRESS) {
    ucp_worker_progress(worker_);
  }
  ucp_request_free(closing);
}

UcxEndpoint::UcxEndpoint(UcxEndpoint&& other) noexcept
    : worker_(other.worker_), endpoint_(std::exchange(other.endpoint_, nullptr)) {}

UcxEndpoint& UcxEndpoint::operator=(UcxEndpoint&& other) noexcept {
  std::swap(worker_, other.worker_);
  std::swap(endpoint_, other.endpoint_);
  return *this;
}

}  // namespace thalweg::engine::comm
