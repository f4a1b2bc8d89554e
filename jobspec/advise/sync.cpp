// How the ranks work together, and by what.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "jobspec/advise/formulas.h"
#include "jobspec/advise/rules.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec::advise {
namespace {

std::string mode_of(const Configuration& c) {
  const std::string mode = c.text("sync.mode");
  return mode.empty() ? "sync" : mode;
}

/// Transports of UCX that go through the kernel's TCP: "tcp", "tcp/eth0".
bool is_tcp(const std::string& transport) {
  return transport.starts_with("tcp");
}

/// InfiniBand and RoCE, Slingshot, EFA, Aries.
bool is_fast_network(const std::string& transport) {
  constexpr std::array names{"rc", "dc", "ud", "cxi", "srd", "ugni"};
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return transport.starts_with(name); });
}

}  // namespace

std::vector<Finding> advise_sync_mode(const Study& study) {
  std::set<std::string> modes;
  for (const Configuration& c : study.configurations)
    modes.insert(mode_of(c));
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (!c.train.is_map() || c.batch <= 0) return std::nullopt;
    const std::string mode = mode_of(c);
    Finding finding;
    finding.numbers = {{"sync.mode", mode}, {"ranks", plain(c.ranks)}};
    if (mode == "sync") {
      finding.text = "mode sync: right for a proof of concept and for what is to be reproduced";
    } else if (c.ranks == 1) {
      finding.verdict = Verdict::warning;
      finding.text = fmt::format("mode {} on one rank waits for no other and gains nothing", mode);
    } else if (!modes.contains("sync")) {
      finding.verdict = Verdict::advice;
      finding.text = fmt::format(
          "mode {} changes what is learned: sync.mode: {{values: [sync, {}]}} shows by how much",
          mode, mode);
    } else {
      finding.text = fmt::format("mode {} beside mode sync, which shows what it costs", mode);
    }
    return finding;
  });
}

std::vector<Finding> advise_lag(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    const bool in_rounds = mode_of(c) == "abs";
    if (mode_of(c) != "lag" && !in_rounds) return std::nullopt;
    const int lag = in_rounds ? 1 : static_cast<int>(c.number("sync.lag"));
    if (lag <= 0) return std::nullopt;
    const double share = stable_rate_share(lag);
    const double momentum = std::max(c.number("optimizer.momentum"), c.number("optimizer.beta1"));
    Finding finding;
    finding.basis = Basis::arithmetic;
    finding.numbers = {{"lag", plain(lag)},
                       {"momentum", plain(momentum)},
                       {"share of the largest stable rate", fmt::format("{:.3f}", share)},
                       {"momentum that the delay brings", plain(implicit_momentum(lag + 1))}};
    finding.text = fmt::format(
        "a lag of {} leaves {:.2g} of the largest stable rate (SGD on a quadratic)", lag, share);
    if (in_rounds)
      finding.text +=
          "; a round of mode abs has batch.global samples at least, and more where ranks are "
          "unequal: the rate may be that of sync/round_size";
    constexpr double high = 0.9;
    if (momentum >= high) {
      finding.verdict = Verdict::warning;
      finding.basis = Basis::published;
      finding.text += fmt::format(
          ", and momentum {} adds to it: lower the rate or the momentum, or draw them as "
          "parameters",
          plain(momentum));
    } else {
      finding.verdict = Verdict::advice;
    }
    return finding;
  });
}

