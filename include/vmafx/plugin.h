/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from crates/api/src/wire.rs and kinds.rs; do not edit. Run `cargo xtask codegen`. */

/**
 * @file
 * The interface between vmafx and its plugins.
 *
 * A plugin is a shared library with one exported symbol, VMAFX_PLUGIN_ENTRY_SYMBOL, of type
 * vmafx_plugin_entry. The host calls it once with what it offers (vmafx_host); the plugin
 * answers with what it is (vmafx_plugin) and the tables of its backends
 * (vmafx_plugin_backend). From then on the host calls functions of the tables.
 *
 * What must stay true:
 * - A struct that starts with `struct_size` grows at its end, and nowhere else. Whoever
 *   writes one sets `struct_size` to the size it was compiled with; whoever reads one takes
 *   no more than both sides know, and zero for the rest. A struct without `struct_size`
 *   never changes.
 * - Every field and function has a revision (`r1`, `r2` …), raised once a release: `cargo
 *   xtask abi` compares the layout with `abi/plugin.lock` and accepts appends only. What is
 *   marked *draft* is outside that promise: two sides use it only if their
 *   VMAFX_PLUGIN_DRAFT numbers are equal.
 * - A null function is one that is not offered. Fields and bits that no revision defines
 *   are zero, and readers refuse others. Whoever talks to an older side says nothing that
 *   the revision of vmafx_plugin.abi_chosen does not define.
 * - The functions of a table may be called from any thread, several at once, those of one
 *   extractor among them; what ends an object (`device_close`, `extractor_destroy`,
 *   `frame_release`, `fence_destroy`) comes once, after all its other calls have returned.
 *   No thread owns a device: each function sets what its runtime keeps for a thread.
 * - A call succeeds with OK and nothing else, but for vmafx_plugin_import.fence_poll, which
 *   may be PENDING. After PANIC the device that the call was for, or the backend, is only
 *   closed.
 * - Text and arrays that a plugin hands out in vmafx_plugin, vmafx_plugin_backend_info,
 *   vmafx_plugin_feature_info, vmafx_plugin_option_info and vmafx_plugin_output_info live
 *   as long as the process; everything that is passed to a function is valid until that
 *   function returns, and no longer.
 * - No function lets a panic or an exception out, calls `exit`, changes the locale, the
 *   working directory, signal handlers or the floating-point environment, or calls back
 *   into the host but for vmafx_host.log, vmafx_plugin_frame.retain and
 *   vmafx_plugin_frame.release.
 */

#ifndef VMAFX_PLUGIN_H
#define VMAFX_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/** Marks what a plugin's library shows to the outside. */
#if defined(_WIN32)
#define VMAFX_PLUGIN_EXPORT __declspec(dllexport)
#else
#define VMAFX_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/**
 * A zeroed struct of `type` with `struct_size` set, for types that start with it. A value for
 * automatic variables and assignments; a static struct states `.struct_size = sizeof(type)`.
 */
#ifdef __cplusplus
#define VMAFX_PLUGIN_INIT(type)                                                                    \
    ([] {                                                                                          \
        type zeroed{};                                                                             \
        zeroed.struct_size = static_cast<uint32_t>(sizeof(type));                                  \
        return zeroed;                                                                             \
    }())
#else
#define VMAFX_PLUGIN_INIT(type) ((type){ .struct_size = (uint32_t)sizeof(type) })
#endif

/** Initializer of a vmafx_plugin_text from a literal. */
#define VMAFX_PLUGIN_TEXT(literal) { (literal), sizeof(literal) - 1 }

/** Whether the writer of the struct that `pointer` points to, of `type`, knew its `field`. */
#define VMAFX_PLUGIN_HAS(type, pointer, field)                                                     \
    ((pointer)->struct_size >= offsetof(type, field) + sizeof((pointer)->field))

/** The bit of a kind in a set of kinds. */
#define VMAFX_PLUGIN_BIT(kind) ((uint64_t)1 << (kind))

/** Major number of the wire. Another major has another entry symbol. */
#define VMAFX_PLUGIN_ABI_MAJOR 1

/** Newest revision of the wire that this header knows. */
#define VMAFX_PLUGIN_ABI_REVISION 2

/** Number of the draft parts. Raised whenever one of them changes. */
#define VMAFX_PLUGIN_DRAFT 1

/** Bytes of vmafx_plugin_error.subject, the final zero included. */
#define VMAFX_PLUGIN_SUBJECT_CAPACITY 128

/** Bytes of vmafx_plugin_error.message, the final zero included. */
#define VMAFX_PLUGIN_MESSAGE_CAPACITY 2048

/** Bytes of vmafx_plugin_device_info.name, the final zero included. */
#define VMAFX_PLUGIN_NAME_CAPACITY 256

