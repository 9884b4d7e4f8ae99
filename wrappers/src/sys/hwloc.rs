//! hwloc at run time: one process of each node loads it when places are needed. It is never linked.
//!
//! A few functions that are the same in hwloc 2 and 3 give the topology as XML text. The MPI-free
//! library parses the text.
//!
//! The text has no devices, unless the user gave the machine as a file (`HWLOC_XMLFILE`). hwloc's discovery of
//! devices loads plugins for CUDA, OpenCL and others, which may take hundreds of milliseconds on nodes with GPUs;
//! [`node`](super::node) reads the devices from `/sys` instead.

use libc::{c_char, c_int, c_ulong, c_void};
use std::ffi::CStr;

type Init = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type Load = unsafe extern "C" fn(*mut c_void) -> c_int;
type Export = unsafe extern "C" fn(*mut c_void, *mut *mut c_char, *mut c_int, c_ulong) -> c_int;
type Filter = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type FreeXml = unsafe extern "C" fn(*mut c_void, *mut c_char);
type Destroy = unsafe extern "C" fn(*mut c_void);

/// Deep binding: the program may have another hwloc of its own, whose functions must not be taken.
const FLAGS: libc::c_int = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND;

const NAMES: [&CStr; 4] = [c"libhwloc.so.15", c"libhwloc.so.16", c"libhwloc.so.17", c"libhwloc.so"];

/// `HWLOC_TYPE_FILTER_KEEP_IMPORTANT`: devices that programs use, and the bridges above them.
const IMPORTANT: c_int = 3;

/// The file from which hwloc reads the machine instead of this one, if the user named one.
pub const XML_FILE: &str = "HWLOC_XMLFILE";

/// This machine's topology as hwloc XML; `None` if hwloc is not installed or fails.
pub fn export_xml() -> Option<String> {
    // SAFETY: dlopen and dlsym with C strings; the function types are those of hwloc.h, stable from
    // 2.0 on. The library stays loaded: unloading code that may have registered handlers is unsafe.
    unsafe {
        let library = NAMES
            .iter()
            .map(|name| libc::dlopen(name.as_ptr(), FLAGS))
            .find(|handle| !handle.is_null())?;
        let find = |name: &CStr| {
            let address = libc::dlsym(library, name.as_ptr());
            (!address.is_null()).then_some(address)
        };
        let init: Init = std::mem::transmute(find(c"hwloc_topology_init")?);
        let load: Load = std::mem::transmute(find(c"hwloc_topology_load")?);
        let export: Export = std::mem::transmute(find(c"hwloc_topology_export_xmlbuffer")?);
        let free: FreeXml = std::mem::transmute(find(c"hwloc_free_xmlbuffer")?);
        let destroy: Destroy = std::mem::transmute(find(c"hwloc_topology_destroy")?);

        let mut topology = std::ptr::null_mut();
        if init(&raw mut topology) != 0 {
            return None;
        }
        // A machine in a file has its devices there, and nothing is discovered.
        if std::env::var_os(XML_FILE).is_some()
            && let Some(filter) = find(c"hwloc_topology_set_io_types_filter")
        {
            let filter: Filter = std::mem::transmute(filter);
            filter(topology, IMPORTANT);
        }
        let mut text = None;
        if load(topology) == 0 {
            let (mut buffer, mut length) = (std::ptr::null_mut(), 0);
            if export(topology, &raw mut buffer, &raw mut length, 0) == 0 && !buffer.is_null() {
                text = Some(CStr::from_ptr(buffer).to_string_lossy().into_owned());
                free(topology, buffer);
            }
        }
        destroy(topology);
        text
    }
}
