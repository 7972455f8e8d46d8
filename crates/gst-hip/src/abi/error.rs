//! Errors as numbers and text.

use std::ffi::c_char;

use hip_core::ErrorKind;

use super::layout::*;
use crate::{Error, Result};

/// The status that stands for an error.
pub fn status_of(error: &Error) -> i32 {
    let kind = match error {
        Error::Busy(_) => return GST_HIP_RS_BUSY,
        Error::WrongDevice { .. } => return GST_HIP_RS_WRONG_DEVICE,
        Error::InvalidValue(_) | Error::Layout(_) | Error::Env(_) => return GST_HIP_RS_INVALID,
        Error::Gst(_) => return GST_HIP_RS_FAILED,
        Error::Core(error) => error.kind(),
        Error::Remote { kind, .. } => *kind,
    };
    match kind {
        ErrorKind::InvalidValue => GST_HIP_RS_INVALID,
        ErrorKind::OutOfMemory => GST_HIP_RS_OUT_OF_MEMORY,
        ErrorKind::DeviceLost => GST_HIP_RS_DEVICE_LOST,
        ErrorKind::Unsupported => GST_HIP_RS_UNSUPPORTED,
        ErrorKind::NoDevice | ErrorKind::InvalidDevice => GST_HIP_RS_NO_DEVICE,
        ErrorKind::InvalidContext => GST_HIP_RS_WRONG_DEVICE,
        _ => GST_HIP_RS_FAILED,
    }
}

/// The status of a result; the reason goes into `out`, which may be null.
///
/// # Safety
/// `out` is null or points at a structure of the caller's with its `size` set.
pub(crate) unsafe fn report(result: Result<()>, out: *mut GstHipRsError) -> i32 {
    let Err(error) = result else {
        return GST_HIP_RS_OK;
    };
    let status = status_of(&error);
    // SAFETY: null, or the caller's structure.
    match unsafe { out.as_mut() } {
        Some(out) if out.size >= super::size_of::<GstHipRsError>() => {
            out.status = status;
            write_text(&mut out.message, &error.to_string());
        }
        _ => tracing::debug!(%error, status, "refused"),
    }
    status
}

/// The error that another copy's status and words stand for.
pub(crate) fn from_status(status: i32, error: &GstHipRsError) -> Result<()> {
    let kind = match status {
        GST_HIP_RS_OK => return Ok(()),
        GST_HIP_RS_BUSY => {
            tracing::debug!(reason = read_text(&error.message), "busy");
            return Err(Error::Busy("another copy of this library says so"));
        }
        GST_HIP_RS_WRONG_DEVICE => ErrorKind::InvalidContext,
        GST_HIP_RS_INVALID => ErrorKind::InvalidValue,
        GST_HIP_RS_OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        GST_HIP_RS_DEVICE_LOST => ErrorKind::DeviceLost,
        GST_HIP_RS_UNSUPPORTED => ErrorKind::Unsupported,
        GST_HIP_RS_NO_DEVICE => ErrorKind::NoDevice,
        _ => ErrorKind::Unknown,
    };
    let text = read_text(&error.message);
    Err(Error::Remote { kind, text })
}

impl GstHipRsError {
    /// No error yet.
    pub(crate) fn new() -> GstHipRsError {
        GstHipRsError {
            size: super::size_of::<GstHipRsError>(),
            abi_version: GST_HIP_RS_ABI_VERSION,
            status: GST_HIP_RS_OK,
            message: [0; 244],
        }
    }
}

/// Writes text with a zero byte at its end, cut off at a character if it is too long.
pub(crate) fn write_text(target: &mut [c_char], text: &str) {
    let room = target.len().saturating_sub(1);
    let mut len = text.len().min(room);
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    target.fill(0);
    for (to, from) in target.iter_mut().zip(&text.as_bytes()[..len]) {
        *to = *from as c_char;
    }
}

/// Reads what [`write_text`] wrote.
pub(crate) fn read_text(source: &[c_char]) -> String {
    let bytes: Vec<u8> = source
        .iter()
        .take_while(|byte| **byte != 0)
        .map(|byte| *byte as u8)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_a_character() {
        let mut field = [1; 6];
        write_text(&mut field, "abcdé");
        assert_eq!(read_text(&field), "abcd");
        write_text(&mut field, "abcé");
        assert_eq!(read_text(&field), "abcé");
        write_text(&mut field, "");
        assert_eq!(field, [0; 6]);
        write_text(&mut [], "abc");
    }

    #[test]
    fn errors_keep_their_kind_across() {
        for (error, expected) in [
            (Error::Busy("x"), GST_HIP_RS_BUSY),
            (Error::InvalidValue("x".into()), GST_HIP_RS_INVALID),
            (Error::Gst("x".into()), GST_HIP_RS_FAILED),
            (
                Error::Remote {
                    kind: ErrorKind::OutOfMemory,
                    text: "x".into(),
                },
                GST_HIP_RS_OUT_OF_MEMORY,
            ),
        ] {
            let mut out = GstHipRsError::new();
            // SAFETY: `out` is ours.
            let status = unsafe { report(Err(error.clone()), &mut out) };
            assert_eq!((status, out.status), (expected, expected));
            assert!(read_text(&out.message).contains('x'));
            let back = from_status(status, &out).unwrap_err();
            assert_eq!(status_of(&back), expected, "{error} {back}");
            // SAFETY: nowhere to write is allowed.
            let status = unsafe { report(Err(error), std::ptr::null_mut()) };
            assert_eq!(status, expected);
        }
        // SAFETY: as above.
        let status = unsafe { report(Ok(()), std::ptr::null_mut()) };
        assert_eq!(status, GST_HIP_RS_OK);
        assert!(from_status(GST_HIP_RS_OK, &GstHipRsError::new()).is_ok());
    }
}
