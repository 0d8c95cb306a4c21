; Made from launcher.c by `make launcher`: change that.

%struct.Devices = type { i64, [8 x i64], [2 x ptr] }
%struct.Kind = type { i32, i32, [512 x i8], [40 x ptr], [16 x %struct.Device], ptr, i64, i64, i64, %struct.BuiltTable, %struct.BuiltTable, ptr }
%struct.Device = type { ptr, ptr, ptr, ptr, [192 x ptr], i64, i64, i64 }
%struct.BuiltTable = type { [1024 x ptr] }
%struct.Driver = type { ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr }
%struct.anon = type { i32, i32 }
%struct.TilewrightValue = type { i32, i32, %union.anon }
%union.anon = type { i64 }
%struct.Place = type { ptr, i32, ptr }
%struct.TilewrightArray = type { ptr, i32, i32, i32, i8, i8, i16, ptr, ptr, i64 }
%struct.Launch = type { ptr, ptr, ptr, [3 x i64], [3 x i64], i64 }
%struct.anon.1 = type { ptr, i64 }

@.str = private unnamed_addr constant [1 x i8] zeroinitializer, align 1
@.str.1 = private unnamed_addr constant [34 x i8] c"no memory for %ld bytes on %s(%d)\00", align 1
@.str.2 = private unnamed_addr constant [12 x i8] c"MemoryError\00", align 1
@.str.3 = private unnamed_addr constant [43 x i8] c"0x%lx is no memory that was allocated here\00", align 1
@.str.4 = private unnamed_addr constant [12 x i8] c"DeviceError\00", align 1
@.str.5 = private unnamed_addr constant [18 x i8] c"%s fails: %s (%d)\00", align 1
@.str.6 = private unnamed_addr constant [19 x i8] c"clGetMemObjectInfo\00", align 1
@.str.7 = private unnamed_addr constant [30 x i8] c"no memory is left on the host\00", align 1
@.str.8 = private unnamed_addr constant [37 x i8] c"arrays as values need a tvm-ffi host\00", align 1
@.str.9 = private unnamed_addr constant [13 x i8] c"RuntimeError\00", align 1
@constinit.10 = private unnamed_addr constant [3 x i64] [i64 1, i64 1, i64 1], align 8
@.str.11 = private unnamed_addr constant [26 x i8] c"tilewright.device.current\00", align 1
@.str.12 = private unnamed_addr constant [3 x i8] c"%s\00", align 1
@tilewright_constants_release.TYPES = internal unnamed_addr constant [2 x i32] [i32 4, i32 2], align 4
@shared = internal unnamed_addr global ptr null, align 8
@.str.13 = private unnamed_addr constant [19 x i8] c"tilewright.devices\00", align 1
@own = internal global %struct.Devices { i64 2, [8 x i64] zeroinitializer, [2 x ptr] [ptr @own_kinds, ptr getelementptr (i8, ptr @own_kinds, i64 42736)] }, align 8
@own_kinds = internal global [2 x %struct.Kind] zeroinitializer, align 16
@OPENCL = internal constant %struct.Driver { ptr @.str.14, ptr @.str.15, ptr @opencl_load, ptr @opencl_open, ptr @opencl_allocate, ptr @opencl_release, ptr @opencl_device_of, ptr @opencl_copy, ptr @opencl_synchronize, ptr @opencl_create_stream, ptr @opencl_destroy_stream, ptr @opencl_wait, ptr @opencl_record, ptr @opencl_elapsed, ptr @opencl_build, ptr @opencl_find, ptr @opencl_launch, ptr @opencl_property, ptr @opencl_describe }, align 8
@CUDA = internal constant %struct.Driver { ptr @.str.73, ptr @.str.74, ptr @cuda_load, ptr @cuda_open, ptr @cuda_allocate, ptr @cuda_release, ptr @cuda_device_of, ptr @cuda_copy, ptr @cuda_synchronize, ptr @cuda_create_stream, ptr @cuda_destroy_stream, ptr @cuda_wait, ptr @cuda_record, ptr @cuda_elapsed, ptr @cuda_build, ptr @cuda_find, ptr @cuda_launch, ptr @cuda_property, ptr @cuda_describe }, align 8
@.str.14 = private unnamed_addr constant [7 x i8] c"OpenCL\00", align 1
@.str.15 = private unnamed_addr constant [7 x i8] c"opencl\00", align 1
@.str.16 = private unnamed_addr constant [26 x i8] c"TILEWRIGHT_OPENCL_LIBRARY\00", align 1
@OPENCL_LIBRARIES.rel = internal unnamed_addr constant [2 x i32] [i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.25 to i64), i64 ptrtoint (ptr @OPENCL_LIBRARIES.rel to i64)) to i32), i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.26 to i64), i64 ptrtoint (ptr @OPENCL_LIBRARIES.rel to i64)) to i32)], align 4
@.str.17 = private unnamed_addr constant [33 x i8] c"%s is not here: install a driver\00", align 1
@OPENCL_NAMES = internal unnamed_addr constant [29 x ptr] [ptr @.str.27, ptr @.str.28, ptr @.str.29, ptr @.str.30, ptr @.str.31, ptr @.str.6, ptr @.str.32, ptr @.str.33, ptr @.str.34, ptr @.str.35, ptr @.str.36, ptr @.str.37, ptr @.str.38, ptr @.str.39, ptr @.str.40, ptr @.str.41, ptr @.str.42, ptr @.str.43, ptr @.str.44, ptr @.str.45, ptr @.str.46, ptr @.str.47, ptr @.str.48, ptr @.str.49, ptr @.str.50, ptr @.str.51, ptr @.str.52, ptr @.str.53, ptr @.str.54], align 16
@.str.18 = private unnamed_addr constant [35 x i8] c"the library lacks %s of OpenCL 1.2\00", align 1
@.str.19 = private unnamed_addr constant [23 x i8] c"POCL_WORK_GROUP_METHOD\00", align 1
@.str.20 = private unnamed_addr constant [8 x i8] c"loopvec\00", align 1
@.str.21 = private unnamed_addr constant [25 x i8] c"TILEWRIGHT_OPENCL_DEVICE\00", align 1
@.str.22 = private unnamed_addr constant [50 x i8] c"there is no OpenCL device: install a driver%s%s%s\00", align 1
@.str.23 = private unnamed_addr constant [3 x i8] c"; \00", align 1
@.str.24 = private unnamed_addr constant [34 x i8] c" is there, and its compiler fails\00", align 1
@.str.25 = private unnamed_addr constant [15 x i8] c"libOpenCL.so.1\00", align 1
@.str.26 = private unnamed_addr constant [13 x i8] c"libOpenCL.so\00", align 1
@.str.27 = private unnamed_addr constant [17 x i8] c"clGetPlatformIDs\00", align 1
@.str.28 = private unnamed_addr constant [15 x i8] c"clGetDeviceIDs\00", align 1
@.str.29 = private unnamed_addr constant [16 x i8] c"clGetDeviceInfo\00", align 1
@.str.30 = private unnamed_addr constant [19 x i8] c"clReleaseMemObject\00", align 1
@.str.31 = private unnamed_addr constant [18 x i8] c"clRetainMemObject\00", align 1
@.str.32 = private unnamed_addr constant [21 x i8] c"clEnqueueWriteBuffer\00", align 1
@.str.33 = private unnamed_addr constant [20 x i8] c"clEnqueueReadBuffer\00", align 1
@.str.34 = private unnamed_addr constant [20 x i8] c"clEnqueueCopyBuffer\00", align 1
@.str.35 = private unnamed_addr constant [8 x i8] c"clFlush\00", align 1
@.str.36 = private unnamed_addr constant [9 x i8] c"clFinish\00", align 1
@.str.37 = private unnamed_addr constant [22 x i8] c"clReleaseCommandQueue\00", align 1
@.str.38 = private unnamed_addr constant [28 x i8] c"clEnqueueMarkerWithWaitList\00", align 1
@.str.39 = private unnamed_addr constant [29 x i8] c"clEnqueueBarrierWithWaitList\00", align 1
@.str.40 = private unnamed_addr constant [16 x i8] c"clWaitForEvents\00", align 1
@.str.41 = private unnamed_addr constant [24 x i8] c"clGetEventProfilingInfo\00", align 1
@.str.42 = private unnamed_addr constant [15 x i8] c"clReleaseEvent\00", align 1
@.str.43 = private unnamed_addr constant [15 x i8] c"clBuildProgram\00", align 1
@.str.44 = private unnamed_addr constant [22 x i8] c"clGetProgramBuildInfo\00", align 1
@.str.45 = private unnamed_addr constant [17 x i8] c"clReleaseProgram\00", align 1
@.str.46 = private unnamed_addr constant [15 x i8] c"clSetKernelArg\00", align 1
@.str.47 = private unnamed_addr constant [25 x i8] c"clGetKernelWorkGroupInfo\00", align 1
@.str.48 = private unnamed_addr constant [23 x i8] c"clEnqueueNDRangeKernel\00", align 1
@.str.49 = private unnamed_addr constant [16 x i8] c"clCreateContext\00", align 1
@.str.50 = private unnamed_addr constant [21 x i8] c"clCreateCommandQueue\00", align 1
@.str.51 = private unnamed_addr constant [15 x i8] c"clCreateBuffer\00", align 1
@.str.52 = private unnamed_addr constant [18 x i8] c"clCreateSubBuffer\00", align 1
@.str.53 = private unnamed_addr constant [26 x i8] c"clCreateProgramWithSource\00", align 1
@.str.54 = private unnamed_addr constant [15 x i8] c"clCreateKernel\00", align 1
@.str.55 = private unnamed_addr constant [9 x i8] c"oclgrind\00", align 1
@.str.56 = private unnamed_addr constant [25 x i8] c"__kernel void probe() {}\00", align 1
@.str.57 = private unnamed_addr constant [31 x i8] c"clCreateContext fails: %s (%d)\00", align 1
@.str.58 = private unnamed_addr constant [36 x i8] c"clCreateCommandQueue fails: %s (%d)\00", align 1
@.str.59 = private unnamed_addr constant [30 x i8] c"clCreateBuffer fails: %s (%d)\00", align 1
@.str.60 = private unnamed_addr constant [64 x i8] c"0x%lx is no address of an OpenCL device that this library knows\00", align 1
@.str.61 = private unnamed_addr constant [41 x i8] c"clCreateProgramWithSource fails: %s (%d)\00", align 1
@.str.62 = private unnamed_addr constant [9 x i8] c"barrier(\00", align 1
@.str.63 = private unnamed_addr constant [16 x i8] c"-cl-opt-disable\00", align 1
@.str.64 = private unnamed_addr constant [5 x i8] c"pocl\00", align 1
@.str.65 = private unnamed_addr constant [6 x i8] c"error\00", align 1
@.str.66 = private unnamed_addr constant [64 x i8] c"the OpenCL compiler refuses the kernels: line %ld: %.*s\0A%.3000s\00", align 1
@.str.67 = private unnamed_addr constant [33 x i8] c"the program has no kernel %s: %s\00", align 1
@.str.68 = private unnamed_addr constant [135 x i8] c"%s: argument %u begins at byte %lu of its memory, and kernels of the device take memory from multiples of %lu bytes on; copy the array\00", align 1
@.str.69 = private unnamed_addr constant [67 x i8] c"; a block takes %lu bytes of shared memory, and the device has %lu\00", align 1
@.str.70 = private unnamed_addr constant [70 x i8] c"; a block has %lu threads, and the device runs at most %lu of a block\00", align 1
@.str.71 = private unnamed_addr constant [78 x i8] c"; a block has %lu threads, and the registers of the device are enough for %lu\00", align 1
@.str.72 = private unnamed_addr constant [98 x i8] c"%s: cannot be started with (%lu, %lu, %lu) blocks of (%lu, %lu, %lu) threads: %s fails: %s (%d)%s\00", align 1
@.str.73 = private unnamed_addr constant [5 x i8] c"CUDA\00", align 1
@.str.74 = private unnamed_addr constant [5 x i8] c"cuda\00", align 1
@CUDA_LIBRARIES.rel = internal unnamed_addr constant [2 x i32] [i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.79 to i64), i64 ptrtoint (ptr @CUDA_LIBRARIES.rel to i64)) to i32), i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.80 to i64), i64 ptrtoint (ptr @CUDA_LIBRARIES.rel to i64)) to i32)], align 4
@.str.75 = private unnamed_addr constant [50 x i8] c"libcuda.so.1 is not here: install NVIDIA's driver\00", align 1
@CUDA_NAMES = internal unnamed_addr constant [32 x ptr] [ptr @.str.81, ptr @.str.82, ptr @.str.83, ptr @.str.84, ptr @.str.85, ptr @.str.86, ptr @.str.87, ptr @.str.88, ptr @.str.89, ptr @.str.90, ptr @.str.91, ptr @.str.92, ptr @.str.93, ptr @.str.94, ptr @.str.95, ptr @.str.96, ptr @.str.97, ptr @.str.98, ptr @.str.99, ptr @.str.100, ptr @.str.101, ptr @.str.102, ptr @.str.103, ptr @.str.104, ptr @.str.105, ptr @.str.106, ptr @.str.107, ptr @.str.108, ptr @.str.109, ptr @.str.110, ptr @.str.111, ptr @.str.112], align 16
@.str.76 = private unnamed_addr constant [35 x i8] c"the driver is too old: it lacks %s\00", align 1
@.str.77 = private unnamed_addr constant [36 x i8] c"the driver finds no device: %s (%d)\00", align 1
@.str.78 = private unnamed_addr constant [9 x i8] c"an error\00", align 1
@.str.79 = private unnamed_addr constant [13 x i8] c"libcuda.so.1\00", align 1
@.str.80 = private unnamed_addr constant [11 x i8] c"libcuda.so\00", align 1
@.str.81 = private unnamed_addr constant [7 x i8] c"cuInit\00", align 1
@.str.82 = private unnamed_addr constant [15 x i8] c"cuGetErrorName\00", align 1
@.str.83 = private unnamed_addr constant [17 x i8] c"cuGetErrorString\00", align 1
@.str.84 = private unnamed_addr constant [17 x i8] c"cuDeviceGetCount\00", align 1
@.str.85 = private unnamed_addr constant [12 x i8] c"cuDeviceGet\00", align 1
@.str.86 = private unnamed_addr constant [16 x i8] c"cuDeviceGetName\00", align 1
@.str.87 = private unnamed_addr constant [20 x i8] c"cuDeviceTotalMem_v2\00", align 1
@.str.88 = private unnamed_addr constant [21 x i8] c"cuDeviceGetAttribute\00", align 1
@.str.89 = private unnamed_addr constant [25 x i8] c"cuDevicePrimaryCtxRetain\00", align 1
@.str.90 = private unnamed_addr constant [16 x i8] c"cuCtxSetCurrent\00", align 1
@.str.91 = private unnamed_addr constant [17 x i8] c"cuCtxSynchronize\00", align 1
@.str.92 = private unnamed_addr constant [14 x i8] c"cuMemAlloc_v2\00", align 1
@.str.93 = private unnamed_addr constant [13 x i8] c"cuMemFree_v2\00", align 1
@.str.94 = private unnamed_addr constant [16 x i8] c"cuMemGetInfo_v2\00", align 1
@.str.95 = private unnamed_addr constant [21 x i8] c"cuMemcpyHtoDAsync_v2\00", align 1
@.str.96 = private unnamed_addr constant [21 x i8] c"cuMemcpyDtoHAsync_v2\00", align 1
@.str.97 = private unnamed_addr constant [14 x i8] c"cuMemcpyAsync\00", align 1
@.str.98 = private unnamed_addr constant [22 x i8] c"cuPointerGetAttribute\00", align 1
@.str.99 = private unnamed_addr constant [15 x i8] c"cuStreamCreate\00", align 1
@.str.100 = private unnamed_addr constant [19 x i8] c"cuStreamDestroy_v2\00", align 1
@.str.101 = private unnamed_addr constant [20 x i8] c"cuStreamSynchronize\00", align 1
@.str.102 = private unnamed_addr constant [18 x i8] c"cuStreamWaitEvent\00", align 1
@.str.103 = private unnamed_addr constant [14 x i8] c"cuEventCreate\00", align 1
@.str.104 = private unnamed_addr constant [14 x i8] c"cuEventRecord\00", align 1
@.str.105 = private unnamed_addr constant [19 x i8] c"cuEventSynchronize\00", align 1
@.str.106 = private unnamed_addr constant [19 x i8] c"cuEventElapsedTime\00", align 1
@.str.107 = private unnamed_addr constant [18 x i8] c"cuEventDestroy_v2\00", align 1
@.str.108 = private unnamed_addr constant [19 x i8] c"cuModuleLoadDataEx\00", align 1
@.str.109 = private unnamed_addr constant [20 x i8] c"cuModuleGetFunction\00", align 1
@.str.110 = private unnamed_addr constant [19 x i8] c"cuFuncGetAttribute\00", align 1
@.str.111 = private unnamed_addr constant [19 x i8] c"cuFuncSetAttribute\00", align 1
@.str.112 = private unnamed_addr constant [15 x i8] c"cuLaunchKernel\00", align 1
@.str.113 = private unnamed_addr constant [22 x i8] c"%s fails: %s (%d): %s\00", align 1
@.str.114 = private unnamed_addr constant [11 x i8] c"cuMemAlloc\00", align 1
@.str.115 = private unnamed_addr constant [37 x i8] c"0x%lx is no address of a CUDA device\00", align 1
@.str.116 = private unnamed_addr constant [48 x i8] c"the driver cannot load the kernels: %s (%d): %s\00", align 1
@.str.117 = private unnamed_addr constant [24 x i8] c"tilewright.cuda.compile\00", align 1
@.str.118 = private unnamed_addr constant [122 x i8] c"the library has kernels in CUDA C only: export it where NVRTC is installed (tilewright[cuda]), which compiles them to PTX\00", align 1
@.str.119 = private unnamed_addr constant [31 x i8] c"%s: it has too many parameters\00", align 1
@report_start.LETTERS = internal unnamed_addr constant [4 x i8] c"xyz\00", align 1
@.str.120 = private unnamed_addr constant [71 x i8] c"; there are %lu blocks along %c, and the device runs at most %lu there\00", align 1
@.str.121 = private unnamed_addr constant [74 x i8] c"; a block has %lu threads along %c, and the device runs at most %lu there\00", align 1
@.str.122 = private unnamed_addr constant [77 x i8] c"; a block has %lu threads, and the registers of the device are enough for %d\00", align 1
@.str.123 = private unnamed_addr constant [114 x i8] c"%s: cannot be started with (%lu, %lu, %lu) blocks of (%lu, %lu, %lu) threads: cuLaunchKernel fails: %s (%d): %s%s\00", align 1
@cuda_property.ATTRIBUTES = internal unnamed_addr constant [10 x %struct.anon] [%struct.anon { i32 1, i32 1 }, %struct.anon { i32 2, i32 10 }, %struct.anon { i32 3, i32 8 }, %struct.anon { i32 4, i32 16 }, %struct.anon { i32 5, i32 38 }, %struct.anon { i32 10, i32 13 }, %struct.anon { i32 11, i32 12 }, %struct.anon { i32 12, i32 2 }, %struct.anon { i32 13, i32 3 }, %struct.anon { i32 14, i32 4 }], align 16
@.str.124 = private unnamed_addr constant [69 x i8] c"the library drives OpenCL (%d) and CUDA (%d), not devices of type %d\00", align 1
@.str.125 = private unnamed_addr constant [30 x i8] c"%s devices cannot be used: %s\00", align 1
@.str.126 = private unnamed_addr constant [60 x i8] c"there is no device %s(%d): this machine has %d of that type\00", align 1
@.str.127 = private unnamed_addr constant [8 x i8] c"%s: %s\0A\00", align 1
@.str.128 = private unnamed_addr constant [102 x i8] c"no memory for %lu bytes on %s(%d): %lu of its %lu bytes are free, and arrays of this process have %lu\00", align 1
@OPENCL_ERRORS = internal unnamed_addr constant [15 x ptr] [ptr @.str.130, ptr @.str.131, ptr @.str.132, ptr @.str.133, ptr @.str.134, ptr @.str.135, ptr @.str.136, ptr @.str.137, ptr @.str.138, ptr @.str.139, ptr @.str.140, ptr @.str.141, ptr @.str.142, ptr @.str.143, ptr @.str.144], align 16
@OPENCL_INVALID = internal unnamed_addr constant [34 x ptr] [ptr @.str.145, ptr @.str.146, ptr @.str.147, ptr @.str.148, ptr @.str.149, ptr @.str.150, ptr @.str.151, ptr @.str.152, ptr @.str.153, ptr @.str.154, ptr @.str.155, ptr @.str.156, ptr @.str.157, ptr @.str.158, ptr @.str.159, ptr @.str.160, ptr @.str.161, ptr @.str.162, ptr @.str.163, ptr @.str.164, ptr @.str.165, ptr @.str.166, ptr @.str.167, ptr @.str.168, ptr @.str.169, ptr @.str.170, ptr @.str.171, ptr @.str.172, ptr @.str.173, ptr @.str.174, ptr @.str.175, ptr @.str.176, ptr @.str.177, ptr @.str.178], align 16
@.str.129 = private unnamed_addr constant [23 x i8] c"an error of the driver\00", align 1
@.str.130 = private unnamed_addr constant [11 x i8] c"CL_SUCCESS\00", align 1
@.str.131 = private unnamed_addr constant [20 x i8] c"CL_DEVICE_NOT_FOUND\00", align 1
@.str.132 = private unnamed_addr constant [24 x i8] c"CL_DEVICE_NOT_AVAILABLE\00", align 1
@.str.133 = private unnamed_addr constant [26 x i8] c"CL_COMPILER_NOT_AVAILABLE\00", align 1
@.str.134 = private unnamed_addr constant [33 x i8] c"CL_MEM_OBJECT_ALLOCATION_FAILURE\00", align 1
@.str.135 = private unnamed_addr constant [20 x i8] c"CL_OUT_OF_RESOURCES\00", align 1
@.str.136 = private unnamed_addr constant [22 x i8] c"CL_OUT_OF_HOST_MEMORY\00", align 1
@.str.137 = private unnamed_addr constant [32 x i8] c"CL_PROFILING_INFO_NOT_AVAILABLE\00", align 1
@.str.138 = private unnamed_addr constant [20 x i8] c"CL_MEM_COPY_OVERLAP\00", align 1
@.str.139 = private unnamed_addr constant [25 x i8] c"CL_IMAGE_FORMAT_MISMATCH\00", align 1
@.str.140 = private unnamed_addr constant [30 x i8] c"CL_IMAGE_FORMAT_NOT_SUPPORTED\00", align 1
@.str.141 = private unnamed_addr constant [25 x i8] c"CL_BUILD_PROGRAM_FAILURE\00", align 1
@.str.142 = private unnamed_addr constant [15 x i8] c"CL_MAP_FAILURE\00", align 1
@.str.143 = private unnamed_addr constant [32 x i8] c"CL_MISALIGNED_SUB_BUFFER_OFFSET\00", align 1
@.str.144 = private unnamed_addr constant [45 x i8] c"CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST\00", align 1
@.str.145 = private unnamed_addr constant [17 x i8] c"CL_INVALID_VALUE\00", align 1
@.str.146 = private unnamed_addr constant [23 x i8] c"CL_INVALID_DEVICE_TYPE\00", align 1
@.str.147 = private unnamed_addr constant [20 x i8] c"CL_INVALID_PLATFORM\00", align 1
@.str.148 = private unnamed_addr constant [18 x i8] c"CL_INVALID_DEVICE\00", align 1
@.str.149 = private unnamed_addr constant [19 x i8] c"CL_INVALID_CONTEXT\00", align 1
@.str.150 = private unnamed_addr constant [28 x i8] c"CL_INVALID_QUEUE_PROPERTIES\00", align 1
@.str.151 = private unnamed_addr constant [25 x i8] c"CL_INVALID_COMMAND_QUEUE\00", align 1
@.str.152 = private unnamed_addr constant [20 x i8] c"CL_INVALID_HOST_PTR\00", align 1
@.str.153 = private unnamed_addr constant [22 x i8] c"CL_INVALID_MEM_OBJECT\00", align 1
@.str.154 = private unnamed_addr constant [35 x i8] c"CL_INVALID_IMAGE_FORMAT_DESCRIPTOR\00", align 1
@.str.155 = private unnamed_addr constant [22 x i8] c"CL_INVALID_IMAGE_SIZE\00", align 1
@.str.156 = private unnamed_addr constant [19 x i8] c"CL_INVALID_SAMPLER\00", align 1
@.str.157 = private unnamed_addr constant [18 x i8] c"CL_INVALID_BINARY\00", align 1
@.str.158 = private unnamed_addr constant [25 x i8] c"CL_INVALID_BUILD_OPTIONS\00", align 1
@.str.159 = private unnamed_addr constant [19 x i8] c"CL_INVALID_PROGRAM\00", align 1
@.str.160 = private unnamed_addr constant [30 x i8] c"CL_INVALID_PROGRAM_EXECUTABLE\00", align 1
@.str.161 = private unnamed_addr constant [23 x i8] c"CL_INVALID_KERNEL_NAME\00", align 1
@.str.162 = private unnamed_addr constant [29 x i8] c"CL_INVALID_KERNEL_DEFINITION\00", align 1
@.str.163 = private unnamed_addr constant [18 x i8] c"CL_INVALID_KERNEL\00", align 1
@.str.164 = private unnamed_addr constant [21 x i8] c"CL_INVALID_ARG_INDEX\00", align 1
@.str.165 = private unnamed_addr constant [21 x i8] c"CL_INVALID_ARG_VALUE\00", align 1
@.str.166 = private unnamed_addr constant [20 x i8] c"CL_INVALID_ARG_SIZE\00", align 1
@.str.167 = private unnamed_addr constant [23 x i8] c"CL_INVALID_KERNEL_ARGS\00", align 1
@.str.168 = private unnamed_addr constant [26 x i8] c"CL_INVALID_WORK_DIMENSION\00", align 1
@.str.169 = private unnamed_addr constant [27 x i8] c"CL_INVALID_WORK_GROUP_SIZE\00", align 1
@.str.170 = private unnamed_addr constant [26 x i8] c"CL_INVALID_WORK_ITEM_SIZE\00", align 1
@.str.171 = private unnamed_addr constant [25 x i8] c"CL_INVALID_GLOBAL_OFFSET\00", align 1
@.str.172 = private unnamed_addr constant [27 x i8] c"CL_INVALID_EVENT_WAIT_LIST\00", align 1
@.str.173 = private unnamed_addr constant [17 x i8] c"CL_INVALID_EVENT\00", align 1
@.str.174 = private unnamed_addr constant [21 x i8] c"CL_INVALID_OPERATION\00", align 1
@.str.175 = private unnamed_addr constant [21 x i8] c"CL_INVALID_GL_OBJECT\00", align 1
@.str.176 = private unnamed_addr constant [23 x i8] c"CL_INVALID_BUFFER_SIZE\00", align 1
@.str.177 = private unnamed_addr constant [21 x i8] c"CL_INVALID_MIP_LEVEL\00", align 1
@.str.178 = private unnamed_addr constant [28 x i8] c"CL_INVALID_GLOBAL_WORK_SIZE\00", align 1
@.str.179 = private unnamed_addr constant [58 x i8] c"%ld bytes from 0x%lx on are more than was allocated there\00", align 1
@.str.180 = private unnamed_addr constant [111 x i8] c"%s: its arrays are on several devices: %s(%d) and %s(%d); copy them to one, such as by tvm.nd.array(x, device)\00", align 1

define weak ptr @tilewright_devices() {
  %1 = tail call fastcc ptr @devices()
  ret ptr %1
}

define internal fastcc ptr @devices() unnamed_addr {
  %1 = alloca %struct.TilewrightValue, align 8
  %2 = load atomic i64, ptr @shared acquire, align 8
  %3 = icmp eq i64 %2, 0
  br i1 %3, label %6, label %4

4:
  %5 = inttoptr i64 %2 to ptr
  br label %20

6:
  call void @llvm.memset.p0.i64(ptr align 8 %1, i8 0, i64 16, i1 false)
  %7 = call fastcc i32 @call_host(ptr @.str.13, ptr null, i32 0, ptr %1)
  %8 = icmp ne i32 %7, 0
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %10 = load ptr, ptr %9, align 8
  %11 = icmp eq ptr %10, null
  %12 = select i1 %8, i1 true, i1 %11
  br i1 %12, label %16, label %13

13:
  %14 = load i64, ptr %10, align 8
  %15 = icmp eq i64 %14, 2
  br i1 %15, label %17, label %16

16:
  br label %17

17:
  %18 = phi ptr [ @own, %16 ], [ %10, %13 ]
  %19 = ptrtoint ptr %18 to i64
  store atomic i64 %19, ptr @shared release, align 8
  br label %20

20:
  %21 = phi ptr [ %5, %4 ], [ %18, %17 ]
  ret ptr %21
}

define weak ptr @tilewright_devices_exchange(i32 %0, ptr %1, ptr %2) {
  %4 = tail call fastcc ptr @devices()
  %5 = getelementptr inbounds nuw i8, ptr %4, i64 72
  %6 = icmp eq i32 %0, 2
  %7 = zext i1 %6 to i64
  %8 = getelementptr inbounds nuw ptr, ptr %5, i64 %7
  %9 = load ptr, ptr %8, align 8
  %10 = icmp eq ptr %1, null
  br i1 %10, label %11, label %20

11:
  %12 = tail call ptr @calloc(i64 1, i64 42736)
  %13 = icmp eq ptr %12, null
  br i1 %13, label %22, label %14

14:
  %15 = icmp eq i32 %0, 4
  %16 = select i1 %6, ptr @CUDA, ptr null
  %17 = select i1 %15, ptr @OPENCL, ptr %16
  %18 = getelementptr inbounds nuw i8, ptr %17, i64 16
  %19 = load ptr, ptr %18, align 8
  tail call void %19(ptr %12, ptr %2)
  store i32 1, ptr %12, align 8
  br label %20

20:
  %21 = phi ptr [ %1, %3 ], [ %12, %14 ]
  store ptr %21, ptr %8, align 8
  br label %22

22:
  %23 = phi ptr [ %9, %20 ], [ null, %11 ]
  ret ptr %23
}

