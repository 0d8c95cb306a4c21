/* Memory of OpenCL and CUDA devices, for C programs that call functions which Tilewright exported for
 * one of them. Each library that was exported with kernels defines these functions.
 *
 * The driver (libOpenCL.so.1, libcuda.so.1) is opened when one of them is called first. Libraries that
 * are linked to a program, or loaded with RTLD_GLOBAL, share arrays and streams. Errors are reported
 * as those of the exported functions are: see TVMFFIErrorSetRaisedFromCStr in tilewright.h. See
 * docs/devices.md for a program.
 */
#ifndef TILEWRIGHT_DEVICE_H
#define TILEWRIGHT_DEVICE_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device types, for `device_type` of a TilewrightArray and the functions below. */
enum { TILEWRIGHT_CUDA = 2, TILEWRIGHT_OPENCL = 4 };

/* Number of devices; 0 where there is no driver. */
int32_t tilewright_device_count(int32_t type);

/* 0 if the device can be used; -1 with an error that says why not. */
int32_t tilewright_device_require(int32_t type, int32_t device);

/* New memory of a device, at least one byte; NULL after an error. The result is for `data` of a
 * TilewrightArray. A place inside is an address that is as much larger. CUDA: the addresses are those
 * of the primary context, which other libraries can use as well. OpenCL: only the functions of this
 * header and exported functions know what they stand for. */
void *tilewright_device_allocate(int32_t type, int32_t device, int64_t size);

/* Give memory back. It is kept for later allocations; tilewright_device_empty_pool gives all that is
 * kept back to the driver. Work that was started before may still use it. */
int32_t tilewright_device_release(int32_t type, void *address);
int32_t tilewright_device_empty_pool(int32_t type, int32_t device);

/* Copy `size` bytes to a device, from one, and between two places of the same type of devices. The
 * first two wait for the stream of the device, the last does not. */
int32_t tilewright_device_write(int32_t type, void *to, const void *from, int64_t size);
int32_t tilewright_device_read(int32_t type, void *to, const void *from, int64_t size);
int32_t tilewright_device_copy(int32_t type, void *to, const void *from, int64_t size);

/* Wait until the device has done all that was started, or all in one stream if that is not NULL. */
int32_t tilewright_device_synchronize(int32_t type, int32_t device, void *stream);

/* Kernels and copies of a device go to this CUstream or cl_command_queue; NULL for the usual one. The
 * stream of a tvm-ffi host, if it sets one, comes first. */
int32_t tilewright_device_set_stream(int32_t type, int32_t device, void *stream);

/* The stream that work of a device is given to now; for OpenCL its queue, of whose context your own
 * cl_mem have to be. */
int32_t tilewright_device_stream(int32_t type, int32_t device, void **stream);

/* The address of memory of yours, a cl_mem of the context of the queue; NULL after an error. It is
 * retained until tilewright_device_release. */
void *tilewright_opencl_import(int32_t device, void *memory);

/* New streams; work that is given to `stream` later waits for what `other` has been given so far. */
int32_t tilewright_device_create_stream(int32_t type, int32_t device, void **stream);
int32_t tilewright_device_destroy_stream(int32_t type, int32_t device, void *stream);
int32_t tilewright_device_wait(int32_t type, int32_t device, void *stream, void *other);

/* A moment in the stream of a device, and the nanoseconds between two, for which it waits; that frees
 * both. */
int32_t tilewright_device_record(int32_t type, int32_t device, void **event);
int32_t tilewright_device_elapsed(int32_t type, int32_t device, void *from, void *to, int64_t *time);

/* The device that memory belongs to. */
int32_t tilewright_device_of(int32_t type, const void *address, int32_t *device);

enum {
  TILEWRIGHT_MAX_THREADS = 1,    /* of a block */
  TILEWRIGHT_WARP_SIZE = 2,      /* threads that run in step */
  TILEWRIGHT_SHARED_MEMORY = 3,  /* bytes that a block can have */
  TILEWRIGHT_MULTIPROCESSORS = 4,
  TILEWRIGHT_L2_CACHE = 5,       /* bytes */
  TILEWRIGHT_TOTAL_MEMORY = 6,   /* bytes */
  TILEWRIGHT_FREE_MEMORY = 7,    /* bytes; OpenCL: what this process does not have */
  TILEWRIGHT_MEMORY_IN_USE = 8,  /* bytes that were allocated and not given back */
  TILEWRIGHT_MEMORY_KEPT = 9,    /* bytes that were given back and are kept */
  TILEWRIGHT_CLOCK_RATE = 10,    /* kHz */
  TILEWRIGHT_REGISTERS = 11,     /* 32-bit registers that a block can have; 0 if it is not known */
  TILEWRIGHT_MAX_THREADS_X = 12, /* and y and z */
  TILEWRIGHT_CAPABILITY = 15     /* CUDA: 10 * major + minor; OpenCL: the same of the version */
};

/* A number that describes a device, and its name, cut off at `size` bytes. */
int32_t tilewright_device_property(int32_t type, int32_t device, int32_t property, int64_t *value);
int32_t tilewright_device_name(int32_t type, int32_t device, char *name, int64_t size);

#ifdef __cplusplus
}
#endif

#endif
