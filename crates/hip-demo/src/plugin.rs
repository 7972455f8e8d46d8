//! Finding the plugin: through GStreamer's registry, else beside the program.

use std::env;
use std::path::PathBuf;

use gst::prelude::*;

use crate::DemoError;

/// File name of the plugin.
const FILE: &str = "libgsthip.so";

/// Makes sure that `hipupload` and its kin can be made.
///
/// `GST_PLUGIN_PATH` and the system's folders come first; then the program's own folder,
/// `gstreamer-1.0` in it, and `../plugins` (the bundle's).
///
/// # Errors
/// [`DemoError::NoPlugin`], naming the folders.
pub fn ensure() -> Result<(), DemoError> {
    if gst::ElementFactory::find("hipupload").is_some() {
        return Ok(());
    }
    let candidates = candidates();
    for file in candidates.iter().filter(|file| file.is_file()) {
        match gst::Plugin::load_file(file) {
            Ok(_) if gst::ElementFactory::find("hipupload").is_some() => return Ok(()),
            Ok(_) => {}
            Err(error) => {
                return Err(DemoError::Build(format!("{}: {error}", file.display())));
            }
        }
    }
    let folders: Vec<String> = candidates
        .iter()
        .filter_map(|file| file.parent())
        .map(|folder| folder.display().to_string())
        .collect();
    Err(DemoError::NoPlugin(folders.join(", ")))
}

fn candidates() -> Vec<PathBuf> {
    let Ok(program) = env::current_exe() else {
        return Vec::new();
    };
    let Some(folder) = program.parent() else {
        return Vec::new();
    };
    let mut files = vec![folder.join("gstreamer-1.0").join(FILE), folder.join(FILE)];
    files.extend(
        folder
            .parent()
            .map(|parent| parent.join("plugins").join(FILE)),
    );
    files
}

/// Makes one of the plugin's elements, on `device` if one is asked for.
///
/// # Errors
/// [`DemoError::ForeignPlugin`] if another plugin took the element's name.
pub fn element(factory: &str, name: &str, device: Option<&str>) -> Result<gst::Element, DemoError> {
    let element = gst::ElementFactory::make(factory)
        .name(name)
        .build()
        .map_err(|error| DemoError::Build(error.to_string()))?;
    if element.find_property("device-info").is_none() || element.find_property("device").is_none() {
        return Err(DemoError::ForeignPlugin(factory.to_owned()));
    }
    if let Some(device) = device {
        element.set_property("device", device);
    }
    Ok(element)
}

/// What an element of the plugin says of the device it works on.
pub fn device_info(element: &gst::Element) -> String {
    let info = element.property_value("device-info");
    info.get::<Option<String>>()
        .ok()
        .flatten()
        .unwrap_or_else(|| "no device".to_owned())
}
