use std::time::Duration;

use hip_core::{Device, DeviceSelector};

use crate::Result;

/// The command line of a bench.
#[derive(Debug, Clone)]
pub struct Options {
    /// `--device`: which device, as for `GST_HIP_DEVICE`.
    pub device: DeviceSelector,
    /// `--seconds`: how long each measurement takes, at least.
    pub duration: Duration,
    /// `--width`, in pixels.
    pub width: u32,
    /// `--height`, in pixels.
    pub height: u32,
}

impl Options {
    /// Reads the process's arguments. `--help` prints `about` and the options, and ends the process.
    ///
    /// # Errors
    /// An option is unknown, or its value means nothing.
    pub fn from_args(about: &str) -> Result<Options> {
        let mut options = Options {
            device: DeviceSelector::Auto,
            duration: Duration::from_secs(2),
            width: 3840,
            height: 2160,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            if name == "--help" {
                println!("{about}\n\nOptions: --device SELECTOR --seconds N --width N --height N");
                std::process::exit(0);
            }
            let value = arguments
                .next()
                .ok_or_else(|| format!("{name} needs a value"))?;
            let wrong = |why: &dyn std::fmt::Display| format!("{name} {value}: {why}");
            match name.as_str() {
                "--device" => options.device = value.parse().map_err(|e| wrong(&e))?,
                "--seconds" => {
                    let seconds: f64 = value.parse().map_err(|e| wrong(&e))?;
                    options.duration =
                        Duration::try_from_secs_f64(seconds).map_err(|e| wrong(&e))?;
                }
                "--width" => options.width = value.parse().map_err(|e| wrong(&e))?,
                "--height" => options.height = value.parse().map_err(|e| wrong(&e))?,
                _ => return Err(format!("unknown option {name}; see --help").into()),
            }
        }
        Ok(options)
    }

    /// Starts GStreamer, registers the plugin, opens the device and says which it is.
    ///
    /// # Errors
    /// There is no such device.
    pub fn open(&self) -> Result<Device> {
        gst::init()?;
        gst_elements::plugin_register_static()?;
        let device = gst_hip::env::open_device(&self.device)?;
        println!("device: {}", device.info());
        if let Some(reason) = device.fallback_reason() {
            println!("        no GPU: {reason}");
        }
        Ok(device)
    }
}
