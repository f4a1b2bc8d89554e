// One text for functions that run on the host and on a GPU.
#pragma once

#if defined(__CUDACC__)
#define THALWEG_HOST_DEVICE __host__ __device__
#else
#define THALWEG_HOST_DEVICE
#endif
