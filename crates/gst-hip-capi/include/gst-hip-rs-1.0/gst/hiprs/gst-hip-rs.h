/* gst-hip-rs.h: HIP memory, devices, streams and pools in GStreamer, for C.
 *
 * Generated from the Rust sources: cargo run -p gst-hip-capi --example header. Do not edit.
 *
 * Functions may be called from any thread and take null: what cannot be done without an object
 * fails. A GError ** is NULL or points at NULL; errors are of domain gst_hip_rs_error_quark(), their
 * codes the GST_HIP_RS_... states below. Start with gst_hip_rs_init().
 *
 * The structures cross between copies of the library in one process, which may be of different
 * builds: see size and abi_version. Programs use the functions; function tables are for
 * those who make such memory themselves.
 */

#ifndef GST_HIP_RS_H
#define GST_HIP_RS_H


#include <stddef.h>
#include <stdint.h>

#include <gst/gst.h>
#include <gst/video/video.h>

/*
 Version of everything here. Another version is another, unknown, layout.
 */
#define GST_HIP_RS_ABI_VERSION 1

/*
 What stands behind the GstMemory of HIP memory: "GstHipRs" as a big-endian number.
 */
#define GST_HIP_RS_MAGIC 5148586653370045043

/*
 Memory is on the device.
 */
#define GST_HIP_RS_KIND_DEVICE 0

/*
 Memory is page-locked CPU memory.
 */
#define GST_HIP_RS_KIND_PINNED 1

/*
 GstHipRsMemory.flags: a CPU map shows the bytes that the device works on.
 */
#define GST_HIP_RS_MEMORY_HOST_ADDRESSABLE 1

/*
 The work reads the bytes.
 */
#define GST_HIP_RS_ACCESS_READ 0

/*
 The work writes some of the bytes; the others are kept.
 */
#define GST_HIP_RS_ACCESS_WRITE 1

/*
 The work writes all bytes that matter; what the CPU wrote before is not uploaded first.
 */
#define GST_HIP_RS_ACCESS_OVERWRITE 2

/*
 GstHipRsAccess.flags: the stream means nothing to the memory's owner. The owner has waited
 for earlier work; whoever ends the access has first waited for its own.
 */
#define GST_HIP_RS_ACCESS_CPU_ORDERED 1

/*
 GstHipRsDevice.flags: uuid is set.
 */
#define GST_HIP_RS_DEVICE_HAS_UUID 1

/*
 GstHipRsDevice.flags: the pci_* fields are set.
 */
#define GST_HIP_RS_DEVICE_HAS_PCI 2

/*
 GstHipRsDevice.flags: device memory is the CPU's own.
 */
#define GST_HIP_RS_DEVICE_HOST_ADDRESSABLE 4

/*
 GstHipRsDevice.flags: the context is the device's primary one.
 */
#define GST_HIP_RS_DEVICE_PRIMARY 8

/*
 Done.
 */
#define GST_HIP_RS_OK 0

/*
 Somebody holds the memory in a way that the access would race with.
 */
#define GST_HIP_RS_BUSY 1

/*
 The stream is of another device or context than the memory.
 */
#define GST_HIP_RS_WRONG_DEVICE 2

/*
 An argument makes no sense.
 */
#define GST_HIP_RS_INVALID 3

/*
 There is no room.
 */
#define GST_HIP_RS_OUT_OF_MEMORY 4

/*
 The device is gone.
 */
#define GST_HIP_RS_DEVICE_LOST 5

/*
 The device or library cannot do this.
 */
#define GST_HIP_RS_UNSUPPORTED 6

/*
 There is no such device.
 */
#define GST_HIP_RS_NO_DEVICE 7

/*
 Anything else; the text says what.
 */
#define GST_HIP_RS_FAILED 8

/*
 A point on a stream. Counted.
 */
typedef struct GstHipRsEvent GstHipRsEvent;

/*
 A queue of device work, done in order. Counted.
 */
typedef struct GstHipRsStream GstHipRsStream;

/*
 What the owner of a GstHipRsDevice does for others. All of it from any thread.
 */
