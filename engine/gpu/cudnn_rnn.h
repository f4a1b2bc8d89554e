// cuDNN's functions for recurrent networks, loaded when they are first asked for, and its
// descriptors of an LSTM's tensors. For this folder only.
// https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-adv-library.html
#pragma once

#include <cudnn_adv.h>

#include <cstdint>
#include <memory>

#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

/// The functions that are used.
struct Rnn {
  decltype(&cudnnDestroy) destroy;
  decltype(&cudnnCreateTensorDescriptor) create_tensor;
  decltype(&cudnnSetTensorNdDescriptor) set_tensor;
  decltype(&cudnnGetTensorNdDescriptor) get_tensor;
  decltype(&cudnnDestroyTensorDescriptor) destroy_tensor;
  decltype(&cudnnCreateRNNDescriptor) create;
  decltype(&cudnnSetRNNDescriptor_v8) set;
  decltype(&cudnnDestroyRNNDescriptor) destroy_descriptor;
  decltype(&cudnnCreateRNNDataDescriptor) create_data;
  decltype(&cudnnSetRNNDataDescriptor) set_data;
  decltype(&cudnnDestroyRNNDataDescriptor) destroy_data;
  decltype(&cudnnGetRNNTempSpaceSizes) temp_space_sizes;
  decltype(&cudnnGetRNNWeightSpaceSize) weight_space_size;
  decltype(&cudnnGetRNNWeightParams) weight_params;
  decltype(&cudnnRNNForward) forward;
  decltype(&cudnnRNNBackwardData_v8) backward_data;
  decltype(&cudnnRNNBackwardWeights_v8) backward_weights;
};

/// Throws where cuDNN is not there.
const Rnn& rnn();

cudnnDataType_t rnn_type(Type type);
std::shared_ptr<cudnnTensorStruct> tensor_descriptor();
/// (samples, positions, size), as it lies.
std::shared_ptr<cudnnRNNDataStruct> sequence_descriptor(const Recurrence& shape, std::int64_t size);
/// Of h and c before and after all positions, which nobody brings or takes.
std::shared_ptr<cudnnTensorStruct> state_descriptor(const Recurrence& shape);
/// What cuDNN is asked for, of one algorithm; made without a GPU. Throws GpuError where cuDNN
/// refuses it.
std::shared_ptr<cudnnRNNStruct> descriptor_of(const Recurrence& shape, cudnnRNNAlgo_t algorithm);

}  // namespace thalweg::engine::gpu
