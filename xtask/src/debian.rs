//! Debian packages of any suite, fetched and unpacked beside the system: nothing is installed, and
//! the system's own package lists and state stay as they are.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::bounded::{verdict, within};
use crate::workspace::{describe, run_silently};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What Debian signs its archive with; of the package `debian-archive-keyring`, on Ubuntu too.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// `DIR/run`. The folder may be moved: nothing in it knows where it lies.
const RUN: &str = r#"#!/bin/sh
# run PROGRAM [ARGUMENT...]: starts a dynamically linked program with the C library and the other
# libraries of this folder. The system's libraries serve for the rest.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
[ $# -gt 0 ] || { echo "usage: $0 PROGRAM [ARGUMENT...]" >&2; exit 2; }
program=$(command -v "$1") || { echo "$0: there is no program $1" >&2; exit 127; }
shift
lib=usr/lib/x86_64-linux-gnu
for loader in "$here/$lib" "$here/lib64" "$here/usr/lib64"; do
    loader=$loader/ld-linux-x86-64.so.2
    [ -e "$loader" ] && break
done
exec "$loader" --library-path "$here/$lib:$here/lib/x86_64-linux-gnu:/$lib:/lib/x86_64-linux-gnu" \
    "$program" "$@"
"#;

/// How long one run of apt-get may take: lists are some 30 MB, packages up to 300 MB.
const LIMIT: Duration = Duration::from_secs(8 * 60);

/// Whether what a package depends on comes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dependencies {
    /// All of it, down to the C library.
    Fetched,
    /// The packages named and no others.
    Left,
}

/// The package lists of some suites, in a folder of their own that is deleted in the end.
#[derive(Debug)]
pub(crate) struct Archive {
    folder: PathBuf,
    /// The suite that packages are taken from where several have them.
    preferred: String,
}

impl Archive {
    /// Fetches the lists of `suites` for `architectures` (the first is the main one) into
    /// `folder`, which must not exist. `mirror` is an archive's address; without one, the Debian
    /// archive among the system's own package sources serves.
    pub(crate) fn open(
        folder: PathBuf,
        suites: &[&str],
        architectures: &[&str],
        mirror: Option<&str>,
    ) -> Result<Archive> {
        let mirror = match mirror {
            Some(mirror) => mirror.to_owned(),
            None => system_mirror(Path::new("/etc/apt")).ok_or(
                "no Debian archive is among the system's package sources; name one with --mirror",
            )?,
        };
        if !Path::new(KEYRING).exists() {
            return Err("Debian's keys are not here: install debian-archive-keyring".into());
        }
        fs::create_dir_all(folder.join("lists/partial"))?;
        let archive = Archive {
            folder,
            preferred: suites.last().copied().unwrap_or_default().to_owned(),
        };
        let folder = &archive.folder;
        fs::create_dir_all(folder.join("cache/archives/partial"))?;
        fs::write(folder.join("status"), "")?;
        let sources: String = suites
            .iter()
            .map(|suite| format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n"))
            .collect();
        fs::write(folder.join("sources.list"), sources)?;
        fs::write(
            folder.join("apt.conf"),
            archive.configuration(architectures),
        )?;
        archive.apt_get(&["update", "-o", "APT::Update::Error-Mode=any"])?;
        Ok(archive)
    }

    /// The folder is told in a file, not by options: it is read before the system's own settings
    /// could start hooks.
    fn configuration(&self, architectures: &[&str]) -> String {
        let folder = self.folder.display();
        let mut text = format!(
            "Dir::Etc::main \"/dev/null\";\nDir::Etc::parts \"/dev/null\";\n\
             Dir::Etc::sourcelist \"{folder}/sources.list\";\nDir::Etc::sourceparts \"/dev/null\";\n\
             Dir::Etc::preferences \"/dev/null\";\nDir::Etc::preferencesparts \"/dev/null\";\n\
             Dir::State \"{folder}\";\nDir::State::lists \"{folder}/lists\";\n\
             Dir::State::status \"{folder}/status\";\nDir::Cache \"{folder}/cache\";\n\
             APT::Sandbox::User \"\";\nAPT::Get::List-Cleanup \"false\";\n\
             Acquire::Check-Valid-Until \"false\";\nAcquire::Languages \"none\";\n\
             Acquire::Retries \"1\";\nAcquire::http::Timeout \"30\";\n\
             Acquire::https::Timeout \"30\";\n",
        );
        if let Some(main) = architectures.first() {
            text += &format!("APT::Architecture \"{main}\";\n");
        }
        for architecture in architectures {
            text += &format!("APT::Architectures:: \"{architecture}\";\n");
        }
        text
    }

    /// Downloads packages; gives the files, which lie in the archive's folder.
    pub(crate) fn download(
        &self,
        packages: &[&str],
        dependencies: Dependencies,
    ) -> Result<Vec<PathBuf>> {
        let folder = match dependencies {
            Dependencies::Fetched => self.folder.join("cache/archives"),
            Dependencies::Left => self.folder.join("alone"),
        };
        fs::create_dir_all(&folder)?;
        let mut arguments = vec!["-t", &self.preferred];
        match dependencies {
            Dependencies::Fetched => arguments.extend([
                "install",
                "--download-only",
                "--yes",
                "--no-install-recommends",
            ]),
            Dependencies::Left => arguments.push("download"),
        }
        arguments.extend(packages);
        self.apt_get(&arguments)?;
        let mut files: Vec<PathBuf> = fs::read_dir(&folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "deb"));
        files.sort();
        Ok(files)
    }