/** Bytes of vmafx_plugin_device_info.isa, the final zero included. */
#define VMAFX_PLUGIN_ISA_CAPACITY 64

/** Most earlier frames that an extractor may ask for. */
#define VMAFX_PLUGIN_MAX_HISTORY 16

/** Most scores that a feature may have. */
#define VMAFX_PLUGIN_MAX_OUTPUTS 64

/**
 * Flag of vmafx_plugin_feature_info.flags: the feature must see every frame of the clip,
 * even when only every n-th is scored.
 */
#define VMAFX_PLUGIN_FEATURE_EVERY_FRAME 1

/**
 * Flag of vmafx_plugin_import_descriptor.flags: a copy within the device is allowed where
 * reading in place is not possible. Draft.
 */
#define VMAFX_PLUGIN_IMPORT_ALLOW_COPY 1

/** A backend's own state, made by the plugin. */
typedef struct vmafx_plugin_backend_object vmafx_plugin_backend_object;

/** A frame in memory of a device, made by vmafx_plugin_import.frame_import. */
typedef struct vmafx_plugin_device_frame_object vmafx_plugin_device_frame_object;

/** An open device, made by vmafx_plugin_backend.device_open. */
typedef struct vmafx_plugin_device_object vmafx_plugin_device_object;

/** A plan made ready, made by vmafx_plugin_backend.device_prepare. */
typedef struct vmafx_plugin_extractor_object vmafx_plugin_extractor_object;

/** The host's own object behind a vmafx_plugin_frame. */
typedef struct vmafx_plugin_frame_object vmafx_plugin_frame_object;

/**
 * Answer of a call: 0, or the negative class of a failure. Positive numbers are information
 * and no failure.
 */
typedef int32_t vmafx_plugin_status;
/** The call did what it says. */
#define VMAFX_PLUGIN_STATUS_OK 0
/** Not yet: a fence that has not been signalled. */
#define VMAFX_PLUGIN_STATUS_PENDING 1
/** An argument is wrong: a bad value, an unknown name, a missing handle. */
#define VMAFX_PLUGIN_STATUS_INVALID (-1)
/** Host or device memory ran out. */
#define VMAFX_PLUGIN_STATUS_NO_MEMORY (-2)
/** The thing is well formed but not offered here. */
#define VMAFX_PLUGIN_STATUS_NOT_SUPPORTED (-3)
/** No such device, feature or model. */
#define VMAFX_PLUGIN_STATUS_NOT_FOUND (-4)
/** Not now: the same call may succeed later. */
#define VMAFX_PLUGIN_STATUS_BUSY (-5)
/** A device or its driver failed. */
#define VMAFX_PLUGIN_STATUS_DEVICE (-6)
/** Reading or writing failed. */
#define VMAFX_PLUGIN_STATUS_IO (-7)
/** A number lies outside its range. */
#define VMAFX_PLUGIN_STATUS_RANGE (-8)
/** A broken invariant inside this library or a backend. */
#define VMAFX_PLUGIN_STATUS_INTERNAL (-9)
/** A bounded wait ran out. */
#define VMAFX_PLUGIN_STATUS_TIMEOUT (-10)
/** The two sides of the boundary disagree about a layout. */
#define VMAFX_PLUGIN_STATUS_ABI (-11)
/**
 * A panic or exception was stopped at the boundary. The device that the call was for, or
 * the backend, is poisoned: it is closed and not called again.
 */
#define VMAFX_PLUGIN_STATUS_PANIC (-13)

/** UTF-8 text of `size` bytes without a final zero. `data` may be null if `size` is 0. */
typedef struct vmafx_plugin_text {
    /** First byte. */
    const char *data;
    /** Number of bytes. */
    size_t size;
} vmafx_plugin_text;

/** Importance of a line of a log. */
typedef uint32_t vmafx_plugin_log_level;
/** Something failed. */
#define VMAFX_PLUGIN_LOG_LEVEL_ERROR 1
/** Something a user should know. */
#define VMAFX_PLUGIN_LOG_LEVEL_WARNING 2
/** Something a user may want to know. */
#define VMAFX_PLUGIN_LOG_LEVEL_INFO 3
/** Something a developer may want to know. */
#define VMAFX_PLUGIN_LOG_LEVEL_DEBUG 4

/** What the host offers. It lives as long as the process. */
typedef struct vmafx_host {
    /** Size of the host's struct. */
    uint32_t struct_size;
    /** Oldest revision that the host takes. */
    uint32_t abi_min;
    /** Newest revision that the host knows. */
    uint32_t abi_max;
    /** Zero. */
    uint32_t reserved;
    /** Name and version of the host, for people. */
    struct vmafx_plugin_text version;
    /** First argument of `log`. */
    void *log_context;
    /** Takes a line of the log, from any thread. May be null. */
    void (*log)(void *context, vmafx_plugin_log_level level, struct vmafx_plugin_text text);
} vmafx_host;

