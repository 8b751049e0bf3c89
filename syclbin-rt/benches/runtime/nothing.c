/* An OpenCL library whose one device does nothing, so that what `callgrind` counts in a launch is ours.
 *
 * Only what a program asks before it launches is answered. Every other function of OpenCL is there,
 * because whoever loads the library looks them up, and says success. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t code;
typedef uint32_t number;

enum {
  SUCCESS = 0,
  INVALID_VALUE = -30,
  DEVICE_TYPE = 0x1000,
  DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
  DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  DEVICE_GLOBAL_MEM_SIZE = 0x101F,
  DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
  DEVICE_LOCAL_MEM_SIZE = 0x1023,
  DEVICE_QUEUE_PROPERTIES = 0x102A,
  DEVICE_NAME = 0x102B,
  DEVICE_VENDOR = 0x102C,
  DRIVER_VERSION = 0x102D,
  DEVICE_VERSION = 0x102F,
  DEVICE_EXTENSIONS = 0x1030,
  DEVICE_IL_VERSION = 0x105B,
  KERNEL_NUM_ARGS = 0x1191,
  KERNEL_WORK_GROUP_SIZE = 0x11B0,
  KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1,
  KERNEL_LOCAL_MEM_SIZE = 0x11B2,
  EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
};

/* A handle that is not null. */
static char thing[64];
#define HANDLE ((void *)thing)

static code answer(const void *value, size_t length, size_t size, void *to, size_t *returned) {
  if (returned)
    *returned = length;
  if (to) {
    if (size < length)
      return INVALID_VALUE;
    memcpy(to, value, length);
  }
  return SUCCESS;
}

#define ANSWER(TYPE, ...)                                                                          \
  do {                                                                                             \
    const TYPE value[] = {__VA_ARGS__};                                                            \
    return answer(value, sizeof value, size, to, returned);                                        \
  } while (0)
#define TEXT(TEXT) return answer(TEXT, sizeof TEXT, size, to, returned)

code clGetPlatformIDs(number count, void **to, number *found) {
  if (to && count)
    *to = HANDLE;
  if (found)
    *found = 1;
  return SUCCESS;
}

code clGetDeviceIDs(void *platform, uint64_t type, number count, void **to, number *found) {
  return clGetPlatformIDs(count, to, found);
}

code clGetPlatformInfo(void *platform, number name, size_t size, void *to, size_t *returned) {
  TEXT("nothing");
}

code clGetDeviceInfo(void *device, number name, size_t size, void *to, size_t *returned) {
  switch (name) {
  case DEVICE_TYPE:
    ANSWER(uint64_t, 2); /* a CPU */
  case DEVICE_MAX_MEM_ALLOC_SIZE:
  case DEVICE_GLOBAL_MEM_SIZE:
  case DEVICE_LOCAL_MEM_SIZE:
    ANSWER(uint64_t, 1 << 30);
  case DEVICE_MAX_COMPUTE_UNITS:
    ANSWER(number, 1);
  case DEVICE_MEM_BASE_ADDR_ALIGN:
    ANSWER(number, 1024);
  case DEVICE_QUEUE_PROPERTIES:
    ANSWER(uint64_t, 3); /* out of order, and profiling */
  case DEVICE_MAX_WORK_GROUP_SIZE:
    ANSWER(size_t, 1024);
  case DEVICE_MAX_WORK_ITEM_SIZES:
    ANSWER(size_t, 1024, 1024, 1024);
  case DEVICE_NAME:
  case DEVICE_VENDOR:
  case DRIVER_VERSION:
    TEXT("nothing");
  case DEVICE_VERSION:
    TEXT("OpenCL 3.0 nothing");
  case DEVICE_IL_VERSION:
    TEXT("SPIR-V_1.4");
  case DEVICE_EXTENSIONS:
    TEXT("");
  default: /* most of what is left is whether it can do something */
    ANSWER(number, 0);
  }
}

static void *made(code *status) {
  if (status)
    *status = SUCCESS;
  return HANDLE;
}

void *clCreateContext(const void *p, number n, void *const *d, void *f, void *u, code *status) {
  return made(status);
}
void *clCreateCommandQueue(void *context, void *device, uint64_t properties, code *status) {
  return made(status);
}
void *clCreateCommandQueueWithProperties(void *c, void *device, const void *p, code *status) {
  return made(status);
}
void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, code *status) {
  return made(status);
}
void *clCreateProgramWithIL(void *context, const void *il, size_t length, code *status) {
  return made(status);
}

/* A kernel is how many arguments its name says that it takes. */
void *clCreateKernel(void *program, const char *name, code *status) {
  const char *end = strrchr(name, '_');
  number *kernel = malloc(sizeof *kernel);
  *kernel = end ? (number)atoi(end + 1) : 0;
  made(status);
  return kernel;
}