declare ptr @calloc(i64, i64)

define weak ptr @tilewright_devices_reason(i32 %0) {
  %2 = tail call fastcc ptr @kind_of(i32 %0)
  %3 = getelementptr inbounds nuw i8, ptr %2, i64 4
  %4 = load i32, ptr %3, align 4
  %5 = icmp eq i32 %4, 0
  %6 = getelementptr inbounds nuw i8, ptr %2, i64 8
  %7 = select i1 %5, ptr %6, ptr @.str
  ret ptr %7
}

define internal fastcc ptr @kind_of(i32 %0) unnamed_addr {
  %2 = tail call fastcc ptr @devices()
  %3 = getelementptr inbounds nuw i8, ptr %2, i64 72
  %4 = icmp eq i32 %0, 2
  %5 = zext i1 %4 to i64
  %6 = getelementptr inbounds nuw ptr, ptr %3, i64 %5
  %7 = load ptr, ptr %6, align 8
  %8 = load atomic i32, ptr %7 acquire, align 8
  %9 = icmp eq i32 %8, 0
  br i1 %9, label %10, label %26

10:
  %11 = tail call fastcc ptr @devices()
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 8
  %13 = tail call i32 @pthread_mutex_lock(ptr %12)
  %14 = load i32, ptr %7, align 8
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %16, label %22

16:
  %17 = icmp eq i32 %0, 4
  %18 = select i1 %4, ptr @CUDA, ptr null
  %19 = select i1 %17, ptr @OPENCL, ptr %18
  %20 = getelementptr inbounds nuw i8, ptr %19, i64 16
  %21 = load ptr, ptr %20, align 8
  tail call void %21(ptr %7, ptr null)
  br label %22

22:
  store atomic i32 1, ptr %7 release, align 8
  %23 = tail call fastcc ptr @devices()
  %24 = getelementptr inbounds nuw i8, ptr %23, i64 8
  %25 = tail call i32 @pthread_mutex_unlock(ptr %24)
  br label %26

26:
  ret ptr %7
}

define weak i32 @tilewright_device_count(i32 %0) {
  switch i32 %0, label %6 [
    i32 4, label %2
    i32 2, label %2
  ]

2:
  %3 = tail call fastcc ptr @kind_of(i32 %0)
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 4
  %5 = load i32, ptr %4, align 4
  br label %6

6:
  %7 = phi i32 [ %5, %2 ], [ 0, %1 ]
  ret i32 %7
}

define weak i32 @tilewright_device_require(i32 %0, i32 %1) {
  %3 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %4 = icmp eq ptr %3, null
  %5 = sext i1 %4 to i32
  ret i32 %5
}

define internal fastcc ptr @opened(i32 %0, i32 %1) unnamed_addr {
  %3 = alloca [4096 x i8], align 16
  %4 = alloca [4096 x i8], align 16
  %5 = alloca [4096 x i8], align 16
  %6 = icmp eq i32 %0, 4
  %7 = icmp eq i32 %0, 2
  %8 = select i1 %7, ptr @CUDA, ptr null
  %9 = select i1 %6, ptr @OPENCL, ptr %8
  %10 = icmp eq ptr %9, null
  br i1 %10, label %11, label %13

11:
  %12 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %3, i64 4096, ptr @.str.124, i32 4, i32 2, i32 %0)
  call fastcc void @report(ptr @.str.4, ptr %3)
  br label %53

13:
  %14 = tail call fastcc ptr @kind_of(i32 %0)
  %15 = getelementptr inbounds nuw i8, ptr %14, i64 4
  %16 = load i32, ptr %15, align 4
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %22

18:
  %19 = load ptr, ptr %9, align 8
  %20 = getelementptr inbounds nuw i8, ptr %14, i64 8
  %21 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %4, i64 4096, ptr @.str.125, ptr %19, ptr %20)
  call fastcc void @report(ptr @.str.4, ptr %4)
  br label %53

22:
  %23 = icmp sgt i32 %1, -1
  %24 = icmp slt i32 %1, %16
  %25 = and i1 %23, %24
  br i1 %25, label %30, label %26

26:
  %27 = getelementptr inbounds nuw i8, ptr %9, i64 8
  %28 = load ptr, ptr %27, align 8
  %29 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %5, i64 4096, ptr @.str.126, ptr %28, i32 %1, i32 %16)
  call fastcc void @report(ptr @.str.4, ptr %5)
  br label %53

30:
  %31 = zext nneg i32 %1 to i64
  %32 = getelementptr inbounds nuw %struct.Device, ptr %14, i64 %31
  %33 = getelementptr inbounds nuw i8, ptr %32, i64 848
  %34 = load atomic i64, ptr %33 acquire, align 8
  %35 = icmp eq i64 %34, 0
  br i1 %35, label %36, label %53

36:
  %37 = tail call fastcc ptr @devices()
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 8
  %39 = tail call i32 @pthread_mutex_lock(ptr %38)
  %40 = load ptr, ptr %33, align 8
  %41 = icmp eq ptr %40, null
  br i1 %41, label %42, label %48

42:
  %43 = getelementptr inbounds nuw i8, ptr %9, i64 24
  %44 = load ptr, ptr %43, align 8
  %45 = tail call i32 %44(ptr %14, i32 %1)
  %46 = icmp eq i32 %45, 0
  %47 = select i1 %46, ptr %14, ptr null
  br label %48

48:
  %49 = phi ptr [ %47, %42 ], [ %14, %36 ]
  %50 = tail call fastcc ptr @devices()
  %51 = getelementptr inbounds nuw i8, ptr %50, i64 8
  %52 = tail call i32 @pthread_mutex_unlock(ptr %51)
  br label %53

53:
  %54 = phi ptr [ null, %11 ], [ null, %26 ], [ null, %18 ], [ %49, %48 ], [ %14, %30 ]
  ret ptr %54
}

define weak i32 @tilewright_device_of(i32 %0, ptr %1, ptr %2) {
  %4 = tail call fastcc ptr @opened(i32 %0, i32 0)
  %5 = icmp eq ptr %4, null
  br i1 %5, label %30, label %6

6:
  %7 = tail call fastcc ptr @kind_of(i32 %0)
  %8 = tail call fastcc ptr @devices()
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %10 = tail call i32 @pthread_mutex_lock(ptr %9)
  %11 = ptrtoint ptr %1 to i64
  %12 = tail call fastcc ptr @block_of(ptr %7, i64 %11)
  %13 = icmp eq ptr %12, null
  br i1 %13, label %17, label %14

14:
  %15 = getelementptr inbounds nuw i8, ptr %12, i64 16
  %16 = load i32, ptr %15, align 8
  store i32 %16, ptr %2, align 4
  br label %25

17:
  %18 = icmp eq i32 %0, 4
  %19 = icmp eq i32 %0, 2
  %20 = select i1 %19, ptr @CUDA, ptr null
  %21 = select i1 %18, ptr @OPENCL, ptr %20
  %22 = getelementptr inbounds nuw i8, ptr %21, i64 48
  %23 = load ptr, ptr %22, align 8
  %24 = tail call i32 %23(ptr %7, i64 %11, ptr %2)
  br label %25

25:
  %26 = phi i32 [ 0, %14 ], [ %24, %17 ]
  %27 = tail call fastcc ptr @devices()
  %28 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %29 = tail call i32 @pthread_mutex_unlock(ptr %28)
  br label %30

30:
  %31 = phi i32 [ %26, %25 ], [ -1, %3 ]
  ret i32 %31
}

define internal fastcc ptr @block_of(ptr %0, i64 %1) unnamed_addr {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 26320
  %4 = load i64, ptr %3, align 8
  %5 = icmp eq i64 %4, 0
  br i1 %5, label %36, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 26312
  %8 = load ptr, ptr %7, align 8
  br label %9

9:
  %10 = phi i64 [ 0, %6 ], [ %20, %9 ]
  %11 = phi i64 [ %4, %6 ], [ %19, %9 ]
  %12 = add i64 %11, %10
  %13 = lshr i64 %12, 1
  %14 = getelementptr inbounds nuw ptr, ptr %8, i64 %13
  %15 = load ptr, ptr %14, align 8
  %16 = load i64, ptr %15, align 8
  %17 = icmp ugt i64 %16, %1
  %18 = add nuw i64 %13, 1
  %19 = select i1 %17, i64 %13, i64 %11
  %20 = select i1 %17, i64 %10, i64 %18
  %21 = icmp ult i64 %20, %19
  br i1 %21, label %9, label %22

22:
  %23 = icmp eq i64 %20, 0
  br i1 %23, label %36, label %24

24:
  %25 = getelementptr ptr, ptr %8, i64 %20
  %26 = getelementptr i8, ptr %25, i64 -8
  %27 = load ptr, ptr %26, align 8
  %28 = icmp eq ptr %27, null
  br i1 %28, label %36, label %29

29:
  %30 = load i64, ptr %27, align 8
  %31 = sub i64 %1, %30
  %32 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %33 = load i64, ptr %32, align 8
  %34 = icmp ult i64 %31, %33
  %35 = select i1 %34, ptr %27, ptr null
  br label %36

36:
  %37 = phi ptr [ null, %24 ], [ %35, %29 ], [ null, %22 ], [ null, %2 ]
  ret ptr %37
}

define weak ptr @tilewright_device_allocate(i32 %0, i32 %1, i64 %2) {
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca [4096 x i8], align 16
  %7 = alloca [4096 x i8], align 16
  %8 = alloca [4096 x i8], align 16
  %9 = alloca [4096 x i8], align 16
  %10 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %11 = icmp eq ptr %10, null
  br i1 %11, label %154, label %12

12:
  %13 = icmp ugt i64 %2, 70368744177664
  br i1 %13, label %14, label %22

14:
  %15 = icmp eq i32 %0, 4
  %16 = icmp eq i32 %0, 2
  %17 = select i1 %16, ptr @CUDA, ptr null
  %18 = select i1 %15, ptr @OPENCL, ptr %17
  %19 = getelementptr inbounds nuw i8, ptr %18, i64 8
  %20 = load ptr, ptr %19, align 8
  %21 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %9, i64 4096, ptr @.str.1, i64 %2, ptr %20, i32 %1)
  call fastcc void @report(ptr @.str.2, ptr %9)
  br label %154

22:
  %23 = getelementptr inbounds nuw i8, ptr %10, i64 840
  %24 = sext i32 %1 to i64
  %25 = getelementptr inbounds %struct.Device, ptr %23, i64 %24
  %26 = icmp eq ptr @TVMFFIEnvGetStream, null
  br i1 %26, label %30, label %27

27:
  %28 = tail call ptr @TVMFFIEnvGetStream(i32 %0, i32 %1)
  %29 = icmp eq ptr %28, null
  br i1 %29, label %30, label %37

30:
  %31 = getelementptr inbounds nuw i8, ptr %25, i64 24
  %32 = load ptr, ptr %31, align 8
  %33 = icmp eq ptr %32, null
  br i1 %33, label %34, label %37

34:
  %35 = getelementptr inbounds nuw i8, ptr %25, i64 16
  %36 = load ptr, ptr %35, align 8
  br label %37

37:
  %38 = phi ptr [ %36, %34 ], [ %28, %27 ], [ %32, %30 ]
  %39 = tail call fastcc ptr @devices()
  %40 = getelementptr inbounds nuw i8, ptr %39, i64 8
  %41 = tail call i32 @pthread_mutex_lock(ptr %40)
  %42 = icmp eq i32 %0, 4
  %43 = icmp eq i32 %0, 2
  %44 = select i1 %43, ptr @CUDA, ptr null
  %45 = select i1 %42, ptr @OPENCL, ptr %44
  %46 = getelementptr inbounds nuw i8, ptr %25, i64 32
  %47 = tail call i64 @llvm.umax.i64(i64 %2, i64 512)
  %48 = add nsw i64 %47, -1
  %49 = tail call i64 @llvm.ctlz.i64(i64 %48, i1 true)
  %50 = trunc nuw nsw i64 %49 to i32
  %51 = sub nuw nsw i32 61, %50
  %52 = zext nneg i32 %51 to i64
  %53 = lshr i64 %48, %52
  %54 = shl nuw nsw i32 %51, 2
  %55 = trunc i64 %53 to i32
  %56 = add nsw i32 %54, -28
  %57 = add i32 %56, %55
  %58 = sext i32 %57 to i64
  %59 = getelementptr inbounds ptr, ptr %46, i64 %58
  %60 = load ptr, ptr %59, align 8
  %61 = icmp eq ptr %60, null
  br i1 %61, label %85, label %62

62:
  %63 = phi ptr [ %74, %72 ], [ %60, %37 ]
  %64 = phi ptr [ %73, %72 ], [ %59, %37 ]
  %65 = getelementptr inbounds nuw i8, ptr %63, i64 24
  %66 = load ptr, ptr %65, align 8
  %67 = icmp eq ptr %66, %38
  br i1 %67, label %68, label %72

68:
  %69 = getelementptr inbounds nuw i8, ptr %63, i64 8
  %70 = load i64, ptr %69, align 8
  %71 = icmp ult i64 %70, %2
  br i1 %71, label %72, label %76

72:
  %73 = getelementptr inbounds nuw i8, ptr %63, i64 48
  %74 = load ptr, ptr %73, align 8
  %75 = icmp eq ptr %74, null
  br i1 %75, label %85, label %62

76:
  %77 = getelementptr inbounds nuw i8, ptr %63, i64 8
  %78 = getelementptr inbounds nuw i8, ptr %63, i64 48
  %79 = load ptr, ptr %78, align 8
  store ptr %79, ptr %64, align 8
  %80 = load i64, ptr %77, align 8
  %81 = getelementptr inbounds nuw i8, ptr %25, i64 1568
  %82 = load i64, ptr %81, align 8
  %83 = sub i64 %82, %80
  store i64 %83, ptr %81, align 8
  %84 = getelementptr inbounds nuw i8, ptr %63, i64 22
  store i16 0, ptr %84, align 2
  br label %140

85:
  %86 = tail call ptr @calloc(i64 1, i64 56)
  %87 = icmp eq ptr %86, null
  br i1 %87, label %88, label %90

88:
  %89 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %7, i64 4096, ptr @.str.7)
  call fastcc void @report(ptr @.str.2, ptr %7)
  br label %149

90:
  %91 = getelementptr inbounds nuw i8, ptr %86, i64 16
  store i32 %1, ptr %91, align 8
  %92 = getelementptr inbounds nuw i8, ptr %86, i64 24
  store ptr %38, ptr %92, align 8
  %93 = getelementptr inbounds nuw i8, ptr %86, i64 8
  %94 = icmp samesign ult i64 %2, 1048576
  %95 = add nuw nsw i64 %53, 1
  %96 = shl i64 %95, %52
  %97 = add nuw nsw i64 %47, 65535
  %98 = and i64 %97, 281474976645120
  %99 = select i1 %94, i64 %96, i64 %98
  store i64 %99, ptr %93, align 8
  %100 = getelementptr inbounds nuw i8, ptr %45, i64 32
  %101 = load ptr, ptr %100, align 8
  %102 = tail call i32 %101(ptr %10, ptr %86)
  %103 = icmp eq i32 %102, -2
  br i1 %103, label %104, label %129

104:
  %105 = getelementptr inbounds nuw i8, ptr %25, i64 1568
  %106 = load i64, ptr %105, align 8
  %107 = icmp eq i64 %106, 0
  br i1 %107, label %113, label %108

108:
  %109 = load i32, ptr %91, align 8
  tail call fastcc void @empty_pool(ptr %10, ptr %45, i32 %109)
  %110 = load ptr, ptr %100, align 8
  %111 = tail call i32 %110(ptr %10, ptr %86)
  %112 = icmp eq i32 %111, -2
  br i1 %112, label %113, label %129

113:
  store i64 0, ptr %4, align 8
  store i64 0, ptr %5, align 8
  %114 = getelementptr inbounds nuw i8, ptr %45, i64 136
  %115 = load ptr, ptr %114, align 8
  %116 = load i32, ptr %91, align 8
  %117 = call i32 %115(ptr %10, i32 %116, i32 6, ptr %4)
  %118 = load ptr, ptr %114, align 8
  %119 = load i32, ptr %91, align 8
  %120 = call i32 %118(ptr %10, i32 %119, i32 7, ptr %5)
  %121 = getelementptr inbounds nuw i8, ptr %45, i64 8
  %122 = load ptr, ptr %121, align 8
  %123 = load i32, ptr %91, align 8
  %124 = load i64, ptr %5, align 8
  %125 = load i64, ptr %4, align 8
  %126 = getelementptr inbounds nuw i8, ptr %25, i64 1584
  %127 = load i64, ptr %126, align 8
  %128 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %6, i64 4096, ptr @.str.128, i64 %2, ptr %122, i32 %123, i64 %124, i64 %125, i64 %127)
  call fastcc void @report(ptr @.str.2, ptr %6)
  br label %132

129:
  %130 = phi i32 [ %102, %90 ], [ %111, %108 ]
  %131 = icmp eq i32 %130, 0
  br i1 %131, label %133, label %132

132:
  call void @free(ptr %86)
  br label %149

133:
  %134 = tail call fastcc i32 @add_block(ptr %10, ptr %86)
  %135 = icmp eq i32 %134, 0
  br i1 %135, label %140, label %136

136:
  %137 = getelementptr inbounds nuw i8, ptr %45, i64 40
  %138 = load ptr, ptr %137, align 8
  tail call void %138(ptr %10, ptr %86)
  tail call void @free(ptr %86)
  %139 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %8, i64 4096, ptr @.str.7)
  call fastcc void @report(ptr @.str.2, ptr %8)
  br label %149

140:
  %141 = phi ptr [ %63, %76 ], [ %86, %133 ]
  %142 = getelementptr inbounds nuw i8, ptr %141, i64 8
  %143 = load i64, ptr %142, align 8
  %144 = getelementptr inbounds nuw i8, ptr %25, i64 1584
  %145 = load i64, ptr %144, align 8
  %146 = add i64 %145, %143
  store i64 %146, ptr %144, align 8
  %147 = load i64, ptr %141, align 8
  %148 = inttoptr i64 %147 to ptr
  br label %149

149:
  %150 = phi ptr [ %148, %140 ], [ null, %132 ], [ null, %136 ], [ null, %88 ]
  %151 = call fastcc ptr @devices()
  %152 = getelementptr inbounds nuw i8, ptr %151, i64 8
  %153 = call i32 @pthread_mutex_unlock(ptr %152)
  br label %154

154:
  %155 = phi ptr [ null, %14 ], [ %150, %149 ], [ null, %3 ]
  ret ptr %155
}

declare i32 @snprintf(ptr, i64, ptr, ...)

define internal fastcc void @report(ptr %0, ptr %1) unnamed_addr {
  %3 = icmp eq ptr @TVMFFIErrorSetRaisedFromCStr, null
  br i1 %3, label %5, label %4

4:
  tail call void @TVMFFIErrorSetRaisedFromCStr(ptr %0, ptr %1)
  br label %7

5:
  %6 = tail call i32 (i32, ptr, ...) @dprintf(i32 2, ptr @.str.127, ptr %0, ptr %1)
  br label %7

7:
  ret void
}

define weak i32 @tilewright_device_release(i32 %0, ptr %1) {
  %3 = alloca [4096 x i8], align 16
  %4 = tail call fastcc i32 @release(i32 %0, ptr %1)
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %9, label %6

6:
  %7 = ptrtoint ptr %1 to i64
  %8 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %3, i64 4096, ptr @.str.3, i64 %7)
  call fastcc void @report(ptr @.str.4, ptr %3)
  br label %9

9:
  %10 = phi i32 [ -1, %6 ], [ 0, %2 ]
  ret i32 %10
}

define internal fastcc i32 @release(i32 %0, ptr %1) unnamed_addr {
  %3 = icmp eq i32 %0, 4
  %4 = icmp eq i32 %0, 2
  %5 = select i1 %4, ptr @CUDA, ptr null
  %6 = select i1 %3, ptr @OPENCL, ptr %5
  %7 = icmp eq ptr %6, null
  br i1 %7, label %71, label %8

8:
  %9 = tail call fastcc ptr @kind_of(i32 %0)
  %10 = tail call fastcc ptr @devices()
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 8
  %12 = tail call i32 @pthread_mutex_lock(ptr %11)
  %13 = ptrtoint ptr %1 to i64
  %14 = tail call fastcc ptr @block_of(ptr %9, i64 %13)
  %15 = icmp eq ptr %14, null
  br i1 %15, label %66, label %16

16:
  %17 = load i64, ptr %14, align 8
  %18 = icmp eq i64 %17, %13
  br i1 %18, label %19, label %66

19:
  %20 = getelementptr inbounds nuw i8, ptr %14, i64 22
  %21 = load i16, ptr %20, align 2
  %22 = icmp eq i16 %21, 0
  br i1 %22, label %23, label %66

23:
  %24 = getelementptr inbounds nuw i8, ptr %9, i64 840
  %25 = getelementptr inbounds nuw i8, ptr %14, i64 16
  %26 = load i32, ptr %25, align 8
  %27 = sext i32 %26 to i64
  %28 = getelementptr inbounds %struct.Device, ptr %24, i64 %27
  %29 = getelementptr inbounds nuw i8, ptr %14, i64 8
  %30 = load i64, ptr %29, align 8
  %31 = getelementptr inbounds nuw i8, ptr %28, i64 1584
  %32 = load i64, ptr %31, align 8
  %33 = sub i64 %32, %30
  store i64 %33, ptr %31, align 8
  %34 = getelementptr inbounds nuw i8, ptr %14, i64 20
  %35 = load i16, ptr %34, align 4
  %36 = icmp eq i16 %35, 0
  br i1 %36, label %37, label %45

37:
  %38 = getelementptr inbounds nuw i8, ptr %28, i64 1568
  %39 = load i64, ptr %38, align 8
  %40 = load i64, ptr %29, align 8
  %41 = add i64 %40, %39
  %42 = getelementptr inbounds nuw i8, ptr %28, i64 1576
  %43 = load i64, ptr %42, align 8
  %44 = icmp ugt i64 %41, %43
  br i1 %44, label %45, label %46

45:
  tail call fastcc void @drop(ptr %9, ptr %6, ptr %14)
  br label %66

46:
  %47 = getelementptr inbounds nuw i8, ptr %28, i64 32
  %48 = tail call i64 @llvm.umax.i64(i64 %40, i64 512)
  %49 = add i64 %48, -1
  %50 = tail call i64 @llvm.ctlz.i64(i64 %49, i1 true)
  %51 = trunc nuw nsw i64 %50 to i32
  %52 = sub nuw nsw i32 61, %51
  %53 = zext nneg i32 %52 to i64
  %54 = lshr i64 %49, %53
  %55 = shl nuw nsw i32 %52, 2
  %56 = trunc i64 %54 to i32
  %57 = add nsw i32 %55, -28
  %58 = add i32 %57, %56
  %59 = sext i32 %58 to i64
  %60 = getelementptr inbounds ptr, ptr %47, i64 %59
  %61 = load ptr, ptr %60, align 8
  %62 = getelementptr inbounds nuw i8, ptr %14, i64 48
  store ptr %61, ptr %62, align 8
  store i16 1, ptr %20, align 2
  store ptr %14, ptr %60, align 8
  %63 = load i64, ptr %29, align 8
  %64 = load i64, ptr %38, align 8
  %65 = add i64 %64, %63
  store i64 %65, ptr %38, align 8
  br label %66

66:
  %67 = phi i32 [ 0, %46 ], [ -1, %19 ], [ 0, %45 ], [ -1, %16 ], [ -1, %8 ]
  %68 = tail call fastcc ptr @devices()
  %69 = getelementptr inbounds nuw i8, ptr %68, i64 8
  %70 = tail call i32 @pthread_mutex_unlock(ptr %69)
  br label %71

71:
  %72 = phi i32 [ %67, %66 ], [ -1, %2 ]
  ret i32 %72
}

define weak i32 @tilewright_device_empty_pool(i32 %0, i32 %1) {
  %3 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %4 = icmp eq ptr %3, null
  br i1 %4, label %16, label %5

5:
  %6 = tail call fastcc ptr @devices()
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 8
  %8 = tail call i32 @pthread_mutex_lock(ptr %7)
  %9 = icmp eq i32 %0, 4
  %10 = icmp eq i32 %0, 2
  %11 = select i1 %10, ptr @CUDA, ptr null
  %12 = select i1 %9, ptr @OPENCL, ptr %11
  tail call fastcc void @empty_pool(ptr %3, ptr %12, i32 %1)
  %13 = tail call fastcc ptr @devices()
  %14 = getelementptr inbounds nuw i8, ptr %13, i64 8
  %15 = tail call i32 @pthread_mutex_unlock(ptr %14)
  br label %16

16:
  %17 = phi i32 [ 0, %5 ], [ -1, %2 ]
  ret i32 %17
}

define internal fastcc void @empty_pool(ptr %0, ptr %1, i32 %2) unnamed_addr {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %5 = sext i32 %2 to i64
  %6 = getelementptr inbounds %struct.Device, ptr %4, i64 %5
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 32
  br label %8

8:
  %9 = phi i64 [ 0, %3 ], [ %22, %21 ]
  %10 = getelementptr inbounds nuw ptr, ptr %7, i64 %9
  %11 = load ptr, ptr %10, align 8
  %12 = icmp eq ptr %11, null
  br i1 %12, label %21, label %15

13:
  %14 = getelementptr inbounds nuw i8, ptr %6, i64 1568
  store i64 0, ptr %14, align 8
  ret void

15:
  %16 = phi ptr [ %19, %15 ], [ %11, %8 ]
  %17 = getelementptr inbounds nuw i8, ptr %16, i64 48
  %18 = load ptr, ptr %17, align 8
  store ptr %18, ptr %10, align 8
  tail call fastcc void @drop(ptr %0, ptr %1, ptr %16)
  %19 = load ptr, ptr %10, align 8
  %20 = icmp eq ptr %19, null
  br i1 %20, label %21, label %15

21:
  %22 = add nuw nsw i64 %9, 1
  %23 = icmp eq i64 %22, 192
  br i1 %23, label %13, label %8
}

define weak ptr @tilewright_opencl_import(i32 %0, ptr %1) {
  %3 = alloca i64, align 8
  %4 = alloca [4096 x i8], align 16
  %5 = alloca [4096 x i8], align 16
  %6 = tail call fastcc ptr @opened(i32 4, i32 %0)
  %7 = icmp eq ptr %6, null
  br i1 %7, label %75, label %8

8:
  store i64 0, ptr %3, align 8
  %9 = getelementptr inbounds nuw i8, ptr %6, i64 560
  %10 = load ptr, ptr %9, align 8
  %11 = call i32 %10(ptr %1, i32 4354, i64 8, ptr %3, ptr null)
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %28, label %13

13:
  %14 = icmp ugt i32 %11, -15
  br i1 %14, label %18, label %15

15:
  %16 = add i32 %11, 63
  %17 = icmp ult i32 %16, 34
  br i1 %17, label %18, label %25

18:
  %19 = phi i32 [ 0, %13 ], [ -30, %15 ]
  %20 = phi ptr [ @OPENCL_ERRORS, %13 ], [ @OPENCL_INVALID, %15 ]
  %21 = sub nsw i32 %19, %11
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw ptr, ptr %20, i64 %22
  %24 = load ptr, ptr %23, align 8
  br label %25

25:
  %26 = phi ptr [ @.str.129, %15 ], [ %24, %18 ]
  %27 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %4, i64 4096, ptr @.str.5, ptr @.str.6, ptr %26, i32 %11)
  call fastcc void @report(ptr @.str.4, ptr %4)
  br label %73

28:
  %29 = call ptr @calloc(i64 1, i64 56)
  %30 = call fastcc ptr @devices()
  %31 = getelementptr inbounds nuw i8, ptr %30, i64 8
  %32 = call i32 @pthread_mutex_lock(ptr %31)
  %33 = icmp eq ptr %29, null
  br i1 %33, label %62, label %34

34:
  %35 = load i64, ptr %3, align 8
  %36 = getelementptr inbounds nuw i8, ptr %6, i64 26336
  %37 = load i64, ptr %36, align 8
  %38 = add i64 %35, 4095
  %39 = and i64 %38, -4096
  %40 = add i64 %39, %37
  store i64 %40, ptr %36, align 8
  store i64 %37, ptr %29, align 8
  %41 = getelementptr inbounds nuw i8, ptr %29, i64 8
  store i64 %35, ptr %41, align 8
  %42 = getelementptr inbounds nuw i8, ptr %29, i64 16
  store i32 %0, ptr %42, align 8
  %43 = getelementptr inbounds nuw i8, ptr %29, i64 20
  store i16 1, ptr %43, align 4
  %44 = getelementptr inbounds nuw i8, ptr %29, i64 22
  store i16 0, ptr %44, align 2
  %45 = getelementptr inbounds nuw i8, ptr %29, i64 24
  store ptr null, ptr %45, align 8
  %46 = getelementptr inbounds nuw i8, ptr %29, i64 32
  store ptr %1, ptr %46, align 8
  %47 = getelementptr inbounds nuw i8, ptr %29, i64 40
  store ptr null, ptr %47, align 8
  %48 = getelementptr inbounds nuw i8, ptr %29, i64 48
  store ptr null, ptr %48, align 8
  %49 = call fastcc i32 @add_block(ptr %6, ptr %29)
  %50 = icmp eq i32 %49, 0
  br i1 %50, label %52, label %51

51:
  call void @free(ptr %29)
  br label %62