    fn apt_get(&self, arguments: &[&str]) -> Result<()> {
        let alone = self.folder.join("alone");
        fs::create_dir_all(&alone)?;
        let mut command = Command::new("apt-get");
        command
            .args(["-q", "-q"])
            .args(arguments)
            .env("APT_CONFIG", self.folder.join("apt.conf"))
            .env("LC_ALL", "C.UTF-8")
            .current_dir(alone);
        let output = within(&command, LIMIT)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("timeout: {error}"))?;
        verdict(output.status, LIMIT).map_err(|reason| {
            let said = [output.stdout, output.stderr].concat();
            let said = complaints(&String::from_utf8_lossy(&said));
            format!("{}: {reason}: {said}", describe(&command)).into()
        })
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("xtask: {}: {error}", self.folder.display());
        }
    }
}

/// The errors among what apt-get said, in one line; all of it where it named none.
fn complaints(said: &str) -> String {
    let errors: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("E: "))
        .collect();
    match errors.is_empty() {
        false => errors.join("; "),
        true => said.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// The address of the Debian archive among the package sources in `etc` (`/etc/apt`).
fn system_mirror(etc: &Path) -> Option<String> {
    let mut files: Vec<PathBuf> = fs::read_dir(etc.join("sources.list.d"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.push(etc.join("sources.list"));
    files.sort();
    files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .find_map(|text| mirror_in(&text))
}

/// The first address that ends in `/debian`, of either format of a sources file. (Security fixes
/// and other people's archives lie elsewhere.)
fn mirror_in(text: &str) -> Option<String> {
    text.lines()
        .map(str::trim)
        .filter(|line| line.starts_with("URIs:") || line.starts_with("deb "))
        .flat_map(str::split_whitespace)
        .find(|word| {
            word.contains("://") && word.trim_end_matches('/').rsplit('/').next() == Some("debian")
        })
        .map(str::to_owned)
}

/// Unpacks package files over each other into `folder`.
pub(crate) fn unpack_packages(files: &[PathBuf], folder: &Path) -> Result<()> {
    files.iter().try_for_each(|file| {
        run_silently(
            Command::new("dpkg-deb")
                .arg("--extract")
                .arg(file)
                .arg(folder),
        )
    })
}

/// Writes `DIR/run`, which starts a program with the folder's own C library. For a folder of x86-64
/// packages, fetched with what they depend on.
pub(crate) fn write_run(folder: &Path) -> Result<()> {
    let run = folder.join("run");
    fs::write(&run, RUN)?;
    run_silently(Command::new("chmod").arg("755").arg(&run))
}

/// Fills a folder beside `root` and renames it to that, so that a broken attempt is not taken for
/// a whole one.
pub(crate) fn fill_whole(root: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let partial = partial_of(root);
    fs::create_dir_all(&partial)?;
    let filled = fill(&partial).and_then(|()| Ok(fs::rename(&partial, root)?));
    if filled.is_err() {
        fs::remove_dir_all(&partial)?;
    }
    filled
}

/// A name beside `root` that no other process uses.
pub(crate) fn partial_of(root: &Path) -> PathBuf {
    let mut name = root.file_name().unwrap_or_default().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    root.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debian_archive_is_found_in_either_format() {
        let deb822 = "Types: deb\n# a comment\nURIs: http://mirror.example/debian\nSuites: x\n";
        assert_eq!(
            mirror_in(deb822).as_deref(),
            Some("http://mirror.example/debian")
        );
        let lines = "deb http://mirror.example/debian-security x main\n\
                     deb [signed-by=/k.gpg arch=amd64] https://mirror.example/debian/ x main\n";
        assert_eq!(
            mirror_in(lines).as_deref(),
            Some("https://mirror.example/debian/")
        );
        assert_eq!(mirror_in("URIs: http://mirror.example/ubuntu\n"), None);
        assert_eq!(mirror_in("# deb http://mirror.example/debian x\n"), None);
    }

    #[test]
    fn errors_of_apt_are_told_in_one_line() {
        let said = "Reading lists\nE: Unable to locate package x\nW: something\nE: No\n";
        assert_eq!(complaints(said), "Unable to locate package x; No");
        assert_eq!(complaints("odd\n  words\n"), "odd words");
    }

    #[test]
    fn run_starts_the_folders_own_loader() {
        let folder = std::env::temp_dir().join(format!("xtask-run-{}", std::process::id()));
        let loader = folder.join("lib64/ld-linux-x86-64.so.2");
        fs::create_dir_all(folder.join("lib64")).unwrap();
        // Stands in for the C library's loader and prints its arguments.
        fs::write(&loader, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
        run_silently(Command::new("chmod").arg("755").arg(&loader)).unwrap();
        write_run(&folder).unwrap();
        let output = Command::new(folder.join("run"))
            .args(["sh", "-c", "two words"])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], "--library-path");
        assert!(lines[1].starts_with(folder.to_str().unwrap()), "{said}");
        assert!(lines[2].ends_with("/sh"), "{said}");
        assert_eq!(lines[3..], ["-c", "two words"]);
        let missing = Command::new(folder.join("run"))
            .arg("surely-no-such-program")
            .output()
            .unwrap();
        assert_eq!(missing.status.code(), Some(127));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_broken_attempt_leaves_nothing() {
        let root = std::env::temp_dir().join(format!("xtask-whole-{}", std::process::id()));
        let broken = fill_whole(&root, |folder| {
            fs::write(folder.join("half"), "")?;
            Err("broken".into())
        });
        assert_eq!(broken.unwrap_err().to_string(), "broken");
        assert!(!root.exists() && !partial_of(&root).exists());
        fill_whole(&root, |folder| Ok(fs::write(folder.join("whole"), "")?)).unwrap();
        assert!(root.join("whole").exists() && !partial_of(&root).exists());
        fs::remove_dir_all(&root).unwrap();
    }
}
