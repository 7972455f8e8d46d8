//! `hip-info`: the vendor libraries looked for, the devices found, and the one that would be used.
//!
//! Exit codes: 0 the device asked for is there (without a question: always), 1 it is not,
//! 2 wrong command line.

use std::env;
use std::error::Error;
use std::process::ExitCode;

use hip_dispatch::{DeviceSelector, LoaderConfig, Runtime, Vendor};

const HELP: &str = "\
Usage: hip-info [--vendor VENDOR | --device DEVICE]

Without options: every library that was looked for and what became of it, every device, and
the one that the plugin would use (GST_HIP_DEVICE and GST_HIP_*_LIBNAME count, as there).

  --vendor VENDOR  only say which device of amd, nvidia or host there is, or why there is none
  --device DEVICE  only say whether that device is there: nvidia, amd:1, host,
                   a PCI address, a UUID or a render node
";

/// What is asked.
#[derive(Debug, PartialEq, Eq)]
enum Question {
    Help,
    Everything,
    IsThere(DeviceSelector),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let question = match question(&arguments) {
        Ok(question) => question,
        Err(error) => {
            eprintln!("hip-info: {error}");
            return ExitCode::from(2);
        }
    };
    let (runtime, _) = Runtime::global_with(loader_config());
    match question {
        Question::Help => print!("{HELP}"),
        Question::IsThere(selector) => match runtime.select(&selector) {
            Ok(selected) => println!("{}", selected.info),
            Err(error) => {
                println!("{error}");
                return ExitCode::FAILURE;
            }
        },
        Question::Everything => everything(runtime),
    }
    ExitCode::SUCCESS
}

fn question(arguments: &[String]) -> Result<Question, Box<dyn Error>> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => Ok(Question::Everything),
        ["--help" | "-h"] => Ok(Question::Help),
        ["--vendor", name] => Ok(Question::IsThere(DeviceSelector::Vendor(
            name.parse::<Vendor>()?,
        ))),
        ["--device", text] => Ok(Question::IsThere(text.parse()?)),
        _ => Err(format!("can't make sense of '{}'; hip-info --help", words.join(" ")).into()),
    }
}

/// The plugin's configuration, from the plugin's variables.
fn loader_config() -> LoaderConfig {
    let path = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(Into::into)
    };
    let mut config = LoaderConfig::default();
    config.amd_runtime = path("GST_HIP_AMDHIP_LIBNAME");
    config.cuda_driver = path("GST_HIP_CUDA_LIBNAME");
    config
}

fn everything(runtime: &Runtime) {
    print!("{}", runtime.discover());
    let wanted = env::var("GST_HIP_DEVICE").unwrap_or_default();
    let selector = match wanted.parse::<DeviceSelector>() {
        Ok(selector) => selector,
        Err(error) => {
            println!("GST_HIP_DEVICE: {error}");
            return;
        }
    };
    match runtime.select(&selector) {
        Ok(selected) => {
            println!("chosen ({selector}): {}", selected.info);
            if let Some(reason) = selected.fallback {
                println!("  no GPU, because {reason}");
            }
        }
        Err(error) => println!("chosen ({selector}): none: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(words: &[&str]) -> Result<Question, String> {
        let owned: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        question(&owned).map_err(|error| error.to_string())
    }

    #[test]
    fn questions() {
        assert_eq!(ask(&[]), Ok(Question::Everything));
        assert_eq!(
            ask(&["--vendor", "amd"]),
            Ok(Question::IsThere(DeviceSelector::Vendor(Vendor::Amd)))
        );
        assert_eq!(
            ask(&["--device", "nvidia:1"]),
            Ok(Question::IsThere(DeviceSelector::Ordinal(
                Vendor::Nvidia,
                1
            )))
        );
    }

    #[test]
    fn mistakes_are_named() {
        assert!(ask(&["--vendor", "intel"]).unwrap_err().contains("intel"));
        assert!(ask(&["--vendor"]).unwrap_err().contains("--vendor"));
        assert!(ask(&["--frob"]).unwrap_err().contains("--frob"));
    }
}