code clGetKernelInfo(number *kernel, number name, size_t size, void *to, size_t *returned) {
  if (name != KERNEL_NUM_ARGS)
    return INVALID_VALUE;
  ANSWER(number, *kernel);
}

code clGetKernelWorkGroupInfo(void *kernel, void *device, number name, size_t size, void *to,
                              size_t *returned) {
  switch (name) {
  case KERNEL_WORK_GROUP_SIZE:
    ANSWER(size_t, 1024);
  case KERNEL_COMPILE_WORK_GROUP_SIZE:
    ANSWER(size_t, 0, 0, 0);
  case KERNEL_LOCAL_MEM_SIZE:
    ANSWER(uint64_t, 0);
  default:
    return INVALID_VALUE;
  }
}

static code queued(void **event) {
  if (event)
    *event = HANDLE;
  return SUCCESS;
}

code clEnqueueNDRangeKernel(void *queue, void *kernel, number dimensions, const size_t *offset,
                            const size_t *global, const size_t *local, number count,
                            void *const *events, void **event) {
  return queued(event);
}
code clEnqueueBarrierWithWaitList(void *queue, number count, void *const *events, void **event) {
  return queued(event);
}
code clEnqueueFillBuffer(void *queue, void *memory, const void *pattern, size_t length,
                         size_t offset, size_t size, number count, void *const *events,
                         void **event) {
  return queued(event);
}
code clEnqueueReadBuffer(void *queue, void *memory, number blocking, size_t offset, size_t size,
                         void *to, number count, void *const *events, void **event) {
  return queued(event);
}
code clEnqueueWriteBuffer(void *queue, void *memory, number blocking, size_t offset, size_t size,
                          const void *from, number count, void *const *events, void **event) {
  return queued(event);
}

code clGetEventInfo(void *event, number name, size_t size, void *to, size_t *returned) {
  if (name != EVENT_COMMAND_EXECUTION_STATUS)
    return INVALID_VALUE;
  ANSWER(code, 0); /* complete */
}

void *clGetExtensionFunctionAddressForPlatform(void *platform, const char *name) { return NULL; }

#define NOTHING(NAME)                                                                              \
  intptr_t NAME(void) { return 0; }
NOTHING(clBuildProgram)
NOTHING(clCloneKernel)
NOTHING(clCompileProgram)
NOTHING(clCreateContextFromType)
NOTHING(clCreateImage)
NOTHING(clCreateKernelsInProgram)
NOTHING(clCreateProgramWithBinary)
NOTHING(clCreateProgramWithSource)
NOTHING(clCreateSampler)
NOTHING(clCreateSamplerWithProperties)
NOTHING(clCreateSubBuffer)
NOTHING(clCreateSubDevices)
NOTHING(clCreateUserEvent)
NOTHING(clEnqueueCopyBuffer)
NOTHING(clEnqueueCopyBufferRect)
NOTHING(clEnqueueMapBuffer)
NOTHING(clEnqueueMigrateMemObjects)
NOTHING(clEnqueueNativeKernel)
NOTHING(clEnqueueReadBufferRect)
NOTHING(clEnqueueReadImage)
NOTHING(clEnqueueUnmapMemObject)
NOTHING(clEnqueueWriteBufferRect)
NOTHING(clEnqueueWriteImage)
NOTHING(clFinish)
NOTHING(clFlush)
NOTHING(clGetCommandQueueInfo)
NOTHING(clGetContextInfo)
NOTHING(clGetEventProfilingInfo)
NOTHING(clGetKernelArgInfo)
NOTHING(clGetMemObjectInfo)
NOTHING(clGetProgramBuildInfo)
NOTHING(clGetProgramInfo)
NOTHING(clGetSupportedImageFormats)
NOTHING(clLinkProgram)
NOTHING(clReleaseCommandQueue)
NOTHING(clReleaseContext)
NOTHING(clReleaseDevice)
NOTHING(clReleaseEvent)
NOTHING(clReleaseKernel)
NOTHING(clReleaseMemObject)
NOTHING(clReleaseProgram)
NOTHING(clReleaseSampler)
NOTHING(clRetainCommandQueue)
NOTHING(clRetainContext)
NOTHING(clRetainDevice)
NOTHING(clRetainEvent)
NOTHING(clRetainKernel)
NOTHING(clRetainMemObject)
NOTHING(clRetainProgram)
NOTHING(clSetEventCallback)
NOTHING(clSetKernelArg)
NOTHING(clSetKernelExecInfo)
NOTHING(clSetMemObjectDestructorCallback)
NOTHING(clSetProgramSpecializationConstant)
NOTHING(clSetUserEventStatus)
NOTHING(clWaitForEvents)
