//! Command-line options of the subcommands: what is not declared is an error.

use std::error::Error;

/// One option a subcommand understands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opt {
    /// The name with its dashes, `--input`.
    pub(crate) name: &'static str,
    /// Whether a value follows, as the next argument or after `=`.
    pub(crate) takes_value: bool,
}

/// An option that is there or not.
pub(crate) const fn flag(name: &'static str) -> Opt {
    Opt {
        name,
        takes_value: false,
    }
}

/// An option with a value.
pub(crate) const fn value(name: &'static str) -> Opt {
    Opt {
        name,
        takes_value: true,
    }
}

/// The arguments of a subcommand, checked against what it understands.
#[derive(Debug, Default)]
pub(crate) struct Args {
    options: Vec<(&'static str, String)>,
    positional: Vec<String>,
    rest: Vec<String>,
}

impl Args {
    /// Sorts `arguments` into options, at most `positional_max` free arguments, and
    /// whatever follows a lone `--` (accepted only if `rest_allowed`).
    pub(crate) fn parse(
        arguments: &[String],
        known: &[Opt],
        positional_max: usize,
        rest_allowed: bool,
    ) -> Result<Self, Box<dyn Error>> {
        let mut parsed = Self::default();
        let mut remaining = arguments.iter();
        while let Some(argument) = remaining.next() {
            if argument == "--" && rest_allowed {
                parsed.rest.extend(remaining.cloned());
                break;
            }
            if !argument.starts_with('-') {
                if parsed.positional.len() == positional_max {
                    return Err(format!("unexpected argument '{argument}'").into());
                }
                parsed.positional.push(argument.clone());
                continue;
            }
            let (name, inline) = match argument.split_once('=') {
                Some((name, inline)) => (name, Some(inline.to_owned())),
                None => (argument.as_str(), None),
            };
            let option = known
                .iter()
                .find(|option| option.name == name)
                .ok_or_else(|| format!("unknown option '{name}'"))?;
            let text = match (option.takes_value, inline) {
                (true, Some(inline)) => inline,
                (true, None) => remaining
                    .next()
                    .cloned()
                    .ok_or_else(|| format!("option '{name}' needs a value"))?,
                (false, None) => String::new(),
                (false, Some(_)) => {
                    return Err(format!("option '{name}' takes no value").into());
                }
            };
            parsed.options.push((option.name, text));
        }
        Ok(parsed)
    }

    /// Whether the option was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(given, _)| *given == name)
    }

    /// The option's value; the last one wins.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .rev()
            .find(|(given, _)| *given == name)
            .map(|(_, text)| text.as_str())
    }

    /// The values of an option that may be repeated, in order.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        self.options
            .iter()
            .filter(|(given, _)| *given == name)
            .map(|(_, text)| text.clone())
            .collect()
    }

    /// The free arguments.
    pub(crate) fn positional(&self) -> &[String] {
        &self.positional
    }

    /// What followed a lone `--`.
    pub(crate) fn rest(&self) -> &[String] {
        &self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Opt] = &[value("--vendor"), flag("--quiet")];

    fn parse(arguments: &[&str]) -> Result<Args, String> {
        let owned: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        Args::parse(&owned, KNOWN, 1, true).map_err(|error| error.to_string())
    }

    #[test]
    fn options_positionals_and_rest() {
        let args = parse(&[
            "--vendor",
            "host",
            "--vendor=amd",
            "--quiet",
            "dir",
            "--",
            "-p",
            "x",
        ])
        .unwrap();
        assert_eq!(args.values("--vendor"), ["host", "amd"]);
        assert_eq!(args.value("--vendor"), Some("amd"));
        assert!(args.has("--quiet"));
        assert_eq!(args.positional(), ["dir"]);
        assert_eq!(args.rest(), ["-p", "x"]);
    }

    #[test]
    fn what_is_not_declared_is_an_error() {
        for (arguments, message) in [
            (&["--frob"][..], "unknown option '--frob'"),
            (&["--vendor"], "option '--vendor' needs a value"),
            (&["--quiet=1"], "option '--quiet' takes no value"),
            (&["one", "two"], "unexpected argument 'two'"),
        ] {
            assert_eq!(parse(arguments).unwrap_err(), message);
        }
    }
}
