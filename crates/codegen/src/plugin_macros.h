
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