typedef struct GstHipRsDeviceVTable {
  /*
   Bytes of the structure.
   */
  uint32_t size;
  /*
   GST_HIP_RS_ABI_VERSION.
   */
  uint32_t abi_version;
  /*
   Adds a reference; gives its argument. The context lives as long as there is one.
   */
  const struct GstHipRsDevice *(*retain)(const struct GstHipRsDevice*);
  /*
   Gives a reference back.
   */
  void (*release)(const struct GstHipRsDevice*);
} GstHipRsDeviceVTable;

/*
 A device and one of its contexts. Counted by its owner through vtable; never changes.
 */
typedef struct GstHipRsDevice {
  /*
   Bytes of the structure.
   */
  uint32_t size;
  /*
   GST_HIP_RS_ABI_VERSION.
   */
  uint32_t abi_version;
  /*
   The owner's functions.
   */
  const struct GstHipRsDeviceVTable *vtable;
  /*
   1 AMD, 2 NVIDIA, 3 Host.
   */
  uint32_t vendor;
  /*
   Its number among the vendor's in this process.
   */
  uint32_t ordinal;
  /*
   Handles of two devices mean the same only where this is equal: it tells the vendor's
   library as it is loaded, or, on Host, whose threads do the work.
   */
  uint64_t library;
  /*
   CUcontext; on AMD the ordinal plus one. Null means nothing here.
   */
  void *context;
  /*
   GST_HIP_RS_DEVICE_HAS_UUID and so on.
   */
  uint32_t flags;
  /*
   PCI segment.
   */
  uint32_t pci_domain;
  /*
   PCI bus.
   */
  uint8_t pci_bus;
  /*
   PCI device.
   */
  uint8_t pci_device;
  /*
   PCI function.
   */
  uint8_t pci_function;
  /*
   Zero.
   */
  uint8_t reserved;
  /*
   The UUID.
   */
  uint8_t uuid[16];
  /*
   What it is called, for people: UTF-8, with a zero byte at its end.
   */
  char name[128];
} GstHipRsDevice;

/*
 Leave to enqueue work on a memory's bytes, on one stream.
 */
typedef struct GstHipRsAccess {
  /*
   Bytes of the structure, set by the caller.
   */
  uint32_t size;
  /*
   GST_HIP_RS_ABI_VERSION.
   */
  uint32_t abi_version;
  /*
   The first byte of the memory object on the device; 0 for pinned memory.
   */
  uint64_t device_ptr;
  /*
   The first byte for copies from and to the CPU; null where the CPU cannot address it.
   */
  void *host_ptr;
  /*
   Bytes that may be touched.
   */
  uint64_t len;
  /*
   GST_HIP_RS_ACCESS_CPU_ORDERED.
   */
  uint32_t flags;
  /*
   Zero.
   */
  uint32_t reserved;
  /*
   The owner's. It keeps the bytes alive, not the memory object.
   */
  void *token;
} GstHipRsAccess;

/*
 A stream, told to another copy for the time of one call or access.
 */
typedef struct GstHipRsStreamDesc {
  /*
   Bytes of the structure.
   */
  uint32_t size;
  /*
   GST_HIP_RS_ABI_VERSION.
   */
  uint32_t abi_version;
  /*
   As GstHipRsDevice.library.
   */
  uint64_t library;
  /*
   As GstHipRsDevice.context.
   */
  void *context;
  /*
   CUstream or hipStream_t; on Host of no use to others.
   */
  void *stream;
  /*
   Tells copies of the library apart.
   */
  uint64_t copy;
  /*
   Tells the copy's streams apart; never used twice, unlike handles.
   */
  uint64_t id;
} GstHipRsStreamDesc;

/*
 Why a call failed; the caller's, filled in by the callee where a call does not give
 GST_HIP_RS_OK.
 */
typedef struct GstHipRsError {
  /*
   Bytes of the structure, set by the caller.
   */
  uint32_t size;
  /*
   GST_HIP_RS_ABI_VERSION.
   */
  uint32_t abi_version;
  /*
   GST_HIP_RS_BUSY and so on.
   */
  int32_t status;
  /*
   UTF-8, cut off where it is too long, always with a zero byte at its end.
   */
  char message[244];
} GstHipRsError;

