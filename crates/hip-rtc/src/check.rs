//! What no compiler should see, whichever it is.

use std::path::{Component, Path};

use crate::{Error, KernelSource, options};

/// What is wrong with a text, or with its name, headers or options.
#[derive(Debug)]
pub(crate) enum Flaw {
    /// What contains a NUL, which would end it there.
    Nul(String),
    /// A header's name that is empty, absolute, leaves its folder, or is there twice.
    HeaderName(String),
    /// An option that is not the caller's to give.
    Option { option: String, why: &'static str },
}

impl From<Flaw> for Error {
    fn from(flaw: Flaw) -> Error {
        match flaw {
            Flaw::Nul(what) => Error::Nul(what),
            Flaw::HeaderName(name) => Error::HeaderName(name),
            Flaw::Option { option, why } => Error::UnsupportedOption { option, why },
        }
    }
}

pub(crate) fn check(source: &KernelSource<'_>, options: &[&str]) -> Result<(), Flaw> {
    let nul = |text: &str, what: &dyn Fn() -> String| match text.contains('\0') {
        true => Err(Flaw::Nul(what())),
        false => Ok(()),
    };
    let name = source.name;
    nul(name, &|| format!("the source's name {name:?}"))?;
    nul(source.text, &|| format!("the source {name:?}"))?;
    for (index, (name, text)) in source.headers.iter().enumerate() {
        nul(name, &|| format!("the header name {name:?}"))?;
        nul(text, &|| format!("the header {name:?}"))?;
        let mut before = source.headers[..index].iter();
        if !stays_inside(name) || before.any(|(other, _)| other == name) {
            return Err(Flaw::HeaderName((*name).to_owned()));
        }
    }
    for option in options {
        nul(option, &|| format!("the option {option:?}"))?;
        if let Some(why) = options::refusal(option) {
            let option = (*option).to_owned();
            return Err(Flaw::Option { option, why });
        }
    }
    Ok(())
}

/// Whether a header of this name stays in the folder it is written to.
fn stays_inside(name: &str) -> bool {
    let path = Path::new(name);
    !name.is_empty()
        && !name.ends_with(['/', '\\'])
        && !name.contains(['\0', '\n', '"', '\\', ':'])
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        for good in ["a.h", "sub/a.h", "a/b/c.cuh", "..a.h"] {
            assert!(stays_inside(good), "{good}");
        }
        for bad in [
            "",
            "/a.h",
            "../a.h",
            "a/../../b.h",
            "a/..",
            ".",
            "a/",
            "a\0",
            "C:/a.h",
            "a\\..\\b",
        ] {
            assert!(!stays_inside(bad), "{bad:?}");
        }
    }
}
