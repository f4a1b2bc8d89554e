// thalweg tag, note and rename: what people call a sweep and say of it.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {
namespace {

namespace api = daemon::api;

struct LabelOptions {
  std::string id, text;
  std::vector<std::string> tags, add, remove;
  Format format;
};

api::SweepMessage send(Context& context, const LabelOptions& options, Json request, Json& answer) {
  const jobspec::Id id = find_id(context, options.id);
  if (!is_sweep(id))
    throw CommandError(exit_bad_input, id.to_string() + " is no sweep",
                       "its sweep is " + std::to_string(id.sweep));
  request["id"] = id.to_string();
  answer = context.controller().post("/v1/label", request);
  return read_answer<api::SweepMessage>(answer);
}

int tag(Context& context, const LabelOptions& options) {
  std::vector<std::string> add = options.add, remove = options.remove;
  for (const std::string& word : options.tags) {
    const bool off = word.starts_with("-"), on = word.starts_with("+");
    (off ? remove : add).push_back(off || on ? word.substr(1) : word);
  }
  Json answer;
  const auto sweep = send(context, options, {{"add_tags", add}, {"remove_tags", remove}}, answer);
  if (options.format.json)
    print_json(context.out, answer);
  else
    context.out << "sweep " << sweep.id << ' ' << printable(sweep.name) << ": "
                << (sweep.tags.empty() ? "no tags" : "tags " + printable(join(sweep.tags, ", ")))
                << '\n';
  return exit_ok;
}

int note(Context& context, const LabelOptions& options) {
  Json answer;
  const auto sweep = send(context, options, {{"comment", options.text}}, answer);
  if (options.format.json)
    print_json(context.out, answer);
  else
    context.out << (sweep.comment.empty() ? "the note of sweep " + sweep.id + " is gone\n"
                                          : "noted; thalweg show " + sweep.id + " prints it\n");
  return exit_ok;
}

int rename(Context& context, const LabelOptions& options) {
  Json answer;
  const auto sweep = send(context, options, {{"name", options.text}}, answer);
  if (options.format.json)
    print_json(context.out, answer);
  else
    context.out << "sweep " << sweep.id << " is called " << printable(sweep.name) << " now\n";
  return exit_ok;
}

void add_sweep(Arguments& arguments, LabelOptions& options) {
  arguments.positional("SWEEP", options.id, "a sweep, as 12").completes = Completes::id;
}

}  // namespace

Action make_tag(Arguments& arguments) {
  auto options = std::make_shared<LabelOptions>();
  add_sweep(arguments, *options);
  Argument& tags = arguments.positional(
      "TAG", options->tags, "words to add (lamb or +lamb), with a minus sign to remove (-draft)");
  tags.required = false;
  tags.dashed = true;
  arguments.option("--add", "TAGS", options->add, "the same, separated by commas");
  arguments.option("--remove", "TAGS", options->remove, "take these off");
  add_json(arguments, options->format);
  return [options](Context& context) { return tag(context, *options); };
}

Action make_note(Arguments& arguments) {
  auto options = std::make_shared<LabelOptions>();
  add_sweep(arguments, *options);
  arguments.positional("TEXT", options->text, "what to remember; \"\" removes it");
  add_json(arguments, options->format);
  return [options](Context& context) { return note(context, *options); };
}

Action make_rename(Arguments& arguments) {
  auto options = std::make_shared<LabelOptions>();
  add_sweep(arguments, *options);
  arguments.positional("NAME", options->text, "its new name");
  add_json(arguments, options->format);
  return [options](Context& context) { return rename(context, *options); };
}

}  // namespace thalweg::cli