52:
  %53 = getelementptr inbounds nuw i8, ptr %6, i64 552
  %54 = load ptr, ptr %53, align 8
  %55 = call i32 %54(ptr %1)
  %56 = load i64, ptr %3, align 8
  %57 = sext i32 %0 to i64
  %58 = getelementptr %struct.Device, ptr %6, i64 %57
  %59 = getelementptr i8, ptr %58, i64 2424
  %60 = load i64, ptr %59, align 8
  %61 = add i64 %60, %56
  store i64 %61, ptr %59, align 8
  br label %62

62:
  %63 = phi ptr [ null, %51 ], [ %29, %52 ], [ null, %28 ]
  %64 = call fastcc ptr @devices()
  %65 = getelementptr inbounds nuw i8, ptr %64, i64 8
  %66 = call i32 @pthread_mutex_unlock(ptr %65)
  %67 = icmp eq ptr %63, null
  br i1 %67, label %68, label %70

68:
  %69 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %5, i64 4096, ptr @.str.7)
  call fastcc void @report(ptr @.str.2, ptr %5)
  br label %73

70:
  %71 = load i64, ptr %63, align 8
  %72 = inttoptr i64 %71 to ptr
  br label %73

73:
  %74 = phi ptr [ null, %25 ], [ %72, %70 ], [ null, %68 ]
  br label %75

75:
  %76 = phi ptr [ %74, %73 ], [ null, %2 ]
  ret ptr %76
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal fastcc i32 @add_block(ptr %0, ptr %1) unnamed_addr {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 26320
  %4 = load i64, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 26328
  %6 = load i64, ptr %5, align 8
  %7 = icmp eq i64 %4, %6
  br i1 %7, label %8, label %19

8:
  %9 = icmp eq i64 %4, 0
  %10 = shl i64 %4, 1
  %11 = select i1 %9, i64 64, i64 %10
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 26312
  %13 = load ptr, ptr %12, align 8
  %14 = shl i64 %11, 3
  %15 = tail call ptr @realloc(ptr %13, i64 %14)
  %16 = icmp eq ptr %15, null
  br i1 %16, label %47, label %17

17:
  store ptr %15, ptr %12, align 8
  store i64 %11, ptr %5, align 8
  %18 = load i64, ptr %3, align 8
  br label %19

19:
  %20 = phi i64 [ %18, %17 ], [ %4, %2 ]
  %21 = load i64, ptr %1, align 8
  %22 = icmp eq i64 %20, 0
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 26312
  %24 = load ptr, ptr %23, align 8
  br i1 %22, label %38, label %25

25:
  %26 = phi i64 [ %36, %25 ], [ 0, %19 ]
  %27 = phi i64 [ %35, %25 ], [ %20, %19 ]
  %28 = add i64 %27, %26
  %29 = lshr i64 %28, 1
  %30 = getelementptr inbounds nuw ptr, ptr %24, i64 %29
  %31 = load ptr, ptr %30, align 8
  %32 = load i64, ptr %31, align 8
  %33 = icmp ugt i64 %32, %21
  %34 = add nuw i64 %29, 1
  %35 = select i1 %33, i64 %29, i64 %27
  %36 = select i1 %33, i64 %26, i64 %34
  %37 = icmp ult i64 %36, %35
  br i1 %37, label %25, label %38

38:
  %39 = phi i64 [ 0, %19 ], [ %36, %25 ]
  %40 = getelementptr inbounds nuw ptr, ptr %24, i64 %39
  %41 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %42 = sub i64 %20, %39
  %43 = shl i64 %42, 3
  %44 = tail call ptr @memmove(ptr %41, ptr %40, i64 %43)
  store ptr %1, ptr %40, align 8
  %45 = load i64, ptr %3, align 8
  %46 = add i64 %45, 1
  store i64 %46, ptr %3, align 8
  br label %47

47:
  %48 = phi i32 [ 0, %38 ], [ -1, %8 ]
  ret i32 %48
}

declare void @free(ptr)

define weak i32 @tilewright_device_write(i32 %0, ptr %1, ptr %2, i64 %3) {
  %5 = alloca %struct.Place, align 8
  %6 = alloca %struct.Place, align 8
  store ptr %1, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %5, i64 8
  store i32 0, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %5, i64 12
  store i32 0, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %5, i64 16
  store ptr null, ptr %9, align 8
  store ptr %2, ptr %6, align 8
  %10 = getelementptr inbounds nuw i8, ptr %6, i64 8
  store i32 1, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 12
  store i32 0, ptr %11, align 4
  %12 = getelementptr inbounds nuw i8, ptr %6, i64 16
  store ptr null, ptr %12, align 8
  %13 = tail call fastcc i32 @copy(i32 %0, ptr byval(%struct.Place) align 8 %5, ptr byval(%struct.Place) align 8 %6, i64 %3)
  ret i32 %13
}

define internal fastcc i32 @copy(i32 %0, ptr byval(%struct.Place) align 8 %1, ptr byval(%struct.Place) align 8 %2, i64 %3) unnamed_addr {
  %5 = alloca i32, align 4
  %6 = alloca [4096 x i8], align 16
  %7 = tail call fastcc ptr @opened(i32 %0, i32 0)
  %8 = icmp eq ptr %7, null
  br i1 %8, label %86, label %9

9:
  %10 = icmp slt i64 %3, 1
  br i1 %10, label %86, label %11

11:
  %12 = tail call fastcc ptr @kind_of(i32 %0)
  %13 = icmp eq i32 %0, 4
  %14 = icmp eq i32 %0, 2
  %15 = select i1 %14, ptr @CUDA, ptr null
  %16 = select i1 %13, ptr @OPENCL, ptr %15
  store i32 0, ptr %5, align 4
  %17 = tail call fastcc ptr @devices()
  %18 = getelementptr inbounds nuw i8, ptr %17, i64 8
  %19 = tail call i32 @pthread_mutex_lock(ptr %18)
  %20 = getelementptr inbounds nuw i8, ptr %16, i64 48
  br label %25

21:
  %22 = call fastcc ptr @devices()
  %23 = getelementptr inbounds nuw i8, ptr %22, i64 8
  %24 = call i32 @pthread_mutex_unlock(ptr %23)
  br i1 %57, label %59, label %84

25:
  %26 = phi i1 [ true, %11 ], [ false, %56 ]
  %27 = phi ptr [ %1, %11 ], [ %2, %56 ]
  %28 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %29 = load i32, ptr %28, align 8
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %31, label %56

31:
  %32 = load ptr, ptr %27, align 8
  %33 = ptrtoint ptr %32 to i64
  %34 = call fastcc ptr @block_of(ptr %12, i64 %33)
  %35 = getelementptr inbounds nuw i8, ptr %27, i64 16
  store ptr %34, ptr %35, align 8
  %36 = icmp eq ptr %34, null
  br i1 %36, label %37, label %41

37:
  %38 = load ptr, ptr %20, align 8
  %39 = call i32 %38(ptr %12, i64 %33, ptr %5)
  %40 = icmp eq i32 %39, 0
  br label %56

41:
  %42 = add i64 %3, %33
  %43 = load i64, ptr %34, align 8
  %44 = getelementptr inbounds nuw i8, ptr %34, i64 8
  %45 = load i64, ptr %44, align 8
  %46 = add i64 %45, %43
  %47 = icmp ugt i64 %42, %46
  br i1 %47, label %48, label %53

48:
  %49 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %6, i64 4096, ptr @.str.179, i64 %3, i64 %33)
  call fastcc void @report(ptr @.str.4, ptr %6)
  %50 = call fastcc ptr @devices()
  %51 = getelementptr inbounds nuw i8, ptr %50, i64 8
  %52 = call i32 @pthread_mutex_unlock(ptr %51)
  br label %84

53:
  %54 = getelementptr inbounds nuw i8, ptr %34, i64 16
  %55 = load i32, ptr %54, align 8
  store i32 %55, ptr %5, align 4
  br label %56

56:
  %57 = phi i1 [ true, %25 ], [ %40, %37 ], [ true, %53 ]
  %58 = select i1 %26, i1 %57, i1 false
  br i1 %58, label %25, label %21

59:
  %60 = load i32, ptr %5, align 4
  %61 = call fastcc ptr @opened(i32 %0, i32 %60)
  %62 = icmp eq ptr %61, null
  br i1 %62, label %84, label %63

63:
  %64 = getelementptr inbounds nuw i8, ptr %16, i64 56
  %65 = load ptr, ptr %64, align 8
  %66 = load i32, ptr %5, align 4
  %67 = getelementptr inbounds nuw i8, ptr %12, i64 840
  %68 = sext i32 %66 to i64
  %69 = getelementptr inbounds %struct.Device, ptr %67, i64 %68
  %70 = icmp eq ptr @TVMFFIEnvGetStream, null
  br i1 %70, label %74, label %71

71:
  %72 = call ptr @TVMFFIEnvGetStream(i32 %0, i32 %66)
  %73 = icmp eq ptr %72, null
  br i1 %73, label %74, label %81

74:
  %75 = getelementptr inbounds nuw i8, ptr %69, i64 24
  %76 = load ptr, ptr %75, align 8
  %77 = icmp eq ptr %76, null
  br i1 %77, label %78, label %81

78:
  %79 = getelementptr inbounds nuw i8, ptr %69, i64 16
  %80 = load ptr, ptr %79, align 8
  br label %81

81:
  %82 = phi ptr [ %80, %78 ], [ %72, %71 ], [ %76, %74 ]
  %83 = call i32 %65(ptr %12, i32 %66, ptr %82, ptr byval(%struct.Place) align 8 %1, ptr byval(%struct.Place) align 8 %2, i64 %3)
  br label %84

84:
  %85 = phi i32 [ %83, %81 ], [ -1, %59 ], [ -1, %21 ], [ -1, %48 ]
  br label %86

86:
  %87 = phi i32 [ -1, %4 ], [ %85, %84 ], [ 0, %9 ]
  ret i32 %87
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define weak i32 @tilewright_device_read(i32 %0, ptr %1, ptr %2, i64 %3) {
  %5 = alloca %struct.Place, align 8
  %6 = alloca %struct.Place, align 8
  store ptr %1, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %5, i64 8
  store i32 1, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %5, i64 12
  store i32 0, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %5, i64 16
  store ptr null, ptr %9, align 8
  store ptr %2, ptr %6, align 8
  %10 = getelementptr inbounds nuw i8, ptr %6, i64 8
  store i32 0, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 12
  store i32 0, ptr %11, align 4
  %12 = getelementptr inbounds nuw i8, ptr %6, i64 16
  store ptr null, ptr %12, align 8
  %13 = tail call fastcc i32 @copy(i32 %0, ptr byval(%struct.Place) align 8 %5, ptr byval(%struct.Place) align 8 %6, i64 %3)
  ret i32 %13
}

define weak i32 @tilewright_device_copy(i32 %0, ptr %1, ptr %2, i64 %3) {
  %5 = alloca %struct.Place, align 8
  %6 = alloca %struct.Place, align 8
  store ptr %1, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %5, i64 8
  store i32 0, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %5, i64 12
  store i32 0, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %5, i64 16
  store ptr null, ptr %9, align 8
  store ptr %2, ptr %6, align 8
  %10 = getelementptr inbounds nuw i8, ptr %6, i64 8
  store i32 0, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 12
  store i32 0, ptr %11, align 4
  %12 = getelementptr inbounds nuw i8, ptr %6, i64 16
  store ptr null, ptr %12, align 8
  %13 = tail call fastcc i32 @copy(i32 %0, ptr byval(%struct.Place) align 8 %5, ptr byval(%struct.Place) align 8 %6, i64 %3)
  ret i32 %13
}

define weak i32 @tilewright_device_synchronize(i32 %0, i32 %1, ptr %2) {
  %4 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %5 = icmp eq ptr %4, null
  br i1 %5, label %41, label %6

6:
  %7 = icmp eq ptr %2, null
  %8 = icmp eq i32 %0, 4
  %9 = and i1 %8, %7
  br i1 %9, label %10, label %34

10:
  %11 = getelementptr inbounds nuw i8, ptr %4, i64 840
  %12 = sext i32 %1 to i64
  %13 = getelementptr inbounds %struct.Device, ptr %11, i64 %12
  %14 = icmp eq ptr @TVMFFIEnvGetStream, null
  br i1 %14, label %18, label %15

15:
  %16 = tail call ptr @TVMFFIEnvGetStream(i32 4, i32 %1)
  %17 = icmp eq ptr %16, null
  br i1 %17, label %18, label %25

18:
  %19 = getelementptr inbounds nuw i8, ptr %13, i64 24
  %20 = load ptr, ptr %19, align 8
  %21 = icmp eq ptr %20, null
  br i1 %21, label %22, label %25

22:
  %23 = getelementptr inbounds nuw i8, ptr %13, i64 16
  %24 = load ptr, ptr %23, align 8
  br label %25

25:
  %26 = phi ptr [ %24, %22 ], [ %16, %15 ], [ %20, %18 ]
  %27 = tail call i32 @opencl_synchronize(ptr %4, i32 %1, ptr %26)
  %28 = icmp eq i32 %27, 0
  br i1 %28, label %29, label %41

29:
  %30 = getelementptr %struct.Device, ptr %4, i64 %12
  %31 = getelementptr i8, ptr %30, i64 856
  %32 = load ptr, ptr %31, align 8
  %33 = icmp eq ptr %26, %32
  br i1 %33, label %41, label %34

34:
  %35 = icmp eq i32 %0, 2
  %36 = select i1 %35, ptr @CUDA, ptr null
  %37 = select i1 %8, ptr @OPENCL, ptr %36
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 64
  %39 = load ptr, ptr %38, align 8
  %40 = tail call i32 %39(ptr %4, i32 %1, ptr %2)
  br label %41

41:
  %42 = phi i32 [ %40, %34 ], [ -1, %3 ], [ -1, %25 ], [ 0, %29 ]
  ret i32 %42
}

define weak i32 @tilewright_device_set_stream(i32 %0, i32 %1, ptr %2) {
  %4 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %5 = icmp eq ptr %4, null
  br i1 %5, label %10, label %6

6:
  %7 = sext i32 %1 to i64
  %8 = getelementptr %struct.Device, ptr %4, i64 %7
  %9 = getelementptr i8, ptr %8, i64 864
  store ptr %2, ptr %9, align 8
  br label %10

10:
  %11 = phi i32 [ 0, %6 ], [ -1, %3 ]
  ret i32 %11
}

define weak i32 @tilewright_device_stream(i32 %0, i32 %1, ptr %2) {
  %4 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %5 = icmp eq ptr %4, null
  br i1 %5, label %23, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %4, i64 840
  %8 = sext i32 %1 to i64
  %9 = getelementptr inbounds %struct.Device, ptr %7, i64 %8
  %10 = icmp eq ptr @TVMFFIEnvGetStream, null
  br i1 %10, label %14, label %11

11:
  %12 = tail call ptr @TVMFFIEnvGetStream(i32 %0, i32 %1)
  %13 = icmp eq ptr %12, null
  br i1 %13, label %14, label %21

14:
  %15 = getelementptr inbounds nuw i8, ptr %9, i64 24
  %16 = load ptr, ptr %15, align 8
  %17 = icmp eq ptr %16, null
  br i1 %17, label %18, label %21

18:
  %19 = getelementptr inbounds nuw i8, ptr %9, i64 16
  %20 = load ptr, ptr %19, align 8
  br label %21

21:
  %22 = phi ptr [ %20, %18 ], [ %12, %11 ], [ %16, %14 ]
  store ptr %22, ptr %2, align 8
  br label %23

23:
  %24 = phi i32 [ 0, %21 ], [ -1, %3 ]
  ret i32 %24
}

define weak i32 @tilewright_device_create_stream(i32 %0, i32 %1, ptr %2) {
  %4 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %5 = icmp eq ptr %4, null
  br i1 %5, label %14, label %6

6:
  %7 = icmp eq i32 %0, 4
  %8 = icmp eq i32 %0, 2
  %9 = select i1 %8, ptr @CUDA, ptr null
  %10 = select i1 %7, ptr @OPENCL, ptr %9
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 72
  %12 = load ptr, ptr %11, align 8
  %13 = tail call i32 %12(ptr %4, i32 %1, ptr %2)
  br label %14

14:
  %15 = phi i32 [ %13, %6 ], [ -1, %3 ]
  ret i32 %15
}

define weak i32 @tilewright_device_destroy_stream(i32 %0, i32 %1, ptr %2) {
  %4 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %5 = icmp eq ptr %4, null
  br i1 %5, label %25, label %6

6:
  %7 = icmp eq i32 %0, 4
  %8 = icmp eq i32 %0, 2
  %9 = select i1 %8, ptr @CUDA, ptr null
  %10 = select i1 %7, ptr @OPENCL, ptr %9
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 64
  %12 = load ptr, ptr %11, align 8
  %13 = tail call i32 %12(ptr %4, i32 %1, ptr %2)
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %15, label %25

15:
  %16 = tail call fastcc ptr @devices()
  %17 = getelementptr inbounds nuw i8, ptr %16, i64 8
  %18 = tail call i32 @pthread_mutex_lock(ptr %17)
  tail call fastcc void @empty_pool(ptr %4, ptr %10, i32 %1)
  %19 = tail call fastcc ptr @devices()
  %20 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %21 = tail call i32 @pthread_mutex_unlock(ptr %20)
  %22 = getelementptr inbounds nuw i8, ptr %10, i64 80
  %23 = load ptr, ptr %22, align 8
  %24 = tail call i32 %23(ptr %4, i32 %1, ptr %2)
  br label %25

25:
  %26 = phi i32 [ %24, %15 ], [ -1, %6 ], [ -1, %3 ]
  ret i32 %26
}

define weak i32 @tilewright_device_wait(i32 %0, i32 %1, ptr %2, ptr %3) {
  %5 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %6 = icmp eq ptr %5, null
  br i1 %6, label %15, label %7

7:
  %8 = icmp eq i32 %0, 4
  %9 = icmp eq i32 %0, 2
  %10 = select i1 %9, ptr @CUDA, ptr null
  %11 = select i1 %8, ptr @OPENCL, ptr %10
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 88
  %13 = load ptr, ptr %12, align 8
  %14 = tail call i32 %13(ptr %5, i32 %1, ptr %2, ptr %3)
  br label %15

15:
  %16 = phi i32 [ %14, %7 ], [ -1, %4 ]
  ret i32 %16
}

define weak i32 @tilewright_device_record(i32 %0, i32 %1, ptr %2) {
  %4 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %5 = icmp eq ptr %4, null
  br i1 %5, label %30, label %6

6:
  %7 = icmp eq i32 %0, 4
  %8 = icmp eq i32 %0, 2
  %9 = select i1 %8, ptr @CUDA, ptr null
  %10 = select i1 %7, ptr @OPENCL, ptr %9
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 96
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr inbounds nuw i8, ptr %4, i64 840
  %14 = sext i32 %1 to i64
  %15 = getelementptr inbounds %struct.Device, ptr %13, i64 %14
  %16 = icmp eq ptr @TVMFFIEnvGetStream, null
  br i1 %16, label %20, label %17

17:
  %18 = tail call ptr @TVMFFIEnvGetStream(i32 %0, i32 %1)
  %19 = icmp eq ptr %18, null
  br i1 %19, label %20, label %27

20:
  %21 = getelementptr inbounds nuw i8, ptr %15, i64 24
  %22 = load ptr, ptr %21, align 8
  %23 = icmp eq ptr %22, null
  br i1 %23, label %24, label %27

24:
  %25 = getelementptr inbounds nuw i8, ptr %15, i64 16
  %26 = load ptr, ptr %25, align 8
  br label %27

27:
  %28 = phi ptr [ %26, %24 ], [ %18, %17 ], [ %22, %20 ]
  %29 = tail call i32 %12(ptr %4, i32 %1, ptr %28, ptr %2)
  br label %30

30:
  %31 = phi i32 [ %29, %27 ], [ -1, %3 ]
  ret i32 %31
}

define weak i32 @tilewright_device_elapsed(i32 %0, i32 %1, ptr %2, ptr %3, ptr %4) {
  %6 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %7 = icmp eq ptr %6, null
  br i1 %7, label %16, label %8

8:
  %9 = icmp eq i32 %0, 4
  %10 = icmp eq i32 %0, 2
  %11 = select i1 %10, ptr @CUDA, ptr null
  %12 = select i1 %9, ptr @OPENCL, ptr %11
  %13 = getelementptr inbounds nuw i8, ptr %12, i64 104
  %14 = load ptr, ptr %13, align 8
  %15 = tail call i32 %14(ptr %6, i32 %1, ptr %2, ptr %3, ptr %4)
  br label %16

16:
  %17 = phi i32 [ %15, %8 ], [ -1, %5 ]
  ret i32 %17
}

define weak i32 @tilewright_device_property(i32 %0, i32 %1, i32 %2, ptr %3) {
  %5 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  store i64 0, ptr %3, align 8
  %6 = icmp eq ptr %5, null
  br i1 %6, label %25, label %7

7:
  switch i32 %2, label %9 [
    i32 8, label %19
    i32 9, label %8
  ]

8:
  br label %19

9:
  %10 = icmp eq i32 %0, 4
  %11 = icmp eq i32 %0, 2
  %12 = select i1 %11, ptr @CUDA, ptr null
  %13 = select i1 %10, ptr @OPENCL, ptr %12
  %14 = getelementptr inbounds nuw i8, ptr %13, i64 136
  %15 = load ptr, ptr %14, align 8
  %16 = tail call i32 %15(ptr %5, i32 %1, i32 %2, ptr %3)
  %17 = icmp ne i32 %16, 0
  %18 = sext i1 %17 to i32
  br label %25

19:
  %20 = phi i64 [ 2408, %8 ], [ 2424, %7 ]
  %21 = sext i32 %1 to i64
  %22 = getelementptr %struct.Device, ptr %5, i64 %21
  %23 = getelementptr i8, ptr %22, i64 %20
  %24 = load i64, ptr %23, align 8
  store i64 %24, ptr %3, align 8
  br label %25

25:
  %26 = phi i32 [ 0, %19 ], [ %18, %9 ], [ -1, %4 ]
  ret i32 %26
}

define weak i32 @tilewright_device_name(i32 %0, i32 %1, ptr %2, i64 %3) {
  %5 = tail call fastcc ptr @opened(i32 %0, i32 %1)
  %6 = icmp eq ptr %5, null
  %7 = icmp slt i64 %3, 1
  %8 = or i1 %7, %6
  br i1 %8, label %16, label %9

9:
  %10 = icmp eq i32 %0, 4
  %11 = icmp eq i32 %0, 2
  %12 = select i1 %11, ptr @CUDA, ptr null
  %13 = select i1 %10, ptr @OPENCL, ptr %12
  %14 = getelementptr inbounds nuw i8, ptr %13, i64 144
  %15 = load ptr, ptr %14, align 8
  tail call void %15(ptr %5, i32 %1, ptr %2, i64 %3)
  br label %16

16:
  %17 = phi i32 [ 0, %9 ], [ -1, %4 ]
  ret i32 %17
}

define weak ptr @tilewright_device_array(ptr %0, i64 %1) {
  %3 = alloca [4096 x i8], align 16
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %5 = load i32, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 12
  %7 = load i32, ptr %6, align 4
  %8 = tail call ptr @tilewright_device_allocate(i32 %5, i32 %7, i64 %1)
  %9 = icmp eq ptr %8, null
  br i1 %9, label %52, label %10

10:
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %12 = load i32, ptr %11, align 8
  %13 = sext i32 %12 to i64
  %14 = shl nsw i64 %13, 4
  %15 = add nsw i64 %14, 64
  %16 = tail call ptr @calloc(i64 1, i64 %15)
  %17 = icmp eq ptr %16, null
  br i1 %17, label %18, label %22

18:
  %19 = load i32, ptr %4, align 8
  %20 = tail call i32 @tilewright_device_release(i32 %19, ptr %8)
  %21 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %3, i64 4096, ptr @.str.7)
  call fastcc void @report(ptr @.str.2, ptr %3)
  br label %52

22:
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 8 %16, ptr align 8 %0, i64 48, i1 false)
  store ptr %8, ptr %16, align 8
  %23 = getelementptr inbounds nuw i8, ptr %16, i64 64
  %24 = getelementptr inbounds nuw i8, ptr %16, i64 24
  store ptr %23, ptr %24, align 8
  %25 = load i32, ptr %11, align 8
  %26 = sext i32 %25 to i64
  %27 = getelementptr inbounds i64, ptr %23, i64 %26
  %28 = getelementptr inbounds nuw i8, ptr %16, i64 32
  store ptr %27, ptr %28, align 8
  %29 = getelementptr inbounds nuw i8, ptr %16, i64 56
  store ptr @delete_array, ptr %29, align 8
  %30 = load i32, ptr %11, align 8
  %31 = icmp sgt i32 %30, 0
  br i1 %31, label %32, label %52

32:
  %33 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %34 = zext nneg i32 %30 to i64
  %35 = load ptr, ptr %33, align 8
  br label %36

36:
  %37 = phi ptr [ %35, %32 ], [ %47, %36 ]
  %38 = phi i64 [ %34, %32 ], [ %40, %36 ]
  %39 = phi i64 [ 1, %32 ], [ %50, %36 ]
  %40 = add nsw i64 %38, -1
  %41 = getelementptr inbounds nuw i64, ptr %37, i64 %40
  %42 = load i64, ptr %41, align 8
  %43 = load ptr, ptr %24, align 8
  %44 = getelementptr inbounds nuw i64, ptr %43, i64 %40
  store i64 %42, ptr %44, align 8
  %45 = load ptr, ptr %28, align 8
  %46 = getelementptr inbounds nuw i64, ptr %45, i64 %40
  store i64 %39, ptr %46, align 8
  %47 = load ptr, ptr %33, align 8
  %48 = getelementptr inbounds nuw i64, ptr %47, i64 %40
  %49 = load i64, ptr %48, align 8
  %50 = mul nsw i64 %49, %39
  %51 = icmp samesign ugt i64 %38, 1
  br i1 %51, label %36, label %52

52:
  %53 = phi ptr [ null, %2 ], [ null, %18 ], [ %16, %22 ], [ %16, %36 ]
  ret ptr %53
}

define internal void @delete_array(ptr %0) {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %3 = load i32, ptr %2, align 8
  %4 = load ptr, ptr %0, align 8
  %5 = tail call fastcc i32 @release(i32 %3, ptr %4)
  tail call void @free(ptr %0)
  ret void
}

define weak i32 @tilewright_device_new_array(ptr %0, i32 %1, i64 %2, i32 %3, i32 %4, ptr %5) {
  %7 = alloca %struct.TilewrightArray, align 8
  %8 = alloca [4096 x i8], align 16
  %9 = alloca ptr, align 8
  store ptr null, ptr %7, align 8
  %10 = getelementptr inbounds nuw i8, ptr %7, i64 8
  store i32 %1, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %7, i64 12
  %12 = trunc i64 %2 to i32
  store i32 %12, ptr %11, align 4
  %13 = getelementptr inbounds nuw i8, ptr %7, i64 16
  store i32 %3, ptr %13, align 8
  %14 = getelementptr inbounds nuw i8, ptr %7, i64 20
  store i32 %4, ptr %14, align 4
  %15 = getelementptr inbounds nuw i8, ptr %7, i64 24
  store ptr %5, ptr %15, align 8
  %16 = getelementptr inbounds nuw i8, ptr %7, i64 32
  store ptr null, ptr %16, align 8
  %17 = getelementptr inbounds nuw i8, ptr %7, i64 40
  store i64 0, ptr %17, align 8
  %18 = icmp eq ptr @TVMFFITensorFromDLPack, null
  br i1 %18, label %19, label %21

19:
  %20 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %8, i64 4096, ptr @.str.8)
  call fastcc void @report(ptr @.str.9, ptr %8)
  br label %61

21:
  %22 = lshr i32 %4, 16
  %23 = lshr i32 %4, 8
  %24 = and i32 %23, 255
  %25 = mul nuw nsw i32 %24, %22
  %26 = add nuw nsw i32 %25, 7
  %27 = lshr i32 %26, 3
  %28 = zext nneg i32 %27 to i64
  %29 = icmp sgt i32 %3, 0
  br i1 %29, label %30, label %32

30:
  %31 = zext nneg i32 %3 to i64
  br label %36

32:
  %33 = phi i64 [ %28, %21 ], [ %46, %36 ]
  %34 = call ptr @tilewright_device_array(ptr %7, i64 %33)
  store ptr null, ptr %9, align 8
  %35 = icmp eq ptr %34, null
  br i1 %35, label %59, label %49

36:
  %37 = phi i64 [ 0, %30 ], [ %47, %36 ]
  %38 = phi i64 [ %28, %30 ], [ %46, %36 ]
  %39 = getelementptr inbounds nuw i64, ptr %5, i64 %37
  %40 = load i64, ptr %39, align 8
  %41 = tail call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %38, i64 %40)
  %42 = extractvalue { i64, i1 } %41, 1
  %43 = extractvalue { i64, i1 } %41, 0
  %44 = select i1 %42, i64 -1, i64 %43
  %45 = icmp slt i64 %40, 0
  %46 = select i1 %45, i64 0, i64 %44
  %47 = add nuw nsw i64 %37, 1
  %48 = icmp eq i64 %47, %31
  br i1 %48, label %32, label %36

49:
  %50 = call i32 @TVMFFITensorFromDLPack(ptr %34, i32 0, i32 0, ptr %9)
  %51 = icmp eq i32 %50, 0
  br i1 %51, label %55, label %52

52:
  %53 = getelementptr inbounds nuw i8, ptr %34, i64 56
  %54 = load ptr, ptr %53, align 8
  call void %54(ptr %34)
  br label %59

55:
  store i32 70, ptr %0, align 8
  %56 = getelementptr inbounds nuw i8, ptr %0, i64 4
  store i32 0, ptr %56, align 4
  %57 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %58 = load ptr, ptr %9, align 8
  store ptr %58, ptr %57, align 8
  br label %59

