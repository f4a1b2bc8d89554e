// POST /v1/label: what people call a sweep and say of it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"
#include "daemon/server/views.h"

namespace thalweg::daemon {

namespace {

constexpr std::size_t max_tag = 50, max_comment = 20'000;

/// A tag is one word that no shell and no sign before it can be mistaken in.
void check_tag(const std::string& tag) {
  const bool word = std::all_of(tag.begin(), tag.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '/' || c == ':' ||
           c >= 0x80;
  });
  if (tag.empty() || tag.size() > max_tag || !word || tag.front() == '-')
    throw HttpError(
        400, fmt::format(
                 "'{}' is not a tag: expected a word of at most {} letters, digits and . _ - / :",
                 tag, max_tag));
}

}  // namespace

boost::asio::awaitable<Response> post_label(App& app, const Request& request) {
  const auto asked = body_of<api::LabelRequest>(request);
  const jobspec::Id id = parse_id(asked.id);
  if (id.trial != 0) throw HttpError(400, asked.id + " is not the id of a sweep");
  known_sweep(app, request, id.sweep);
  for (const auto* tags : {&asked.add_tags, &asked.remove_tags})
    std::for_each(tags->begin(), tags->end(), check_tag);
  if (asked.name) check_name(*asked.name);
  if (asked.comment && asked.comment->size() > max_comment)
    throw HttpError(400, fmt::format("a note has at most {} bytes", max_comment));
  const auto row =
      app.controller.label(id.sweep, {asked.name, asked.comment, asked.add_tags, asked.remove_tags},
                           user_name(request.user));
  if (!row) throw HttpError(404, "there is no sweep " + id.to_string());
  co_return json_response(
      api::to_json(sweep_message(*row, counts_of(known_sweep(app, request, id.sweep)))));
}

}  // namespace thalweg::daemon
