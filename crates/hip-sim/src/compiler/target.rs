//! What a product is for.

use hip_rtc::image::ptx;

/// An architecture that the compiler knows, and what is made for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// PTX, and a CUBIN if the architecture is a real one.
    Cuda {
        /// 90.
        number: u32,
        /// `a` or `f`: what only this very architecture, or its family, has.
        suffix: &'static str,
        /// Whether there is a CUBIN: `sm_90`, not `compute_90`.
        real: bool,
    },
    /// A code object.
    Amd {
        /// With its features: `gfx90a:sramecc+:xnack-`.
        name: String,
    },
}

/// `sm_90`, `compute_90a`, `sm_100f` of the architectures known.
pub(super) fn cuda(name: &str, known: &[u32]) -> Option<Target> {
    let number = ptx::target_number(name)?;
    let digits = name.trim_end_matches(['a', 'f']);
    let suffix = match &name[digits.len()..] {
        "" => "",
        "a" if number >= 90 => "a",
        "f" if number >= 100 => "f",
        _ => return None,
    };
    known.contains(&number).then_some(Target::Cuda {
        number,
        suffix,
        real: name.starts_with("sm_"),
    })
}

/// Features that a name can say of a processor: the runtime names none for those that lack them.
fn features(processor: &str) -> &'static [&'static str] {
    match processor {
        "gfx906" | "gfx908" | "gfx90a" | "gfx942" | "gfx950" => &["sramecc", "xnack"],
        _ => &[],
    }
}

/// `gfx90a:sramecc+:xnack-` of the processors known.
pub(super) fn amd(name: &str, known: &[&str]) -> Option<Target> {
    let mut parts = name.split(':');
    let processor = parts.next().filter(|processor| known.contains(processor))?;
    let is_feature = |part: &str| {
        let feature = part.strip_suffix(['+', '-']);
        feature.is_some_and(|feature| features(processor).contains(&feature))
    };
    parts.all(is_feature).then(|| Target::Amd {
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_compilers() {
        for (name, real, suffix) in [
            ("sm_90", true, ""),
            ("compute_90", false, ""),
            ("sm_90a", true, "a"),
            ("compute_100f", false, "f"),
        ] {
            let found = cuda(name, &[90, 100]);
            let is = matches!(&found, Some(Target::Cuda { real: r, suffix: s, .. })
                if *r == real && *s == suffix);
            assert!(is, "{name}: {found:?}");
        }
        for name in ["sm_80", "sm_90f", "sm_9", "90", "gfx90a", "sm_90aa", ""] {
            assert_eq!(cuda(name, &[90, 100]), None, "{name}");
        }
        let known = ["gfx90a", "gfx1030"];
        for name in ["gfx90a", "gfx90a:sramecc+:xnack-", "gfx1030"] {
            assert!(amd(name, &known).is_some(), "{name}");
        }
        for name in [
            "gfx1030:xnack-",
            "gfx90a:xnack",
            "gfx90a:",
            "compute_80",
            "gfx942",
        ] {
            assert_eq!(amd(name, &known), None, "{name}");
        }
    }
}