/** The planes that a feature reads. */
typedef uint32_t vmafx_plugin_plane_use;
/** Nothing: a field that was not filled in. */
#define VMAFX_PLUGIN_PLANE_USE_NONE 0
/** Luma alone: the frames may come without chroma (4:0:0). */
#define VMAFX_PLUGIN_PLANE_USE_LUMA 1
/** Every plane of the layout. */
#define VMAFX_PLUGIN_PLANE_USE_ALL 2

/** Kind of an option's value. */
typedef uint32_t vmafx_plugin_option_kind;
/** Nothing: a field that was not filled in. */
#define VMAFX_PLUGIN_OPTION_KIND_NONE 0
/** `true` or `false`. */
#define VMAFX_PLUGIN_OPTION_KIND_SWITCH 1
/** A whole number. */
#define VMAFX_PLUGIN_OPTION_KIND_WHOLE 2
/** A number. */
#define VMAFX_PLUGIN_OPTION_KIND_NUMBER 3
/** A word or a path. */
#define VMAFX_PLUGIN_OPTION_KIND_TEXT 4

/** Value of an option; `kind` says which field counts. */
typedef struct vmafx_plugin_option_value {
    /** Kind of the value. */
    vmafx_plugin_option_kind kind;
    /** Zero. */
    uint32_t reserved;
    /** A switch (0 or 1) or a whole number. */
    int64_t whole;
    /** A number. */
    double number;
    /** A word or a path. */
    struct vmafx_plugin_text text;
} vmafx_plugin_option_value;

/** One option of a feature that a backend describes. */
typedef struct vmafx_plugin_option_info {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** 1 if a value other than the default becomes part of the score names, else 0. */
    uint32_t in_names;
    /** Full name. */
    struct vmafx_plugin_text name;
    /** Short name that appears in score names; empty for none. */
    struct vmafx_plugin_text alias;
    /** One sentence for people. */
    struct vmafx_plugin_text help;
    /** Value when not given; its kind is that of the option. */
    struct vmafx_plugin_option_value default_value;
    /** Smallest value of a number, whole or not. */
    double min;
    /** Largest value of a number, whole or not. A whole number lies within 32 bits. */
    double max;
} vmafx_plugin_option_info;

/** One score of a feature that a backend describes. */
typedef struct vmafx_plugin_output_info {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** Zero. */
    uint32_t reserved;
    /** The name in reports, of letters, digits and underscores. */
    struct vmafx_plugin_text name;
} vmafx_plugin_output_info;

/**
 * A feature that a backend brings along. Its values are scores of single frames, finite
 * `double`s; how they are pooled is the host's business.
 */
typedef struct vmafx_plugin_feature_info {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** VMAFX_PLUGIN_FEATURE_EVERY_FRAME or 0. */
    uint32_t flags;
    /** The name users type, of lower-case letters, digits and underscores. */
    struct vmafx_plugin_text name;
    /** One line for lists. */
    struct vmafx_plugin_text summary;
    /** Paper, standard or file that defines it. */
    struct vmafx_plugin_text source;
    /** Smallest width of a frame, in luma samples. */
    uint32_t min_width;
    /** Smallest height of a frame, in luma rows. */
    uint32_t min_height;
    /** What it reads of a frame. */
    vmafx_plugin_plane_use planes;
    /** Zero. */
    uint32_t reserved;
    /** Its options. */
    const struct vmafx_plugin_option_info *const *options;
    /** Number of options. */
    size_t option_count;
    /** Its scores, in the order of their values. */
    const struct vmafx_plugin_output_info *const *outputs;
    /** Number of scores, 1 to VMAFX_PLUGIN_MAX_OUTPUTS. */
    size_t output_count;
} vmafx_plugin_feature_info;

/** What a backend says of itself. */
typedef struct vmafx_plugin_backend_info {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /**
     * Who is asked first: backends of higher priority before those of lower, those of one
     * priority by identifier. The CPU, which takes everything, has 0.
     */
    int32_t priority;
    /** The name users type, of lower-case letters, digits and hyphens. */
    struct vmafx_plugin_text id;
    /** A name for people. */
    struct vmafx_plugin_text name;
    /** The backend's own version, as in semantic versioning. */
    struct vmafx_plugin_text version;
    /** Features that the backend brings along. */
    const struct vmafx_plugin_feature_info *const *features;
    /** Number of features. */
    size_t feature_count;
} vmafx_plugin_backend_info;

