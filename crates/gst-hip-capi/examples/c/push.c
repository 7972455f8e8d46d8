/* Opens a device, makes frames in its memory and sends them through
 *
 *     appsrc ! hipdownload ! appsink
 *
 * then takes frames that hipupload made, and reads them. Usage: push [DEVICE], where DEVICE is
 * host, nvidia, amd:1, a PCI address and so on; GST_HIP_DEVICE or the best there is without.
 *
 *     cc push.c $(pkg-config --cflags --libs gst-hip-rs-1.0 gstreamer-app-1.0) -o push
 */

#include <string.h>

#include <gst/app/app.h>
#include <gst/hiprs/gst-hip-rs.h>

#define WIDTH 320
#define HEIGHT 240
#define FRAMES 10

static GError *error = NULL;

/* Ends the program where a call failed. */
static void
check (gboolean ok, const char *what)
{
  if (ok)
    return;
  g_printerr ("push: %s: %s\n", what, error ? error->message : "failed");
  exit (1);
}

/* Waits for the next frame, or for what went wrong. */
static GstSample *
pull (GstElement * pipeline, const char *sink_name)
{
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), sink_name);
  GstSample *sample =
      gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 20 * GST_SECOND);
  gst_object_unref (sink);
  if (sample == NULL) {
    GstBus *bus = gst_element_get_bus (pipeline);
    GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    if (message != NULL)
      gst_message_parse_error (message, &error, NULL);
    check (FALSE, "no frame");
  }
  return sample;
}

/* A pipeline whose elements use our device. */
static GstElement *
launch (const char *line, const GstHipRsDevice * device)
{
  GstElement *pipeline = gst_parse_launch (line, &error);
  check (pipeline != NULL && error == NULL, "gst_parse_launch");
  GstContext *context = gst_hip_rs_context_new (device, &error);
  check (context != NULL, "gst_hip_rs_context_new");
  gst_element_set_context (pipeline, context);
  gst_context_unref (context);
  return pipeline;
}

/* Bytes that differ from frame to frame. */
static void
fill_pattern (guint8 * data, gsize size, guint frame)
{
  for (gsize i = 0; i < size; i++)
    data[i] = (guint8) ((i * 7) ^ (i >> 8) ^ (frame * 85));
}

/* A frame in device memory: written by the CPU into pinned memory, copied by the device. */
static GstBuffer *
make_frame (GstBufferPool * pool, GstMemory * pinned,
    const GstHipRsStream * stream, guint frame)
{
  GstMapInfo map;
  check (gst_memory_map (pinned, &map, GST_MAP_WRITE), "gst_memory_map");
  fill_pattern (map.data, map.size, frame);
  gst_memory_unmap (pinned, &map);

  GstBuffer *buffer = NULL;
  check (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL) == GST_FLOW_OK,
      "gst_buffer_pool_acquire_buffer");
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  check (gst_hip_rs_memory_is_hip (memory), "HIP memory");
  check (gst_hip_rs_memory_get_kind (memory) == GST_HIP_RS_KIND_DEVICE,
      "device memory");
  /* Enqueued, and not waited for: whoever uses the buffer next waits by itself. */
  check (gst_hip_rs_memory_copy_async (memory, pinned, stream, &error),
      "gst_hip_rs_memory_copy_async");
  GST_BUFFER_PTS (buffer) = frame * GST_SECOND / 25;
  return buffer;
}

static void
push_frames (const GstHipRsDevice * device, const GstHipRsStream * stream)
{
  GstElement *pipeline = launch ("appsrc name=src format=time ! hipdownload ! "
      "appsink name=sink sync=false", device);
  GstCaps *caps =
      gst_caps_from_string ("video/x-raw(memory:HIPMemory), format=RGBA, "
      "width=320, height=240, framerate=25/1");
  GstElement *src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  gst_app_src_set_caps (GST_APP_SRC (src), caps);

  GstBufferPool *pool =
      gst_hip_rs_buffer_pool_new (device, GST_HIP_RS_KIND_DEVICE, &error);
  check (pool != NULL, "gst_hip_rs_buffer_pool_new");
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, WIDTH * HEIGHT * 4, 2, 4);
  check (gst_buffer_pool_set_config (pool, config), "pool configuration");
  check (gst_buffer_pool_set_active (pool, TRUE), "pool activation");

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  guint8 *expected = g_malloc (WIDTH * HEIGHT * 4);
  for (guint frame = 0; frame < FRAMES; frame++) {
    GstBuffer *buffer = NULL;
    gsize size = WIDTH * HEIGHT * 4;
    GstMemory *pinned =
        gst_hip_rs_memory_new (device, GST_HIP_RS_KIND_PINNED, size, &error);
    check (pinned != NULL, "gst_hip_rs_memory_new");
    buffer = make_frame (pool, pinned, stream, frame);
    gst_memory_unref (pinned);
    check (gst_app_src_push_buffer (GST_APP_SRC (src), buffer) == GST_FLOW_OK,
        "gst_app_src_push_buffer");

    GstSample *sample = pull (pipeline, "sink");
    GstMapInfo map;
    check (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ),
        "gst_buffer_map");
    fill_pattern (expected, size, frame);
    check (map.size >= size && memcmp (map.data, expected, size) == 0,
        "the frame came out as it went in");
    gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
    gst_sample_unref (sample);
  }
  g_free (expected);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  gst_object_unref (src);
  gst_caps_unref (caps);
  gst_object_unref (pipeline);
  g_print ("pushed %d frames\n", FRAMES);
}