/*
 What the owner of a memory does for others. All of it from any thread. CPU maps, copies and
 sub-memories go through the functions of the memory's GstAllocator, which is the owner's too.
 */
typedef struct GstHipRsMemoryVTable {
  /*
   Bytes of the structure.
   */
  uint32_t size;
  /*
   GST_HIP_RS_ABI_VERSION.
   */
  uint32_t abi_version;
  /*
   Ends a memory object that nobody refers to. Here in every version.
   */
  void (*free)(GstMemory*);
  /*
   The device; the reference is the memory's.
   */
  const struct GstHipRsDevice *(*device)(const GstMemory*);
  /*
   Orders the stream behind what the access must not overtake and fills in the access; gives a
   status. Waits for nothing but as GST_HIP_RS_ACCESS_CPU_ORDERED says. The stream lives
   until the access is ended. The error may be null.
   */
  int32_t (*begin_access)(const GstMemory*,
                          uint32_t,
                          const struct GstHipRsStreamDesc*,
                          struct GstHipRsAccess*,
                          struct GstHipRsError*);
  /*
   The work is enqueued: the owner records an event of its own behind it. Once for each access
   that was begun; the memory object may be gone.
   */
  void (*end_access)(struct GstHipRsAccess*);
  /*
   The stream that maps for the device are ordered on, alive as long as the memory.
   */
  int32_t (*map_stream)(const GstMemory*, struct GstHipRsStreamDesc*, struct GstHipRsError*);
} GstHipRsMemoryVTable;

/*
 A memory object of type GstHipRsAllocator. The first four fields stay where they are in
 every version, so that any copy can tell whether it may look further.
 */
typedef struct GstHipRsMemory {
  /*
   GStreamer's part.
   */
  GstMemory memory;
  /*
   GST_HIP_RS_MAGIC.
   */
  uint64_t magic;
  /*
   GST_HIP_RS_ABI_VERSION.
   */
  uint32_t abi_version;
  /*
   GST_HIP_RS_KIND_DEVICE or GST_HIP_RS_KIND_PINNED.
   */
  uint32_t kind;
  /*
   The owner's functions.
   */
  const struct GstHipRsMemoryVTable *vtable;
  /*
   The allocation, which is the owner's business. Two objects with equal vtable and data
   show the same one.
   */
  void *data;
  /*
   GST_HIP_RS_MEMORY_HOST_ADDRESSABLE.
   */
  uint32_t flags;
  /*
   Zero.
   */
  uint32_t reserved;
} GstHipRsMemory;

/*
 What the copy that made a pool does when the class is asked.
 */
typedef struct GstHipRsPoolVTable {
  /*
   Bytes of the structure.
   */
  uint32_t size;
  /*
   GST_HIP_RS_ABI_VERSION.
   */
  uint32_t abi_version;
  /*
   The device; the reference is the pool's.
   */
  const struct GstHipRsDevice *(*device)(const GstBufferPool*);
  /*
   Takes note of a configuration and raises its size; the class hands it to GStreamer then.
   */
  gboolean (*set_config)(GstBufferPool*, GstStructure*);
  /*
   GstBufferPoolClass.alloc_buffer.
   */
  GstFlowReturn (*alloc_buffer)(GstBufferPool*, GstBuffer**, GstBufferPoolAcquireParams*);
  /*
   Gives back data.
   */
  void (*finalize)(GstBufferPool*);
} GstHipRsPoolVTable;

/*
 A pool of type GstHipRsBufferPool. Never grows within a version: the copy that registered the
 type fixed the size of every pool in the process.
 */
typedef struct GstHipRsPool {
  /*
   GStreamer's part.
   */
  GstBufferPool pool;
  /*
   The functions of the copy that made it; null until it has filled them in.
   */
  const struct GstHipRsPoolVTable *vtable;
  /*
   That copy's.
   */
  void *data;
  /*
   GST_HIP_RS_KIND_DEVICE or GST_HIP_RS_KIND_PINNED.
   */
  uint32_t kind;
  /*
   Zero.
   */
  uint32_t reserved;
} GstHipRsPool;

/*
 The class of GstHipRsPool: its functions go to the pool's own vtable.
 */
