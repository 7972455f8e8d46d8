/* Sizes and offsets as a C compiler sees them, one a line: what tests/c_api.rs compares. */

#include <stddef.h>
#include <stdio.h>

#include <gst/hiprs/gst-hip-rs.h>

#define SIZE(type) printf (#type " %zu\n", sizeof (type))
#define OFFSET(type, field) \
  printf (#type "." #field " %zu\n", offsetof (type, field))

int
main (void)
{
  SIZE (GstHipRsError);
  OFFSET (GstHipRsError, message);
  SIZE (GstHipRsDevice);
  OFFSET (GstHipRsDevice, library);
  OFFSET (GstHipRsDevice, flags);
  OFFSET (GstHipRsDevice, pci_bus);
  OFFSET (GstHipRsDevice, uuid);
  OFFSET (GstHipRsDevice, name);
  SIZE (GstHipRsDeviceVTable);
  SIZE (GstHipRsStreamDesc);
  OFFSET (GstHipRsStreamDesc, id);
  SIZE (GstHipRsAccess);
  OFFSET (GstHipRsAccess, flags);
  OFFSET (GstHipRsAccess, token);
  SIZE (GstHipRsMemory);
  OFFSET (GstHipRsMemory, magic);
  OFFSET (GstHipRsMemory, vtable);
  OFFSET (GstHipRsMemory, flags);
  SIZE (GstHipRsMemoryVTable);
  OFFSET (GstHipRsMemoryVTable, free);
  OFFSET (GstHipRsMemoryVTable, map_stream);
  SIZE (GstHipRsPool);
  OFFSET (GstHipRsPool, vtable);
  OFFSET (GstHipRsPool, kind);
  SIZE (GstHipRsPoolClass);
  SIZE (GstHipRsPoolVTable);
  OFFSET (GstHipRsPoolVTable, finalize);
  printf ("magic %llu\n", (unsigned long long) GST_HIP_RS_MAGIC);
  return 0;
}
