// cuBLASLt counts matrices column by column. What lies row by row is the transpose to it, so that
// C = A B is asked for as C' = B' A'. https://docs.nvidia.com/cuda/cublas/#using-the-cublaslt-api
#include "engine/gpu/cublaslt.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <mutex>

#include "engine/gpu/cuda_error.h"
#include "engine/gpu/library_loops.h"
#include "engine/gpu/names.h"
#include "engine/gpu/shared_library.h"

namespace thalweg::engine::gpu {
namespace {

/// NVIDIA's recommendation for GPUs from Hopper on.
constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr int kAlgorithms = 8;
/// Of every bias; see library.h.
constexpr std::uint32_t kAlignment = 16;

struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtMatmulDescCreate) create_desc;
  decltype(&cublasLtMatmulDescDestroy) destroy_desc;
  decltype(&cublasLtMatmulDescSetAttribute) set_desc;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmul) matmul;
};

CublasLt load_cublaslt() {
  const std::string major = std::to_string(CUBLAS_VER_MAJOR);
  const SharedLibrary library("libcublasLt.so." + major, "cuBLASLt " + major);
  CublasLt f{};
  library.find(f.create, "cublasLtCreate");
  library.find(f.version, "cublasLtGetVersion");
  library.find(f.status_string, "cublasLtGetStatusString");
  library.find(f.create_desc, "cublasLtMatmulDescCreate");
  library.find(f.destroy_desc, "cublasLtMatmulDescDestroy");
  library.find(f.set_desc, "cublasLtMatmulDescSetAttribute");
  library.find(f.create_layout, "cublasLtMatrixLayoutCreate");
  library.find(f.destroy_layout, "cublasLtMatrixLayoutDestroy");
  library.find(f.set_layout, "cublasLtMatrixLayoutSetAttribute");
  library.find(f.create_preference, "cublasLtMatmulPreferenceCreate");
  library.find(f.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  library.find(f.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  library.find(f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.find(f.matmul, "cublasLtMatmul");
  return f;
}
const CublasLt& lt() {
  static const CublasLt functions = load_cublaslt();
  return functions;
}

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw GpuError(std::string(call) + ": " + lt().status_string(status));
}

/// One for each GPU, which becomes the calling thread's; thread-safe, never destroyed.
cublasLtHandle_t handle_of(int number) {
  static std::mutex& mutex = *new std::mutex;
  static auto& handles = *new std::map<int, cublasLtHandle_t>;
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[number];
  check_cuda(cudaSetDevice(number), "cudaSetDevice");
  if (handle == nullptr) check(lt().create(&handle), "cublasLtCreate");
  return handle;
}

cudaDataType_t cuda_type(Type type) {
  return type == Type::f32 ? CUDA_R_32F : CUDA_R_16BF;
}

class MatrixLayout {
 public:
  MatrixLayout(Type type, std::int64_t rows, std::int64_t columns,
               std::int64_t from_column_to_column, int batch, std::int64_t step) {
    check(lt().create_layout(&layout_, cuda_type(type), static_cast<std::uint64_t>(rows),
                             static_cast<std::uint64_t>(columns), from_column_to_column),
          "cublasLtMatrixLayoutCreate");
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{batch});
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
  }
  ~MatrixLayout() { (void)lt().destroy_layout(layout_); }
  MatrixLayout(const MatrixLayout&) = delete;
  MatrixLayout& operator=(const MatrixLayout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  template <class T>
  void set(cublasLtMatrixLayoutAttribute_t name, T value) {
    check(lt().set_layout(layout_, name, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute");
  }
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Description {
 public:
  explicit Description(cublasComputeType_t compute) {
    check(lt().create_desc(&desc_, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
  }
  ~Description() { (void)lt().destroy_desc(desc_); }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, T value) {
    check(lt().set_desc(desc_, name, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  cublasLtMatmulDesc_t get() const { return desc_; }

 private:
  cublasLtMatmulDesc_t desc_ = nullptr;
};

class Preference {
 public:
  explicit Preference(std::uint32_t alignment) {
    check(lt().create_preference(&preference_), "cublasLtMatmulPreferenceCreate");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspace});
    // Parts of a sum are added as floats, whatever the type of C.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const auto which :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(which, alignment);
  }
  ~Preference() { (void)lt().destroy_preference(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t name, T value) {
    check(lt().set_preference(preference_, name, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  }
  cublasLtMatmulPreference_t preference_ = nullptr;
};

class CublasLtProduct final : public Call {
 public:
  CublasLtProduct(int number, const Product& p)
      : p_(p),
        handle_(handle_of(number)),
        description_(p.a == Type::f32 && p.products == Products::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                      : CUBLAS_COMPUTE_32F),
        first_(p.b, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k, p.row_b, p.batch,
               p.step_b),
        second_(p.a, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m, p.row_a, p.batch,
                p.step_a),
        result_(p.c, p.n, p.m, p.row_c, p.batch, p.step_c) {
    description_.set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    description_.set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.bias || p.sums_of_a)  // the alignment that the heuristics may count on
      description_.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, std::uintptr_t{kAlignment});
    if (p.sums_of_a)  // A is the second matrix there
      description_.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADB);
    if (p.bias || p.relu) {
      description_.set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.bias && p.relu ? CUBLASLT_EPILOGUE_RELU_BIAS
                                                      : p.bias         ? CUBLASLT_EPILOGUE_BIAS
                                                                       : CUBLASLT_EPILOGUE_RELU);
      find_algorithms();
      if (algorithms_ > 0) return;
      fused_ = false;  // then a loop of our own adds the bias
      description_.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
    }
    find_algorithms();
    if (algorithms_ == 0 && !p.sums_of_a)
      throw GpuError("cuBLASLt has no algorithm to do the " + name());
  }

  std::string name() const override { return name_of(p_); }
  std::string key() const override { return key_of(p_); }
  int algorithms() const override { return algorithms_; }
  std::string algorithm_name(int algorithm) const override {
    return algorithm < algorithms_ ? "heuristic " + std::to_string(algorithm) : "";
  }
  std::size_t workspace(int algorithm) const override {
    return found_.at(static_cast<std::size_t>(algorithm)).workspaceSize;
  }

  void run(Stream& stream, std::span<void* const> tensors, void* workspace) const override {
    const auto& algorithm = found_.at(static_cast<std::size_t>(chosen()));
    if (this->workspace(chosen()) > 0 && workspace == nullptr)
      throw GpuError(name() + " runs without its workspace");
    auto* const native = static_cast<cudaStream_t>(stream.native());
    const float beta = p_.accumulate ? 1 : 0;
    const void* const added = p_.accumulate ? addend_of(p_, tensors) : tensors[2];
    const void* const bias = p_.bias ? tensors[3] : nullptr;
    {
      const std::lock_guard lock(mutex_);  // the bias is part of the description
      if (p_.bias && fused_) description_.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
      if (p_.sums_of_a) description_.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, tensors[5]);
      check(lt().matmul(handle_, description_.get(), &p_.alpha, tensors[1], first_.get(),
                        tensors[0], second_.get(), &beta, added, result_.get(), tensors[2],
                        result_.get(), &algorithm.algo, workspace, algorithm.workspaceSize, native),
            "cublasLtMatmul");
    }
    for (int i = 0; !fused_ && i < p_.batch; ++i)
      add_bias(
          stream, p_.c, p_.m, p_.n, p_.row_c,
          static_cast<char*>(tensors[2]) + size_of(p_.c) * static_cast<std::size_t>(i * p_.step_c),
          bias, p_.relu);
  }

 private:
  void find_algorithms() {
    const Preference preference(p_.alignment);
    algorithms_ = 0;
    const cublasStatus_t status =
        lt().heuristic(handle_, description_.get(), first_.get(), second_.get(), result_.get(),
                       result_.get(), preference.get(), kAlgorithms, found_.data(), &algorithms_);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
      algorithms_ = 0;
    } else {
      check(status, "cublasLtMatmulAlgoGetHeuristic");
    }
  }

  Product p_;
  cublasLtHandle_t handle_;
  mutable Description description_;
  MatrixLayout first_, second_, result_;
  std::array<cublasLtMatmulHeuristicResult_t, kAlgorithms> found_{};
  int algorithms_ = 0;
  bool fused_ = true;
  mutable std::mutex mutex_;
};

}  // namespace

std::size_t cublaslt_version() {
  return lt().version();
}

std::unique_ptr<Call> cublaslt_product(int number, const Product& shape) {
  refuse_types(shape);
  auto call = std::make_unique<CublasLtProduct>(number, with_rows(shape));
  if (call->algorithms() > 0) return call;
  note_refusal(call->name(), "cuBLASLt cannot add up a bias's gradient beside this product");
  return nullptr;
}

}  // namespace thalweg::engine::gpu