typedef struct GstHipRsPoolClass {
  /*
   GStreamer's part.
   */
  GstBufferPoolClass parent_class;
} GstHipRsPoolClass;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The library's version; any of the addresses may be null.

 # Safety
 For this and every function of the library: a pointer is null or to what its type says, alive
 while the function runs, and an address to write to is the caller's. A GError ** is null or
 points at null.
 */
void gst_hip_rs_version(unsigned int *major, unsigned int *minor, unsigned int *micro);

/*
 The version of the structures, GST_HIP_RS_ABI_VERSION of the library as it runs.
 */
uint32_t gst_hip_rs_abi_version(void);

/*
 Starts GStreamer if nobody did, sends the library's messages to GST_DEBUG and looks at the
 environment (GST_HIP_DEVICE and its kin). Opens no vendor's library. Calling it again changes
 nothing.
 */
gboolean gst_hip_rs_init(GError **error);

/*
 GType of the boxed GstHipRsDevice.
 */
GType gst_hip_rs_device_get_type(void);

/*
 GType of the buffer pool.
 */
GType gst_hip_rs_buffer_pool_get_type(void);

/*
 A context that carries the device, for gst_element_set_context.

 Returns: (transfer full): the context, null on failure.
 */
GstContext *gst_hip_rs_context_new(const struct GstHipRsDevice *device, GError **error);

/*
 The device in a context, whichever copy of the library made it.

 Returns: (transfer full): the device, null if the context carries none that can be used.
 */
const struct GstHipRsDevice *gst_hip_rs_context_get_device(GstContext *context);

/*
 For an element that needs a device, at NULL to READY: keeps *device if it is what text asks
 for (as for gst_hip_rs_device_open()), else asks neighbours and application, else opens
 one and tells them. No lock may be held that the element's set_context or query takes.

 device: (inout) (transfer full): points at a device or at null.
 */
gboolean gst_hip_rs_ensure_device(GstElement *element,
                                  const char *text,
                                  const struct GstHipRsDevice **device,
                                  GError **error);

/*
 For an element's set_context, which chains up afterwards: takes the context's device if it is
 one, is what text asks for, and none is in use. True if *device is now the context's device.

 device: (inout) (transfer full): points at a device or at null.
 */
gboolean gst_hip_rs_handle_set_context(GstElement *element,
                                       GstContext *context,
                                       const char *text,
                                       const struct GstHipRsDevice **device);

/*
 For an element's query: answers a neighbour that asks for a device. True if it did.
 */
gboolean gst_hip_rs_handle_context_query(GstQuery *query, const struct GstHipRsDevice *device);

/*
 Opens a device: auto, nvidia, amd:1, host, a number, a PCI address, a UUID or a render
 node; null for GST_HIP_DEVICE, else the best there is. What was asked for by name is given or
 not, never another.

 Returns: (transfer full): the device, null on failure. Its fields say what it is.
 */
const struct GstHipRsDevice *gst_hip_rs_device_open(const char *text, GError **error);

/*
 Adds a reference; gives its argument, which may be null.
 */
const struct GstHipRsDevice *gst_hip_rs_device_ref(const struct GstHipRsDevice *device);

/*
 Gives a reference back. Memory and streams of the device keep it open by themselves.
 */
void gst_hip_rs_device_unref(const struct GstHipRsDevice *device);

/*
 Whether two handles stand for the same device and context here. False where either is null.
 */
gboolean gst_hip_rs_device_equal(const struct GstHipRsDevice *one,
                                 const struct GstHipRsDevice *other);

/*
 The domain of the library's errors; their codes are GST_HIP_RS_BUSY and so on.
 */
GQuark gst_hip_rs_error_quark(void);

/*
 size bytes on the device (GST_HIP_RS_KIND_DEVICE) or in pinned CPU memory
 (GST_HIP_RS_KIND_PINNED), not initialised.

 Returns: (transfer full): the memory, null on failure.
 */
GstMemory *gst_hip_rs_memory_new(const struct GstHipRsDevice *device,
                                 uint32_t kind,
                                 size_t size,
                                 GError **error);