/** Where the samples of a frame are. */
typedef uint32_t vmafx_plugin_memory_kind;
/** Nowhere: a field that was not filled in. */
#define VMAFX_PLUGIN_MEMORY_KIND_NONE 0
/** Host memory. */
#define VMAFX_PLUGIN_MEMORY_KIND_HOST 1
/** A pointer of the device's own runtime. */
#define VMAFX_PLUGIN_MEMORY_KIND_DEVICE_POINTER 2
/** An array object of the device's own runtime. */
#define VMAFX_PLUGIN_MEMORY_KIND_DEVICE_ARRAY 3
/** A Linux dma-buf. */
#define VMAFX_PLUGIN_MEMORY_KIND_DMA_BUF 4
/** A Metal surface. */
#define VMAFX_PLUGIN_MEMORY_KIND_METAL_SURFACE 5
/** A Metal texture. */
#define VMAFX_PLUGIN_MEMORY_KIND_METAL_TEXTURE 6
/** A shared handle of Windows. */
#define VMAFX_PLUGIN_MEMORY_KIND_WIN32_SHARED 7
/** A texture of the current GL context. */
#define VMAFX_PLUGIN_MEMORY_KIND_GL_TEXTURE 8
/** Exported Vulkan memory. */
#define VMAFX_PLUGIN_MEMORY_KIND_VULKAN 9

/**
 * Layout of the samples of a frame. 1 to 4 are planar and equal libvmaf's; the others are
 * layouts of producers that a device may read in place or take apart on import.
 */
typedef uint32_t vmafx_plugin_pixel_format;
/** No layout: a field that was not filled in. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_NONE 0
/** Planar 4:2:0. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_YUV420P 1
/** Planar 4:2:2. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_YUV422P 2
/** Planar 4:4:4. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_YUV444P 3
/** Luma alone. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_YUV400P 4
/** 4:2:0, Cb and Cr interleaved, 8 bits. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_NV12 16
/** 4:2:0, Cb and Cr interleaved, 10 bits in the high bits of words. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_P010 17
/** 4:2:0, Cb and Cr interleaved, 16 bits. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_P016 18
/** 4:2:2, Cb and Cr interleaved, 8 bits. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_NV16 19
/** 4:2:2, Cb and Cr interleaved, 10 bits in the high bits of words. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_P210 20
/** 4:2:2, Cb and Cr interleaved, 16 bits. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_P216 21
/** 4:4:4, Cb and Cr interleaved, 8 bits. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_NV24 22
/** 4:4:4, Cb and Cr interleaved, 10 bits in the high bits of words. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_P410 23
/** 4:4:4, Cb and Cr interleaved, 16 bits. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_P416 24
/** 4:2:2 packed as words Y Cb Y Cr, 10 bits high. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_Y210 25
/** 4:4:4 packed into 32-bit words, 10 bits each. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_XV30 26
/** 4:2:2 packed as bytes Y Cb Y Cr. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_YUYV422 27
/** 4:2:2 packed as words Y Cb Y Cr, 12 bits high. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_Y212 28
/** 4:4:4 packed as bytes Cr Cb Y X. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_VUYX 29
/** 4:4:4 packed as words Cb Y Cr X, 12 bits high. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_XV36 30
/** Planar 4:4:4, 9 to 16 bits in the high bits of words. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_YUV444P16MSB 31
/** 4:4:4 packed as bytes A Y Cb Cr. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_AYUV 32
/** 4:2:2 packed as bytes Cb Y Cr Y. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_UYVY422 33
/** 4:2:2, six pixels in sixteen bytes, 10 bits. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_V210 34
/** R G B. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_RGB 35
/** R G B A. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_RGBA 36
/** B G R A. */
#define VMAFX_PLUGIN_PIXEL_FORMAT_BGRA 37

/** Shape of a frame. */
typedef struct vmafx_plugin_format {
    /** Luma samples in a row, 1 to 32768. */
    uint32_t width;
    /** Luma rows, 1 to 32768. */
    uint32_t height;
    /** Layout of the samples. Chroma sizes round up. */
    vmafx_plugin_pixel_format pixel_format;
    /**
     * Bits of a sample, 8 to 16. Samples of 8 bits are bytes, deeper ones are 16-bit words in
     * the machine's byte order with the value in the low bits.
     */
    uint32_t depth;
    /** Zero; for what the samples mean, such as their colours. */
    uint32_t reserved[4];
} vmafx_plugin_format;

/** One plane of a frame that its producer describes. Draft. */
typedef struct vmafx_plugin_import_plane {
    /** Pointer, array or texture, by memory kind. */
    uint64_t handle;
    /** File descriptor of the memory, -1 if it has none. The caller keeps it. */
    int32_t fd;
    /** Plane within the object. */
    uint32_t plane_index;
    /** Bytes from the object's start to the first row. */
    uint64_t offset;
    /** Bytes from row to row. */
    uint64_t pitch;
    /** DRM format modifier; 0 is linear. */
    uint64_t modifier;
    /** Bytes of the object as the producer states them; 0 if not stated. */
    uint64_t size;
} vmafx_plugin_import_plane;

