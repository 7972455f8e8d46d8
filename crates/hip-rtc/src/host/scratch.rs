//! A folder for one compilation, which nobody else can look into.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use super::HostError;

/// Removed, with all in it, when dropped.
pub(super) struct Scratch(PathBuf);

/// Makes folders that other users cannot enter. (On Windows the temporary folder is the user's own.)
fn private() -> DirBuilder {
    #[cfg(unix)]
    {
        let mut builder = DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
    }
    #[cfg(not(unix))]
    DirBuilder::new()
}

/// Names tried before the temporary folder is given up.
const TRIES: u32 = 100;

impl Scratch {
    pub(super) fn new() -> Result<Scratch, HostError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // Absolute: the compiler runs in another folder than this process.
        let base = std::path::absolute(std::env::temp_dir())
            .map_err(HostError::io("cannot find the temporary folder"))?;
        let builder = private();
        for _ in 0..TRIES {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("hip-rtc-{}-{count}", std::process::id()));
            // Fails if anything is there, a link of somebody else's too.
            match builder.create(&path) {
                Ok(()) => return Ok(Scratch(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(HostError::io(format!("cannot make {}", path.display()))(
                        error,
                    ));
                }
            }
        }
        Err(HostError::Io {
            doing: format!("cannot make a folder in {}", base.display()),
            error: "all names tried are taken".to_owned(),
        })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file under `folder`, in sub-folders if its name has such.
    pub(super) fn write(&self, folder: &str, name: &str, text: &[u8]) -> Result<(), HostError> {
        let path = self.0.join(folder).join(name);
        let failed = || HostError::io(format!("cannot write {}", path.display()));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed())?;
        }
        fs::write(&path, text).map_err(failed())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "not removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_private_and_goes() {
        let scratch = Scratch::new().unwrap();
        scratch.write("user", "sub/a.h", b"x").unwrap();
        let path = scratch.path("user/sub/a.h");
        assert_eq!(fs::read(&path).unwrap(), b"x");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(scratch.path("")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        drop(scratch);
        assert!(!path.exists());
    }
}