59:
  %60 = phi i32 [ -1, %52 ], [ 0, %55 ], [ -1, %32 ]
  br label %61

61:
  %62 = phi i32 [ %60, %59 ], [ -1, %19 ]
  ret i32 %62
}

declare extern_weak i32 @TVMFFITensorFromDLPack(ptr, i32, i32, ptr)

declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)

define weak i32 @tilewright_launch(ptr %0) {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  %4 = alloca i32, align 4
  %5 = alloca [4096 x i8], align 16
  %6 = alloca %struct.Launch, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %8 = load i64, ptr %7, align 8
  %9 = trunc i64 %8 to i32
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %11 = load ptr, ptr %10, align 8
  store ptr %11, ptr %6, align 8
  %12 = getelementptr inbounds nuw i8, ptr %6, i64 8
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %14 = load ptr, ptr %13, align 8
  store ptr %14, ptr %12, align 8
  %15 = getelementptr inbounds nuw i8, ptr %6, i64 16
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 96
  store ptr %16, ptr %15, align 8
  %17 = getelementptr inbounds nuw i8, ptr %6, i64 24
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %17, ptr align 8 @constinit.10, i64 24, i1 false)
  %18 = getelementptr inbounds nuw i8, ptr %6, i64 48
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %18, ptr align 8 @constinit.10, i64 24, i1 false)
  %19 = getelementptr inbounds nuw i8, ptr %6, i64 72
  store i64 0, ptr %19, align 8
  %20 = tail call fastcc ptr @opened(i32 %9, i32 0)
  %21 = icmp eq ptr %20, null
  br i1 %21, label %201, label %22

22:
  %23 = tail call ptr @strchr(ptr %14, i32 58)
  %24 = getelementptr inbounds nuw i8, ptr %23, i64 1
  %25 = load i8, ptr %24, align 1
  %26 = icmp eq i8 %25, 0
  br i1 %26, label %59, label %27

27:
  %28 = ptrtoint ptr %23 to i64
  %29 = ptrtoint ptr %14 to i64
  %30 = sub i64 %28, %29
  %31 = getelementptr inbounds %struct.TilewrightValue, ptr %16, i64 %30
  br label %32

32:
  %33 = phi i8 [ %55, %52 ], [ %25, %27 ]
  %34 = phi ptr [ %54, %52 ], [ %24, %27 ]
  %35 = phi ptr [ %53, %52 ], [ %31, %27 ]
  %36 = icmp sgt i8 %33, 119
  %37 = getelementptr inbounds nuw i8, ptr %35, i64 8
  %38 = load i64, ptr %37, align 8
  br i1 %36, label %39, label %41

39:
  %40 = icmp slt i64 %38, 1
  br i1 %40, label %201, label %44

41:
  %42 = icmp eq i8 %33, 109
  br i1 %42, label %43, label %48

43:
  store i64 %38, ptr %19, align 8
  br label %52

44:
  %45 = zext nneg i8 %33 to i64
  %46 = getelementptr i64, ptr %17, i64 %45
  %47 = getelementptr i8, ptr %46, i64 -960
  store i64 %38, ptr %47, align 8
  br label %52

48:
  %49 = sext i8 %33 to i64
  %50 = getelementptr i64, ptr %18, i64 %49
  %51 = getelementptr i8, ptr %50, i64 -704
  store i64 %38, ptr %51, align 8
  br label %52

52:
  %53 = getelementptr inbounds nuw i8, ptr %35, i64 16
  %54 = getelementptr inbounds nuw i8, ptr %34, i64 1
  %55 = load i8, ptr %54, align 1
  %56 = icmp eq i8 %55, 0
  br i1 %56, label %57, label %32

57:
  %58 = load ptr, ptr %12, align 8
  br label %59

59:
  %60 = phi ptr [ %58, %57 ], [ %14, %22 ]
  %61 = tail call fastcc ptr @devices()
  %62 = getelementptr inbounds nuw i8, ptr %61, i64 8
  %63 = tail call i32 @pthread_mutex_lock(ptr %62)
  %64 = icmp eq i32 %9, 4
  %65 = icmp eq i32 %9, 2
  %66 = select i1 %65, ptr @CUDA, ptr null
  %67 = select i1 %64, ptr @OPENCL, ptr %66
  %68 = getelementptr inbounds nuw i8, ptr %20, i64 4
  %69 = getelementptr inbounds nuw i8, ptr %67, i64 48
  br label %70

70:
  %71 = phi i64 [ %116, %114 ], [ 0, %59 ]
  %72 = phi i32 [ %115, %114 ], [ -1, %59 ]
  %73 = getelementptr inbounds nuw i8, ptr %60, i64 %71
  %74 = load i8, ptr %73, align 1
  switch i8 %74, label %75 [
    i8 0, label %117
    i8 58, label %117
  ]

75:
  %76 = load ptr, ptr %15, align 8
  %77 = getelementptr inbounds nuw %struct.TilewrightValue, ptr %76, i64 %71
  %78 = getelementptr inbounds nuw i8, ptr %77, i64 8
  %79 = load i64, ptr %78, align 8
  %80 = icmp eq i8 %74, 112
  %81 = icmp ne i64 %79, 0
  %82 = select i1 %80, i1 %81, i1 false
  br i1 %82, label %83, label %114

83:
  %84 = call fastcc ptr @block_of(ptr %20, i64 %79)
  store i32 0, ptr %4, align 4
  %85 = icmp eq ptr %84, null
  br i1 %85, label %89, label %86

86:
  %87 = getelementptr inbounds nuw i8, ptr %84, i64 16
  %88 = load i32, ptr %87, align 8
  store i32 %88, ptr %4, align 4
  br label %99

89:
  br i1 %64, label %93, label %90

90:
  %91 = load i32, ptr %68, align 4
  %92 = icmp sgt i32 %91, 1
  br i1 %92, label %93, label %99

93:
  %94 = load ptr, ptr %69, align 8
  %95 = call i32 %94(ptr %20, i64 %79, ptr %4)
  %96 = icmp eq i32 %95, 0
  br i1 %96, label %97, label %109

97:
  %98 = load i32, ptr %4, align 4
  br label %99

99:
  %100 = phi i32 [ %98, %97 ], [ 0, %90 ], [ %88, %86 ]
  %101 = icmp slt i32 %72, 0
  %102 = icmp eq i32 %100, %72
  %103 = select i1 %101, i1 true, i1 %102
  br i1 %103, label %113, label %104

104:
  %105 = load ptr, ptr %6, align 8
  %106 = getelementptr inbounds nuw i8, ptr %67, i64 8
  %107 = load ptr, ptr %106, align 8
  %108 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %5, i64 4096, ptr @.str.180, ptr %105, ptr %107, i32 %72, ptr %107, i32 %100)
  call fastcc void @report(ptr @.str.4, ptr %5)
  br label %109

109:
  %110 = call fastcc ptr @devices()
  %111 = getelementptr inbounds nuw i8, ptr %110, i64 8
  %112 = call i32 @pthread_mutex_unlock(ptr %111)
  br label %201

113:
  br label %114

114:
  %115 = phi i32 [ %100, %113 ], [ %72, %75 ]
  %116 = add nuw nsw i64 %71, 1
  br label %70

117:
  %118 = call i32 @llvm.smax.i32(i32 %72, i32 0)
  %119 = call fastcc ptr @devices()
  %120 = getelementptr inbounds nuw i8, ptr %119, i64 8
  %121 = call i32 @pthread_mutex_unlock(ptr %120)
  %122 = call fastcc ptr @opened(i32 %9, i32 %118)
  %123 = icmp eq ptr %122, null
  br i1 %123, label %201, label %124

124:
  %125 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %126 = load i64, ptr %125, align 8
  %127 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %128 = load ptr, ptr %127, align 8
  %129 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %130 = load ptr, ptr %129, align 8
  %131 = load ptr, ptr %6, align 8
  %132 = getelementptr inbounds nuw i8, ptr %20, i64 34536
  %133 = call fastcc ptr @built_before(ptr %132, i32 %118, i64 %126)
  store ptr %133, ptr %2, align 8
  %134 = icmp eq ptr %133, null
  br i1 %134, label %136, label %135

135:
  br label %174

136:
  %137 = load i8, ptr %128, align 1
  %138 = icmp eq i8 %137, 0
  br i1 %138, label %149, label %139

139:
  %140 = phi i8 [ %147, %139 ], [ %137, %136 ]
  %141 = phi i64 [ %145, %139 ], [ -3750763034362895579, %136 ]
  %142 = phi ptr [ %146, %139 ], [ %128, %136 ]
  %143 = zext i8 %140 to i64
  %144 = xor i64 %141, %143
  %145 = mul i64 %144, 1099511628211
  %146 = getelementptr inbounds nuw i8, ptr %142, i64 1
  %147 = load i8, ptr %146, align 1
  %148 = icmp eq i8 %147, 0
  br i1 %148, label %149, label %139

149:
  %150 = phi i64 [ -3750763034362895579, %136 ], [ %145, %139 ]
  %151 = getelementptr inbounds nuw i8, ptr %20, i64 26344
  %152 = call fastcc ptr @built_before(ptr %151, i32 %118, i64 %150)
  store ptr %152, ptr %3, align 8
  %153 = icmp eq ptr %152, null
  br i1 %153, label %154, label %163

154:
  %155 = getelementptr inbounds nuw i8, ptr %67, i64 112
  %156 = load ptr, ptr %155, align 8
  %157 = call i32 %156(ptr %20, i32 %118, ptr %128, ptr %130, ptr %3)
  %158 = icmp eq i32 %157, 0
  br i1 %158, label %159, label %169

159:
  %160 = load ptr, ptr %3, align 8
  %161 = call fastcc ptr @keep_built(ptr %151, i32 %118, i64 %150, ptr %160)
  store ptr %161, ptr %3, align 8
  %162 = icmp eq ptr %161, null
  br i1 %162, label %169, label %163

163:
  %164 = phi ptr [ %161, %159 ], [ %152, %149 ]
  %165 = getelementptr inbounds nuw i8, ptr %67, i64 120
  %166 = load ptr, ptr %165, align 8
  %167 = call i32 %166(ptr %20, i32 %118, ptr %164, ptr %131, ptr %2)
  %168 = icmp eq i32 %167, 0
  br i1 %168, label %170, label %169

169:
  br label %201

170:
  %171 = load ptr, ptr %2, align 8
  %172 = call fastcc ptr @keep_built(ptr %132, i32 %118, i64 %126, ptr %171)
  %173 = icmp eq ptr %172, null
  br i1 %173, label %201, label %174

174:
  %175 = phi ptr [ %133, %135 ], [ %172, %170 ]
  %176 = getelementptr inbounds nuw i8, ptr %20, i64 840
  %177 = zext nneg i32 %118 to i64
  %178 = getelementptr inbounds nuw %struct.Device, ptr %176, i64 %177
  %179 = icmp eq ptr @TVMFFIEnvGetStream, null
  br i1 %179, label %183, label %180

180:
  %181 = call ptr @TVMFFIEnvGetStream(i32 %9, i32 %118)
  %182 = icmp eq ptr %181, null
  br i1 %182, label %183, label %190

183:
  %184 = getelementptr inbounds nuw i8, ptr %178, i64 24
  %185 = load ptr, ptr %184, align 8
  %186 = icmp eq ptr %185, null
  br i1 %186, label %187, label %190

187:
  %188 = getelementptr inbounds nuw i8, ptr %178, i64 16
  %189 = load ptr, ptr %188, align 8
  br label %190

190:
  %191 = phi ptr [ %189, %187 ], [ %181, %180 ], [ %185, %183 ]
  %192 = call fastcc ptr @devices()
  %193 = getelementptr inbounds nuw i8, ptr %192, i64 8
  %194 = call i32 @pthread_mutex_lock(ptr %193)
  %195 = getelementptr inbounds nuw i8, ptr %67, i64 128
  %196 = load ptr, ptr %195, align 8
  %197 = call i32 %196(ptr %20, i32 %118, ptr %191, ptr %175, ptr %6)
  %198 = call fastcc ptr @devices()
  %199 = getelementptr inbounds nuw i8, ptr %198, i64 8
  %200 = call i32 @pthread_mutex_unlock(ptr %199)
  br label %201

201:
  %202 = phi i32 [ -1, %1 ], [ -1, %169 ], [ -1, %109 ], [ -1, %117 ], [ %197, %190 ], [ -1, %170 ], [ 0, %39 ]
  ret i32 %202
}

declare ptr @strchr(ptr, i32)

define weak i64 @tilewright_device_beside(i32 %0, ptr %1) {
  %3 = alloca i32, align 4
  %4 = alloca %struct.TilewrightValue, align 8
  %5 = alloca %struct.TilewrightValue, align 8
  store i32 0, ptr %3, align 4
  %6 = icmp eq ptr %1, null
  br i1 %6, label %13, label %7

7:
  %8 = call i32 @tilewright_device_of(i32 %0, ptr %1, ptr %3)
  %9 = icmp eq i32 %8, 0
  %10 = load i32, ptr %3, align 4
  %11 = select i1 %9, i32 %10, i32 -1
  %12 = sext i32 %11 to i64
  br label %23

13:
  store i64 1, ptr %4, align 8
  call void @llvm.memset.p0.i64(ptr align 8 %5, i8 0, i64 16, i1 false)
  %14 = sext i32 %0 to i64
  %15 = getelementptr inbounds nuw i8, ptr %4, i64 8
  store i64 %14, ptr %15, align 8
  %16 = call fastcc i32 @call_host(ptr @.str.11, ptr %4, i32 1, ptr %5)
  %17 = icmp eq i32 %16, 0
  %18 = getelementptr inbounds nuw i8, ptr %5, i64 8
  %19 = load i64, ptr %18, align 8
  %20 = icmp ne i32 %16, -3
  %21 = sext i1 %20 to i64
  %22 = select i1 %17, i64 %19, i64 %21
  br label %23

23:
  %24 = phi i64 [ %12, %7 ], [ %22, %13 ]
  ret i64 %24
}

define internal fastcc i32 @call_host(ptr %0, ptr %1, i32 %2, ptr %3) unnamed_addr {
  %5 = alloca %struct.anon.1, align 8
  %6 = alloca ptr, align 8
  store ptr %0, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %5, i64 8
  %8 = tail call i64 @strlen(ptr %0)
  store i64 %8, ptr %7, align 8
  store ptr null, ptr %6, align 8
  %9 = icmp eq ptr @TVMFFIFunctionGetGlobal, null
  br i1 %9, label %22, label %10

10:
  %11 = call i32 @TVMFFIFunctionGetGlobal(ptr %5, ptr %6)
  %12 = icmp eq i32 %11, 0
  %13 = load ptr, ptr %6, align 8
  %14 = icmp ne ptr %13, null
  %15 = select i1 %12, i1 %14, i1 false
  br i1 %15, label %16, label %22

16:
  %17 = call i32 @TVMFFIFunctionCall(ptr %13, ptr %1, i32 %2, ptr %3)
  %18 = load ptr, ptr %6, align 8
  %19 = call i32 @TVMFFIObjectDecRef(ptr %18)
  %20 = icmp ne i32 %17, 0
  %21 = sext i1 %20 to i32
  br label %22

22:
  %23 = phi i32 [ %21, %16 ], [ -3, %10 ], [ -3, %4 ]
  ret i32 %23
}

define weak ptr @tilewright_take(i32 %0, i64 %1, ptr %2) {
  %4 = tail call i64 @tilewright_device_beside(i32 %0, ptr %2)
  %5 = icmp slt i64 %4, 0
  br i1 %5, label %9, label %6

6:
  %7 = trunc i64 %4 to i32
  %8 = tail call ptr @tilewright_device_allocate(i32 %0, i32 %7, i64 %1)
  br label %9

9:
  %10 = phi ptr [ %8, %6 ], [ null, %3 ]
  ret ptr %10
}

define weak ptr @tilewright_constants(i32 %0, i32 %1, ptr %2, ptr %3) {
  %5 = alloca [4096 x i8], align 16
  %6 = tail call fastcc ptr @kind_of(i32 %0)
  %7 = icmp eq ptr %3, null
  br i1 %7, label %10, label %8

8:
  %9 = tail call ptr @calloc(i64 1, i64 88)
  br label %10

10:
  %11 = phi ptr [ %9, %8 ], [ null, %4 ]
  %12 = tail call fastcc ptr @devices()
  %13 = getelementptr inbounds nuw i8, ptr %12, i64 8
  %14 = tail call i32 @pthread_mutex_lock(ptr %13)
  %15 = getelementptr inbounds nuw i8, ptr %6, i64 42728
  %16 = load ptr, ptr %15, align 8
  %17 = icmp eq ptr %16, null
  br i1 %17, label %30, label %18

18:
  %19 = phi ptr [ %28, %26 ], [ %16, %10 ]
  %20 = getelementptr inbounds nuw i8, ptr %19, i64 68
  %21 = load i32, ptr %20, align 4
  %22 = icmp eq i32 %21, %1
  br i1 %22, label %23, label %26

23:
  %24 = tail call i32 @strcmp(ptr %19, ptr %2)
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %38, label %26

26:
  %27 = getelementptr inbounds nuw i8, ptr %19, i64 80
  %28 = load ptr, ptr %27, align 8
  %29 = icmp eq ptr %28, null
  br i1 %29, label %30, label %18

30:
  %31 = icmp eq ptr %11, null
  br i1 %31, label %43, label %32

32:
  %33 = load ptr, ptr %15, align 8
  tail call void @llvm.memset.p0.i64(ptr align 8 %11, i8 0, i64 68, i1 false)
  %34 = getelementptr inbounds nuw i8, ptr %11, i64 68
  store i32 %1, ptr %34, align 4
  %35 = getelementptr inbounds nuw i8, ptr %11, i64 72
  store ptr %3, ptr %35, align 8
  %36 = getelementptr inbounds nuw i8, ptr %11, i64 80
  store ptr %33, ptr %36, align 8
  %37 = tail call i32 (ptr, i64, ptr, ...) @snprintf(ptr %11, i64 65, ptr @.str.12, ptr %2)
  store ptr %11, ptr %15, align 8
  br label %38

38:
  %39 = phi ptr [ %11, %32 ], [ %19, %23 ]
  %40 = phi ptr [ null, %32 ], [ %11, %23 ]
  %41 = getelementptr inbounds nuw i8, ptr %39, i64 72
  %42 = load ptr, ptr %41, align 8
  br label %43

43:
  %44 = phi ptr [ %40, %38 ], [ null, %30 ]
  %45 = phi ptr [ %42, %38 ], [ null, %30 ]
  %46 = tail call fastcc ptr @devices()
  %47 = getelementptr inbounds nuw i8, ptr %46, i64 8
  %48 = tail call i32 @pthread_mutex_unlock(ptr %47)
  tail call void @free(ptr %44)
  %49 = icmp eq ptr %45, %3
  %50 = select i1 %7, i1 true, i1 %49
  br i1 %50, label %53, label %51

51:
  %52 = tail call fastcc i32 @release(i32 %0, ptr %3)
  br label %53

53:
  %54 = icmp ne ptr %45, null
  %55 = select i1 %7, i1 true, i1 %54
  br i1 %55, label %58, label %56

56:
  %57 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %5, i64 4096, ptr @.str.7)
  call fastcc void @report(ptr @.str.2, ptr %5)
  br label %58

58:
  ret ptr %45
}

declare i32 @strcmp(ptr, ptr)

define weak void @tilewright_constants_release(ptr %0) {
  br label %3

2:
  ret void

3:
  %4 = phi i64 [ 0, %1 ], [ %46, %45 ]
  %5 = tail call fastcc ptr @devices()
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 72
  %7 = getelementptr inbounds nuw i32, ptr @tilewright_constants_release.TYPES, i64 %4
  %8 = icmp eq i64 %4, 1
  %9 = zext i1 %8 to i64
  %10 = getelementptr inbounds nuw ptr, ptr %6, i64 %9
  %11 = load ptr, ptr %10, align 8
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 42728
  %13 = tail call fastcc ptr @devices()
  %14 = getelementptr inbounds nuw i8, ptr %13, i64 8
  %15 = tail call i32 @pthread_mutex_lock(ptr %14)
  %16 = load ptr, ptr %12, align 8
  %17 = icmp eq ptr %16, null
  br i1 %17, label %40, label %18

18:
  %19 = phi ptr [ %26, %24 ], [ %16, %3 ]
  %20 = phi ptr [ %25, %24 ], [ %12, %3 ]
  %21 = tail call i32 @strcmp(ptr %19, ptr %0)
  %22 = icmp eq i32 %21, 0
  %23 = load ptr, ptr %20, align 8
  br i1 %22, label %28, label %24

24:
  %25 = getelementptr inbounds nuw i8, ptr %23, i64 80
  %26 = load ptr, ptr %25, align 8
  %27 = icmp eq ptr %26, null
  br i1 %27, label %40, label %18

28:
  %29 = icmp eq ptr %23, null
  br i1 %29, label %40, label %30

30:
  %31 = getelementptr inbounds nuw i8, ptr %23, i64 80
  %32 = load ptr, ptr %31, align 8
  store ptr %32, ptr %20, align 8
  %33 = tail call fastcc ptr @devices()
  %34 = getelementptr inbounds nuw i8, ptr %33, i64 8
  %35 = tail call i32 @pthread_mutex_unlock(ptr %34)
  %36 = load i32, ptr %7, align 4
  %37 = getelementptr inbounds nuw i8, ptr %23, i64 72
  %38 = load ptr, ptr %37, align 8
  %39 = tail call fastcc i32 @release(i32 %36, ptr %38)
  tail call void @free(ptr %23)
  br label %45

40:
  %41 = tail call fastcc ptr @devices()
  %42 = getelementptr inbounds nuw i8, ptr %41, i64 8
  %43 = tail call i32 @pthread_mutex_unlock(ptr %42)
  %44 = add nuw nsw i64 %4, 1
  br label %45

45:
  %46 = phi i64 [ %4, %30 ], [ %44, %40 ]
  %47 = icmp ult i64 %46, 2
  br i1 %47, label %3, label %2
}

define internal void @opencl_load(ptr %0, ptr %1) {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  %6 = alloca i64, align 8
  %7 = alloca [256 x i8], align 16
  %8 = alloca [16 x ptr], align 16
  %9 = alloca [16 x ptr], align 16
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca [256 x i8], align 16
  %13 = alloca [256 x i8], align 16
  %14 = tail call ptr @getenv(ptr @.str.16)
  %15 = icmp eq ptr %1, null
  br i1 %15, label %16, label %47

16:
  %17 = icmp eq ptr %14, null
  br i1 %17, label %21, label %18

18:
  %19 = load i8, ptr %14, align 1
  %20 = icmp eq i8 %19, 0
  br i1 %20, label %21, label %31

21:
  br label %22

22:
  %23 = phi i1 [ false, %22 ], [ true, %21 ]
  %24 = phi i64 [ 1, %22 ], [ 0, %21 ]
  %25 = shl i64 %24, 2
  %26 = call ptr @llvm.load.relative.i64(ptr @OPENCL_LIBRARIES.rel, i64 %25)
  %27 = tail call ptr @dlopen(ptr %26, i32 2)
  %28 = icmp eq ptr %27, null
  %29 = select i1 %23, i1 %28, i1 false
  br i1 %29, label %22, label %30

30:
  br i1 %28, label %36, label %47

31:
  %32 = tail call ptr @dlopen(ptr %14, i32 2)
  %33 = icmp eq ptr %32, null
  br i1 %33, label %34, label %47

34:
  %35 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br label %38

36:
  %37 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br i1 %17, label %43, label %38

38:
  %39 = phi ptr [ %35, %34 ], [ %37, %36 ]
  %40 = load i8, ptr %14, align 1
  %41 = icmp eq i8 %40, 0
  %42 = select i1 %41, ptr @.str.25, ptr %14
  br label %43

43:
  %44 = phi ptr [ %39, %38 ], [ %37, %36 ]
  %45 = phi ptr [ %42, %38 ], [ @.str.25, %36 ]
  %46 = tail call i32 (ptr, i64, ptr, ...) @snprintf(ptr %44, i64 512, ptr @.str.17, ptr %45)
  br label %200

47:
  %48 = phi ptr [ null, %2 ], [ %27, %30 ], [ %32, %31 ]
  %49 = getelementptr inbounds nuw i8, ptr %0, i64 520
  br label %50

50:
  %51 = phi i64 [ 0, %47 ], [ %63, %62 ]
  %52 = getelementptr inbounds nuw ptr, ptr @OPENCL_NAMES, i64 %51
  %53 = load ptr, ptr %52, align 8
  br i1 %15, label %56, label %54

54:
  %55 = tail call ptr %1(ptr %53)
  br label %58

56:
  %57 = tail call ptr @dlsym(ptr %48, ptr %53)
  br label %58

58:
  %59 = phi ptr [ %55, %54 ], [ %57, %56 ]
  %60 = getelementptr inbounds nuw ptr, ptr %49, i64 %51
  store ptr %59, ptr %60, align 8
  %61 = icmp eq ptr %59, null
  br i1 %61, label %65, label %62

62:
  %63 = add nuw nsw i64 %51, 1
  %64 = icmp eq i64 %63, 29
  br i1 %64, label %68, label %50

65:
  %66 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %67 = tail call i32 (ptr, i64, ptr, ...) @snprintf(ptr %66, i64 512, ptr @.str.18, ptr %53)
  br label %200

68:
  %69 = tail call i32 @setenv(ptr @.str.19, ptr @.str.20, i32 0)
  %70 = tail call ptr @getenv(ptr @.str.21)
  store i32 0, ptr %10, align 4
  %71 = load ptr, ptr %49, align 8
  %72 = call i32 %71(i32 16, ptr %8, ptr %10)
  %73 = icmp eq i32 %72, 0
  br i1 %73, label %74, label %77

74:
  %75 = load i32, ptr %10, align 4
  %76 = icmp ugt i32 %75, 16
  br i1 %76, label %77, label %79

77:
  %78 = phi i32 [ 0, %68 ], [ 16, %74 ]
  store i32 %78, ptr %10, align 4
  br label %79

79:
  %80 = phi i32 [ %75, %74 ], [ %78, %77 ]
  %81 = getelementptr inbounds nuw i8, ptr %0, i64 528
  %82 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %83 = getelementptr inbounds nuw i8, ptr %12, i64 255
  %84 = icmp eq ptr %70, null
  %85 = getelementptr inbounds nuw i8, ptr %7, i64 255
  %86 = getelementptr inbounds nuw i8, ptr %0, i64 4
  %87 = getelementptr inbounds nuw i8, ptr %0, i64 704
  %88 = getelementptr inbounds nuw i8, ptr %0, i64 736
  %89 = getelementptr inbounds nuw i8, ptr %0, i64 656
  %90 = getelementptr inbounds nuw i8, ptr %0, i64 672
  %91 = getelementptr inbounds nuw i8, ptr %0, i64 840
  br label %92

92:
  %93 = phi i32 [ %80, %79 ], [ %102, %101 ]
  %94 = phi i32 [ 0, %79 ], [ %104, %101 ]
  %95 = phi ptr [ null, %79 ], [ %103, %101 ]
  %96 = icmp eq i32 %93, 0
  br i1 %96, label %101, label %97

97:
  %98 = icmp eq i32 %94, 1
  br label %106

99:
  call void @llvm.memset.p0.i64(ptr align 16 %13, i8 0, i64 256, i1 false)
  %100 = icmp eq ptr %103, null
  br i1 %100, label %194, label %190

101:
  %102 = phi i32 [ 0, %92 ], [ %187, %184 ]
  %103 = phi ptr [ %95, %92 ], [ %185, %184 ]
  %104 = add nuw nsw i32 %94, 1
  %105 = icmp eq i32 %104, 3
  br i1 %105, label %99, label %92

106:
  %107 = phi i64 [ 0, %97 ], [ %186, %184 ]
  %108 = phi ptr [ %95, %97 ], [ %185, %184 ]
  store i32 0, ptr %11, align 4
  %109 = load ptr, ptr %81, align 8
  %110 = getelementptr inbounds nuw ptr, ptr %8, i64 %107
  %111 = load ptr, ptr %110, align 8
  %112 = call i32 %109(ptr %111, i64 4294967295, i32 16, ptr %9, ptr %11)
  %113 = icmp eq i32 %112, 0
  %114 = load i32, ptr %11, align 4
  %115 = icmp ne i32 %114, 0
  %116 = select i1 %113, i1 %115, i1 false
  br i1 %116, label %117, label %184

117:
  %118 = phi i64 [ %178, %176 ], [ 0, %106 ]
  %119 = phi ptr [ %177, %176 ], [ %108, %106 ]
  %120 = getelementptr inbounds nuw ptr, ptr %9, i64 %118
  %121 = load ptr, ptr %120, align 8
  store i8 0, ptr %12, align 16
  %122 = load ptr, ptr %82, align 8
  %123 = call i32 %122(ptr %121, i32 4139, i64 255, ptr %12, ptr null)
  store i8 0, ptr %83, align 1
  br i1 %84, label %127, label %124

124:
  %125 = call fastcc i32 @contains(ptr %12, ptr %70)
  %126 = icmp eq i32 %125, 0
  br i1 %126, label %176, label %127

127:
  %128 = load ptr, ptr %120, align 8
  store i8 0, ptr %7, align 16
  %129 = load ptr, ptr %82, align 8
  %130 = call i32 %129(ptr %128, i32 4139, i64 255, ptr %7, ptr null)
  store i8 0, ptr %85, align 1
  %131 = call fastcc i32 @contains(ptr %7, ptr @.str.55)
  %132 = icmp eq i32 %131, 0
  br i1 %132, label %133, label %140

133:
  store i64 0, ptr %6, align 8
  %134 = load ptr, ptr %82, align 8
  %135 = call i32 %134(ptr %128, i32 4096, i64 8, ptr %6, ptr null)
  %136 = load i64, ptr %6, align 8
  %137 = and i64 %136, 4
  %138 = icmp eq i64 %137, 0
  %139 = zext i1 %138 to i32
  br label %140

140:
  %141 = phi i32 [ %139, %133 ], [ 2, %127 ]
  %142 = icmp eq i32 %141, %94
  br i1 %142, label %143, label %176

143:
  %144 = load i32, ptr %86, align 4
  %145 = icmp eq i32 %144, 16
  br i1 %145, label %176, label %146

146:
  br i1 %98, label %147, label %170

147:
  %148 = load ptr, ptr %120, align 8
  store ptr %148, ptr %3, align 8
  store ptr @.str.56, ptr %4, align 8
  store i32 0, ptr %5, align 4
  %149 = load ptr, ptr %87, align 8
  %150 = call ptr %149(ptr null, i32 1, ptr %3, ptr null, ptr null, ptr %5)
  %151 = load i32, ptr %5, align 4
  %152 = icmp eq i32 %151, 0
  br i1 %152, label %153, label %158

153:
  %154 = load ptr, ptr %88, align 8
  %155 = call ptr %154(ptr %150, i32 1, ptr %4, ptr null, ptr %5)
  %156 = load i32, ptr %5, align 4
  %157 = icmp eq i32 %156, 0
  br i1 %157, label %159, label %158

158:
  br label %168

159:
  %160 = load ptr, ptr %89, align 8
  %161 = call i32 %160(ptr %155, i32 1, ptr %3, ptr @.str, ptr null, ptr null)
  store i32 %161, ptr %5, align 4
  %162 = load ptr, ptr %90, align 8
  %163 = call i32 %162(ptr %155)
  %164 = load i32, ptr %5, align 4
  %165 = icmp eq i32 %164, 0
  br i1 %165, label %166, label %168

166:
  %167 = load i32, ptr %86, align 4
  br label %170

168:
  %169 = load ptr, ptr %120, align 8
  br label %176

170:
  %171 = phi i32 [ %167, %166 ], [ %144, %146 ]
  %172 = load ptr, ptr %120, align 8
  %173 = add nsw i32 %171, 1
  store i32 %173, ptr %86, align 4
  %174 = sext i32 %171 to i64
  %175 = getelementptr inbounds %struct.Device, ptr %91, i64 %174
  store ptr %172, ptr %175, align 8
  br label %176

176:
  %177 = phi ptr [ %119, %124 ], [ %119, %140 ], [ %119, %143 ], [ %119, %170 ], [ %169, %168 ]
  %178 = add nuw nsw i64 %118, 1
  %179 = load i32, ptr %11, align 4
  %180 = zext i32 %179 to i64
  %181 = icmp samesign ult i64 %178, %180
  %182 = icmp samesign ult i64 %118, 15
  %183 = select i1 %181, i1 %182, i1 false
  br i1 %183, label %117, label %184

184:
  %185 = phi ptr [ %108, %106 ], [ %177, %176 ]
  %186 = add nuw nsw i64 %107, 1
  %187 = load i32, ptr %10, align 4
  %188 = zext i32 %187 to i64
  %189 = icmp samesign ult i64 %186, %188
  br i1 %189, label %106, label %101

190:
  %191 = load ptr, ptr %82, align 8
  %192 = call i32 %191(ptr %103, i32 4139, i64 255, ptr %13, ptr null)
  %193 = getelementptr inbounds nuw i8, ptr %13, i64 255
  store i8 0, ptr %193, align 1
  br label %194

194:
  %195 = phi ptr [ @.str.24, %190 ], [ @.str, %99 ]
  %196 = phi ptr [ @.str.23, %190 ], [ @.str, %99 ]
  %197 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %198 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %197, i64 512, ptr @.str.22, ptr %196, ptr %13, ptr %195)
  %199 = getelementptr inbounds nuw i8, ptr %0, i64 26336
  store i64 17592186044416, ptr %199, align 8
  br label %200

