// Stands in for thalweg-slurm-agent. $FAKE_AGENT is a folder: answers.json maps each verb to a list
// of answers, used up one by one (the last one stays); requests.jsonl collects what was asked;
// starts gets a line per start. Members of an answer that start with "_" are orders: _die (exit at
// once), _silent (no answer), _raw (this text goes before the answer), _hold (answer only after the
// next request that is not held).
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using nlohmann::json;

int main() {
  const char* named = std::getenv("FAKE_AGENT");
  if (!named) return 3;
  const std::filesystem::path folder = named;
  std::ofstream(folder / "starts", std::ios::app) << ::getpid() << "\n";
  std::ofstream log(folder / "requests.jsonl", std::ios::app);
  std::map<std::string, std::size_t> used;
  std::vector<json> held;
  std::string line;
  while (std::getline(std::cin, line)) {
    log << line << std::endl;
    const json request = json::parse(line);
    const std::string verb = request.at("verb");
    const json answers = json::parse(std::ifstream(folder / "answers.json"));
    const json list = answers.value(verb, json::array({json{{"ok", true}, {"echo", request}}}));
    json answer = list.at(std::min(used[verb]++, list.size() - 1));
    answer["id"] = request.at("id");
    if (answer.contains("_die")) std::_Exit(1);
    if (answer.contains("_silent")) continue;
    if (answer.contains("_raw")) std::cout << answer["_raw"].get<std::string>();
    if (answer.contains("_hold")) {
      held.push_back(answer);
      continue;
    }
    std::cout << answer.dump() << "\n";
    for (const json& late : held)
      std::cout << late.dump() << "\n";
    held.clear();
    std::cout.flush();
  }
}
