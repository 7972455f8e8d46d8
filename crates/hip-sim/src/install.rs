//! Puts the libraries into a folder under the vendors' names.

use std::path::{Path, PathBuf};

use hip_rtc::image::elf::{self, Section};

use crate::profile::Profile;
use crate::settings;

/// `DT_SONAME`
const SONAME: usize = 14;
/// Bytes of an entry of the dynamic section and of the symbol table.
const DYNAMIC_ENTRY: usize = 16;
const SYMBOL_ENTRY: usize = 24;
/// `STB_WEAK`, in the upper half of `st_info`.
const WEAK: u8 = 2 << 4;

/// Functions of HIPRTC's in `libs/abi/hiprtc.rs`.
const HIPRTC: [&str; 11] = [
    "hiprtcVersion",
    "hiprtcGetErrorString",
    "hiprtcCreateProgram",
    "hiprtcDestroyProgram",
    "hiprtcCompileProgram",
    "hiprtcGetCodeSize",
    "hiprtcGetCode",
    "hiprtcGetProgramLogSize",
    "hiprtcGetProgramLog",
    "hiprtcAddNameExpression",
    "hiprtcGetLoweredName",
];

/// What to install.
#[derive(Debug, Clone, Default)]
pub struct Install {
    /// Names of [`Profile::ALL`]; all if empty.
    pub libraries: Vec<String>,
    /// Symbols that the libraries shall not have.
    pub without: Vec<String>,
    /// Leaves the compilers out: the files beside the drivers, and the functions within them.
    pub without_compiler: bool,
    /// Lines `NAME=value` for `hip-sim.conf`.
    pub settings: Vec<String>,
}

impl Install {
    /// One library.
    pub fn library(name: &str) -> Install {
        Install {
            libraries: vec![name.to_owned()],
            ..Install::default()
        }
    }

    /// Adds a setting.
    pub fn with(mut self, name: &str, value: &str) -> Install {
        self.settings.push(format!("{name}={value}"));
        self
    }

    /// Takes a symbol out.
    pub fn without(mut self, symbol: &str) -> Install {
        self.without.push(symbol.to_owned());
        self
    }

    /// Leaves the compilers out.
    pub fn without_compiler(mut self) -> Install {
        self.without_compiler = true;
        self
    }

    /// The files of a library, by soname and name in this package's build.
    fn files(&self, profile: &Profile) -> impl Iterator<Item = (&'static str, &'static str)> {
        let compiler = profile.compiler.filter(|_| !self.without_compiler);
        [(profile.soname, profile.built_as)]
            .into_iter()
            .chain(compiler)
    }

    /// Writes the libraries into `folder`, which is made if it is not there; gives the files, each
    /// driver's before its compiler's.
    ///
    /// # Errors
    /// A name is unknown, a library was not built, no library has a symbol to leave out, or the
    /// folder cannot be written.
    pub fn install_into(&self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let known = |name: &String| {
            let found = Profile::ALL.into_iter().find(|(known, _)| known == name);
            found.map(|found| found.1).ok_or_else(|| {
                let names = Profile::ALL.map(|(name, _)| name).join(", ");
                format!("there is no library {name}; there are {names}")
            })
        };
        let profiles: Vec<Profile> = match self.libraries.is_empty() {
            true => Profile::ALL
                .into_iter()
                .map(|(_, profile)| profile)
                .collect(),
            false => self.libraries.iter().map(known).collect::<Result<_, _>>()?,
        };
        let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let mut absent: Vec<&str> = self.without.iter().map(String::as_str).collect();
        let mut written = Vec::new();
        for (soname, built_as) in profiles.iter().flat_map(|profile| self.files(profile)) {
            let built = built(built_as)?;
            let mut file = std::fs::read(&built).map_err(|error| failed(&built, error))?;
            set_soname(&mut file, soname)
                .ok_or_else(|| format!("{}: not built as a stand-in", built.display()))?;
            for symbol in &self.without {
                if remove_symbol(&mut file, symbol).is_some() {
                    absent.retain(|name| name != symbol);
                }
            }
            if self.without_compiler {
                remove_compiler(&mut file);
            }
            let path = folder.join(soname);
            replace(&path, &file).map_err(|error| failed(&path, error))?;
            written.push(path);
        }
        if !absent.is_empty() {
            return Err(format!("none of these libraries has {}", absent.join(", ")));
        }
        let path = folder.join(settings::FILE);
        let lines = self
            .settings
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>();
        replace(&path, lines.as_bytes()).map_err(|error| failed(&path, error))?;
        Ok(written)
    }
}

/// Takes every function of HIPRTC's out of a runtime that has them.
fn remove_compiler(file: &mut [u8]) {
    for symbol in HIPRTC {
        // Runtimes since 7 have none.
        let _ = remove_symbol(file, symbol);
    }
}

/// Writes a file as a whole: a process that has the old one open keeps it.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    std::fs::write(&name, bytes)?;
    std::fs::rename(&name, path)
}

/// The library as cargo built it: in the folder `examples` beside this program or above it.
fn built(built_as: &str) -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let file = PathBuf::from(format!("lib{built_as}.so"));
    let mut folders = program.ancestors().skip(1).take(2);
    let found = folders.find_map(|folder| {
        let path = folder.join("examples").join(&file);
        path.exists().then_some(path)
    });
    found.ok_or_else(|| {
        let file = file.display();
        format!("{file} is not built: `cargo build -p hip-sim --examples` builds it")
    })
}

fn dynamic<'a>(
    file: &'a [u8],
    sections: &[Section<'a>],
    kind: u32,
) -> Option<(Section<'a>, usize)> {
    let found = sections.iter().find(|section| section.kind == kind)?;
    let strings = sections.get(found.link as usize)?;
    file.get(strings.offset..strings.offset.checked_add(strings.size)?)?;
    Some((*found, strings.offset))
}

/// Writes a shorter soname over the one that the library was linked with.
fn set_soname(file: &mut [u8], soname: &str) -> Option<()> {
    let sections = elf::sections(file)?;
    let (dynamic, strings) = dynamic(file, &sections, elf::DYNAMIC)?;
    let entries = (dynamic.offset..dynamic.offset + dynamic.size).step_by(DYNAMIC_ENTRY);
    let mut entries = entries.filter(|entry| elf::size_at(file, *entry) == Some(SONAME));
    let offset = strings.checked_add(elf::size_at(file, entries.next()? + 8)?)?;
    let room = elf::text_at(file, offset)?.len();
    (soname.len() <= room).then_some(())?;
    let bytes = file.get_mut(offset..offset + room)?;
    bytes.fill(0);
    bytes[..soname.len()].copy_from_slice(soname.as_bytes());
    Some(())
}

/// Makes a function of the library one that it wants from elsewhere, weakly: nobody finds it here.
fn remove_symbol(file: &mut [u8], symbol: &str) -> Option<()> {
    let sections = elf::sections(file)?;
    let (table, strings) = dynamic(file, &sections, elf::DYNSYM)?;
    let mut entries = (table.offset..table.offset + table.size).step_by(SYMBOL_ENTRY);
    let entry = entries.find(|entry| {
        let name = elf::u32_at(file, *entry);
        let name = name.and_then(|name| elf::text_at(file, strings + name as usize));
        name == Some(symbol) && elf::u16_at(file, entry + 6) != Some(0)
    })?;
    let kind = file.get(entry + 4)? & 15;
    // st_info, st_other, st_shndx, st_value, st_size.
    let fields = file.get_mut(entry + 4..entry + SYMBOL_ENTRY)?;
    fields.fill(0);
    fields[0] = WEAK | kind;
    Some(())
}