/** What can be waited for, or signalled. */
typedef uint32_t vmafx_plugin_fence_kind;
/** No fence: the samples are there already. */
#define VMAFX_PLUGIN_FENCE_KIND_NONE 0
/** A flag in the host's library, set once. */
#define VMAFX_PLUGIN_FENCE_KIND_HOST 1
/** An event of the CUDA driver. */
#define VMAFX_PLUGIN_FENCE_KIND_CUDA_EVENT 2
/** An event of the HIP runtime. */
#define VMAFX_PLUGIN_FENCE_KIND_HIP_EVENT 3
/** An event of a SYCL queue. */
#define VMAFX_PLUGIN_FENCE_KIND_SYCL_EVENT 4
/** A Linux sync_file. */
#define VMAFX_PLUGIN_FENCE_KIND_SYNC_FILE 5
/** A Metal shared event. */
#define VMAFX_PLUGIN_FENCE_KIND_METAL_SHARED_EVENT 6
/** A shared fence of Windows. */
#define VMAFX_PLUGIN_FENCE_KIND_WIN32_SHARED 7
/** A sync object of the current GL context. */
#define VMAFX_PLUGIN_FENCE_KIND_GL_SYNC 8
/** A Vulkan semaphore. */
#define VMAFX_PLUGIN_FENCE_KIND_VULKAN_SEMAPHORE 9
/** A DRM synchronisation object, binary or timeline. */
#define VMAFX_PLUGIN_FENCE_KIND_DRM_SYNCOBJ 10

/** A fence as it crosses the boundary. Draft. */
typedef struct vmafx_plugin_fence {
    /** What it is. */
    vmafx_plugin_fence_kind kind;
    /** Descriptor of a sync_file or DRM file, else -1. */
    int32_t fd;
    /** Event, sync object or semaphore, by kind. */
    uint64_t handle;
    /** Point of a timeline. */
    uint64_t value;
} vmafx_plugin_fence;

/** A frame that its producer describes. Its memory stays as it is until the release. Draft. */
typedef struct vmafx_plugin_import_descriptor {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** Kind of memory of all planes. */
    vmafx_plugin_memory_kind memory;
    /** Shape of the frame and layout of the producer's memory. */
    struct vmafx_plugin_format format;
    /** Number of planes. */
    uint32_t plane_count;
    /** VMAFX_PLUGIN_IMPORT_ALLOW_COPY or 0. */
    uint32_t flags;
    /** The planes. */
    struct vmafx_plugin_import_plane planes[3];
    /** What to wait for before the first read, borrowed for the call. */
    struct vmafx_plugin_fence acquire;
} vmafx_plugin_import_descriptor;

/**
 * Why a call failed, in words. The caller provides it, zeroed, with `struct_size` set; a
 * null pointer says that it does not want to know. The callee fills it in when it returns a
 * negative status, as UTF-8 that ends with a zero byte.
 */
typedef struct vmafx_plugin_error {
    /** Size of the caller's struct. */
    uint32_t struct_size;
    /** Zero. */
    uint32_t reserved;
    /** The number that the device's runtime gives the failure; 0 for none. */
    int64_t code;
    /** The argument or object at fault, such as `vif` or `desc.plane[1].pitch`. */
    char subject[VMAFX_PLUGIN_SUBJECT_CAPACITY];
    /** One sentence for people: the value, the limit, what to do. */
    char message[VMAFX_PLUGIN_MESSAGE_CAPACITY];
} vmafx_plugin_error;

/**
 * How a device takes in frames that it does not own. Draft: the host uses it only if
 * `draft` is the host's own VMAFX_PLUGIN_DRAFT.
 */
typedef struct vmafx_plugin_import {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** The writer's VMAFX_PLUGIN_DRAFT. */
    uint32_t draft;
    /**
     * Makes a frame of the producer's memory. Nothing is copied through the host. Writes the
     * frame and the shape that an extractor will see.
     */
    vmafx_plugin_status (*frame_import)(struct vmafx_plugin_device_object *device,
                                        const struct vmafx_plugin_import_descriptor *descriptor,
                                        struct vmafx_plugin_device_frame_object **frame,
                                        struct vmafx_plugin_format *format,
                                        struct vmafx_plugin_error *error);
    /** Drops the host's reference. The release fences tell when the device has read it last. */
    void (*frame_release)(struct vmafx_plugin_device_frame_object *frame);
    /** A fence of `kind` that is signalled after the last read. */
    vmafx_plugin_status (*frame_release_fence)(struct vmafx_plugin_device_frame_object *frame,
                                               vmafx_plugin_fence_kind kind,
                                               struct vmafx_plugin_fence *fence,
                                               struct vmafx_plugin_error *error);
    /** OK if the fence is signalled, PENDING if not; a negative status if its work failed. */
    vmafx_plugin_status (*fence_poll)(struct vmafx_plugin_device_object *device,
                                      const struct vmafx_plugin_fence *fence,
                                      struct vmafx_plugin_error *error);
    /** Waits on the host for at most `timeout_ns`; TIMEOUT when the time ran out. */
    vmafx_plugin_status (*fence_wait)(struct vmafx_plugin_device_object *device,
                                      const struct vmafx_plugin_fence *fence,
                                      uint64_t timeout_ns,
                                      struct vmafx_plugin_error *error);
    /** Makes a fence of `kind` that is signalled when `fence` is. */
    vmafx_plugin_status (*fence_export)(struct vmafx_plugin_device_object *device,
                                        const struct vmafx_plugin_fence *fence,
                                        vmafx_plugin_fence_kind kind,
                                        struct vmafx_plugin_fence *exported,
                                        struct vmafx_plugin_error *error);
    /** Drops a fence that a function of this table made, once. */
    void (*fence_destroy)(struct vmafx_plugin_device_object *device,
                          struct vmafx_plugin_fence *fence);
} vmafx_plugin_import;

