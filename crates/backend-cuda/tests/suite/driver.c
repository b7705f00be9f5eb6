/* A driver that has one device, or says what it is told to. It compiles nothing and runs nothing:
   what it makes of PTX is a text that says which PTX it was. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int init_answer, capability = 90, link_answer, load_answer;
static int links, loads, pushed, retained, streams;
static char image[64];

/* The test's hold on it. */
int *fake(const char *name) {
#define KNOWN(variable) if (strcmp(name, #variable) == 0) return &variable;
  KNOWN(init_answer) KNOWN(capability) KNOWN(link_answer) KNOWN(load_answer)
  KNOWN(links) KNOWN(loads) KNOWN(pushed) KNOWN(retained) KNOWN(streams)
  return NULL;
}

/* The image that was loaded last. */
const char *fake_image(void) { return image; }

int cuInit(unsigned flags) { return init_answer; }
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuGetErrorName(int code, const char **name) {
  *name = code == 218 ? "CUDA_ERROR_INVALID_PTX" : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_A_TEST";
  return 0;
}
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) { snprintf(name, length, "Device of a test"); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 123456789; return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) {
  switch (which) {
  case 33: *value = 7; return 0;
  case 34: *value = 1; return 0;
  case 50: *value = 2; return 0;
  case 75: *value = capability / 10; return 0;
  case 76: *value = capability % 10; return 0;
  }
  return 1;
}
int cuDevicePrimaryCtxRetain(size_t *context, int device) { retained++; *context = 0x1000; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { retained--; return 0; }
static size_t stack[64];
int cuCtxPushCurrent_v2(size_t context) { stack[pushed++] = context; return 0; }
int cuCtxPopCurrent_v2(size_t *context) { *context = stack[--pushed]; return 0; }
/* Contexts above 0x2000 are of a second device. */
int cuCtxGetDevice(int *device) { *device = stack[pushed - 1] > 0x2000; return 0; }
/* The context of a stream is written in it. */
int cuStreamGetCtx(size_t stream, size_t *context) { *context = stream & ~(size_t)0xff; return 0; }
int cuStreamCreate(size_t *stream, unsigned flags) { streams++; *stream = 0x99; return flags != 1; }
int cuStreamDestroy_v2(size_t stream) { streams--; return 0; }

/* Says something where an option names room for it. */
static void say(unsigned count, int *options, void **values) {
  for (unsigned i = 0; i < count; i++)
    if (options[i] == 5) snprintf(values[i], 100, "ptxas: line 3\nis wrong");
}
int cuModuleLoadDataEx(size_t *module, const void *data, unsigned count, int *options, void **values) {
  loads++;
  memcpy(image, data, sizeof image - 1);
  if (load_answer) say(count, options, values);
  *module = 0x77;
  return load_answer;
}
int cuModuleUnload(size_t module) { return 0; }
struct link { unsigned count; int options[8]; void *values[8]; char made[64]; };
int cuLinkCreate_v2(unsigned count, int *options, void **values, struct link **state) {
  links++;
  *state = calloc(1, sizeof **state);
  (*state)->count = count;
  memcpy((*state)->options, options, count * sizeof *options);
  memcpy((*state)->values, values, count * sizeof *values);
  return 0;
}
int cuLinkAddData_v2(struct link *state, int type, void *data, size_t bytes, const char *name,
                     unsigned count, int *options, void **values) {
  if (type != 1 || ((char *)data)[bytes - 1] != 0) return 1;
  if (link_answer) say(state->count, state->options, state->values);
  snprintf(state->made, sizeof state->made, "\177ELF of %zu bytes, %d", bytes, links);
  return link_answer;
}
int cuLinkComplete(struct link *state, void **made, size_t *bytes) {
  *made = state->made;
  *bytes = sizeof state->made;
  return 0;
}
int cuLinkDestroy(struct link *state) { free(state); return 0; }

#define NEVER(name) int name(void) { return 999; }
NEVER(cuMemAlloc_v2) NEVER(cuMemFree_v2) NEVER(cuMemHostAlloc) NEVER(cuMemFreeHost)
NEVER(cuMemGetInfo_v2) NEVER(cuStreamSynchronize) NEVER(cuStreamWaitEvent) NEVER(cuEventCreate)
NEVER(cuEventDestroy_v2) NEVER(cuEventRecord) NEVER(cuEventQuery) NEVER(cuEventSynchronize)
NEVER(cuEventElapsedTime) NEVER(cuMemcpyHtoDAsync_v2) NEVER(cuMemcpy2DAsync_v2)
NEVER(cuMemcpyDtoHAsync_v2) NEVER(cuModuleGetFunction)
#ifndef WITHOUT_LAUNCH
NEVER(cuLaunchKernel)
#endif