200:
  ret void
}

define internal i32 @opencl_open(ptr %0, i32 %1) {
  %3 = alloca i64, align 8
  %4 = alloca i64, align 8
  %5 = alloca i32, align 4
  %6 = alloca [4096 x i8], align 16
  %7 = alloca [4096 x i8], align 16
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %9 = sext i32 %1 to i64
  %10 = getelementptr inbounds %struct.Device, ptr %8, i64 %9
  store i32 0, ptr %5, align 4
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 704
  %12 = load ptr, ptr %11, align 8
  %13 = call ptr %12(ptr null, i32 1, ptr %10, ptr null, ptr null, ptr %5)
  %14 = load i32, ptr %5, align 4
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %31, label %16

16:
  %17 = icmp ugt i32 %14, -15
  br i1 %17, label %21, label %18

18:
  %19 = add i32 %14, 63
  %20 = icmp ult i32 %19, 34
  br i1 %20, label %21, label %28

21:
  %22 = phi i32 [ 0, %16 ], [ -30, %18 ]
  %23 = phi ptr [ @OPENCL_ERRORS, %16 ], [ @OPENCL_INVALID, %18 ]
  %24 = sub nsw i32 %22, %14
  %25 = zext nneg i32 %24 to i64
  %26 = getelementptr inbounds nuw ptr, ptr %23, i64 %25
  %27 = load ptr, ptr %26, align 8
  br label %28

28:
  %29 = phi ptr [ @.str.129, %18 ], [ %27, %21 ]
  %30 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %6, i64 4096, ptr @.str.57, ptr %29, i32 %14)
  call fastcc void @report(ptr @.str.4, ptr %6)
  br label %70

31:
  %32 = getelementptr inbounds nuw i8, ptr %0, i64 712
  %33 = load ptr, ptr %32, align 8
  %34 = load ptr, ptr %10, align 8
  %35 = call ptr %33(ptr %13, ptr %34, i64 2, ptr %5)
  %36 = getelementptr inbounds nuw i8, ptr %10, i64 16
  store ptr %35, ptr %36, align 8
  %37 = load i32, ptr %5, align 4
  %38 = icmp eq i32 %37, 0
  br i1 %38, label %54, label %39

39:
  %40 = icmp ugt i32 %37, -15
  br i1 %40, label %44, label %41

41:
  %42 = add i32 %37, 63
  %43 = icmp ult i32 %42, 34
  br i1 %43, label %44, label %51

44:
  %45 = phi i32 [ 0, %39 ], [ -30, %41 ]
  %46 = phi ptr [ @OPENCL_ERRORS, %39 ], [ @OPENCL_INVALID, %41 ]
  %47 = sub nsw i32 %45, %37
  %48 = zext nneg i32 %47 to i64
  %49 = getelementptr inbounds nuw ptr, ptr %46, i64 %48
  %50 = load ptr, ptr %49, align 8
  br label %51

51:
  %52 = phi ptr [ @.str.129, %41 ], [ %50, %44 ]
  %53 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %7, i64 4096, ptr @.str.58, ptr %52, i32 %37)
  call fastcc void @report(ptr @.str.4, ptr %7)
  br label %70

54:
  %55 = load ptr, ptr %10, align 8
  store i64 0, ptr %4, align 8
  %56 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %57 = load ptr, ptr %56, align 8
  %58 = call i32 %57(ptr %55, i32 4096, i64 8, ptr %4, ptr null)
  %59 = load i64, ptr %4, align 8
  %60 = and i64 %59, 4
  %61 = icmp eq i64 %60, 0
  %62 = load ptr, ptr %10, align 8
  store i64 0, ptr %3, align 8
  %63 = load ptr, ptr %56, align 8
  %64 = call i32 %63(ptr %62, i32 4127, i64 8, ptr %3, ptr null)
  %65 = load i64, ptr %3, align 8
  %66 = lshr i64 %65, 2
  %67 = select i1 %61, i64 67108864, i64 %66
  %68 = getelementptr inbounds nuw i8, ptr %10, i64 1576
  store i64 %67, ptr %68, align 8
  %69 = getelementptr inbounds nuw i8, ptr %10, i64 8
  store ptr %13, ptr %69, align 8
  br label %70

70:
  %71 = phi i32 [ -1, %28 ], [ -1, %51 ], [ 0, %54 ]
  ret i32 %71
}

define internal i32 @opencl_allocate(ptr %0, ptr %1) {
  %3 = alloca i64, align 8
  %4 = alloca i32, align 4
  %5 = alloca [4096 x i8], align 16
  store i32 0, ptr %4, align 4
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %8 = load i32, ptr %7, align 8
  %9 = sext i32 %8 to i64
  %10 = getelementptr inbounds %struct.Device, ptr %6, i64 %9
  %11 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %12 = load i64, ptr %11, align 8
  %13 = load ptr, ptr %10, align 8
  store i64 0, ptr %3, align 8
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %15 = load ptr, ptr %14, align 8
  %16 = call i32 %15(ptr %13, i32 4112, i64 8, ptr %3, ptr null)
  %17 = load i64, ptr %3, align 8
  %18 = icmp ugt i64 %12, %17
  br i1 %18, label %51, label %19

19:
  %20 = getelementptr inbounds nuw i8, ptr %0, i64 720
  %21 = load ptr, ptr %20, align 8
  %22 = getelementptr inbounds nuw i8, ptr %10, i64 8
  %23 = load ptr, ptr %22, align 8
  %24 = load i64, ptr %11, align 8
  %25 = call ptr %21(ptr %23, i64 1, i64 %24, ptr null, ptr %4)
  %26 = getelementptr inbounds nuw i8, ptr %1, i64 32
  store ptr %25, ptr %26, align 8
  %27 = load i32, ptr %4, align 4
  switch i32 %27, label %28 [
    i32 -4, label %51
    i32 -5, label %51
    i32 -6, label %51
    i32 -61, label %51
    i32 0, label %44
  ]

28:
  %29 = add i32 %27, 14
  %30 = icmp ult i32 %29, 15
  br i1 %30, label %34, label %31

31:
  %32 = add i32 %27, 63
  %33 = icmp ult i32 %32, 34
  br i1 %33, label %34, label %41

34:
  %35 = phi i32 [ 0, %28 ], [ -30, %31 ]
  %36 = phi ptr [ @OPENCL_ERRORS, %28 ], [ @OPENCL_INVALID, %31 ]
  %37 = sub nsw i32 %35, %27
  %38 = zext nneg i32 %37 to i64
  %39 = getelementptr inbounds nuw ptr, ptr %36, i64 %38
  %40 = load ptr, ptr %39, align 8
  br label %41

41:
  %42 = phi ptr [ @.str.129, %31 ], [ %40, %34 ]
  %43 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %5, i64 4096, ptr @.str.59, ptr %42, i32 %27)
  call fastcc void @report(ptr @.str.4, ptr %5)
  br label %51

44:
  %45 = load i64, ptr %11, align 8
  %46 = getelementptr inbounds nuw i8, ptr %0, i64 26336
  %47 = load i64, ptr %46, align 8
  %48 = add i64 %45, 4095
  %49 = and i64 %48, -4096
  %50 = add i64 %49, %47
  store i64 %50, ptr %46, align 8
  store i64 %47, ptr %1, align 8
  br label %51

51:
  %52 = phi i32 [ 0, %44 ], [ -2, %2 ], [ -1, %41 ], [ -2, %19 ], [ -2, %19 ], [ -2, %19 ], [ -2, %19 ]
  ret i32 %52
}

define internal void @opencl_release(ptr %0, ptr %1) {
  %3 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %4 = load ptr, ptr %3, align 8
  %5 = icmp eq ptr %4, null
  br i1 %5, label %18, label %6

6:
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 544
  br label %8

8:
  %9 = phi ptr [ %4, %6 ], [ %16, %8 ]
  %10 = getelementptr inbounds nuw i8, ptr %9, i64 16
  %11 = load ptr, ptr %10, align 8
  store ptr %11, ptr %3, align 8
  %12 = load ptr, ptr %7, align 8
  %13 = getelementptr inbounds nuw i8, ptr %9, i64 8
  %14 = load ptr, ptr %13, align 8
  %15 = tail call i32 %12(ptr %14)
  tail call void @free(ptr %9)
  %16 = load ptr, ptr %3, align 8
  %17 = icmp eq ptr %16, null
  br i1 %17, label %18, label %8

18:
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 544
  %20 = load ptr, ptr %19, align 8
  %21 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %22 = load ptr, ptr %21, align 8
  %23 = tail call i32 %20(ptr %22)
  ret void
}

define internal i32 @opencl_device_of(ptr %0, i64 %1, ptr %2) {
  %4 = alloca [4096 x i8], align 16
  %5 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %4, i64 4096, ptr @.str.60, i64 %1)
  call fastcc void @report(ptr @.str.4, ptr %4)
  ret i32 -1
}

define internal i32 @opencl_copy(ptr %0, i32 %1, ptr %2, ptr byval(%struct.Place) align 8 %3, ptr byval(%struct.Place) align 8 %4, i64 %5) {
  %7 = alloca [4096 x i8], align 16
  %8 = alloca [4096 x i8], align 16
  %9 = alloca [4096 x i8], align 16
  %10 = getelementptr inbounds nuw i8, ptr %3, i64 8
  %11 = load i32, ptr %10, align 8
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %13, label %23

13:
  %14 = load ptr, ptr %3, align 8
  %15 = ptrtoint ptr %14 to i64
  %16 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %17 = load ptr, ptr %16, align 8
  %18 = load i64, ptr %17, align 8
  %19 = sub i64 %15, %18
  %20 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %21 = load i32, ptr %20, align 8
  %22 = icmp eq i32 %21, 0
  br i1 %22, label %84, label %30

23:
  %24 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %25 = load i32, ptr %24, align 8
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %55, label %27

27:
  %28 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %29 = load ptr, ptr %28, align 8
  br label %30

30:
  %31 = phi ptr [ %17, %13 ], [ %29, %27 ]
  %32 = phi i64 [ %19, %13 ], [ 0, %27 ]
  %33 = getelementptr inbounds nuw i8, ptr %0, i64 568
  %34 = load ptr, ptr %33, align 8
  %35 = getelementptr inbounds nuw i8, ptr %31, i64 32
  %36 = load ptr, ptr %35, align 8
  %37 = load ptr, ptr %4, align 8
  %38 = tail call i32 %34(ptr %2, ptr %36, i32 1, i64 %32, i64 %5, ptr %37, i32 0, ptr null, ptr null)
  %39 = icmp eq i32 %38, 0
  br i1 %39, label %114, label %40

40:
  %41 = icmp ugt i32 %38, -15
  br i1 %41, label %45, label %42

42:
  %43 = add i32 %38, 63
  %44 = icmp ult i32 %43, 34
  br i1 %44, label %45, label %52

45:
  %46 = phi i32 [ 0, %40 ], [ -30, %42 ]
  %47 = phi ptr [ @OPENCL_ERRORS, %40 ], [ @OPENCL_INVALID, %42 ]
  %48 = sub nsw i32 %46, %38
  %49 = zext nneg i32 %48 to i64
  %50 = getelementptr inbounds nuw ptr, ptr %47, i64 %49
  %51 = load ptr, ptr %50, align 8
  br label %52

52:
  %53 = phi ptr [ @.str.129, %42 ], [ %51, %45 ]
  %54 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %7, i64 4096, ptr @.str.5, ptr @.str.32, ptr %53, i32 %38)
  call fastcc void @report(ptr @.str.4, ptr %7)
  br label %114

55:
  %56 = load ptr, ptr %4, align 8
  %57 = ptrtoint ptr %56 to i64
  %58 = getelementptr inbounds nuw i8, ptr %4, i64 16
  %59 = load ptr, ptr %58, align 8
  %60 = load i64, ptr %59, align 8
  %61 = sub i64 %57, %60
  %62 = getelementptr inbounds nuw i8, ptr %0, i64 576
  %63 = load ptr, ptr %62, align 8
  %64 = getelementptr inbounds nuw i8, ptr %59, i64 32
  %65 = load ptr, ptr %64, align 8
  %66 = load ptr, ptr %3, align 8
  %67 = tail call i32 %63(ptr %2, ptr %65, i32 1, i64 %61, i64 %5, ptr %66, i32 0, ptr null, ptr null)
  %68 = icmp eq i32 %67, 0
  br i1 %68, label %114, label %69

69:
  %70 = icmp ugt i32 %67, -15
  br i1 %70, label %74, label %71

71:
  %72 = add i32 %67, 63
  %73 = icmp ult i32 %72, 34
  br i1 %73, label %74, label %81

74:
  %75 = phi i32 [ 0, %69 ], [ -30, %71 ]
  %76 = phi ptr [ @OPENCL_ERRORS, %69 ], [ @OPENCL_INVALID, %71 ]
  %77 = sub nsw i32 %75, %67
  %78 = zext nneg i32 %77 to i64
  %79 = getelementptr inbounds nuw ptr, ptr %76, i64 %78
  %80 = load ptr, ptr %79, align 8
  br label %81

81:
  %82 = phi ptr [ @.str.129, %71 ], [ %80, %74 ]
  %83 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %8, i64 4096, ptr @.str.5, ptr @.str.33, ptr %82, i32 %67)
  call fastcc void @report(ptr @.str.4, ptr %8)
  br label %114

84:
  %85 = load ptr, ptr %4, align 8
  %86 = ptrtoint ptr %85 to i64
  %87 = getelementptr inbounds nuw i8, ptr %4, i64 16
  %88 = load ptr, ptr %87, align 8
  %89 = load i64, ptr %88, align 8
  %90 = sub i64 %86, %89
  %91 = getelementptr inbounds nuw i8, ptr %0, i64 584
  %92 = load ptr, ptr %91, align 8
  %93 = getelementptr inbounds nuw i8, ptr %88, i64 32
  %94 = load ptr, ptr %93, align 8
  %95 = getelementptr inbounds nuw i8, ptr %17, i64 32
  %96 = load ptr, ptr %95, align 8
  %97 = tail call i32 %92(ptr %2, ptr %94, ptr %96, i64 %90, i64 %19, i64 %5, i32 0, ptr null, ptr null)
  %98 = icmp eq i32 %97, 0
  br i1 %98, label %114, label %99

99:
  %100 = icmp ugt i32 %97, -15
  br i1 %100, label %104, label %101

101:
  %102 = add i32 %97, 63
  %103 = icmp ult i32 %102, 34
  br i1 %103, label %104, label %111

104:
  %105 = phi i32 [ 0, %99 ], [ -30, %101 ]
  %106 = phi ptr [ @OPENCL_ERRORS, %99 ], [ @OPENCL_INVALID, %101 ]
  %107 = sub nsw i32 %105, %97
  %108 = zext nneg i32 %107 to i64
  %109 = getelementptr inbounds nuw ptr, ptr %106, i64 %108
  %110 = load ptr, ptr %109, align 8
  br label %111

111:
  %112 = phi ptr [ @.str.129, %101 ], [ %110, %104 ]
  %113 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %9, i64 4096, ptr @.str.5, ptr @.str.34, ptr %112, i32 %97)
  call fastcc void @report(ptr @.str.4, ptr %9)
  br label %114

114:
  %115 = phi i32 [ 0, %55 ], [ 0, %30 ], [ -1, %52 ], [ -1, %81 ], [ -1, %111 ], [ 0, %84 ]
  ret i32 %115
}

define internal i32 @opencl_synchronize(ptr %0, i32 %1, ptr %2) {
  %4 = alloca [4096 x i8], align 16
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 600
  %6 = load ptr, ptr %5, align 8
  %7 = icmp eq ptr %2, null
  br i1 %7, label %8, label %13

8:
  %9 = sext i32 %1 to i64
  %10 = getelementptr %struct.Device, ptr %0, i64 %9
  %11 = getelementptr i8, ptr %10, i64 856
  %12 = load ptr, ptr %11, align 8
  br label %13

13:
  %14 = phi ptr [ %12, %8 ], [ %2, %3 ]
  %15 = tail call i32 %6(ptr %14)
  %16 = icmp eq i32 %15, 0
  br i1 %16, label %32, label %17

17:
  %18 = icmp ugt i32 %15, -15
  br i1 %18, label %22, label %19

19:
  %20 = add i32 %15, 63
  %21 = icmp ult i32 %20, 34
  br i1 %21, label %22, label %29

22:
  %23 = phi i32 [ 0, %17 ], [ -30, %19 ]
  %24 = phi ptr [ @OPENCL_ERRORS, %17 ], [ @OPENCL_INVALID, %19 ]
  %25 = sub nsw i32 %23, %15
  %26 = zext nneg i32 %25 to i64
  %27 = getelementptr inbounds nuw ptr, ptr %24, i64 %26
  %28 = load ptr, ptr %27, align 8
  br label %29

29:
  %30 = phi ptr [ @.str.129, %19 ], [ %28, %22 ]
  %31 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %4, i64 4096, ptr @.str.5, ptr @.str.36, ptr %30, i32 %15)
  call fastcc void @report(ptr @.str.4, ptr %4)
  br label %32

32:
  %33 = phi i32 [ -1, %29 ], [ 0, %13 ]
  ret i32 %33
}

define internal i32 @opencl_create_stream(ptr %0, i32 %1, ptr %2) {
  %4 = alloca i32, align 4
  %5 = alloca [4096 x i8], align 16
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %7 = sext i32 %1 to i64
  %8 = getelementptr inbounds %struct.Device, ptr %6, i64 %7
  store i32 0, ptr %4, align 4
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 712
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %12 = load ptr, ptr %11, align 8
  %13 = load ptr, ptr %8, align 8
  %14 = call ptr %10(ptr %12, ptr %13, i64 2, ptr %4)
  store ptr %14, ptr %2, align 8
  %15 = load i32, ptr %4, align 4
  %16 = icmp eq i32 %15, 0
  br i1 %16, label %32, label %17

17:
  %18 = icmp ugt i32 %15, -15
  br i1 %18, label %22, label %19

19:
  %20 = add i32 %15, 63
  %21 = icmp ult i32 %20, 34
  br i1 %21, label %22, label %29

22:
  %23 = phi i32 [ 0, %17 ], [ -30, %19 ]
  %24 = phi ptr [ @OPENCL_ERRORS, %17 ], [ @OPENCL_INVALID, %19 ]
  %25 = sub nsw i32 %23, %15
  %26 = zext nneg i32 %25 to i64
  %27 = getelementptr inbounds nuw ptr, ptr %24, i64 %26
  %28 = load ptr, ptr %27, align 8
  br label %29

29:
  %30 = phi ptr [ @.str.129, %19 ], [ %28, %22 ]
  %31 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %5, i64 4096, ptr @.str.58, ptr %30, i32 %15)
  call fastcc void @report(ptr @.str.4, ptr %5)
  br label %32

32:
  %33 = phi i32 [ -1, %29 ], [ 0, %3 ]
  ret i32 %33
}

define internal i32 @opencl_destroy_stream(ptr %0, i32 %1, ptr %2) {
  %4 = alloca [4096 x i8], align 16
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 608
  %6 = load ptr, ptr %5, align 8
  %7 = tail call i32 %6(ptr %2)
  %8 = icmp eq i32 %7, 0
  br i1 %8, label %24, label %9

9:
  %10 = icmp ugt i32 %7, -15
  br i1 %10, label %14, label %11

11:
  %12 = add i32 %7, 63
  %13 = icmp ult i32 %12, 34
  br i1 %13, label %14, label %21

14:
  %15 = phi i32 [ 0, %9 ], [ -30, %11 ]
  %16 = phi ptr [ @OPENCL_ERRORS, %9 ], [ @OPENCL_INVALID, %11 ]
  %17 = sub nsw i32 %15, %7
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw ptr, ptr %16, i64 %18
  %20 = load ptr, ptr %19, align 8
  br label %21

21:
  %22 = phi ptr [ @.str.129, %11 ], [ %20, %14 ]
  %23 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %4, i64 4096, ptr @.str.5, ptr @.str.37, ptr %22, i32 %7)
  call fastcc void @report(ptr @.str.4, ptr %4)
  br label %24

24:
  %25 = phi i32 [ -1, %21 ], [ 0, %3 ]
  ret i32 %25
}

define internal i32 @opencl_wait(ptr %0, i32 %1, ptr %2, ptr %3) {
  %5 = alloca ptr, align 8
  %6 = alloca [4096 x i8], align 16
  %7 = alloca [4096 x i8], align 16
  %8 = sext i32 %1 to i64
  %9 = getelementptr %struct.Device, ptr %0, i64 %8
  %10 = getelementptr i8, ptr %9, i64 856
  %11 = load ptr, ptr %10, align 8
  store ptr null, ptr %5, align 8
  %12 = icmp eq ptr %3, null
  %13 = select i1 %12, ptr %11, ptr %3
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 616
  %15 = load ptr, ptr %14, align 8
  %16 = call i32 %15(ptr %13, i32 0, ptr null, ptr %5)
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %33, label %18

18:
  %19 = icmp ugt i32 %16, -15
  br i1 %19, label %23, label %20

20:
  %21 = add i32 %16, 63
  %22 = icmp ult i32 %21, 34
  br i1 %22, label %23, label %30

23:
  %24 = phi i32 [ 0, %18 ], [ -30, %20 ]
  %25 = phi ptr [ @OPENCL_ERRORS, %18 ], [ @OPENCL_INVALID, %20 ]
  %26 = sub nsw i32 %24, %16
  %27 = zext nneg i32 %26 to i64
  %28 = getelementptr inbounds nuw ptr, ptr %25, i64 %27
  %29 = load ptr, ptr %28, align 8
  br label %30

30:
  %31 = phi ptr [ @.str.129, %20 ], [ %29, %23 ]
  %32 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %6, i64 4096, ptr @.str.5, ptr @.str.38, ptr %31, i32 %16)
  call fastcc void @report(ptr @.str.4, ptr %6)
  br label %64

33:
  %34 = icmp eq ptr %2, null
  %35 = select i1 %34, ptr %11, ptr %2
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %37 = load ptr, ptr %36, align 8
  %38 = call i32 %37(ptr %13)
  %39 = getelementptr inbounds nuw i8, ptr %0, i64 624
  %40 = load ptr, ptr %39, align 8
  %41 = call i32 %40(ptr %35, i32 1, ptr %5, ptr null)
  %42 = icmp eq i32 %41, 0
  br i1 %42, label %58, label %43

43:
  %44 = icmp ugt i32 %41, -15
  br i1 %44, label %48, label %45

45:
  %46 = add i32 %41, 63
  %47 = icmp ult i32 %46, 34
  br i1 %47, label %48, label %55

48:
  %49 = phi i32 [ 0, %43 ], [ -30, %45 ]
  %50 = phi ptr [ @OPENCL_ERRORS, %43 ], [ @OPENCL_INVALID, %45 ]
  %51 = sub nsw i32 %49, %41
  %52 = zext nneg i32 %51 to i64
  %53 = getelementptr inbounds nuw ptr, ptr %50, i64 %52
  %54 = load ptr, ptr %53, align 8
  br label %55

55:
  %56 = phi ptr [ @.str.129, %45 ], [ %54, %48 ]
  %57 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %7, i64 4096, ptr @.str.5, ptr @.str.39, ptr %56, i32 %41)
  call fastcc void @report(ptr @.str.4, ptr %7)
  br label %58

58:
  %59 = phi i32 [ -1, %55 ], [ 0, %33 ]
  %60 = getelementptr inbounds nuw i8, ptr %0, i64 648
  %61 = load ptr, ptr %60, align 8
  %62 = load ptr, ptr %5, align 8
  %63 = call i32 %61(ptr %62)
  br label %64

64:
  %65 = phi i32 [ %59, %58 ], [ -1, %30 ]
  ret i32 %65
}

define internal i32 @opencl_record(ptr %0, i32 %1, ptr %2, ptr %3) {
  %5 = alloca [4096 x i8], align 16
  %6 = alloca [4096 x i8], align 16
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 616
  %8 = load ptr, ptr %7, align 8
  %9 = tail call i32 %8(ptr %2, i32 0, ptr null, ptr %3)
  %10 = icmp eq i32 %9, 0
  br i1 %10, label %26, label %11

11:
  %12 = icmp ugt i32 %9, -15
  br i1 %12, label %16, label %13

13:
  %14 = add i32 %9, 63
  %15 = icmp ult i32 %14, 34
  br i1 %15, label %16, label %23

16:
  %17 = phi i32 [ 0, %11 ], [ -30, %13 ]
  %18 = phi ptr [ @OPENCL_ERRORS, %11 ], [ @OPENCL_INVALID, %13 ]
  %19 = sub nsw i32 %17, %9
  %20 = zext nneg i32 %19 to i64
  %21 = getelementptr inbounds nuw ptr, ptr %18, i64 %20
  %22 = load ptr, ptr %21, align 8
  br label %23

23:
  %24 = phi ptr [ @.str.129, %13 ], [ %22, %16 ]
  %25 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %5, i64 4096, ptr @.str.5, ptr @.str.38, ptr %24, i32 %9)
  call fastcc void @report(ptr @.str.4, ptr %5)
  br label %46

26:
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %28 = load ptr, ptr %27, align 8
  %29 = tail call i32 %28(ptr %2)
  %30 = icmp eq i32 %29, 0
  br i1 %30, label %46, label %31

31:
  %32 = icmp ugt i32 %29, -15
  br i1 %32, label %36, label %33

33:
  %34 = add i32 %29, 63
  %35 = icmp ult i32 %34, 34
  br i1 %35, label %36, label %43

36:
  %37 = phi i32 [ 0, %31 ], [ -30, %33 ]
  %38 = phi ptr [ @OPENCL_ERRORS, %31 ], [ @OPENCL_INVALID, %33 ]
  %39 = sub nsw i32 %37, %29
  %40 = zext nneg i32 %39 to i64
  %41 = getelementptr inbounds nuw ptr, ptr %38, i64 %40
  %42 = load ptr, ptr %41, align 8
  br label %43