/** A set of memory kinds: bit `k` is the kind of number `k`. */
typedef uint64_t vmafx_plugin_memory_kinds;

/** A set of fence kinds: bit `k` is the kind of number `k`. */
typedef uint64_t vmafx_plugin_fence_kinds;

/** What a device says of itself. */
typedef struct vmafx_plugin_device_info {
    /** Size of the caller's struct. */
    uint32_t struct_size;
    /** Zero. */
    uint32_t reserved;
    /** Kinds of memory whose frames the device reads. */
    vmafx_plugin_memory_kinds memory_kinds;
    /** Kinds of fence that are waited for before the first read. */
    vmafx_plugin_fence_kinds acquire_kinds;
    /** Those of `acquire_kinds` that the device waits for itself; for the others the host waits. */
    vmafx_plugin_fence_kinds acquire_on_device;
    /** Kinds of fence that can be signalled after the last read. */
    vmafx_plugin_fence_kinds release_kinds;
    /** Those of `release_kinds` that the device signals itself. */
    vmafx_plugin_fence_kinds release_on_device;
    /** Bytes of memory; 0 if unknown. */
    uint64_t total_memory;
    /** PCI domain, bus, device and function; all bits set if unknown. */
    uint32_t pci[4];
    /** A name for people. */
    char name[VMAFX_PLUGIN_NAME_CAPACITY];
    /** Instruction set in use, such as `portable` or the name of a GPU target. */
    char isa[VMAFX_PLUGIN_ISA_CAPACITY];
} vmafx_plugin_device_info;

/** One option with its value in force. */
typedef struct vmafx_plugin_option_setting {
    /** Full name of the option. */
    struct vmafx_plugin_text name;
    /** Its value. */
    struct vmafx_plugin_option_value value;
} vmafx_plugin_option_setting;

/** Which device to open, and how. */
typedef struct vmafx_plugin_device_descriptor {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** Number of the device, below the answer of vmafx_plugin_backend.device_count. */
    uint32_t index;
    /** Zero. */
    uint32_t flags;
    /** Zero. */
    uint32_t reserved;
    /**
     * Objects of the backend's runtime that the caller owns, such as a stream or a context, and
     * that outlive the device; 0 for none.
     */
    size_t external[2];
    /** Options of the backend. A name that it does not know is refused. */
    const struct vmafx_plugin_option_setting *options;
    /** Number of options. */
    size_t option_count;
} vmafx_plugin_device_descriptor;

/** A feature with every option stated, defaults included. */
typedef struct vmafx_plugin_feature_request {
    /** Name of the feature. */
    struct vmafx_plugin_text feature;
    /** Its options. */
    const struct vmafx_plugin_option_setting *options;
    /** Number of options. */
    size_t option_count;
    /**
     * Number of the definition that the host knows, raised when values get another meaning: who
     * has another one refuses. 0 for a feature that the backend describes itself.
     */
    uint32_t definition;
    /** Zero. */
    uint32_t reserved;
} vmafx_plugin_feature_request;

/** A set of layouts: bit `k` is the layout of number `k`. */
typedef uint64_t vmafx_plugin_pixel_formats;
/** The four planar layouts. */
#define VMAFX_PLUGIN_PIXEL_FORMATS_PLANAR 30

/** How a device can read a feature's frames. */
typedef struct vmafx_plugin_support {
    /** Size of the caller's struct. */
    uint32_t struct_size;
    /** Zero. */
    uint32_t reserved;
    /** Kinds of memory whose frames are read in place or uploaded. */
    vmafx_plugin_memory_kinds memory_kinds;
    /** Layouts that are read in place. */
    vmafx_plugin_pixel_formats pixel_formats;
} vmafx_plugin_support;

