/* A program that registers two device images, in versions 2 and 3 of the runtime's structs. */
#include <stdint.h>

#ifdef _WIN32
#define SECTION ".section \"__CLANG_OFFLOAD_BUNDLE__sycl-spir64\",\"dr\"\n"
#else
#define SECTION ".section __CLANG_OFFLOAD_BUNDLE__sycl-spir64,\"a\"\n"
#endif
__asm__(SECTION "first:\n.incbin \"export_side.spv\"\nfirst_end:\n.balign 16\n"
                "second:\n.incbin \"import_side.spv\"\nsecond_end:\n.text\n");
extern const char first[] __attribute__((visibility("hidden")));
extern const char first_end[] __attribute__((visibility("hidden")));
extern const char second[] __attribute__((visibility("hidden")));
extern const char second_end[] __attribute__((visibility("hidden")));

struct property { const char *name; const void *value; uint32_t type; uint64_t size; };
struct set { const char *name; const struct property *begin, *end; };

/* The number of bits, and the bytes. */
static const uint8_t aspects[] = {64, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0};
static const uint8_t mask[] = {3, 0, 0, 0, 0, 0, 0, 0, 4};
static const struct property requirements[] = {{"aspects", aspects, 2, sizeof aspects}};
static const struct property misc[] = {{"optLevel", 0, 1, 3}};
static const struct property removed[] = {{"__sycl_kernel_apply", mask, 2, sizeof mask}};
static const struct set of_first[] = {{"SYCL/device requirements", requirements, requirements + 1},
                                      {"SYCL/misc properties", misc, misc + 1}};
static const struct set of_second[] = {{"SYCL/kernel param opt", removed, removed + 1}};

struct version2 {
    uint16_t version; uint8_t kind, format;
    const char *target, *compile, *link, *manifest, *manifest_end, *image, *image_end;
    const void *entries, *entries_end;
    const struct set *sets, *sets_end;
};
struct version3 {
    uint16_t version; uint8_t kind, format;
    const char *target, *compile, *link, *image, *image_end;
    const void *entries, *entries_end;
    const struct set *sets, *sets_end;
};
__attribute__((used)) static const struct version2 image2 = {
    2, 4, 0, "spir64", "-cl-opt-disable", "", 0, 0, first, first_end, 0, 0, of_first, of_first + 2};
__attribute__((used)) static const struct version3 image3 = {
    3, 4, 0, "spir64", "", "", second, second_end, 0, 0, of_second, of_second + 1};