43:
  %44 = phi ptr [ @.str.129, %33 ], [ %42, %36 ]
  %45 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %6, i64 4096, ptr @.str.5, ptr @.str.35, ptr %44, i32 %29)
  call fastcc void @report(ptr @.str.4, ptr %6)
  br label %46

46:
  %47 = phi i32 [ -1, %23 ], [ -1, %43 ], [ 0, %26 ]
  ret i32 %47
}

define internal i32 @opencl_elapsed(ptr %0, i32 %1, ptr %2, ptr %3, ptr %4) {
  %6 = alloca [2 x ptr], align 16
  %7 = alloca [2 x i64], align 16
  %8 = alloca [4096 x i8], align 16
  %9 = alloca [4096 x i8], align 16
  store ptr %2, ptr %6, align 16
  %10 = getelementptr inbounds nuw i8, ptr %6, i64 8
  store ptr %3, ptr %10, align 8
  call void @llvm.memset.p0.i64(ptr align 16 %7, i8 0, i64 16, i1 false)
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 632
  %12 = load ptr, ptr %11, align 8
  %13 = call i32 %12(i32 2, ptr %6)
  %14 = icmp eq i32 %13, 0
  %15 = getelementptr inbounds nuw i8, ptr %7, i64 8
  %16 = getelementptr inbounds nuw i8, ptr %6, i64 8
  %17 = getelementptr inbounds nuw i8, ptr %6, i64 8
  br i1 %14, label %33, label %18

18:
  %19 = icmp ugt i32 %13, -15
  br i1 %19, label %23, label %20

20:
  %21 = add i32 %13, 63
  %22 = icmp ult i32 %21, 34
  br i1 %22, label %23, label %30

23:
  %24 = phi i32 [ 0, %18 ], [ -30, %20 ]
  %25 = phi ptr [ @OPENCL_ERRORS, %18 ], [ @OPENCL_INVALID, %20 ]
  %26 = sub nsw i32 %24, %13
  %27 = zext nneg i32 %26 to i64
  %28 = getelementptr inbounds nuw ptr, ptr %25, i64 %27
  %29 = load ptr, ptr %28, align 8
  br label %30

30:
  %31 = phi ptr [ @.str.129, %20 ], [ %29, %23 ]
  %32 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %8, i64 4096, ptr @.str.5, ptr @.str.40, ptr %31, i32 %13)
  call fastcc void @report(ptr @.str.4, ptr %8)
  br label %33

33:
  %34 = phi i32 [ -1, %30 ], [ 0, %5 ]
  %35 = getelementptr inbounds nuw i8, ptr %0, i64 640
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 648
  br label %42

37:
  %38 = getelementptr inbounds nuw i8, ptr %7, i64 8
  %39 = load i64, ptr %38, align 8
  %40 = load i64, ptr %7, align 16
  %41 = sub i64 %39, %40
  store i64 %41, ptr %4, align 8
  ret i32 %70

42:
  %43 = phi i1 [ true, %33 ], [ false, %69 ]
  %44 = phi ptr [ %7, %33 ], [ %15, %69 ]
  %45 = phi ptr [ %6, %33 ], [ %16, %69 ]
  %46 = phi ptr [ %6, %33 ], [ %17, %69 ]
  %47 = phi i32 [ %34, %33 ], [ %70, %69 ]
  %48 = icmp eq i32 %47, 0
  br i1 %48, label %49, label %69

49:
  %50 = load ptr, ptr %35, align 8
  %51 = load ptr, ptr %45, align 8
  %52 = call i32 %50(ptr %51, i32 4739, i64 8, ptr %44, ptr null)
  %53 = icmp eq i32 %52, 0
  br i1 %53, label %69, label %54

54:
  %55 = icmp ugt i32 %52, -15
  br i1 %55, label %59, label %56

56:
  %57 = add i32 %52, 63
  %58 = icmp ult i32 %57, 34
  br i1 %58, label %59, label %66

59:
  %60 = phi i32 [ 0, %54 ], [ -30, %56 ]
  %61 = phi ptr [ @OPENCL_ERRORS, %54 ], [ @OPENCL_INVALID, %56 ]
  %62 = sub nsw i32 %60, %52
  %63 = zext nneg i32 %62 to i64
  %64 = getelementptr inbounds nuw ptr, ptr %61, i64 %63
  %65 = load ptr, ptr %64, align 8
  br label %66

66:
  %67 = phi ptr [ @.str.129, %56 ], [ %65, %59 ]
  %68 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %9, i64 4096, ptr @.str.5, ptr @.str.41, ptr %67, i32 %52)
  call fastcc void @report(ptr @.str.4, ptr %9)
  br label %69

69:
  %70 = phi i32 [ -1, %42 ], [ -1, %66 ], [ 0, %49 ]
  %71 = load ptr, ptr %36, align 8
  %72 = load ptr, ptr %46, align 8
  %73 = call i32 %71(ptr %72)
  br i1 %43, label %42, label %37
}

define internal i32 @opencl_build(ptr %0, i32 %1, ptr %2, ptr %3, ptr %4) {
  %6 = alloca ptr, align 8
  %7 = alloca [4096 x i8], align 16
  %8 = alloca [256 x i8], align 16
  %9 = alloca [256 x i8], align 16
  %10 = alloca ptr, align 8
  %11 = alloca i32, align 4
  %12 = alloca [4096 x i8], align 16
  %13 = alloca i64, align 8
  store ptr %2, ptr %10, align 8
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %15 = sext i32 %1 to i64
  %16 = getelementptr inbounds %struct.Device, ptr %14, i64 %15
  store i32 0, ptr %11, align 4
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 736
  %18 = load ptr, ptr %17, align 8
  %19 = getelementptr inbounds nuw i8, ptr %16, i64 8
  %20 = load ptr, ptr %19, align 8
  %21 = call ptr %18(ptr %20, i32 1, ptr %10, ptr null, ptr %11)
  store ptr %21, ptr %4, align 8
  %22 = load i32, ptr %11, align 4
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %39, label %24

24:
  %25 = icmp ugt i32 %22, -15
  br i1 %25, label %29, label %26

26:
  %27 = add i32 %22, 63
  %28 = icmp ult i32 %27, 34
  br i1 %28, label %29, label %36

29:
  %30 = phi i32 [ 0, %24 ], [ -30, %26 ]
  %31 = phi ptr [ @OPENCL_ERRORS, %24 ], [ @OPENCL_INVALID, %26 ]
  %32 = sub nsw i32 %30, %22
  %33 = zext nneg i32 %32 to i64
  %34 = getelementptr inbounds nuw ptr, ptr %31, i64 %33
  %35 = load ptr, ptr %34, align 8
  br label %36

36:
  %37 = phi ptr [ @.str.129, %26 ], [ %35, %29 ]
  %38 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %12, i64 4096, ptr @.str.61, ptr %37, i32 %22)
  call fastcc void @report(ptr @.str.4, ptr %12)
  br label %173

39:
  %40 = load ptr, ptr %16, align 8
  store i8 0, ptr %9, align 16
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %42 = load ptr, ptr %41, align 8
  %43 = call i32 %42(ptr %40, i32 4143, i64 255, ptr %9, ptr null)
  %44 = getelementptr inbounds nuw i8, ptr %9, i64 255
  store i8 0, ptr %44, align 1
  %45 = call fastcc i32 @contains(ptr %9, ptr @.str.64)
  %46 = icmp eq i32 %45, 0
  br i1 %46, label %51, label %47

47:
  %48 = load ptr, ptr %10, align 8
  %49 = call ptr @strstr(ptr %48, ptr @.str.62)
  %50 = icmp ne ptr %49, null
  br label %51

51:
  %52 = phi i1 [ false, %39 ], [ %50, %47 ]
  %53 = load ptr, ptr %16, align 8
  store i8 0, ptr %8, align 16
  %54 = load ptr, ptr %41, align 8
  %55 = call i32 %54(ptr %53, i32 4139, i64 255, ptr %8, ptr null)
  %56 = getelementptr inbounds nuw i8, ptr %8, i64 255
  store i8 0, ptr %56, align 1
  %57 = call fastcc i32 @contains(ptr %8, ptr @.str.55)
  %58 = icmp ne i32 %57, 0
  %59 = select i1 %58, i1 true, i1 %52
  %60 = select i1 %59, ptr @.str.63, ptr @.str
  %61 = getelementptr inbounds nuw i8, ptr %0, i64 656
  %62 = load ptr, ptr %61, align 8
  %63 = load ptr, ptr %4, align 8
  %64 = call i32 %62(ptr %63, i32 1, ptr %16, ptr %60, ptr null, ptr null)
  store i32 %64, ptr %11, align 4
  %65 = icmp eq i32 %64, 0
  br i1 %65, label %173, label %66

66:
  store i64 0, ptr %13, align 8
  %67 = getelementptr inbounds nuw i8, ptr %0, i64 664
  %68 = load ptr, ptr %67, align 8
  %69 = load ptr, ptr %4, align 8
  %70 = load ptr, ptr %16, align 8
  %71 = call i32 %68(ptr %69, ptr %70, i32 4483, i64 0, ptr null, ptr %13)
  %72 = load i64, ptr %13, align 8
  %73 = add i64 %72, 1
  %74 = call ptr @calloc(i64 %73, i64 1)
  %75 = icmp eq ptr %74, null
  br i1 %75, label %83, label %76

76:
  %77 = load ptr, ptr %67, align 8
  %78 = load ptr, ptr %4, align 8
  %79 = load ptr, ptr %16, align 8
  %80 = load i64, ptr %13, align 8
  %81 = call i32 %77(ptr %78, ptr %79, i32 4483, i64 %80, ptr %74, ptr null)
  %82 = load ptr, ptr %10, align 8
  br label %98

83:
  %84 = load ptr, ptr %10, align 8
  %85 = load i32, ptr %11, align 4
  %86 = add i32 %85, 14
  %87 = icmp ult i32 %86, 15
  br i1 %87, label %91, label %88

88:
  %89 = add i32 %85, 63
  %90 = icmp ult i32 %89, 34
  br i1 %90, label %91, label %98

91:
  %92 = phi i32 [ 0, %83 ], [ -30, %88 ]
  %93 = phi ptr [ @OPENCL_ERRORS, %83 ], [ @OPENCL_INVALID, %88 ]
  %94 = sub nsw i32 %92, %85
  %95 = zext nneg i32 %94 to i64
  %96 = getelementptr inbounds nuw ptr, ptr %93, i64 %95
  %97 = load ptr, ptr %96, align 8
  br label %98

98:
  %99 = phi ptr [ %82, %76 ], [ %84, %88 ], [ %84, %91 ]
  %100 = phi ptr [ %74, %76 ], [ @.str.129, %88 ], [ %97, %91 ]
  %101 = call ptr @strstr(ptr %100, ptr @.str.65)
  br label %102

102:
  %103 = phi ptr [ %101, %98 ], [ %106, %105 ]
  %104 = icmp ugt ptr %103, %100
  br i1 %104, label %105, label %109

105:
  %106 = getelementptr inbounds i8, ptr %103, i64 -1
  %107 = load i8, ptr %106, align 1
  %108 = icmp eq i8 %107, 10
  br i1 %108, label %111, label %102

109:
  %110 = icmp eq ptr %103, null
  br i1 %110, label %164, label %111

111:
  br label %112

112:
  %113 = phi ptr [ %131, %129 ], [ %103, %111 ]
  %114 = phi i64 [ %130, %129 ], [ 0, %111 ]
  %115 = load i8, ptr %113, align 1
  %116 = icmp eq i64 %114, 0
  switch i8 %115, label %117 [
    i8 0, label %132
    i8 10, label %132
  ]

117:
  br i1 %116, label %118, label %133

118:
  store ptr @.str, ptr %6, align 8
  %119 = icmp eq i8 %115, 58
  br i1 %119, label %120, label %129

120:
  %121 = getelementptr inbounds nuw i8, ptr %113, i64 1
  %122 = call i64 @strtol(ptr %121, ptr %6, i32 10)
  %123 = icmp sgt i64 %122, 0
  br i1 %123, label %124, label %129

124:
  %125 = load ptr, ptr %6, align 8
  %126 = load i8, ptr %125, align 1
  %127 = icmp eq i8 %126, 58
  %128 = select i1 %127, i64 %122, i64 0
  br label %129

129:
  %130 = phi i64 [ 0, %120 ], [ %128, %124 ], [ 0, %118 ]
  %131 = getelementptr inbounds nuw i8, ptr %113, i64 1
  br label %112

132:
  br i1 %116, label %164, label %133

133:
  %134 = icmp samesign ugt i64 %114, 1
  %135 = icmp ne ptr %99, null
  %136 = and i1 %135, %134
  br i1 %136, label %145, label %139

137:
  %138 = select i1 %149, ptr %150, ptr null
  br label %139

139:
  %140 = phi ptr [ %99, %133 ], [ %138, %137 ]
  %141 = phi i1 [ %135, %133 ], [ %149, %137 ]
  %142 = select i1 %141, ptr %140, ptr @.str
  %143 = call ptr @strchr(ptr %142, i32 10)
  %144 = icmp eq ptr %143, null
  br i1 %144, label %158, label %154

145:
  %146 = phi ptr [ %150, %145 ], [ %99, %133 ]
  %147 = phi i64 [ %151, %145 ], [ 1, %133 ]
  %148 = call ptr @strchr(ptr %146, i32 10)
  %149 = icmp ne ptr %148, null
  %150 = getelementptr inbounds nuw i8, ptr %148, i64 1
  %151 = add nuw nsw i64 %147, 1
  %152 = icmp slt i64 %151, %114
  %153 = select i1 %152, i1 %149, i1 false
  br i1 %153, label %145, label %137

154:
  %155 = ptrtoint ptr %143 to i64
  %156 = ptrtoint ptr %142 to i64
  %157 = sub i64 %155, %156
  br label %160

158:
  %159 = call i64 @strlen(ptr %142)
  br label %160

160:
  %161 = phi i64 [ %157, %154 ], [ %159, %158 ]
  %162 = call i64 @llvm.smin.i64(i64 %161, i64 500)
  %163 = trunc i64 %162 to i32
  br label %164

164:
  %165 = phi i64 [ %114, %160 ], [ 0, %132 ], [ 0, %109 ]
  %166 = phi i32 [ %163, %160 ], [ 0, %132 ], [ 0, %109 ]
  %167 = phi ptr [ %142, %160 ], [ @.str, %132 ], [ @.str, %109 ]
  %168 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %7, i64 4096, ptr @.str.66, i64 %165, i32 %166, ptr %167, ptr %100)
  call fastcc void @report(ptr @.str.4, ptr %7)
  call void @free(ptr %74)
  %169 = getelementptr inbounds nuw i8, ptr %0, i64 672
  %170 = load ptr, ptr %169, align 8
  %171 = load ptr, ptr %4, align 8
  %172 = call i32 %170(ptr %171)
  br label %173

173:
  %174 = phi i32 [ -1, %36 ], [ -1, %164 ], [ 0, %51 ]
  ret i32 %174
}

define internal i32 @opencl_find(ptr %0, i32 %1, ptr %2, ptr %3, ptr %4) {
  %6 = alloca i32, align 4
  %7 = alloca [4096 x i8], align 16
  store i32 0, ptr %6, align 4
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 744
  %9 = load ptr, ptr %8, align 8
  %10 = call ptr %9(ptr %2, ptr %3, ptr %6)
  store ptr %10, ptr %4, align 8
  %11 = load i32, ptr %6, align 4
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %28, label %13

13:
  %14 = icmp ugt i32 %11, -15
  br i1 %14, label %18, label %15

15:
  %16 = add i32 %11, 63
  %17 = icmp ult i32 %16, 34
  br i1 %17, label %18, label %25

18:
  %19 = phi i32 [ 0, %13 ], [ -30, %15 ]
  %20 = phi ptr [ @OPENCL_ERRORS, %13 ], [ @OPENCL_INVALID, %15 ]
  %21 = sub nsw i32 %19, %11
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw ptr, ptr %20, i64 %22
  %24 = load ptr, ptr %23, align 8
  br label %25

25:
  %26 = phi ptr [ @.str.129, %15 ], [ %24, %18 ]
  %27 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %7, i64 4096, ptr @.str.67, ptr %3, ptr %26)
  call fastcc void @report(ptr @.str.4, ptr %7)
  br label %28

28:
  %29 = phi i32 [ -1, %25 ], [ 0, %5 ]
  ret i32 %29
}

define internal i32 @opencl_launch(ptr %0, i32 %1, ptr %2, ptr %3, ptr %4) {
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca [2 x i64], align 16
  %9 = alloca i32, align 4
  %10 = alloca ptr, align 8
  %11 = alloca [4096 x i8], align 16
  %12 = alloca i64, align 8
  %13 = alloca [3 x i64], align 16
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %15 = sext i32 %1 to i64
  %16 = getelementptr inbounds %struct.Device, ptr %14, i64 %15
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %19 = getelementptr inbounds nuw i8, ptr %4, i64 16
  %20 = getelementptr inbounds nuw i8, ptr %0, i64 680
  %21 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 728
  br label %23

23:
  %24 = phi i32 [ 0, %5 ], [ %117, %116 ]
  %25 = load ptr, ptr %18, align 8
  %26 = zext i32 %24 to i64
  %27 = getelementptr inbounds nuw i8, ptr %25, i64 %26
  %28 = load i8, ptr %27, align 1
  switch i8 %28, label %29 [
    i8 0, label %118
    i8 58, label %118
  ]

29:
  store i32 0, ptr %9, align 4
  %30 = load i8, ptr %27, align 1
  %31 = icmp eq i8 %30, 112
  br i1 %31, label %32, label %105

32:
  %33 = load ptr, ptr %19, align 8
  %34 = getelementptr inbounds nuw %struct.TilewrightValue, ptr %33, i64 %26
  %35 = getelementptr inbounds nuw i8, ptr %34, i64 8
  %36 = load i64, ptr %35, align 8
  %37 = call fastcc ptr @block_of(ptr %0, i64 %36)
  store ptr null, ptr %10, align 8
  %38 = icmp eq i64 %36, 0
  br i1 %38, label %100, label %39

39:
  %40 = icmp eq ptr %37, null
  br i1 %40, label %41, label %43

41:
  %42 = call i32 @opencl_device_of(ptr poison, i64 %36, ptr poison)
  br label %115

43:
  %44 = load i64, ptr %37, align 8
  %45 = sub i64 %36, %44
  %46 = icmp eq i64 %36, %44
  br i1 %46, label %47, label %49

47:
  %48 = getelementptr inbounds nuw i8, ptr %37, i64 32
  br label %80

49:
  %50 = getelementptr inbounds nuw i8, ptr %37, i64 40
  %51 = load ptr, ptr %50, align 8
  %52 = icmp eq ptr %51, null
  br i1 %52, label %63, label %53

53:
  %54 = phi ptr [ %59, %57 ], [ %51, %49 ]
  %55 = load i64, ptr %54, align 8
  %56 = icmp eq i64 %55, %45
  br i1 %56, label %61, label %57

57:
  %58 = getelementptr inbounds nuw i8, ptr %54, i64 16
  %59 = load ptr, ptr %58, align 8
  %60 = icmp eq ptr %59, null
  br i1 %60, label %63, label %53

61:
  %62 = getelementptr inbounds nuw i8, ptr %54, i64 8
  br label %80

63:
  store i64 %45, ptr %8, align 16
  %64 = getelementptr inbounds nuw i8, ptr %37, i64 8
  %65 = load i64, ptr %64, align 8
  %66 = sub i64 %65, %45
  store i64 %66, ptr %21, align 8
  %67 = load ptr, ptr %22, align 8
  %68 = getelementptr inbounds nuw i8, ptr %37, i64 32
  %69 = load ptr, ptr %68, align 8
  %70 = call ptr %67(ptr %69, i64 1, i32 4640, ptr %8, ptr %9)
  %71 = load i32, ptr %9, align 4
  %72 = icmp eq i32 %71, 0
  br i1 %72, label %73, label %86

73:
  %74 = call ptr @calloc(i64 1, i64 24)
  %75 = icmp eq ptr %74, null
  br i1 %75, label %83, label %76

76:
  %77 = load ptr, ptr %50, align 8
  store i64 %45, ptr %74, align 8
  %78 = getelementptr inbounds nuw i8, ptr %74, i64 8
  store ptr %70, ptr %78, align 8
  %79 = getelementptr inbounds nuw i8, ptr %74, i64 16
  store ptr %77, ptr %79, align 8
  store ptr %74, ptr %50, align 8
  br label %83

80:
  %81 = phi ptr [ %48, %47 ], [ %62, %61 ]
  %82 = load ptr, ptr %81, align 8
  store ptr %82, ptr %10, align 8
  br label %100

83:
  %84 = phi ptr [ null, %73 ], [ %70, %76 ]
  %85 = load i32, ptr %9, align 4
  br label %86

86:
  %87 = phi i32 [ %85, %83 ], [ %71, %63 ]
  %88 = phi ptr [ %84, %83 ], [ null, %63 ]
  store ptr %88, ptr %10, align 8
  switch i32 %87, label %103 [
    i32 -13, label %89
    i32 0, label %100
  ]

89:
  store i64 0, ptr %7, align 8
  %90 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %91 = load ptr, ptr %90, align 8
  %92 = call i32 %91(ptr %17, i32 4121, i64 8, ptr %7, ptr null)
  %93 = load i64, ptr %7, align 8
  %94 = load ptr, ptr %4, align 8
  %95 = add i32 %24, 1
  %96 = load i64, ptr %37, align 8
  %97 = sub i64 %36, %96
  %98 = lshr i64 %93, 3
  %99 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %11, i64 4096, ptr @.str.68, ptr %94, i32 %95, i64 %97, i64 %98)
  call fastcc void @report(ptr @.str.4, ptr %11)
  br label %115

100:
  %101 = load ptr, ptr %20, align 8
  %102 = call i32 %101(ptr %3, i32 %24, i64 8, ptr %10)
  br label %103

103:
  %104 = phi i32 [ %102, %100 ], [ %87, %86 ]
  store i32 %104, ptr %9, align 4
  br label %111

105:
  %106 = load ptr, ptr %19, align 8
  %107 = getelementptr inbounds nuw %struct.TilewrightValue, ptr %106, i64 %26
  %108 = call fastcc i64 @number_of(i8 %30, ptr %107, ptr %12)
  %109 = load ptr, ptr %20, align 8
  %110 = call i32 %109(ptr %3, i32 %24, i64 %108, ptr %12)
  store i32 %110, ptr %9, align 4
  br label %111

111:
  %112 = phi i32 [ %104, %103 ], [ %110, %105 ]
  %113 = icmp eq i32 %112, 0
  br i1 %113, label %116, label %114

114:
  call fastcc void @report_launch(ptr %0, i32 %1, ptr %3, ptr %4, ptr @.str.46, i32 %112)
  br label %157

115:
  br label %157

116:
  %117 = add i32 %24, 1
  br label %23

118:
  %119 = getelementptr inbounds nuw i8, ptr %4, i64 72
  %120 = load i64, ptr %119, align 8
  %121 = icmp eq i64 %120, 0
  br i1 %121, label %136, label %122

122:
  %123 = load ptr, ptr %16, align 8
  store i64 0, ptr %6, align 8
  %124 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %125 = load ptr, ptr %124, align 8
  %126 = call i32 %125(ptr %123, i32 4131, i64 8, ptr %6, ptr null)
  %127 = load i64, ptr %6, align 8
  %128 = icmp ugt i64 %120, %127
  br i1 %128, label %134, label %129

129:
  %130 = load ptr, ptr %20, align 8
  %131 = load i64, ptr %119, align 8
  %132 = call i32 %130(ptr %3, i32 %24, i64 %131, ptr null)
  %133 = icmp eq i32 %132, 0
  br i1 %133, label %136, label %134

134:
  %135 = phi i32 [ %132, %129 ], [ -5, %122 ]
  call fastcc void @report_launch(ptr %0, i32 %1, ptr %3, ptr %4, ptr @.str.46, i32 %135)
  br label %158

136:
  %137 = getelementptr inbounds nuw i8, ptr %4, i64 24
  %138 = getelementptr inbounds nuw i8, ptr %4, i64 48
  br label %144

139:
  %140 = getelementptr inbounds nuw i8, ptr %0, i64 696
  %141 = load ptr, ptr %140, align 8
  %142 = call i32 %141(ptr %2, ptr %3, i32 3, ptr null, ptr %13, ptr %138, i32 0, ptr null, ptr null)
  %143 = icmp eq i32 %142, 0
  br i1 %143, label %155, label %154

144:
  %145 = phi i64 [ 0, %136 ], [ %152, %144 ]
  %146 = getelementptr inbounds nuw i64, ptr %137, i64 %145
  %147 = load i64, ptr %146, align 8
  %148 = getelementptr inbounds nuw i64, ptr %138, i64 %145
  %149 = load i64, ptr %148, align 8
  %150 = mul i64 %149, %147
  %151 = getelementptr inbounds nuw i64, ptr %13, i64 %145
  store i64 %150, ptr %151, align 8
  %152 = add nuw nsw i64 %145, 1
  %153 = icmp eq i64 %152, 3
  br i1 %153, label %139, label %144

154:
  call fastcc void @report_launch(ptr %0, i32 %1, ptr %3, ptr %4, ptr @.str.48, i32 %142)
  br label %155

155:
  %156 = phi i32 [ -1, %154 ], [ 0, %139 ]
  br label %158

157:
  br label %158

158:
  %159 = phi i32 [ -1, %157 ], [ %156, %155 ], [ -1, %134 ]
  ret i32 %159
}

define internal i32 @opencl_property(ptr %0, i32 %1, i32 %2, ptr %3) {
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca i64, align 8
  %12 = alloca i64, align 8
  %13 = alloca i64, align 8
  %14 = alloca [256 x i8], align 16
  %15 = alloca [3 x i64], align 16
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %17 = sext i32 %1 to i64
  %18 = getelementptr inbounds %struct.Device, ptr %16, i64 %17
  call void @llvm.memset.p0.i64(ptr align 16 %15, i8 0, i64 24, i1 false)
  switch i32 %2, label %110 [
    i32 1, label %19
    i32 2, label %25
    i32 3, label %38
    i32 4, label %44
    i32 5, label %50
    i32 6, label %56
    i32 7, label %62
    i32 10, label %74
    i32 12, label %81
    i32 13, label %81
    i32 14, label %81
    i32 15, label %90
  ]

19:
  %20 = load ptr, ptr %18, align 8
  store i64 0, ptr %13, align 8
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %22 = load ptr, ptr %21, align 8
  %23 = call i32 %22(ptr %20, i32 4100, i64 8, ptr %13, ptr null)
  %24 = load i64, ptr %13, align 8
  br label %108

25:
  %26 = load ptr, ptr %18, align 8
  store i64 0, ptr %12, align 8
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %28 = load ptr, ptr %27, align 8
  %29 = call i32 %28(ptr %26, i32 16387, i64 8, ptr %12, ptr null)
  %30 = load i64, ptr %12, align 8
  store i64 %30, ptr %3, align 8
  %31 = icmp eq i64 %30, 0
  br i1 %31, label %32, label %110

32:
  %33 = load ptr, ptr %18, align 8
  store i64 0, ptr %11, align 8
  %34 = load ptr, ptr %27, align 8
  %35 = call i32 %34(ptr %33, i32 16451, i64 8, ptr %11, ptr null)
  %36 = load i64, ptr %11, align 8
  %37 = call i64 @llvm.umax.i64(i64 %36, i64 1)
  br label %108

38:
  %39 = load ptr, ptr %18, align 8
  store i64 0, ptr %10, align 8
  %40 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %41 = load ptr, ptr %40, align 8
  %42 = call i32 %41(ptr %39, i32 4131, i64 8, ptr %10, ptr null)
  %43 = load i64, ptr %10, align 8
  br label %108

44:
  %45 = load ptr, ptr %18, align 8
  store i64 0, ptr %9, align 8
  %46 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %47 = load ptr, ptr %46, align 8
  %48 = call i32 %47(ptr %45, i32 4098, i64 8, ptr %9, ptr null)
  %49 = load i64, ptr %9, align 8
  br label %108

50:
  %51 = load ptr, ptr %18, align 8
  store i64 0, ptr %8, align 8
  %52 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %53 = load ptr, ptr %52, align 8
  %54 = call i32 %53(ptr %51, i32 4126, i64 8, ptr %8, ptr null)
  %55 = load i64, ptr %8, align 8
  br label %108

56:
  %57 = load ptr, ptr %18, align 8
  store i64 0, ptr %7, align 8
  %58 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %59 = load ptr, ptr %58, align 8
  %60 = call i32 %59(ptr %57, i32 4127, i64 8, ptr %7, ptr null)
  %61 = load i64, ptr %7, align 8
  br label %108

62:
  %63 = load ptr, ptr %18, align 8
  store i64 0, ptr %6, align 8
  %64 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %65 = load ptr, ptr %64, align 8
  %66 = call i32 %65(ptr %63, i32 4127, i64 8, ptr %6, ptr null)
  %67 = load i64, ptr %6, align 8
  %68 = getelementptr inbounds nuw i8, ptr %18, i64 1584
  %69 = load i64, ptr %68, align 8
  %70 = getelementptr inbounds nuw i8, ptr %18, i64 1568
  %71 = load i64, ptr %70, align 8
  %72 = add i64 %69, %71
  %73 = sub i64 %67, %72
  br label %108

74:
  %75 = load ptr, ptr %18, align 8
  store i64 0, ptr %5, align 8
  %76 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %77 = load ptr, ptr %76, align 8
  %78 = call i32 %77(ptr %75, i32 4108, i64 8, ptr %5, ptr null)
  %79 = load i64, ptr %5, align 8
  %80 = mul i64 %79, 1000
  br label %108

81:
  %82 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %83 = load ptr, ptr %82, align 8
  %84 = load ptr, ptr %18, align 8
  %85 = call i32 %83(ptr %84, i32 4101, i64 24, ptr %15, ptr null)
  %86 = zext nneg i32 %2 to i64
  %87 = getelementptr i64, ptr %15, i64 %86
  %88 = getelementptr i8, ptr %87, i64 -96
  %89 = load i64, ptr %88, align 8
  br label %108

90:
  %91 = load ptr, ptr %18, align 8
  store i8 0, ptr %14, align 16
  %92 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %93 = load ptr, ptr %92, align 8
  %94 = call i32 %93(ptr %91, i32 4143, i64 255, ptr %14, ptr null)
  %95 = getelementptr inbounds nuw i8, ptr %14, i64 255
  store i8 0, ptr %95, align 1
  %96 = call i64 @strlen(ptr %14)
  %97 = icmp ugt i64 %96, 9
  br i1 %97, label %98, label %108

98:
  %99 = getelementptr inbounds nuw i8, ptr %14, i64 7
  %100 = load i8, ptr %99, align 1
  %101 = sext i8 %100 to i64
  %102 = mul nsw i64 %101, 10
  %103 = getelementptr inbounds nuw i8, ptr %14, i64 9
  %104 = load i8, ptr %103, align 1
  %105 = sext i8 %104 to i64
  %106 = add nsw i64 %102, -528
  %107 = add nsw i64 %106, %105
  br label %108

108:
  %109 = phi i64 [ %37, %32 ], [ %24, %19 ], [ %89, %81 ], [ %80, %74 ], [ %73, %62 ], [ %61, %56 ], [ %55, %50 ], [ %49, %44 ], [ %43, %38 ], [ %107, %98 ], [ 0, %90 ]
  store i64 %109, ptr %3, align 8
  br label %110

110:
  %111 = phi i32 [ 0, %25 ], [ -1, %4 ], [ 0, %108 ]
  ret i32 %111
}