/*
 A buffer of one memory for a video frame, in the layout the device likes, which its
 GstVideoMeta says.

 Returns: (transfer full): the buffer, null on failure.
 */
GstBuffer *gst_hip_rs_buffer_new_video(const struct GstHipRsDevice *device,
                                       uint32_t kind,
                                       const GstVideoInfo *info,
                                       GError **error);

/*
 A pool of buffers of one memory each, configured and activated as any pool.

 Returns: (transfer full): the pool, null on failure.
 */
GstBufferPool *gst_hip_rs_buffer_pool_new(const struct GstHipRsDevice *device,
                                          uint32_t kind,
                                          GError **error);

/*
 Whether the memory is HIP memory that can be used here, whichever copy of the library made it.
 */
gboolean gst_hip_rs_memory_is_hip(const GstMemory *memory);

/*
 GST_HIP_RS_KIND_DEVICE or GST_HIP_RS_KIND_PINNED; -1 if it is not HIP memory.
 */
int32_t gst_hip_rs_memory_get_kind(const GstMemory *memory);

/*
 The memory's device.

 Returns: (transfer full): the device, null if it is not HIP memory.
 */
const struct GstHipRsDevice *gst_hip_rs_memory_get_device(const GstMemory *memory);

/*
 Begins work on a memory's bytes, on one stream, with the vendor's own calls, say: the stream
 waits for what the work must not overtake, the thread does not. access is filled in
 with the address; gst_hip_rs_access_end() follows once the work is enqueued. The caller sets
 access->size.
 */
gboolean gst_hip_rs_memory_begin_access(const GstMemory *memory,
                                        uint32_t mode,
                                        const struct GstHipRsStream *stream,
                                        struct GstHipRsAccess *access,
                                        GError **error);

/*
 Ends an access: later accesses, CPU maps and the next user of a pool's buffer wait for the work
 enqueued so far. Null, or an access that was ended, is no error.
 */
void gst_hip_rs_access_end(struct GstHipRsAccess *access);

/*
 Enqueues a copy of all bytes of one memory to another as long, pinned or on the device, and
 returns. Later users of both wait for it by themselves.
 */
gboolean gst_hip_rs_memory_copy_async(GstMemory *destination,
                                      const GstMemory *source,
                                      const struct GstHipRsStream *stream,
                                      GError **error);

/*
 A stream that does not wait for the default stream.

 Returns: (transfer full): the stream, null on failure.
 */
const struct GstHipRsStream *gst_hip_rs_stream_new(const struct GstHipRsDevice *device,
                                                   GError **error);

/*
 Adds a reference; gives its argument, which may be null.
 */
const struct GstHipRsStream *gst_hip_rs_stream_ref(const struct GstHipRsStream *stream);

/*
 Gives a reference back; work on the stream still finishes.
 */
void gst_hip_rs_stream_unref(const struct GstHipRsStream *stream);

/*
 Blocks until all work on the stream is done.
 */
gboolean gst_hip_rs_stream_synchronize(const struct GstHipRsStream *stream, GError **error);

/*
 Fills in what the stream is: its stream is the vendor's handle, for calls of the vendor's
 library. Good while the stream lives. The caller sets description->size.
 */
gboolean gst_hip_rs_stream_describe(const struct GstHipRsStream *stream,
                                    struct GstHipRsStreamDesc *description,
                                    GError **error);

/*
 An event after the work enqueued so far.

 Returns: (transfer full): the event, null on failure.
 */
const struct GstHipRsEvent *gst_hip_rs_stream_record(const struct GstHipRsStream *stream,
                                                     GError **error);

/*
 Later work on the stream waits for the event, on the device.
 */
gboolean gst_hip_rs_stream_wait(const struct GstHipRsStream *stream,
                                const struct GstHipRsEvent *event,
                                GError **error);

/*
 Calls notify(data) once all work enqueued so far is done, or has failed, on a thread of the
 library's; the calling thread does not wait. On failure it is called before this returns.
 */
gboolean gst_hip_rs_stream_notify(const struct GstHipRsStream *stream,
                                  GDestroyNotify notify,
                                  void *data,
                                  GError **error);

/*
 Whether the work before the event is done; false with an error if it failed.
 */