/** What an extractor is to compute for every frame it is given. */
typedef struct vmafx_plugin_plan_request {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** Zero. */
    uint32_t reserved;
    /** Shape of every frame of the clip. */
    struct vmafx_plugin_format format;
    /** Features, in the order of their values. */
    const struct vmafx_plugin_feature_request *features;
    /** Number of features. */
    size_t feature_count;
} vmafx_plugin_plan_request;

/** What a device says of a plan that it made ready. */
typedef struct vmafx_plugin_extractor_info {
    /** Size of the caller's struct. */
    uint32_t struct_size;
    /** Values of one frame: those of each feature, features in the plan's order. */
    uint32_t columns;
    /** How many earlier frames a job must carry, at most VMAFX_PLUGIN_MAX_HISTORY. */
    uint32_t history;
    /**
     * How many jobs the device wants submitted before the first is collected, to be busy all
     * the time; 0 and 1 say that one is enough.
     */
    uint32_t in_flight;
    /** Bytes of the device's memory that the plan holds; 0 if unknown. */
    uint64_t memory_bytes;
} vmafx_plugin_extractor_info;

/** A plane in host memory. */
typedef struct vmafx_plugin_plane {
    /** First sample of the first row, aligned to its size. */
    const void *data;
    /** Bytes from row to row, a multiple of the size of a sample. */
    uint64_t stride_bytes;
    /** Samples in a row. */
    uint32_t width;
    /** Rows. */
    uint32_t height;
} vmafx_plugin_plane;

/**
 * A frame that the host lends for the length of a call. Nobody changes its samples. Who
 * needs it for longer copies this struct and calls `retain` before the call returns, and
 * `release` once for every `retain`, from any thread and holding no lock: the last
 * `release` of a device's frame calls vmafx_plugin_import.frame_release.
 */
typedef struct vmafx_plugin_frame {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** Where the samples are. */
    vmafx_plugin_memory_kind memory;
    /** Shape of the frame; its layout is planar. */
    struct vmafx_plugin_format format;
    /**
     * Planes in host memory: as many as the layout has; all zero if `memory` is of another
     * kind.
     */
    struct vmafx_plugin_plane planes[3];
    /**
     * The device's frame if `memory` is not the host's and the frame was made by this backend,
     * else null.
     */
    struct vmafx_plugin_device_frame_object *device_frame;
    /** For `retain` and `release`. */
    const struct vmafx_plugin_frame_object *object;
    /** Keeps the samples. */
    void (*retain)(const struct vmafx_plugin_frame_object *object);
    /** Gives the samples back. */
    void (*release)(const struct vmafx_plugin_frame_object *object);
} vmafx_plugin_frame;

/** A reference frame and what is scored against it. */
typedef struct vmafx_plugin_frame_pair {
    /** The original. */
    const struct vmafx_plugin_frame *reference;
    /** What is scored. */
    const struct vmafx_plugin_frame *distorted;
} vmafx_plugin_frame_pair;

/** One frame to score. */
typedef struct vmafx_plugin_job {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** Number of `earlier` frames. */
    uint32_t earlier_count;
    /** Number of the frame in the scored clip, from 0. */
    uint64_t index;
    /** The frame itself. */
    struct vmafx_plugin_frame_pair pair;
    /**
     * Earlier frames, the nearest first: at least as many as
     * vmafx_plugin_extractor_info.history, fewer only at the start of the clip.
     */
    const struct vmafx_plugin_frame_pair *earlier;
} vmafx_plugin_job;

/**
 * A backend: what it is, and its functions. The plugin owns the table, which lives as long
 * as the process. `object` and devices may be used from any thread at once. The host closes
 * a device when all that was made of it is gone.
 */