define internal void @opencl_describe(ptr %0, i32 %1, ptr %2, i64 %3) {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %6 = sext i32 %1 to i64
  %7 = getelementptr inbounds %struct.Device, ptr %5, i64 %6
  %8 = load ptr, ptr %7, align 8
  store i8 0, ptr %2, align 1
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %10 = load ptr, ptr %9, align 8
  %11 = add i64 %3, -1
  %12 = tail call i32 %10(ptr %8, i32 4139, i64 %11, ptr %2, ptr null)
  %13 = getelementptr inbounds nuw i8, ptr %2, i64 %11
  store i8 0, ptr %13, align 1
  ret void
}

declare ptr @getenv(ptr)

declare i32 @setenv(ptr, ptr, i32)

define internal fastcc i32 @contains(ptr %0, ptr %1) unnamed_addr {
  %3 = load i8, ptr %1, align 1
  %4 = icmp eq i8 %3, 0
  br i1 %4, label %30, label %5

5:
  %6 = phi ptr [ %29, %26 ], [ %0, %2 ]
  br label %12

7:
  %8 = add i64 %14, 1
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 %8
  %10 = load i8, ptr %9, align 1
  %11 = icmp eq i8 %10, 0
  br i1 %11, label %30, label %12

12:
  %13 = phi i8 [ %3, %5 ], [ %10, %7 ]
  %14 = phi i64 [ 0, %5 ], [ %8, %7 ]
  %15 = getelementptr inbounds nuw i8, ptr %6, i64 %14
  %16 = load i8, ptr %15, align 1
  %17 = add i8 %16, -65
  %18 = icmp ult i8 %17, 26
  %19 = add nuw nsw i8 %16, 32
  %20 = select i1 %18, i8 %19, i8 %16
  %21 = add i8 %13, -65
  %22 = icmp ult i8 %21, 26
  %23 = add nuw nsw i8 %13, 32
  %24 = select i1 %22, i8 %23, i8 %13
  %25 = icmp eq i8 %20, %24
  br i1 %25, label %7, label %26

26:
  %27 = load i8, ptr %6, align 1
  %28 = icmp eq i8 %27, 0
  %29 = getelementptr inbounds nuw i8, ptr %6, i64 1
  br i1 %28, label %30, label %5

30:
  %31 = phi i32 [ 1, %2 ], [ 1, %7 ], [ 0, %26 ]
  ret i32 %31
}

declare ptr @dlopen(ptr, i32)

declare ptr @dlsym(ptr, ptr)

declare ptr @strstr(ptr, ptr)

declare i64 @strtol(ptr, ptr, i32)

declare i64 @strlen(ptr)

define internal fastcc i64 @number_of(i8 %0, ptr %1, ptr %2) unnamed_addr {
  %4 = alloca double, align 8
  store double 0.000000e+00, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 8
  switch i8 %0, label %12 [
    i8 102, label %6
    i8 100, label %10
  ]

6:
  %7 = load double, ptr %5, align 8
  %8 = fptrunc double %7 to float
  store float %8, ptr %4, align 8
  %9 = load i64, ptr %4, align 8
  store i64 %9, ptr %2, align 8
  br label %17

10:
  %11 = load double, ptr %5, align 8
  store double %11, ptr %2, align 8
  br label %17

12:
  %13 = load i64, ptr %5, align 8
  store i64 %13, ptr %2, align 8
  switch i8 %0, label %15 [
    i8 98, label %17
    i8 104, label %16
    i8 105, label %14
  ]

14:
  br label %17

15:
  br label %17

16:
  br label %17

17:
  %18 = phi i64 [ 8, %10 ], [ 4, %6 ], [ 1, %12 ], [ 8, %15 ], [ 2, %16 ], [ 4, %14 ]
  ret i64 %18
}

define internal fastcc void @report_launch(ptr %0, i32 %1, ptr %2, ptr %3, ptr %4, i32 %5) unnamed_addr {
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca i64, align 8
  %11 = alloca [200 x i8], align 16
  %12 = alloca [4096 x i8], align 16
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %14 = sext i32 %1 to i64
  %15 = getelementptr inbounds %struct.Device, ptr %13, i64 %14
  %16 = load ptr, ptr %15, align 8
  store i64 0, ptr %9, align 8
  store i64 0, ptr %10, align 8
  %17 = getelementptr inbounds nuw i8, ptr %3, i64 48
  %18 = load i64, ptr %17, align 8
  %19 = getelementptr inbounds nuw i8, ptr %3, i64 56
  %20 = load i64, ptr %19, align 8
  %21 = mul i64 %20, %18
  %22 = getelementptr inbounds nuw i8, ptr %3, i64 64
  %23 = load i64, ptr %22, align 8
  %24 = mul i64 %21, %23
  store i64 0, ptr %8, align 8
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %26 = load ptr, ptr %25, align 8
  %27 = call i32 %26(ptr %16, i32 4131, i64 8, ptr %8, ptr null)
  %28 = load i64, ptr %8, align 8
  store i64 0, ptr %7, align 8
  %29 = load ptr, ptr %25, align 8
  %30 = call i32 %29(ptr %16, i32 4100, i64 8, ptr %7, ptr null)
  %31 = load i64, ptr %7, align 8
  %32 = getelementptr inbounds nuw i8, ptr %0, i64 688
  %33 = load ptr, ptr %32, align 8
  %34 = call i32 %33(ptr %2, ptr %16, i32 4528, i64 8, ptr %9, ptr null)
  %35 = load ptr, ptr %32, align 8
  %36 = call i32 %35(ptr %2, ptr %16, i32 4530, i64 8, ptr %10, ptr null)
  %37 = load i64, ptr %10, align 8
  %38 = getelementptr inbounds nuw i8, ptr %3, i64 72
  %39 = load i64, ptr %38, align 8
  %40 = icmp ult i64 %37, %39
  br i1 %40, label %41, label %43

41:
  %42 = add i64 %39, %37
  store i64 %42, ptr %10, align 8
  br label %43

43:
  %44 = phi i64 [ %42, %41 ], [ %37, %6 ]
  call void @llvm.memset.p0.i64(ptr align 16 %11, i8 0, i64 200, i1 false)
  %45 = icmp ugt i64 %44, %28
  br i1 %45, label %46, label %48

46:
  %47 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %11, i64 200, ptr @.str.69, i64 %44, i64 %28)
  br label %59

48:
  %49 = icmp ugt i64 %24, %31
  br i1 %49, label %50, label %52

50:
  %51 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %11, i64 200, ptr @.str.70, i64 %24, i64 %31)
  br label %59

52:
  %53 = load i64, ptr %9, align 8
  %54 = icmp ne i64 %53, 0
  %55 = icmp ugt i64 %24, %53
  %56 = select i1 %54, i1 %55, i1 false
  br i1 %56, label %57, label %59

57:
  %58 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %11, i64 200, ptr @.str.71, i64 %24, i64 %53)
  br label %59

59:
  %60 = load ptr, ptr %3, align 8
  %61 = getelementptr inbounds nuw i8, ptr %3, i64 24
  %62 = load i64, ptr %61, align 8
  %63 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %64 = load i64, ptr %63, align 8
  %65 = getelementptr inbounds nuw i8, ptr %3, i64 40
  %66 = load i64, ptr %65, align 8
  %67 = load i64, ptr %17, align 8
  %68 = load i64, ptr %19, align 8
  %69 = load i64, ptr %22, align 8
  %70 = icmp ugt i32 %5, -15
  br i1 %70, label %74, label %71

71:
  %72 = add i32 %5, 63
  %73 = icmp ult i32 %72, 34
  br i1 %73, label %74, label %81

74:
  %75 = phi i32 [ 0, %59 ], [ -30, %71 ]
  %76 = phi ptr [ @OPENCL_ERRORS, %59 ], [ @OPENCL_INVALID, %71 ]
  %77 = sub nsw i32 %75, %5
  %78 = zext nneg i32 %77 to i64
  %79 = getelementptr inbounds nuw ptr, ptr %76, i64 %78
  %80 = load ptr, ptr %79, align 8
  br label %81

81:
  %82 = phi ptr [ @.str.129, %71 ], [ %80, %74 ]
  %83 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %12, i64 4096, ptr @.str.72, ptr %60, i64 %62, i64 %64, i64 %66, i64 %67, i64 %68, i64 %69, ptr %4, ptr %82, i32 %5, ptr %11)
  call fastcc void @report(ptr @.str.4, ptr %12)
  ret void
}

define internal void @cuda_load(ptr %0, ptr %1) {
  %3 = alloca i32, align 4
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  %6 = icmp eq ptr %1, null
  br i1 %6, label %7, label %19

7:
  %8 = phi i1 [ false, %7 ], [ true, %2 ]
  %9 = phi i64 [ 1, %7 ], [ 0, %2 ]
  %10 = shl i64 %9, 2
  %11 = call ptr @llvm.load.relative.i64(ptr @CUDA_LIBRARIES.rel, i64 %10)
  %12 = tail call ptr @dlopen(ptr %11, i32 2)
  %13 = icmp eq ptr %12, null
  %14 = select i1 %8, i1 %13, i1 false
  br i1 %14, label %7, label %15

15:
  br i1 %13, label %16, label %19

16:
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %18 = tail call i32 (ptr, i64, ptr, ...) @snprintf(ptr %17, i64 512, ptr @.str.75)
  br label %83

19:
  %20 = phi ptr [ %12, %15 ], [ null, %2 ]
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 520
  br label %22

22:
  %23 = phi i64 [ 0, %19 ], [ %35, %34 ]
  %24 = getelementptr inbounds nuw ptr, ptr @CUDA_NAMES, i64 %23
  %25 = load ptr, ptr %24, align 8
  br i1 %6, label %28, label %26

26:
  %27 = tail call ptr %1(ptr %25)
  br label %30

28:
  %29 = tail call ptr @dlsym(ptr %20, ptr %25)
  br label %30

30:
  %31 = phi ptr [ %27, %26 ], [ %29, %28 ]
  %32 = getelementptr inbounds nuw ptr, ptr %21, i64 %23
  store ptr %31, ptr %32, align 8
  %33 = icmp eq ptr %31, null
  br i1 %33, label %37, label %34

34:
  %35 = add nuw nsw i64 %23, 1
  %36 = icmp eq i64 %35, 32
  br i1 %36, label %40, label %22

37:
  %38 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %39 = tail call i32 (ptr, i64, ptr, ...) @snprintf(ptr %38, i64 512, ptr @.str.76, ptr %25)
  br label %83

40:
  store i32 0, ptr %3, align 4
  %41 = load ptr, ptr %21, align 8
  %42 = tail call i32 %41(i32 0)
  %43 = icmp eq i32 %42, 0
  br i1 %43, label %44, label %52

44:
  %45 = getelementptr inbounds nuw i8, ptr %0, i64 544
  %46 = load ptr, ptr %45, align 8
  %47 = call i32 %46(ptr %3)
  %48 = icmp eq i32 %47, 0
  %49 = load i32, ptr %3, align 4
  %50 = icmp ne i32 %49, 0
  %51 = select i1 %48, i1 %50, i1 false
  br i1 %51, label %62, label %52

52:
  %53 = phi i32 [ %47, %44 ], [ %42, %40 ]
  store ptr null, ptr %4, align 8
  %54 = getelementptr inbounds nuw i8, ptr %0, i64 528
  %55 = load ptr, ptr %54, align 8
  %56 = call i32 %55(i32 %53, ptr %4)
  %57 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %58 = load ptr, ptr %4, align 8
  %59 = icmp eq ptr %58, null
  %60 = select i1 %59, ptr @.str.78, ptr %58
  %61 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %57, i64 512, ptr @.str.77, ptr %60, i32 %53)
  br label %82

62:
  %63 = call i32 @llvm.smin.i32(i32 %49, i32 16)
  %64 = getelementptr inbounds nuw i8, ptr %0, i64 4
  store i32 %63, ptr %64, align 4
  %65 = icmp sgt i32 %49, 0
  br i1 %65, label %66, label %82

66:
  %67 = getelementptr inbounds nuw i8, ptr %0, i64 552
  %68 = getelementptr inbounds nuw i8, ptr %0, i64 840
  br label %69

69:
  %70 = phi i64 [ 0, %66 ], [ %78, %69 ]
  %71 = trunc nuw nsw i64 %70 to i32
  store i32 %71, ptr %5, align 4
  %72 = load ptr, ptr %67, align 8
  %73 = call i32 %72(ptr %5, i32 %71)
  %74 = load i32, ptr %5, align 4
  %75 = sext i32 %74 to i64
  %76 = inttoptr i64 %75 to ptr
  %77 = getelementptr inbounds nuw %struct.Device, ptr %68, i64 %70
  store ptr %76, ptr %77, align 8
  %78 = add nuw nsw i64 %70, 1
  %79 = load i32, ptr %64, align 4
  %80 = sext i32 %79 to i64
  %81 = icmp slt i64 %78, %80
  br i1 %81, label %69, label %82

82:
  br label %83

83:
  ret void
}

define internal i32 @cuda_open(ptr %0, i32 %1) {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %4 = sext i32 %1 to i64
  %5 = getelementptr inbounds %struct.Device, ptr %3, i64 %4
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 1576
  store i64 -1, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 584
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %5, i64 8
  %10 = load ptr, ptr %5, align 8
  %11 = ptrtoint ptr %10 to i64
  %12 = trunc i64 %11 to i32
  %13 = tail call i32 %8(ptr %9, i32 %12)
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %16, label %15

15:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.89, i32 %13)
  br label %16

16:
  %17 = phi i32 [ -1, %15 ], [ 0, %2 ]
  ret i32 %17
}

define internal i32 @cuda_allocate(ptr %0, ptr %1) {
  %3 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %4 = load i32, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %6 = load ptr, ptr %5, align 8
  %7 = sext i32 %4 to i64
  %8 = getelementptr %struct.Device, ptr %0, i64 %7
  %9 = getelementptr i8, ptr %8, i64 848
  %10 = load ptr, ptr %9, align 8
  %11 = tail call i32 %6(ptr %10)
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %14, label %13

13:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %11)
  br label %22

14:
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 608
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %18 = load i64, ptr %17, align 8
  %19 = tail call i32 %16(ptr %1, i64 %18)
  switch i32 %19, label %20 [
    i32 2, label %22
    i32 0, label %21
  ]

20:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.114, i32 %19)
  br label %22

21:
  br label %22

22:
  %23 = phi i32 [ -1, %13 ], [ -2, %14 ], [ -1, %20 ], [ 0, %21 ]
  ret i32 %23
}

define internal void @cuda_release(ptr %0, ptr %1) {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %6 = load i32, ptr %5, align 8
  %7 = sext i32 %6 to i64
  %8 = getelementptr %struct.Device, ptr %0, i64 %7
  %9 = getelementptr i8, ptr %8, i64 848
  %10 = load ptr, ptr %9, align 8
  %11 = tail call i32 %4(ptr %10)
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 616
  %13 = load ptr, ptr %12, align 8
  %14 = load i64, ptr %1, align 8
  %15 = tail call i32 %13(i64 %14)
  ret void
}

define internal i32 @cuda_device_of(ptr %0, i64 %1, ptr %2) {
  %4 = alloca [4096 x i8], align 16
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 656
  %6 = load ptr, ptr %5, align 8
  %7 = tail call i32 %6(ptr %2, i32 9, i64 %1)
  %8 = icmp eq i32 %7, 0
  br i1 %8, label %11, label %9

9:
  %10 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %4, i64 4096, ptr @.str.115, i64 %1)
  call fastcc void @report(ptr @.str.4, ptr %4)
  br label %11

11:
  %12 = phi i32 [ -1, %9 ], [ 0, %3 ]
  ret i32 %12
}

define internal i32 @cuda_copy(ptr %0, i32 %1, ptr %2, ptr byval(%struct.Place) align 8 %3, ptr byval(%struct.Place) align 8 %4, i64 %5) {
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %8 = load ptr, ptr %7, align 8
  %9 = sext i32 %1 to i64
  %10 = getelementptr %struct.Device, ptr %0, i64 %9
  %11 = getelementptr i8, ptr %10, i64 848
  %12 = load ptr, ptr %11, align 8
  %13 = tail call i32 %8(ptr %12)
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %16, label %15

15:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %13)
  br label %57

16:
  %17 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %18 = load i32, ptr %17, align 8
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %29, label %20

20:
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 632
  %22 = load ptr, ptr %21, align 8
  %23 = load ptr, ptr %3, align 8
  %24 = ptrtoint ptr %23 to i64
  %25 = load ptr, ptr %4, align 8
  %26 = tail call i32 %22(i64 %24, ptr %25, i64 %5, ptr %2)
  %27 = icmp eq i32 %26, 0
  br i1 %27, label %51, label %28

28:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.95, i32 %26)
  br label %57

29:
  %30 = getelementptr inbounds nuw i8, ptr %3, i64 8
  %31 = load i32, ptr %30, align 8
  %32 = icmp eq i32 %31, 0
  %33 = load ptr, ptr %3, align 8
  br i1 %32, label %42, label %34

34:
  %35 = getelementptr inbounds nuw i8, ptr %0, i64 640
  %36 = load ptr, ptr %35, align 8
  %37 = load ptr, ptr %4, align 8
  %38 = ptrtoint ptr %37 to i64
  %39 = tail call i32 %36(ptr %33, i64 %38, i64 %5, ptr %2)
  %40 = icmp eq i32 %39, 0
  br i1 %40, label %51, label %41

41:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.96, i32 %39)
  br label %57

42:
  %43 = getelementptr inbounds nuw i8, ptr %0, i64 648
  %44 = load ptr, ptr %43, align 8
  %45 = ptrtoint ptr %33 to i64
  %46 = load ptr, ptr %4, align 8
  %47 = ptrtoint ptr %46 to i64
  %48 = tail call i32 %44(i64 %45, i64 %47, i64 %5, ptr %2)
  %49 = icmp eq i32 %48, 0
  br i1 %49, label %57, label %50

50:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.97, i32 %48)
  br label %57

51:
  %52 = getelementptr inbounds nuw i8, ptr %0, i64 680
  %53 = load ptr, ptr %52, align 8
  %54 = tail call i32 %53(ptr %2)
  %55 = icmp eq i32 %54, 0
  br i1 %55, label %57, label %56

56:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.101, i32 %54)
  br label %57

57:
  %58 = phi i32 [ -1, %15 ], [ 0, %42 ], [ -1, %50 ], [ 0, %51 ], [ -1, %56 ], [ -1, %41 ], [ -1, %28 ]
  ret i32 %58
}

define internal i32 @cuda_synchronize(ptr %0, i32 %1, ptr %2) {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %5 = load ptr, ptr %4, align 8
  %6 = sext i32 %1 to i64
  %7 = getelementptr %struct.Device, ptr %0, i64 %6
  %8 = getelementptr i8, ptr %7, i64 848
  %9 = load ptr, ptr %8, align 8
  %10 = tail call i32 %5(ptr %9)
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %13, label %12

12:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %10)
  br label %27

13:
  %14 = icmp eq ptr %2, null
  br i1 %14, label %21, label %15

15:
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 680
  %17 = load ptr, ptr %16, align 8
  %18 = tail call i32 %17(ptr %2)
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %27, label %20

20:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.101, i32 %18)
  br label %27

21:
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 600
  %23 = load ptr, ptr %22, align 8
  %24 = tail call i32 %23()
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %27, label %26

26:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.91, i32 %24)
  br label %27

27:
  %28 = phi i32 [ 0, %15 ], [ -1, %12 ], [ -1, %20 ], [ -1, %26 ], [ 0, %21 ]
  ret i32 %28
}

define internal i32 @cuda_create_stream(ptr %0, i32 %1, ptr %2) {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %5 = load ptr, ptr %4, align 8
  %6 = sext i32 %1 to i64
  %7 = getelementptr %struct.Device, ptr %0, i64 %6
  %8 = getelementptr i8, ptr %7, i64 848
  %9 = load ptr, ptr %8, align 8
  %10 = tail call i32 %5(ptr %9)
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %13, label %12

12:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %10)
  br label %19

13:
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 664
  %15 = load ptr, ptr %14, align 8
  %16 = tail call i32 %15(ptr %2, i32 1)
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %19, label %18

18:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.99, i32 %16)
  br label %19

19:
  %20 = phi i32 [ -1, %12 ], [ -1, %18 ], [ 0, %13 ]
  ret i32 %20
}

define internal i32 @cuda_destroy_stream(ptr %0, i32 %1, ptr %2) {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %5 = load ptr, ptr %4, align 8
  %6 = sext i32 %1 to i64
  %7 = getelementptr %struct.Device, ptr %0, i64 %6
  %8 = getelementptr i8, ptr %7, i64 848
  %9 = load ptr, ptr %8, align 8
  %10 = tail call i32 %5(ptr %9)
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %13, label %12

12:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %10)
  br label %19

13:
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 672
  %15 = load ptr, ptr %14, align 8
  %16 = tail call i32 %15(ptr %2)
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %19, label %18

18:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.100, i32 %16)
  br label %19

19:
  %20 = phi i32 [ -1, %12 ], [ -1, %18 ], [ 0, %13 ]
  ret i32 %20
}

define internal i32 @cuda_wait(ptr %0, i32 %1, ptr %2, ptr %3) {
  %5 = alloca ptr, align 8
  store ptr null, ptr %5, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %7 = load ptr, ptr %6, align 8
  %8 = sext i32 %1 to i64
  %9 = getelementptr %struct.Device, ptr %0, i64 %8
  %10 = getelementptr i8, ptr %9, i64 848
  %11 = load ptr, ptr %10, align 8
  %12 = tail call i32 %7(ptr %11)
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %15, label %14

14:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %12)
  br label %41

15:
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 696
  %17 = load ptr, ptr %16, align 8
  %18 = call i32 %17(ptr %5, i32 2)
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %21, label %20

20:
  call fastcc void @report_cuda(ptr %0, ptr @.str.103, i32 %18)
  br label %41

21:
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 704
  %23 = load ptr, ptr %22, align 8
  %24 = load ptr, ptr %5, align 8
  %25 = call i32 %23(ptr %24, ptr %3)
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %28, label %27

27:
  call fastcc void @report_cuda(ptr %0, ptr @.str.104, i32 %25)
  br label %35

28:
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 688
  %30 = load ptr, ptr %29, align 8
  %31 = load ptr, ptr %5, align 8
  %32 = call i32 %30(ptr %2, ptr %31, i32 0)
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %35, label %34

34:
  call fastcc void @report_cuda(ptr %0, ptr @.str.102, i32 %32)
  br label %35

35:
  %36 = phi i32 [ -1, %27 ], [ -1, %34 ], [ 0, %28 ]
  %37 = getelementptr inbounds nuw i8, ptr %0, i64 728
  %38 = load ptr, ptr %37, align 8
  %39 = load ptr, ptr %5, align 8
  %40 = call i32 %38(ptr %39)
  br label %41

41:
  %42 = phi i32 [ %36, %35 ], [ -1, %14 ], [ -1, %20 ]
  ret i32 %42
}

define internal i32 @cuda_record(ptr %0, i32 %1, ptr %2, ptr %3) {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %6 = load ptr, ptr %5, align 8
  %7 = sext i32 %1 to i64
  %8 = getelementptr %struct.Device, ptr %0, i64 %7
  %9 = getelementptr i8, ptr %8, i64 848
  %10 = load ptr, ptr %9, align 8
  %11 = tail call i32 %6(ptr %10)
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %14, label %13

13:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %11)
  br label %27

14:
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 696
  %16 = load ptr, ptr %15, align 8
  %17 = tail call i32 %16(ptr %3, i32 0)
  %18 = icmp eq i32 %17, 0
  br i1 %18, label %20, label %19

19:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.103, i32 %17)
  br label %27

20:
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 704
  %22 = load ptr, ptr %21, align 8
  %23 = load ptr, ptr %3, align 8
  %24 = tail call i32 %22(ptr %23, ptr %2)
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %27, label %26

26:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.104, i32 %24)
  br label %27

27:
  %28 = phi i32 [ -1, %19 ], [ -1, %13 ], [ -1, %26 ], [ 0, %20 ]
  ret i32 %28
}

define internal i32 @cuda_elapsed(ptr %0, i32 %1, ptr %2, ptr %3, ptr %4) {
  %6 = alloca float, align 4
  store float 0.000000e+00, ptr %6, align 4
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %8 = load ptr, ptr %7, align 8
  %9 = sext i32 %1 to i64
  %10 = getelementptr %struct.Device, ptr %0, i64 %9
  %11 = getelementptr i8, ptr %10, i64 848
  %12 = load ptr, ptr %11, align 8
  %13 = tail call i32 %8(ptr %12)
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %16, label %15

15:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %13)
  br label %39

16:
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 712
  %18 = load ptr, ptr %17, align 8
  %19 = tail call i32 %18(ptr %3)
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %22, label %21

21:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.105, i32 %19)
  br label %28

22:
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 720
  %24 = load ptr, ptr %23, align 8
  %25 = call i32 %24(ptr %6, ptr %2, ptr %3)
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %28, label %27

27:
  call fastcc void @report_cuda(ptr %0, ptr @.str.106, i32 %25)
  br label %28

28:
  %29 = phi i32 [ -1, %21 ], [ -1, %27 ], [ 0, %22 ]
  %30 = getelementptr inbounds nuw i8, ptr %0, i64 728
  %31 = load ptr, ptr %30, align 8
  %32 = call i32 %31(ptr %2)
  %33 = load ptr, ptr %30, align 8
  %34 = call i32 %33(ptr %3)
  %35 = load float, ptr %6, align 4
  %36 = fpext float %35 to double
  %37 = fmul double %36, 1.000000e+06
  %38 = fptosi double %37 to i64
  store i64 %38, ptr %4, align 8
  br label %39

39:
  %40 = phi i32 [ %29, %28 ], [ -1, %15 ]
  ret i32 %40
}

define internal i32 @cuda_build(ptr %0, i32 %1, ptr %2, ptr %3, ptr %4) {
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca [3 x %struct.TilewrightValue], align 16
  %9 = alloca %struct.TilewrightValue, align 8
  %10 = alloca [4096 x i8], align 16
  %11 = alloca [2000 x i8], align 16
  %12 = alloca [2 x i32], align 8
  %13 = alloca [2 x ptr], align 16
  %14 = alloca ptr, align 8
  %15 = alloca [4096 x i8], align 16
  call void @llvm.memset.p0.i64(ptr align 16 %8, i8 0, i64 48, i1 false)
  store i32 8, ptr %8, align 16
  %16 = getelementptr inbounds nuw i8, ptr %8, i64 16
  store i32 1, ptr %16, align 16
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 32
  store i32 1, ptr %17, align 16
  call void @llvm.memset.p0.i64(ptr align 8 %9, i8 0, i64 16, i1 false)
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 8
  store ptr %2, ptr %18, align 8
  store i32 0, ptr %7, align 4
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 576
  %20 = load ptr, ptr %19, align 8
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %22 = sext i32 %1 to i64
  %23 = getelementptr inbounds %struct.Device, ptr %21, i64 %22
  %24 = load ptr, ptr %23, align 8
  %25 = ptrtoint ptr %24 to i64
  %26 = trunc i64 %25 to i32
  %27 = call i32 %20(ptr %7, i32 75, i32 %26)
  %28 = load i32, ptr %7, align 4
  %29 = sext i32 %28 to i64
  %30 = getelementptr inbounds nuw i8, ptr %8, i64 24
  store i64 %29, ptr %30, align 8
  store i32 0, ptr %6, align 4
  %31 = load ptr, ptr %19, align 8
  %32 = load ptr, ptr %23, align 8
  %33 = ptrtoint ptr %32 to i64
  %34 = trunc i64 %33 to i32
  %35 = call i32 %31(ptr %6, i32 76, i32 %34)
  %36 = load i32, ptr %6, align 4
  %37 = sext i32 %36 to i64
  %38 = getelementptr inbounds nuw i8, ptr %8, i64 40
  store i64 %37, ptr %38, align 8
  %39 = call fastcc i32 @call_host(ptr @.str.117, ptr %8, i32 3, ptr %9)
  switch i32 %39, label %57 [
    i32 0, label %40
    i32 -3, label %43
  ]

40:
  %41 = getelementptr inbounds nuw i8, ptr %9, i64 8
  %42 = load ptr, ptr %41, align 8
  br label %48

43:
  %44 = load i8, ptr %3, align 1
  %45 = icmp eq i8 %44, 0
  br i1 %45, label %46, label %48

46:
  %47 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %10, i64 4096, ptr @.str.118)
  call fastcc void @report(ptr @.str.4, ptr %10)
  br label %76