gboolean gst_hip_rs_event_is_done(const struct GstHipRsEvent *event, GError **error);

/*
 Blocks until the work before the event is done.
 */
gboolean gst_hip_rs_event_synchronize(const struct GstHipRsEvent *event, GError **error);

/*
 Adds a reference; gives its argument, which may be null.
 */
const struct GstHipRsEvent *gst_hip_rs_event_ref(const struct GstHipRsEvent *event);

/*
 Gives a reference back.
 */
void gst_hip_rs_event_unref(const struct GstHipRsEvent *event);

/*
 The domain of the library's errors; their codes are GST_HIP_RS_BUSY and so on.
 */
GQuark gst_hip_rs_error_quark(void);

/*
 Opens a device: auto, nvidia, amd:1, host, a number, a PCI address, a UUID or a render
 node; null for GST_HIP_DEVICE, else the best there is. What was asked for by name is given or
 not, never another.

 Returns: (transfer full): the device, null on failure. Its fields say what it is.
 */
const struct GstHipRsDevice *gst_hip_rs_device_open(const char *text, GError **error);

/*
 Adds a reference; gives its argument, which may be null.
 */
const struct GstHipRsDevice *gst_hip_rs_device_ref(const struct GstHipRsDevice *device);

/*
 Gives a reference back. Memory and streams of the device keep it open by themselves.
 */
void gst_hip_rs_device_unref(const struct GstHipRsDevice *device);

/*
 Whether two handles stand for the same device and context here. False where either is null.
 */
gboolean gst_hip_rs_device_equal(const struct GstHipRsDevice *one,
                                 const struct GstHipRsDevice *other);

/*
 A context that carries the device, for gst_element_set_context.

 Returns: (transfer full): the context, null on failure.
 */
GstContext *gst_hip_rs_context_new(const struct GstHipRsDevice *device, GError **error);

/*
 The device in a context, whichever copy of the library made it.

 Returns: (transfer full): the device, null if the context carries none that can be used.
 */
const struct GstHipRsDevice *gst_hip_rs_context_get_device(GstContext *context);

/*
 For an element that needs a device, at NULL to READY: keeps *device if it is what text asks
 for (as for gst_hip_rs_device_open()), else asks neighbours and application, else opens
 one and tells them. No lock may be held that the element's set_context or query takes.

 device: (inout) (transfer full): points at a device or at null.
 */
gboolean gst_hip_rs_ensure_device(GstElement *element,
                                  const char *text,
                                  const struct GstHipRsDevice **device,
                                  GError **error);

/*
 For an element's set_context, which chains up afterwards: takes the context's device if it is
 one, is what text asks for, and none is in use. True if *device is now the context's device.

 device: (inout) (transfer full): points at a device or at null.
 */
gboolean gst_hip_rs_handle_set_context(GstElement *element,
                                       GstContext *context,
                                       const char *text,
                                       const struct GstHipRsDevice **device);

/*
 For an element's query: answers a neighbour that asks for a device. True if it did.
 */
gboolean gst_hip_rs_handle_context_query(GstQuery *query, const struct GstHipRsDevice *device);

/*
 size bytes on the device (GST_HIP_RS_KIND_DEVICE) or in pinned CPU memory
 (GST_HIP_RS_KIND_PINNED), not initialised.

 Returns: (transfer full): the memory, null on failure.
 */
GstMemory *gst_hip_rs_memory_new(const struct GstHipRsDevice *device,
                                 uint32_t kind,
                                 size_t size,
                                 GError **error);

/*
 A buffer of one memory for a video frame, in the layout the device likes, which its
 GstVideoMeta says.

 Returns: (transfer full): the buffer, null on failure.
 */
GstBuffer *gst_hip_rs_buffer_new_video(const struct GstHipRsDevice *device,
                                       uint32_t kind,
                                       const GstVideoInfo *info,
                                       GError **error);

/*
 A pool of buffers of one memory each, configured and activated as any pool.

 Returns: (transfer full): the pool, null on failure.
 */
GstBufferPool *gst_hip_rs_buffer_pool_new(const struct GstHipRsDevice *device,
                                          uint32_t kind,
                                          GError **error);