static void
take_frames (const GstHipRsDevice * device, const GstHipRsStream * stream)
{
  GstElement *pipeline = launch ("videotestsrc num-buffers=3 pattern=white ! "
      "video/x-raw,format=GRAY8,width=320,height=240 ! hipupload ! "
      "appsink name=sink sync=false caps=video/x-raw(memory:HIPMemory)",
      device);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (int frame = 0; frame < 3; frame++) {
    GstSample *sample = pull (pipeline, "sink");
    GstMemory *memory =
        gst_buffer_peek_memory (gst_sample_get_buffer (sample), 0);
    check (gst_hip_rs_memory_is_hip (memory), "the plugin's memory");
    const GstHipRsDevice *of = gst_hip_rs_memory_get_device (memory);
    check (gst_hip_rs_device_equal (of, device), "the plugin's device is ours");
    gst_hip_rs_device_unref (of);

    /* What a program with kernels of its own does: an address, for work on its stream. */
    GstHipRsAccess access = { .size = sizeof access };
    check (gst_hip_rs_memory_begin_access (memory, GST_HIP_RS_ACCESS_READ,
            stream, &access, &error), "gst_hip_rs_memory_begin_access");
    check (access.device_ptr != 0 && access.len >= WIDTH * HEIGHT, "an address");
    gst_hip_rs_access_end (&access);

    GstMapInfo map;
    check (gst_memory_map (memory, &map, GST_MAP_READ), "gst_memory_map");
    check (map.data[0] >= 235, "a white pixel");
    gst_memory_unmap (memory, &map);
    gst_sample_unref (sample);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  g_print ("took 3 frames\n");
}

/* Failures are told, and cost nothing. */
static void
fail_well (void)
{
  g_assert_null (gst_hip_rs_device_open ("voodoo", &error));
  g_assert_error (error, gst_hip_rs_error_quark (), GST_HIP_RS_INVALID);
  g_clear_error (&error);
  g_assert_null (gst_hip_rs_device_open ("host:77", &error));
  g_assert_error (error, gst_hip_rs_error_quark (), GST_HIP_RS_NO_DEVICE);
  g_clear_error (&error);
  g_assert_null (gst_hip_rs_device_open ("host:77", NULL));
  g_assert_null (gst_hip_rs_memory_new (NULL, GST_HIP_RS_KIND_DEVICE, 1, &error));
  g_assert_error (error, gst_hip_rs_error_quark (), GST_HIP_RS_INVALID);
  g_clear_error (&error);
}

static void
count (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

int
main (int argc, char **argv)
{
  check (gst_hip_rs_init (&error), "gst_hip_rs_init");
  g_assert_cmpuint (gst_hip_rs_abi_version (), ==, GST_HIP_RS_ABI_VERSION);
  fail_well ();

  const GstHipRsDevice *device =
      gst_hip_rs_device_open (argc > 1 ? argv[1] : NULL, &error);
  check (device != NULL, "gst_hip_rs_device_open");
  g_print ("device: %s\n", device->name);
  const GstHipRsStream *stream = gst_hip_rs_stream_new (device, &error);
  check (stream != NULL, "gst_hip_rs_stream_new");

  push_frames (device, stream);
  take_frames (device, stream);

  gint called = 0;
  check (gst_hip_rs_stream_notify (stream, count, &called, &error),
      "gst_hip_rs_stream_notify");
  check (gst_hip_rs_stream_synchronize (stream, &error),
      "gst_hip_rs_stream_synchronize");
  for (int i = 0; i < 2000 && g_atomic_int_get (&called) == 0; i++)
    g_usleep (10000);
  check (g_atomic_int_get (&called) == 1, "called back once");

  gst_hip_rs_stream_unref (stream);
  gst_hip_rs_device_unref (device);
  g_print ("done\n");
  return 0;
}