typedef struct vmafx_plugin_backend {
    /** Size of the writer's struct. */
    uint32_t struct_size;
    /** Zero. */
    uint32_t reserved;
    /** First argument of the functions of the backend itself; may be null. */
    struct vmafx_plugin_backend_object *object;
    /** What the backend is. */
    const struct vmafx_plugin_backend_info *info;
    /** How its devices take in frames of others; null if they do not. Draft. */
    const struct vmafx_plugin_import *import;
    /**
     * Counts the devices present, which may be none. NOT_FOUND says why there is none on this
     * machine, such as a runtime that is not installed: users who ask are told, nobody is
     * warned. Required.
     */
    vmafx_plugin_status (*device_count)(struct vmafx_plugin_backend_object *object,
                                        uint32_t *count,
                                        struct vmafx_plugin_error *error);
    /** Describes device `index` without opening it. Required. */
    vmafx_plugin_status (*device_info)(struct vmafx_plugin_backend_object *object,
                                       uint32_t index,
                                       struct vmafx_plugin_device_info *info,
                                       struct vmafx_plugin_error *error);
    /** Opens a device, and describes it as it was opened. Required. */
    vmafx_plugin_status (*device_open)(struct vmafx_plugin_backend_object *object,
                                       const struct vmafx_plugin_device_descriptor *descriptor,
                                       struct vmafx_plugin_device_object **device,
                                       struct vmafx_plugin_device_info *info,
                                       struct vmafx_plugin_error *error);
    /** Closes a device. Required. */
    void (*device_close)(struct vmafx_plugin_device_object *device);
    /**
     * Whether the device computes a feature for frames of a format, and if so how. NOT_FOUND
     * says that it knows no such feature, which is nothing to tell a user of. Required.
     */
    vmafx_plugin_status (*device_supports)(struct vmafx_plugin_device_object *device,
                                           const struct vmafx_plugin_feature_request *feature,
                                           const struct vmafx_plugin_format *format,
                                           struct vmafx_plugin_support *support,
                                           struct vmafx_plugin_error *error);
    /** Makes a plan ready. Required. */
    vmafx_plugin_status (*device_prepare)(struct vmafx_plugin_device_object *device,
                                          const struct vmafx_plugin_plan_request *plan,
                                          struct vmafx_plugin_extractor_object **extractor,
                                          struct vmafx_plugin_extractor_info *info,
                                          struct vmafx_plugin_error *error);
    /** Drops a plan. Work under way is waited for. Required. */
    void (*extractor_destroy)(struct vmafx_plugin_extractor_object *extractor);
    /**
     * Whether the extractor can read a frame where it is. Asked for every frame before it is
     * accepted into a run. If null, frames in host memory are read and no others.
     */
    vmafx_plugin_status (*extractor_admits)(struct vmafx_plugin_extractor_object *extractor,
                                            const struct vmafx_plugin_frame *frame,
                                            struct vmafx_plugin_error *error);
    /** Starts the work on one frame and names it by a ticket. Jobs come in any order. Required. */
    vmafx_plugin_status (*extractor_submit)(struct vmafx_plugin_extractor_object *extractor,
                                            const struct vmafx_plugin_job *job,
                                            uint64_t *ticket,
                                            struct vmafx_plugin_error *error);
    /**
     * Waits for a job and writes its values: each is the bits of a `double`, or an unsigned
     * count where the feature's definition says so. `count` is
     * vmafx_plugin_extractor_info.columns. Whatever comes back, the ticket is spent, and
     * refused if it comes again. Tickets that are never collected end with the extractor.
     * Required.
     */
    vmafx_plugin_status (*extractor_collect)(struct vmafx_plugin_extractor_object *extractor,
                                             uint64_t ticket,
                                             uint64_t *values,
                                             size_t count,
                                             struct vmafx_plugin_error *error);
    /**
     * Experiments, outside every promise: a table of the plugin's own by name and revision, or
     * null.
     */
    const void *(*query)(struct vmafx_plugin_backend_object *object,
                         struct vmafx_plugin_text name,
                         uint32_t revision);
    /**
     * Counts the frames that the extractor computed again since it was made, because work on
     * them was lost on the device. Their values are right all the same; the host tells users of
     * them. Null says that none ever is. Came with revision 2.
     */
    uint64_t (*extractor_repeats)(struct vmafx_plugin_extractor_object *extractor);
} vmafx_plugin_backend;

/** What a plugin says of itself. The host provides it, zeroed, with `struct_size` set. */
typedef struct vmafx_plugin {
    /** Size of the host's struct. */
    uint32_t struct_size;
    /** The revision that both sides use: the smaller of vmafx_host.abi_max and the plugin's own. */
    uint32_t abi_chosen;
    /** The plugin's own version, as in semantic versioning. */
    struct vmafx_plugin_text version;
    /** Its licence, as an SPDX expression. */
    struct vmafx_plugin_text license;
    /** Tables of its backends. */
    const struct vmafx_plugin_backend *const *backends;
    /** Number of backends. */
    size_t backend_count;
    /**
     * Joins the plugin's threads and releases its devices before the process ends. May be
     * called more than once. Null if there is nothing to do.
     */
    void (*quiesce)(void);
} vmafx_plugin;

/**
 * The plugin's entry. Called once, under the loader's lock, never again and never in
 * parallel with another plugin's. It must not touch a device: what it finds is told by
 * vmafx_plugin_backend.device_count. Answers OK, or ABI if it shares no revision with the
 * host.
 */
typedef vmafx_plugin_status (*vmafx_plugin_entry)(const struct vmafx_host *host,
                                                  struct vmafx_plugin *plugin);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/** The entry of a plugin: see vmafx_plugin_entry. */
VMAFX_PLUGIN_EXPORT
vmafx_plugin_status vmafx_plugin_entry_v1(const struct vmafx_host *host,
                                          struct vmafx_plugin *plugin);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* VMAFX_PLUGIN_H */
