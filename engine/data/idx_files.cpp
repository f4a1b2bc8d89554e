// Any pair of IDX files, named by path.
#include "engine/data/idx.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

std::unique_ptr<Dataset> make(const jobspec::Value& tree) {
  const Row row = idx_files();
  const auto get = [&](const char* name) { return option(tree, row, name); };
  for (const char* name : {"images", "labels"})
    if (get(name).is_null())
      throw std::invalid_argument(std::string("data.") + name + " is missing: the path of a file");
  IdxPair pair;
  pair.images = local_file(tree, get("images").as_string());
  pair.labels = local_file(tree, get("labels").as_string());
  pair.mean = get("mean").as_double();
  pair.deviation = get("deviation").as_double();
  const jobspec::Value classes = get("classes");
  pair.classes = classes.is_string() ? 0 : static_cast<int>(classes.as_int());
  return load_idx_pair(pair);
}

jobspec::Option path(const char* name, const char* doc) {
  jobspec::Option o;
  o.name = name;
  o.type = jobspec::OptionType::text;
  o.doc = doc;
  o.required = true;
  return o;
}

}  // namespace

Row idx_files() {
  jobspec::Option mean;
  mean.name = "mean";
  mean.type = jobspec::OptionType::real;
  mean.doc = "a pixel p becomes (p / 255 - mean) / deviation";
  mean.fallback = 0.0;
  jobspec::Option deviation = mean;
  deviation.name = "deviation";
  deviation.doc = "see mean";
  deviation.fallback = 1.0;
  deviation.min = 0;
  deviation.above_min = true;
  jobspec::Option classes;
  classes.name = "classes";
  classes.type = jobspec::OptionType::integer;
  classes.doc = "number of classes; auto = the largest label + 1";
  classes.fallback = "auto";
  classes.or_auto = true;
  classes.min = 2;
  classes.max = 256;
  return {"idx",
          "any pair of IDX files (plain or gzip)",
          {path("images", "file of the images: n x h x w, n x c x h x w or n x features bytes"),
           path("labels", "file of the labels: n bytes"), mean, deviation, classes},
          make};
}

}  // namespace thalweg::engine::data