std::vector<Finding> advise_asynchrony(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    const bool hybrid = mode_of(c) == "hybrid";
    if (mode_of(c) != "async" && !hybrid) return std::nullopt;
    const double workers = hybrid ? c.number("sync.groups") : static_cast<double>(c.workers());
    if (workers < 2) return std::nullopt;
    const double momentum = std::max(c.number("optimizer.momentum"), c.number("optimizer.beta1"));
    const double brought = implicit_momentum(static_cast<int>(workers));
    Finding finding;
    finding.basis = Basis::published;
    finding.numbers = {{hybrid ? "groups" : "workers", plain(workers)},
                       {"momentum", plain(momentum)},
                       {"momentum that asynchrony brings", fmt::format("{:.3f}", brought)},
                       {"updates in a step", plain(workers)}};
    finding.text = fmt::format("{} asynchronous {} have an implicit momentum of {:.2g}",
                               plain(workers), hybrid ? "groups" : "workers", brought);
    // Together they span more updates than this momentum does alone.
    constexpr double high = 0.9;
    if (momentum >= high) {
      finding.verdict = Verdict::warning;
      finding.text += fmt::format(
          ", and momentum {} adds to it: lower it (0 to 0.7 was best where it was tuned), or draw "
          "it as a parameter",
          plain(momentum));
    } else {
      finding.verdict = Verdict::advice;
      finding.text +=
          "; every update is a whole step of the learning rate, on its part of "
          "the batch";
    }
    return finding;
  });
}

std::vector<Finding> advise_transport(const Study& study) {
  const bool across = std::any_of(study.configurations.begin(), study.configurations.end(),
                                  [](const Configuration& c) { return c.resources.nodes > 1; });
  if (!across) return {};
  const PastRun* told = nullptr;
  for (const PastRun& run : study.experience.runs)
    if (run.nodes > 1 && !run.transport.empty()) told = &run;
  if (!told)
    return not_known("no earlier run on several nodes shows which transport UCX has found there");
  std::string names;
  for (const std::string& name : told->transport)
    names += (names.empty() ? "" : ", ") + name;
  Finding finding;
  finding.basis = Basis::measured;
  finding.numbers = {{"transport", names}, {"trial", told->trial}};
  const auto any = [&](auto is) {
    return std::any_of(told->transport.begin(), told->transport.end(), is);
  };
  if (any(is_tcp) && !any(is_fast_network)) {
    finding.verdict = Verdict::warning;
    finding.text = fmt::format(
        "trial {} went through TCP between its nodes ({}): on a cluster with InfiniBand, Slingshot "
        "or RoCE UCX should use that; ucx_info -d on a node shows what it finds",
        told->trial, names);
  } else {
    finding.text = fmt::format("trial {} used {} between its nodes", told->trial, names);
  }
  return {finding};
}

std::vector<Finding> advise_parameter_servers(const Study& study) {
  if (study.machines.link_bytes_per_s <= 0) return {};
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (c.ranks < 2 || c.parameters <= 0) return std::nullopt;
    const double compute_ms = median_of(runs_like(study, c), &PastRun::compute_ms);
    if (compute_ms <= 0)
      return Finding{Verdict::unknown,
                     "no earlier run shows how long this model computes for a step",
                     Basis::measured};
    constexpr double bytes_each = 4;
    const std::int64_t servers = parameter_servers(
        bytes_each * c.parameters, c.workers(), study.machines.link_bytes_per_s, compute_ms / 1000);
    const double chosen = c.number("sync.servers");
    const bool too_few = chosen > 0 && chosen < static_cast<double>(servers);
    Finding finding{too_few ? Verdict::advice : Verdict::fits,
                    fmt::format("{} parameter servers would hide the traffic of {} workers",
                                plain(static_cast<double>(servers)), plain(c.workers())),
                    Basis::measured,
                    {{"parameters", bytes_text(bytes_each * c.parameters)},
                     {"workers", plain(c.workers())},
                     {"link", bytes_text(study.machines.link_bytes_per_s) + "/s"},
                     {"compute", plain(compute_ms) + " ms"}}};
    if (chosen > 0) {
      finding.text += fmt::format(", and sync.servers is {}", plain(chosen));
      finding.numbers.emplace_back("sync.servers", plain(chosen));
    } else {
      finding.text += fmt::format(
          "; sync.servers: {} (mode async or hybrid) runs them on as many extra ranks; without it "
          "every rank serves its share",
          plain(static_cast<double>(servers)));
    }
    return finding;
  });
}

}  // namespace thalweg::jobspec::advise
