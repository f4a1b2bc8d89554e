// Words for values: names of data, models, optimizers and so on. One row per meaning; the first
// that fits counts.
#include "jobspec/search/search.h"
#include "jobspec/synonym_table.h"

namespace thalweg::jobspec {
namespace {

constexpr std::string_view own_files =
    "for data of your own write data: {name: arrays, inputs: \"FILE.npz:X\", labels: "
    "\"FILE.npz:y\"} (NPY, NPZ or HDF5)";
constexpr std::string_view no_csv =
    "CSV and tables are not read: save them as arrays (numpy.savez(\"FILE.npz\", X=..., y=...)) "
    "and "
    "write data: {name: arrays, inputs: \"FILE.npz:X\", labels: \"FILE.npz:y\"}";
constexpr std::string_view no_pictures =
    "folders of pictures are not read: save them as arrays and write data: {name: arrays, inputs: "
    "\"FILE.npz:X\", labels: \"FILE.npz:y\"}";
constexpr std::string_view mnist_files =
    "MNIST comes as idx files: write data: {name: idx, images: train-images-idx3-ubyte, labels: "
    "train-labels-idx1-ubyte}";

/// Of `method`: what each row of the table brings, and what is in none of them.
std::vector<ValueSynonym> method_synonyms() {
  static const std::string others =
      "this search is not supported: write method: " + names_of_methods(true) +
      " (which learns from results) or " + names_of_methods(false) + ", and run_cap: 50";
  std::vector<ValueSynonym> rows;
  for (const SearchMethod& method : search_methods())
    if (!method.synonyms.empty()) rows.push_back({"method", method.synonyms, method.name});
  rows.push_back({"method", "cmaes cma hyperband bohb custom", "", others});
  return rows;
}

std::vector<ValueSynonym> all_rows() {
  std::vector<ValueSynonym> table = {
      {"metric.goal", "min minimum minimise lower less smaller low descend", "minimize"},
      {"metric.goal", "max maximum maximise higher greater larger high", "maximize"},
      {"*.distribution", "loguniform logunif reciprocal log", "log_uniform_values",
       "write log_uniform_values; the ends of log_uniform are exponents"},
      {"*.distribution", "qloguniform qlogunif", "q_log_uniform_values",
       "write q_log_uniform_values; the ends of q_log_uniform are exponents"},
      {"*.distribution", "choice categories choices list grid gridsearch", "categorical"},
      {"*.distribution", "const fixed", "constant"},
      {"*.distribution", "int integer randint uniformint intrange discreteuniform range randomint",
       "int_uniform"},
      {"*.distribution", "float real double unif quniform", "uniform"},
      {"*.distribution", "gaussian gauss randn norm", "normal"},
      {"*.distribution", "lognorm", "log_normal"},
      {"*.distribution", "qbeta", "q_beta"},
      {"train.data.name", "mnist emnist kmnist qmnist", "idx", mnist_files},
      {"train.data.name", "fashion fmnist", "fashion-mnist"},
      {"train.data.name", "cifar", "cifar-10"},
      {"train.data.name",
       "csv tsv parquet pandas dataframe excel table tabular json jsonl arff libsvm iris", "arrays",
       no_csv},
      {"train.data.name",
       "imagenet imagenet1k tinyimagenet imagefolder images folder svhn stl10 coco celeba "
       "cityscapes voc tfrecord tfrecords webdataset lmdb ffcv png jpeg jpg",
       "arrays", no_pictures},
      {"train.data.name",
       "numpy npy npz h5 hdf hdf5 array own custom file files mydata tensor tensordataset pt "
       "huggingface hf torch pytorch",
       "arrays", own_files},
      {"train.data.name",
       "txt wikitext wikitext2 wikitext103 openwebtext shakespeare tinyshakespeare tinystories ptb "
       "enwik8 c4 corpus",
       "text", "for a text file write data: {name: text, file: FILE.txt}"},
      {"train.data.name", "bin tokenized tokenised", "tokens",
       "for token numbers write data: {name: tokens, file: FILE.bin}"},
      {"train.data.name", "random fake dummy toy noise", "synthetic"},
      {"train.model.name", "fc ffn fcn feedforward linear dense mlpclassifier nn dnn perceptron",
       "mlp"},
      {"train.model.name", "cnn convnet", "simple_cnn"},
      {"train.model.name", "lenet5", "lenet"},
      {"train.model.name", "resnet18", "resnet", "write model: {name: resnet, depth: 18}"},
      {"train.model.name", "resnet34", "resnet", "write model: {name: resnet, depth: 34}"},
      {"train.model.name", "resnet50", "resnet", "write model: {name: resnet, depth: 50}"},
      {"train.model.name", "resnet101 resnet152 wideresnet wrn resnext", "resnet",
       "write model: {name: resnet, depth: 50}; deeper ones can be written layer by layer with "
       "name: graph"},
      {"train.model.name", "gpt2 nanogpt mingpt decoder llm llama", "gpt"},
      {"train.model.name", "roberta distilbert encoder", "bert"},
      {"train.model.name", "transformer seq2seq t5 encoderdecoder", "encoder_decoder"},
      {"train.model.name", "rnn gru", "lstm"},
      {"train.model.name",
       "custom own sequential vgg vgg16 vgg19 alexnet vit efficientnet mobilenet densenet "
       "inception googlenet",
       "graph",
       "for a network of your own write model: {name: graph, layers: [...]}; thalweg-train "
       "--layers lists the layers"},
      {"train.optimizer.name",
       "adamwithdecay adamweightdecay adamdecay fusedadamw adamwtorch adamwhf", "adamw"},
      {"train.optimizer.name", "sgdm sgdmomentum sgdwithmomentum heavyball", "momentum"},
      {"train.optimizer.name", "nag sgdnesterov nesterovmomentum", "nesterov"},
      {"train.optimizer.name", "gd vanilla gradientdescent", "sgd"},
      {"train.optimizer.name", "rms", "rmsprop"},
      {"train.optimizer.name", "sophia", "sophia_g"},
      {"train.optimizer.name", "schedulefree adamwschedulefree", "schedule_free_adamw"},
      {"train.optimizer.name", "lbfgs bfgs newton", "shampoo"},
      {"train.optimizer.name", "radam adamax adabelief ranger", "adam"},
      {"train.loss.name",
       "crossentropy crossentropyloss ce categoricalcrossentropy sparsecategoricalcrossentropy nll "
       "nllloss softmax xent logloss",
       "cross_entropy"},
      {"train.loss.name", "meansquarederror mseloss l2 squared rmse huber smoothl1", "mse"},
      {"train.loss.name", "mae l1loss meanabsoluteerror absolute", "l1"},
      {"train.loss.name",
       "binarycrossentropy bceloss bcewithlogits bcewithlogitsloss sigmoid binary", "bce"},
      {"train.loss.name", "diceloss iou jaccard", "dice"},
      {"train.schedule.decay",
       "cosineannealing cosineannealinglr cosinedecay cos cosinelr cosinewarmup", "cosine"},
      {"train.schedule.decay", "cosineannealingwarmrestarts sgdr warmrestarts", "cosine-restarts"},
      {"train.schedule.decay", "steplr staircase", "step"},
      {"train.schedule.decay", "multisteplr piecewise", "multistep"},
      {"train.schedule.decay", "exponentiallr exp exponentialdecay", "exponential"},
      {"train.schedule.decay", "onecyclelr 1cycle onecycle", "one-cycle"},
      {"train.schedule.decay", "reducelronplateau reduceonplateau", "plateau"},
      {"train.schedule.decay", "lineardecay linearlr linearwarmup", "linear"},
      {"train.schedule.decay", "polynomiallr poly polynomialdecay", "polynomial"},
      {"train.schedule.decay", "none constantlr fixed off const", "constant"},
      {"train.schedule.decay", "trapezoid trapezoidal warmupstabledecay", "wsd"},
      {"train.schedule.decay", "noam inversesqrtlr rsqrt", "inverse-sqrt"},
      {"train.schedule.warmup", "true yes on lin", "linear"},
      {"train.schedule.warmup", "false no off", "none"},
      {"train.precision", "fp16 float16 half 16 mixed amp 16mixed", "bf16",
       "write precision: bf16"},
      {"train.precision", "bfloat16 bf16mixed", "bf16"},
      {"train.precision", "float32 single float full 32", "fp32"},
      {"train.precision", "fp64 float64 double 64", "fp32"},
      {"train.device", "gpu nvidia cuda0 gpu0", "cuda"},
      {"train.device", "mps rocm hip tpu xpu", "cpu", "only cpu and cuda are supported"},
  };
  const std::vector<ValueSynonym> methods = method_synonyms();
  table.insert(table.begin(), methods.begin(), methods.end());
  return table;
}

}  // namespace

const std::vector<ValueSynonym>& value_synonyms() {
  static const std::vector<ValueSynonym> table = all_rows();
  return table;
}

}  // namespace thalweg::jobspec
