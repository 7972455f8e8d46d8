//! The command line of `hip-demo`.

use std::path::PathBuf;

use crate::DemoError;

/// What `--help` prints.
pub const HELP: &str = "\
Usage: hip-demo --input FILE [OPTIONS]

Decodes a video file, converts and scales it on a GPU (or on the CPU, where there is none),
and writes DIR/hip-demo.webm and, from its middle, DIR/hip-demo.png.

  --input FILE     a video file that GStreamer can decode
  --output DIR     where the two files go; default hip-demo-output
  --device DEVICE  host, nvidia, amd, nvidia:1, a PCI address or a UUID; default: the best there is
  --size WxH       size of the result; default 1280x720; black bars keep the aspect ratio
  --quiet          print nothing unless something fails
";

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The video file.
    pub input: PathBuf,
    /// The folder for the results.
    pub output: PathBuf,
    /// The device in the words of the elements' `device` property; `None` leaves the choice to them.
    pub device: Option<String>,
    /// Width and height of the result in pixels, each 1 to [`MAX_SIZE`].
    pub size: (i32, i32),
    /// Print nothing on success.
    pub quiet: bool,
}

/// The largest width or height that VP8 can hold (14 bits: RFC 6386 §9.1).
pub const MAX_SIZE: i32 = 16383;

impl Options {
    /// Reads the arguments (without the program's name). `None`: help was asked for.
    ///
    /// # Errors
    /// [`DemoError::Usage`] on an unknown option, a missing value, a bad size, or no `--input`.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Option<Self>, DemoError> {
        let mut input = None;
        let mut options = Self {
            input: PathBuf::new(),
            output: PathBuf::from("hip-demo-output"),
            device: None,
            size: (1280, 720),
            quiet: false,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (name, mut inline) = match argument.split_once('=') {
                Some((name, text)) if name.starts_with("--") => (name, Some(text.to_owned())),
                _ => (argument.as_str(), None),
            };
            let mut value = || {
                inline
                    .take()
                    .or_else(|| arguments.next())
                    .ok_or_else(|| DemoError::Usage(format!("{name} needs a value")))
            };
            match name {
                "--help" | "-h" => return Ok(None),
                "--input" => input = Some(PathBuf::from(value()?)),
                "--output" => options.output = PathBuf::from(value()?),
                "--device" => options.device = Some(value()?),
                "--size" => options.size = parse_size(&value()?)?,
                "--quiet" => options.quiet = true,
                _ => return Err(DemoError::Usage(format!("unknown argument '{argument}'"))),
            }
            if inline.is_some() {
                return Err(DemoError::Usage(format!("{name} takes no value")));
            }
        }
        options.input = input.ok_or_else(|| DemoError::Usage("no --input given".to_owned()))?;
        Ok(Some(options))
    }
}

fn parse_size(text: &str) -> Result<(i32, i32), DemoError> {
    let wrong = || {
        DemoError::Usage(format!(
            "'{text}' is no size: expected WxH, such as 1280x720"
        ))
    };
    let (width, height) = text.split_once('x').ok_or_else(wrong)?;
    let number = |text: &str| {
        text.parse()
            .ok()
            .filter(|number| (1..=MAX_SIZE).contains(number))
            .ok_or_else(wrong)
    };
    Ok((number(width)?, number(height)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Option<Options>, String> {
        Options::parse(words.iter().map(|&word| word.to_owned())).map_err(|error| error.to_string())
    }

    #[test]
    fn every_option_is_read() {
        let options = parse(&[
            "--input=in.mp4",
            "--output",
            "out",
            "--device",
            "nvidia:1",
            "--size",
            "321x77",
            "--quiet",
        ]);
        assert_eq!(
            options.unwrap(),
            Some(Options {
                input: "in.mp4".into(),
                output: "out".into(),
                device: Some("nvidia:1".to_owned()),
                size: (321, 77),
                quiet: true,
            })
        );
        assert_eq!(parse(&["--help"]).unwrap(), None);
    }

    #[test]
    fn mistakes_are_named() {
        for (words, part) in [
            (&["--frob"][..], "unknown argument '--frob'"),
            (&["in.mp4"], "unknown argument 'in.mp4'"),
            (&["--input"], "--input needs a value"),
            (&["--quiet"], "no --input"),
            (&["--quiet=1", "--input", "x"], "--quiet takes no value"),
            (&["--size", "0x5"], "'0x5' is no size"),
            (&["--size", "16384x2"], "is no size"),
            (&["--size", "12"], "is no size"),
        ] {
            let message = parse(words).unwrap_err();
            assert!(message.contains(part), "{words:?}: {message}");
        }
    }
}