48:
  %49 = phi ptr [ %3, %43 ], [ %42, %40 ]
  %50 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %51 = load ptr, ptr %50, align 8
  %52 = getelementptr %struct.Device, ptr %0, i64 %22
  %53 = getelementptr i8, ptr %52, i64 848
  %54 = load ptr, ptr %53, align 8
  %55 = call i32 %51(ptr %54)
  %56 = icmp eq i32 %55, 0
  br i1 %56, label %59, label %58

57:
  br label %76

58:
  call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %55)
  br label %76

59:
  call void @llvm.memset.p0.i64(ptr align 16 %11, i8 0, i64 2000, i1 false)
  store i64 25769803781, ptr %12, align 8
  store ptr %11, ptr %13, align 16
  %60 = getelementptr inbounds nuw i8, ptr %13, i64 8
  store ptr inttoptr (i64 2000 to ptr), ptr %60, align 8
  %61 = getelementptr inbounds nuw i8, ptr %0, i64 736
  %62 = load ptr, ptr %61, align 8
  %63 = call i32 %62(ptr %4, ptr %49, i32 2, ptr %12, ptr %13)
  %64 = icmp eq i32 %63, 0
  br i1 %64, label %74, label %65

65:
  store ptr null, ptr %14, align 8
  %66 = getelementptr inbounds nuw i8, ptr %0, i64 528
  %67 = load ptr, ptr %66, align 8
  %68 = call i32 %67(i32 %63, ptr %14)
  %69 = getelementptr inbounds nuw i8, ptr %11, i64 1999
  store i8 0, ptr %69, align 1
  %70 = load ptr, ptr %14, align 8
  %71 = icmp eq ptr %70, null
  %72 = select i1 %71, ptr @.str.78, ptr %70
  %73 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %15, i64 4096, ptr @.str.116, ptr %72, i32 %63, ptr %11)
  call fastcc void @report(ptr @.str.4, ptr %15)
  br label %74

74:
  %75 = phi i32 [ -1, %65 ], [ 0, %59 ]
  br label %76

76:
  %77 = phi i32 [ %75, %74 ], [ -1, %58 ], [ -1, %57 ], [ -1, %46 ]
  ret i32 %77
}

define internal i32 @cuda_find(ptr %0, i32 %1, ptr %2, ptr %3, ptr %4) {
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %7 = load ptr, ptr %6, align 8
  %8 = sext i32 %1 to i64
  %9 = getelementptr %struct.Device, ptr %0, i64 %8
  %10 = getelementptr i8, ptr %9, i64 848
  %11 = load ptr, ptr %10, align 8
  %12 = tail call i32 %7(ptr %11)
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %15, label %14

14:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %12)
  br label %21

15:
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 744
  %17 = load ptr, ptr %16, align 8
  %18 = tail call i32 %17(ptr %4, ptr %2, ptr %3)
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %21, label %20

20:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.109, i32 %18)
  br label %21

21:
  %22 = phi i32 [ -1, %14 ], [ -1, %20 ], [ 0, %15 ]
  ret i32 %22
}

define internal i32 @cuda_launch(ptr %0, i32 %1, ptr %2, ptr %3, ptr %4) {
  %6 = alloca [1024 x i64], align 16
  %7 = alloca [1024 x ptr], align 16
  %8 = alloca [4096 x i8], align 16
  %9 = alloca i32, align 4
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %11 = load ptr, ptr %10, align 8
  %12 = sext i32 %1 to i64
  %13 = getelementptr %struct.Device, ptr %0, i64 %12
  %14 = getelementptr i8, ptr %13, i64 848
  %15 = load ptr, ptr %14, align 8
  %16 = tail call i32 %11(ptr %15)
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %22

18:
  %19 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %20 = load ptr, ptr %19, align 8
  %21 = getelementptr inbounds nuw i8, ptr %4, i64 16
  br label %23

22:
  tail call fastcc void @report_cuda(ptr %0, ptr @.str.90, i32 %16)
  br label %101

23:
  %24 = phi i64 [ 0, %18 ], [ %38, %32 ]
  %25 = getelementptr inbounds nuw i8, ptr %20, i64 %24
  %26 = load i8, ptr %25, align 1
  switch i8 %26, label %27 [
    i8 0, label %39
    i8 58, label %39
  ]

27:
  %28 = icmp eq i64 %24, 1024
  br i1 %28, label %29, label %32

29:
  %30 = load ptr, ptr %4, align 8
  %31 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %8, i64 4096, ptr @.str.119, ptr %30)
  call fastcc void @report(ptr @.str.4, ptr %8)
  br label %101

32:
  %33 = load ptr, ptr %21, align 8
  %34 = getelementptr inbounds nuw %struct.TilewrightValue, ptr %33, i64 %24
  %35 = getelementptr inbounds nuw i64, ptr %6, i64 %24
  %36 = call fastcc i64 @number_of(i8 %26, ptr %34, ptr %35)
  %37 = getelementptr inbounds nuw ptr, ptr %7, i64 %24
  store ptr %35, ptr %37, align 8
  %38 = add nuw nsw i64 %24, 1
  br label %23

39:
  %40 = getelementptr inbounds nuw i8, ptr %4, i64 24
  %41 = getelementptr inbounds nuw i8, ptr %4, i64 48
  %42 = getelementptr inbounds nuw i8, ptr %4, i64 32
  %43 = getelementptr inbounds nuw i8, ptr %4, i64 40
  %44 = load <4 x i64>, ptr %40, align 8
  %45 = getelementptr inbounds nuw i8, ptr %4, i64 56
  %46 = load i64, ptr %45, align 8
  %47 = getelementptr inbounds nuw i8, ptr %4, i64 64
  %48 = load i64, ptr %47, align 8
  %49 = getelementptr inbounds nuw i8, ptr %4, i64 72
  %50 = load i64, ptr %49, align 8
  %51 = call i64 @llvm.vector.reduce.or.v4i64(<4 x i64> %44)
  %52 = or i64 %51, %46
  %53 = or i64 %48, %50
  %54 = or i64 %52, %53
  %55 = icmp ult i64 %54, 4294967296
  br i1 %55, label %57, label %56

56:
  call fastcc void @report_start(ptr %0, i32 %1, ptr %3, ptr %4, i32 1)
  br label %101

57:
  store i32 0, ptr %9, align 4
  %58 = icmp eq i64 %50, 0
  br i1 %58, label %78, label %59

59:
  %60 = getelementptr inbounds nuw i8, ptr %0, i64 752
  %61 = load ptr, ptr %60, align 8
  %62 = call i32 %61(ptr %9, i32 1, ptr %3)
  %63 = load i64, ptr %49, align 8
  %64 = icmp eq i64 %63, 0
  br i1 %64, label %78, label %65

65:
  %66 = load i32, ptr %9, align 4
  %67 = sext i32 %66 to i64
  %68 = add i64 %63, %67
  %69 = icmp ugt i64 %68, 49152
  br i1 %69, label %70, label %78

70:
  %71 = getelementptr inbounds nuw i8, ptr %0, i64 760
  %72 = load ptr, ptr %71, align 8
  %73 = trunc i64 %63 to i32
  %74 = call i32 %72(ptr %3, i32 8, i32 %73)
  %75 = icmp eq i32 %74, 0
  br i1 %75, label %76, label %97

76:
  %77 = load i64, ptr %49, align 8
  br label %78

78:
  %79 = phi i64 [ %77, %76 ], [ %63, %65 ], [ 0, %59 ], [ 0, %57 ]
  %80 = getelementptr inbounds nuw i8, ptr %0, i64 768
  %81 = load ptr, ptr %80, align 8
  %82 = load i64, ptr %40, align 8
  %83 = trunc i64 %82 to i32
  %84 = load i64, ptr %42, align 8
  %85 = trunc i64 %84 to i32
  %86 = load i64, ptr %43, align 8
  %87 = trunc i64 %86 to i32
  %88 = load i64, ptr %41, align 8
  %89 = trunc i64 %88 to i32
  %90 = load i64, ptr %45, align 8
  %91 = trunc i64 %90 to i32
  %92 = load i64, ptr %47, align 8
  %93 = trunc i64 %92 to i32
  %94 = trunc i64 %79 to i32
  %95 = call i32 %81(ptr %3, i32 %83, i32 %85, i32 %87, i32 %89, i32 %91, i32 %93, i32 %94, ptr %2, ptr %7, ptr null)
  %96 = icmp eq i32 %95, 0
  br i1 %96, label %99, label %97

97:
  %98 = phi i32 [ %74, %70 ], [ %95, %78 ]
  call fastcc void @report_start(ptr %0, i32 %1, ptr %3, ptr %4, i32 %98)
  br label %99

99:
  %100 = phi i32 [ 0, %78 ], [ -1, %97 ]
  br label %101

101:
  %102 = phi i32 [ -1, %29 ], [ -1, %22 ], [ -1, %56 ], [ %100, %99 ]
  ret i32 %102
}

define internal i32 @cuda_property(ptr %0, i32 %1, i32 %2, ptr %3) {
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  store i64 0, ptr %8, align 8
  store i64 0, ptr %9, align 8
  br label %13

10:
  %11 = add nuw nsw i64 %14, 1
  %12 = icmp eq i64 %11, 10
  br i1 %12, label %32, label %13

13:
  %14 = phi i64 [ 0, %4 ], [ %11, %10 ]
  %15 = getelementptr inbounds nuw %struct.anon, ptr @cuda_property.ATTRIBUTES, i64 %14
  %16 = load i32, ptr %15, align 8
  %17 = icmp eq i32 %16, %2
  br i1 %17, label %18, label %10

18:
  %19 = getelementptr inbounds nuw i8, ptr %15, i64 4
  %20 = load i32, ptr %19, align 4
  store i32 0, ptr %7, align 4
  %21 = getelementptr inbounds nuw i8, ptr %0, i64 576
  %22 = load ptr, ptr %21, align 8
  %23 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %24 = sext i32 %1 to i64
  %25 = getelementptr inbounds %struct.Device, ptr %23, i64 %24
  %26 = load ptr, ptr %25, align 8
  %27 = ptrtoint ptr %26 to i64
  %28 = trunc i64 %27 to i32
  %29 = call i32 %22(ptr %7, i32 %20, i32 %28)
  %30 = load i32, ptr %7, align 4
  %31 = sext i32 %30 to i64
  br label %80

32:
  switch i32 %2, label %82 [
    i32 6, label %33
    i32 7, label %46
    i32 15, label %60
  ]

33:
  %34 = getelementptr inbounds nuw i8, ptr %0, i64 568
  %35 = load ptr, ptr %34, align 8
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %37 = sext i32 %1 to i64
  %38 = getelementptr inbounds %struct.Device, ptr %36, i64 %37
  %39 = load ptr, ptr %38, align 8
  %40 = ptrtoint ptr %39 to i64
  %41 = trunc i64 %40 to i32
  %42 = call i32 %35(ptr %9, i32 %41)
  %43 = icmp eq i32 %42, 0
  br i1 %43, label %44, label %82

44:
  %45 = load i64, ptr %9, align 8
  br label %80

46:
  %47 = getelementptr inbounds nuw i8, ptr %0, i64 592
  %48 = load ptr, ptr %47, align 8
  %49 = sext i32 %1 to i64
  %50 = getelementptr %struct.Device, ptr %0, i64 %49
  %51 = getelementptr i8, ptr %50, i64 848
  %52 = load ptr, ptr %51, align 8
  %53 = tail call i32 %48(ptr %52)
  %54 = getelementptr inbounds nuw i8, ptr %0, i64 624
  %55 = load ptr, ptr %54, align 8
  %56 = call i32 %55(ptr %8, ptr %9)
  %57 = icmp eq i32 %56, 0
  br i1 %57, label %58, label %82

58:
  %59 = load i64, ptr %8, align 8
  br label %80

60:
  store i32 0, ptr %6, align 4
  %61 = getelementptr inbounds nuw i8, ptr %0, i64 576
  %62 = load ptr, ptr %61, align 8
  %63 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %64 = sext i32 %1 to i64
  %65 = getelementptr inbounds %struct.Device, ptr %63, i64 %64
  %66 = load ptr, ptr %65, align 8
  %67 = ptrtoint ptr %66 to i64
  %68 = trunc i64 %67 to i32
  %69 = call i32 %62(ptr %6, i32 75, i32 %68)
  %70 = load i32, ptr %6, align 4
  %71 = mul nsw i32 %70, 10
  store i32 0, ptr %5, align 4
  %72 = load ptr, ptr %61, align 8
  %73 = load ptr, ptr %65, align 8
  %74 = ptrtoint ptr %73 to i64
  %75 = trunc i64 %74 to i32
  %76 = call i32 %72(ptr %5, i32 76, i32 %75)
  %77 = load i32, ptr %5, align 4
  %78 = add nsw i32 %77, %71
  %79 = sext i32 %78 to i64
  br label %80

80:
  %81 = phi i64 [ %31, %18 ], [ %79, %60 ], [ %59, %58 ], [ %45, %44 ]
  store i64 %81, ptr %3, align 8
  br label %82

82:
  %83 = phi i32 [ -1, %46 ], [ -1, %33 ], [ -1, %32 ], [ 0, %80 ]
  ret i32 %83
}

define internal void @cuda_describe(ptr %0, i32 %1, ptr %2, i64 %3) {
  store i8 0, ptr %2, align 1
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 560
  %6 = load ptr, ptr %5, align 8
  %7 = trunc i64 %3 to i32
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %9 = sext i32 %1 to i64
  %10 = getelementptr inbounds %struct.Device, ptr %8, i64 %9
  %11 = load ptr, ptr %10, align 8
  %12 = ptrtoint ptr %11 to i64
  %13 = trunc i64 %12 to i32
  %14 = tail call i32 %6(ptr %2, i32 %7, i32 %13)
  ret void
}

define internal fastcc void @report_cuda(ptr %0, ptr %1, i32 %2) unnamed_addr {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca [4096 x i8], align 16
  store ptr null, ptr %4, align 8
  store ptr null, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 528
  %8 = load ptr, ptr %7, align 8
  %9 = call i32 %8(i32 %2, ptr %4)
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %11 = load ptr, ptr %10, align 8
  %12 = call i32 %11(i32 %2, ptr %5)
  %13 = load ptr, ptr %4, align 8
  %14 = icmp eq ptr %13, null
  %15 = select i1 %14, ptr @.str.78, ptr %13
  %16 = load ptr, ptr %5, align 8
  %17 = icmp eq ptr %16, null
  %18 = select i1 %17, ptr @.str, ptr %16
  %19 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %6, i64 4096, ptr @.str.113, ptr %1, ptr %15, i32 %2, ptr %18)
  call fastcc void @report(ptr @.str.4, ptr %6)
  ret void
}

define internal fastcc void @report_start(ptr %0, i32 %1, ptr %2, ptr %3, i32 %4) unnamed_addr {
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca ptr, align 8
  %11 = alloca ptr, align 8
  %12 = alloca [200 x i8], align 16
  %13 = alloca i32, align 4
  %14 = alloca i32, align 4
  %15 = alloca [4096 x i8], align 16
  store ptr null, ptr %10, align 8
  store ptr null, ptr %11, align 8
  call void @llvm.memset.p0.i64(ptr align 16 %12, i8 0, i64 200, i1 false)
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 528
  %17 = load ptr, ptr %16, align 8
  %18 = call i32 %17(i32 %4, ptr %10)
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 536
  %20 = load ptr, ptr %19, align 8
  %21 = call i32 %20(i32 %4, ptr %11)
  %22 = getelementptr inbounds nuw i8, ptr %3, i64 48
  %23 = load i64, ptr %22, align 8
  %24 = getelementptr inbounds nuw i8, ptr %3, i64 56
  %25 = load i64, ptr %24, align 8
  %26 = getelementptr inbounds nuw i8, ptr %3, i64 64
  %27 = load i64, ptr %26, align 8
  store i32 0, ptr %9, align 4
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 576
  %29 = load ptr, ptr %28, align 8
  %30 = getelementptr inbounds nuw i8, ptr %0, i64 840
  %31 = sext i32 %1 to i64
  %32 = getelementptr inbounds %struct.Device, ptr %30, i64 %31
  %33 = load ptr, ptr %32, align 8
  %34 = ptrtoint ptr %33 to i64
  %35 = trunc i64 %34 to i32
  %36 = call i32 %29(ptr %9, i32 1, i32 %35)
  %37 = load i32, ptr %9, align 4
  store i32 0, ptr %8, align 4
  %38 = load ptr, ptr %28, align 8
  %39 = load ptr, ptr %32, align 8
  %40 = ptrtoint ptr %39 to i64
  %41 = trunc i64 %40 to i32
  %42 = call i32 %38(ptr %8, i32 97, i32 %41)
  %43 = load i32, ptr %8, align 4
  store i32 0, ptr %13, align 4
  store i32 0, ptr %14, align 4
  %44 = getelementptr inbounds nuw i8, ptr %0, i64 752
  %45 = load ptr, ptr %44, align 8
  %46 = call i32 %45(ptr %13, i32 0, ptr %2)
  %47 = load ptr, ptr %44, align 8
  %48 = call i32 %47(ptr %14, i32 1, ptr %2)
  %49 = getelementptr inbounds nuw i8, ptr %3, i64 24
  br label %56

50:
  %51 = mul i64 %25, %23
  %52 = mul i64 %51, %27
  %53 = sext i32 %37 to i64
  %54 = sext i32 %43 to i64
  %55 = icmp ugt i64 %52, %53
  br i1 %55, label %96, label %98

56:
  %57 = phi i64 [ 0, %5 ], [ %94, %93 ]
  store i32 0, ptr %7, align 4
  %58 = load ptr, ptr %28, align 8
  %59 = load ptr, ptr %32, align 8
  %60 = ptrtoint ptr %59 to i64
  %61 = trunc i64 %60 to i32
  %62 = trunc i64 %57 to i32
  %63 = add i32 %62, 5
  %64 = call i32 %58(ptr %7, i32 %63, i32 %61)
  %65 = load i32, ptr %7, align 4
  %66 = sext i32 %65 to i64
  store i32 0, ptr %6, align 4
  %67 = load ptr, ptr %28, align 8
  %68 = load ptr, ptr %32, align 8
  %69 = ptrtoint ptr %68 to i64
  %70 = trunc i64 %69 to i32
  %71 = trunc i64 %57 to i32
  %72 = add i32 %71, 2
  %73 = call i32 %67(ptr %6, i32 %72, i32 %70)
  %74 = load i32, ptr %6, align 4
  %75 = sext i32 %74 to i64
  %76 = getelementptr inbounds nuw i64, ptr %49, i64 %57
  %77 = load i64, ptr %76, align 8
  %78 = icmp ugt i64 %77, %66
  br i1 %78, label %79, label %84

79:
  %80 = getelementptr inbounds nuw i8, ptr @report_start.LETTERS, i64 %57
  %81 = load i8, ptr %80, align 1
  %82 = sext i8 %81 to i32
  %83 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %12, i64 200, ptr @.str.120, i64 %77, i32 %82, i64 %66)
  br label %93

84:
  %85 = getelementptr inbounds nuw i64, ptr %22, i64 %57
  %86 = load i64, ptr %85, align 8
  %87 = icmp ugt i64 %86, %75
  br i1 %87, label %88, label %93

88:
  %89 = getelementptr inbounds nuw i8, ptr @report_start.LETTERS, i64 %57
  %90 = load i8, ptr %89, align 1
  %91 = sext i8 %90 to i32
  %92 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %12, i64 200, ptr @.str.121, i64 %86, i32 %91, i64 %75)
  br label %93

93:
  %94 = add nuw nsw i64 %57, 1
  %95 = icmp eq i64 %94, 3
  br i1 %95, label %50, label %56

96:
  %97 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %12, i64 200, ptr @.str.70, i64 %52, i64 %53)
  br label %115

98:
  %99 = load i32, ptr %14, align 4
  %100 = sext i32 %99 to i64
  %101 = getelementptr inbounds nuw i8, ptr %3, i64 72
  %102 = load i64, ptr %101, align 8
  %103 = add i64 %102, %100
  %104 = icmp ugt i64 %103, %54
  br i1 %104, label %105, label %107

105:
  %106 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %12, i64 200, ptr @.str.69, i64 %103, i64 %54)
  br label %115

107:
  %108 = load i32, ptr %13, align 4
  %109 = icmp ne i32 %108, 0
  %110 = sext i32 %108 to i64
  %111 = icmp ugt i64 %52, %110
  %112 = and i1 %109, %111
  br i1 %112, label %113, label %115

113:
  %114 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %12, i64 200, ptr @.str.122, i64 %52, i32 %108)
  br label %115

115:
  %116 = load ptr, ptr %3, align 8
  %117 = load i64, ptr %49, align 8
  %118 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %119 = load i64, ptr %118, align 8
  %120 = getelementptr inbounds nuw i8, ptr %3, i64 40
  %121 = load i64, ptr %120, align 8
  %122 = load i64, ptr %22, align 8
  %123 = load i64, ptr %24, align 8
  %124 = load i64, ptr %26, align 8
  %125 = load ptr, ptr %10, align 8
  %126 = icmp eq ptr %125, null
  %127 = select i1 %126, ptr @.str.78, ptr %125
  %128 = load ptr, ptr %11, align 8
  %129 = icmp eq ptr %128, null
  %130 = select i1 %129, ptr @.str, ptr %128
  %131 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %15, i64 4096, ptr @.str.123, ptr %116, i64 %117, i64 %119, i64 %121, i64 %122, i64 %123, i64 %124, ptr %127, i32 %4, ptr %130, ptr %12)
  call fastcc void @report(ptr @.str.4, ptr %15)
  ret void
}

declare i32 @pthread_mutex_lock(ptr)

declare i32 @pthread_mutex_unlock(ptr)

declare extern_weak void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)

declare i32 @dprintf(i32, ptr, ...)

declare extern_weak ptr @TVMFFIEnvGetStream(i32, i32)

declare i64 @llvm.ctlz.i64(i64, i1)

define internal fastcc void @drop(ptr %0, ptr %1, ptr %2) unnamed_addr {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 26312
  %5 = load ptr, ptr %4, align 8
  %6 = load i64, ptr %2, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 26320
  %8 = load i64, ptr %7, align 8
  %9 = icmp eq i64 %8, 0
  br i1 %9, label %23, label %10

10:
  %11 = phi i64 [ %21, %10 ], [ 0, %3 ]
  %12 = phi i64 [ %20, %10 ], [ %8, %3 ]
  %13 = add i64 %12, %11
  %14 = lshr i64 %13, 1
  %15 = getelementptr inbounds nuw ptr, ptr %5, i64 %14
  %16 = load ptr, ptr %15, align 8
  %17 = load i64, ptr %16, align 8
  %18 = icmp ugt i64 %17, %6
  %19 = add nuw i64 %14, 1
  %20 = select i1 %18, i64 %14, i64 %12
  %21 = select i1 %18, i64 %11, i64 %19
  %22 = icmp ult i64 %21, %20
  br i1 %22, label %10, label %23

23:
  %24 = phi i64 [ 0, %3 ], [ %21, %10 ]
  %25 = getelementptr inbounds nuw ptr, ptr %5, i64 %24
  %26 = getelementptr inbounds i8, ptr %25, i64 -8
  %27 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %28 = load ptr, ptr %27, align 8
  tail call void %28(ptr %0, ptr %2)
  %29 = load i64, ptr %7, align 8
  %30 = add i64 %29, -1
  store i64 %30, ptr %7, align 8
  %31 = load ptr, ptr %4, align 8
  %32 = ptrtoint ptr %26 to i64
  %33 = ptrtoint ptr %31 to i64
  %34 = sub i64 %32, %33
  %35 = lshr exact i64 %34, 3
  %36 = sub i64 %30, %35
  %37 = shl i64 %36, 3
  %38 = tail call ptr @memmove(ptr %26, ptr %25, i64 %37)
  tail call void @free(ptr %2)
  ret void
}

declare ptr @memmove(ptr, ptr, i64)

declare ptr @realloc(ptr, i64)

define internal fastcc ptr @built_before(ptr %0, i32 %1, i64 %2) unnamed_addr {
  %4 = tail call fastcc ptr @devices()
  %5 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %6 = tail call i32 @pthread_mutex_lock(ptr %5)
  %7 = lshr i64 %2, 32
  %8 = xor i64 %7, %2
  %9 = and i64 %8, 1023
  %10 = getelementptr inbounds nuw ptr, ptr %0, i64 %9
  %11 = load ptr, ptr %10, align 8
  %12 = icmp eq ptr %11, null
  br i1 %12, label %25, label %13

13:
  %14 = phi ptr [ %23, %21 ], [ %11, %3 ]
  %15 = load i64, ptr %14, align 8
  %16 = icmp eq i64 %15, %2
  br i1 %16, label %17, label %21

17:
  %18 = getelementptr inbounds nuw i8, ptr %14, i64 8
  %19 = load i32, ptr %18, align 8
  %20 = icmp eq i32 %19, %1
  br i1 %20, label %25, label %21

21:
  %22 = getelementptr inbounds nuw i8, ptr %14, i64 24
  %23 = load ptr, ptr %22, align 8
  %24 = icmp eq ptr %23, null
  br i1 %24, label %25, label %13

25:
  %26 = phi ptr [ null, %3 ], [ null, %21 ], [ %14, %17 ]
  %27 = tail call fastcc ptr @devices()
  %28 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %29 = tail call i32 @pthread_mutex_unlock(ptr %28)
  %30 = icmp eq ptr %26, null
  br i1 %30, label %34, label %31

31:
  %32 = getelementptr inbounds nuw i8, ptr %26, i64 16
  %33 = load ptr, ptr %32, align 8
  br label %34

34:
  %35 = phi ptr [ %33, %31 ], [ null, %25 ]
  ret ptr %35
}

define internal fastcc ptr @keep_built(ptr %0, i32 %1, i64 %2, ptr %3) unnamed_addr {
  %5 = alloca [4096 x i8], align 16
  %6 = tail call ptr @calloc(i64 1, i64 32)
  %7 = icmp eq ptr %6, null
  br i1 %7, label %8, label %10

8:
  %9 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %5, i64 4096, ptr @.str.7)
  call fastcc void @report(ptr @.str.2, ptr %5)
  br label %48

10:
  store i64 %2, ptr %6, align 8
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 8
  store i32 %1, ptr %11, align 8
  %12 = getelementptr inbounds nuw i8, ptr %6, i64 12
  store i32 0, ptr %12, align 4
  %13 = getelementptr inbounds nuw i8, ptr %6, i64 16
  store ptr %3, ptr %13, align 8
  %14 = getelementptr inbounds nuw i8, ptr %6, i64 24
  store ptr null, ptr %14, align 8
  %15 = tail call fastcc ptr @devices()
  %16 = getelementptr inbounds nuw i8, ptr %15, i64 8
  %17 = tail call i32 @pthread_mutex_lock(ptr %16)
  %18 = lshr i64 %2, 32
  %19 = xor i64 %18, %2
  %20 = and i64 %19, 1023
  %21 = getelementptr inbounds nuw ptr, ptr %0, i64 %20
  %22 = load ptr, ptr %21, align 8
  %23 = icmp eq ptr %22, null
  br i1 %23, label %38, label %24

24:
  %25 = phi ptr [ %34, %32 ], [ %22, %10 ]
  %26 = load i64, ptr %25, align 8
  %27 = icmp eq i64 %26, %2
  br i1 %27, label %28, label %32

28:
  %29 = getelementptr inbounds nuw i8, ptr %25, i64 8
  %30 = load i32, ptr %29, align 8
  %31 = icmp eq i32 %30, %1
  br i1 %31, label %40, label %32

32:
  %33 = getelementptr inbounds nuw i8, ptr %25, i64 24
  %34 = load ptr, ptr %33, align 8
  %35 = icmp eq ptr %34, null
  br i1 %35, label %36, label %24

36:
  %37 = getelementptr inbounds nuw i8, ptr %25, i64 24
  br label %38

38:
  %39 = phi ptr [ %21, %10 ], [ %37, %36 ]
  store ptr %6, ptr %39, align 8
  br label %40

40:
  %41 = phi ptr [ %6, %38 ], [ %25, %28 ]
  %42 = phi ptr [ null, %38 ], [ %6, %28 ]
  %43 = getelementptr inbounds nuw i8, ptr %41, i64 16
  %44 = load ptr, ptr %43, align 8
  %45 = tail call fastcc ptr @devices()
  %46 = getelementptr inbounds nuw i8, ptr %45, i64 8
  %47 = tail call i32 @pthread_mutex_unlock(ptr %46)
  tail call void @free(ptr %42)
  br label %48

48:
  %49 = phi ptr [ %44, %40 ], [ null, %8 ]
  ret ptr %49
}

declare extern_weak i32 @TVMFFIFunctionGetGlobal(ptr, ptr)

declare extern_weak i32 @TVMFFIFunctionCall(ptr, ptr, i32, ptr)

declare extern_weak i32 @TVMFFIObjectDecRef(ptr)

declare i32 @llvm.smax.i32(i32, i32)

declare i64 @llvm.smin.i64(i64, i64)

declare i32 @llvm.smin.i32(i32, i32)

declare i64 @llvm.umax.i64(i64, i64)

declare i64 @llvm.vector.reduce.or.v4i64(<4 x i64>)

declare ptr @llvm.load.relative.i64(ptr, i64)