/*
 Whether the memory is HIP memory that can be used here, whichever copy of the library made it.
 */
gboolean gst_hip_rs_memory_is_hip(const GstMemory *memory);

/*
 GST_HIP_RS_KIND_DEVICE or GST_HIP_RS_KIND_PINNED; -1 if it is not HIP memory.
 */
int32_t gst_hip_rs_memory_get_kind(const GstMemory *memory);

/*
 The memory's device.

 Returns: (transfer full): the device, null if it is not HIP memory.
 */
const struct GstHipRsDevice *gst_hip_rs_memory_get_device(const GstMemory *memory);

/*
 Begins work on a memory's bytes, on one stream, with the vendor's own calls, say: the stream
 waits for what the work must not overtake, the thread does not. access is filled in
 with the address; gst_hip_rs_access_end() follows once the work is enqueued. The caller sets
 access->size.
 */
gboolean gst_hip_rs_memory_begin_access(const GstMemory *memory,
                                        uint32_t mode,
                                        const struct GstHipRsStream *stream,
                                        struct GstHipRsAccess *access,
                                        GError **error);

/*
 Ends an access: later accesses, CPU maps and the next user of a pool's buffer wait for the work
 enqueued so far. Null, or an access that was ended, is no error.
 */
void gst_hip_rs_access_end(struct GstHipRsAccess *access);

/*
 Enqueues a copy of all bytes of one memory to another as long, pinned or on the device, and
 returns. Later users of both wait for it by themselves.
 */
gboolean gst_hip_rs_memory_copy_async(GstMemory *destination,
                                      const GstMemory *source,
                                      const struct GstHipRsStream *stream,
                                      GError **error);

/*
 A stream that does not wait for the default stream.

 Returns: (transfer full): the stream, null on failure.
 */
const struct GstHipRsStream *gst_hip_rs_stream_new(const struct GstHipRsDevice *device,
                                                   GError **error);

/*
 Adds a reference; gives its argument, which may be null.
 */
const struct GstHipRsStream *gst_hip_rs_stream_ref(const struct GstHipRsStream *stream);

/*
 Gives a reference back; work on the stream still finishes.
 */
void gst_hip_rs_stream_unref(const struct GstHipRsStream *stream);

/*
 Blocks until all work on the stream is done.
 */
gboolean gst_hip_rs_stream_synchronize(const struct GstHipRsStream *stream, GError **error);

/*
 Fills in what the stream is: its stream is the vendor's handle, for calls of the vendor's
 library. Good while the stream lives. The caller sets description->size.
 */
gboolean gst_hip_rs_stream_describe(const struct GstHipRsStream *stream,
                                    struct GstHipRsStreamDesc *description,
                                    GError **error);

/*
 An event after the work enqueued so far.

 Returns: (transfer full): the event, null on failure.
 */
const struct GstHipRsEvent *gst_hip_rs_stream_record(const struct GstHipRsStream *stream,
                                                     GError **error);

/*
 Later work on the stream waits for the event, on the device.
 */
gboolean gst_hip_rs_stream_wait(const struct GstHipRsStream *stream,
                                const struct GstHipRsEvent *event,
                                GError **error);

/*
 Calls notify(data) once all work enqueued so far is done, or has failed, on a thread of the
 library's; the calling thread does not wait. On failure it is called before this returns.
 */
gboolean gst_hip_rs_stream_notify(const struct GstHipRsStream *stream,
                                  GDestroyNotify notify,
                                  void *data,
                                  GError **error);

/*
 Whether the work before the event is done; false with an error if it failed.
 */
gboolean gst_hip_rs_event_is_done(const struct GstHipRsEvent *event, GError **error);

/*
 Blocks until the work before the event is done.
 */
gboolean gst_hip_rs_event_synchronize(const struct GstHipRsEvent *event, GError **error);

/*
 Adds a reference; gives its argument, which may be null.
 */
const struct GstHipRsEvent *gst_hip_rs_event_ref(const struct GstHipRsEvent *event);

/*
 Gives a reference back.
 */
void gst_hip_rs_event_unref(const struct GstHipRsEvent *event);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GST_HIP_RS_H */
